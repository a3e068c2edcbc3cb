//! A member of the cluster, as replicated to all members.

/// How much this version can do together with others. A cluster does what all its members can: see
/// [`Command::FeatureLevel`](crate::engine::Command::FeatureLevel).
pub const FEATURE_LEVEL: u32 = 1;

/// The feature level from which on [`Command::KickMany`](crate::engine::Command::KickMany) is proposed. A version that adds a
/// command, or carries one out in another way, raises [`FEATURE_LEVEL`] by 1, and has a number like this one for what changed: the
/// leader goes by it before it proposes, and the state when it applies.
pub const FEATURE_KICK_MANY: u32 = 1;

/// Where a member is, and which copy of the data it has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "server", derive(serde::Serialize, serde::Deserialize))]
pub struct Member {
    /// Its number, from 1; never given to another node.
    pub node: u64,
    /// Id of its copy of the data. A copy with another id is refused under the same number: it lacks acknowledged entries.
    pub storage_id: [u8; 16],
    /// Where the other members reach it.
    pub peer_address: String,
    /// Where clients reach it.
    pub client_address: String,
}
