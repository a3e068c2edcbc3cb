//! A member of the cluster, as replicated to all members.

/// The feature level of this version. A cluster uses only what all its members support: see
/// `Command::FeatureLevel`.
pub const FEATURE_LEVEL: u32 = 1;

/// The feature level from which `Command::KickMany` may be proposed. A version that
/// adds a command, or changes what one does, raises [`FEATURE_LEVEL`] by 1 and adds a constant like this one. The leader
/// checks it before it proposes, and the state when it applies.
pub const FEATURE_KICK_MANY: u32 = 1;

/// Where a member is, and which copy of the data it has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Member {
    /// Its number, from 1; never reused for another node.
    pub node: u64,
    /// Id of its copy of the data. The same number with another copy is refused: that copy lacks acknowledged entries.
    pub storage_id: [u8; 16],
    /// Where the other members connect to it.
    pub peer_address: String,
    /// Where clients connect to it.
    pub client_address: String,
}
