//! A member of the cluster, as replicated to all members.

/// How much this version can do together with others. A cluster does what all its members can: see
/// [`Command::FeatureLevel`](crate::engine::Command::FeatureLevel).
pub const FEATURE_LEVEL: u32 = 4;

/// The feature level from which on [`Command::KickMany`](crate::engine::Command::KickMany) is proposed.
pub const FEATURE_KICK_MANY: u32 = 2;

/// The feature level from which on an entry keeps the state within stricter bounds: it ends a bounded number of a session's
/// leases, it forgets empty topics, and it forgets sessions that pushed later than those that did not. Entries of a lower
/// level are applied as they always were.
pub const FEATURE_BOUNDED_STATE: u32 = 3;

/// The feature level from which on [`Command::ReserveNamed`](crate::engine::Command::ReserveNamed) is proposed.
pub const FEATURE_RESERVE_NAMED: u32 = 3;

/// The feature level from which on the state keeps a job's history: when it was pushed and reserved, by which session, and the
/// reason of its last release or bury. Entries of a lower level record none of it.
pub const FEATURE_JOB_HISTORY: u32 = 3;

/// The feature level from which on [`Command::ReserveWeighted`](crate::engine::Command::ReserveWeighted) is proposed.
pub const FEATURE_RESERVE_WEIGHTED: u32 = 3;

/// The feature level from which on [`Command::Bulk`](crate::engine::Command::Bulk) is proposed.
pub const FEATURE_BULK: u32 = 3;

/// The feature level from which on [`Command::TopicPolicy`](crate::engine::Command::TopicPolicy) is proposed, and jobs may leave
/// their time to run and their priority to their topic.
pub const FEATURE_TOPIC_POLICY: u32 = 3;

/// The feature level from which on pushes are proposed that replace a reserved job or postpone one: see
/// [`IfExists`](super::IfExists).
pub const FEATURE_PUSH_MODES: u32 = 3;

/// The feature level from which on a finished job is remembered for as long as its attributes say.
pub const FEATURE_REMEMBERED_JOBS: u32 = 3;

/// The feature level from which on [`Command::Move`](crate::engine::Command::Move) and
/// [`Command::BulkIn`](crate::engine::Command::BulkIn) are proposed.
pub const FEATURE_MOVE: u32 = 3;

/// The feature level from which on [`Command::TopicDelete`](crate::engine::Command::TopicDelete) is proposed.
pub const FEATURE_TOPIC_DELETE: u32 = 3;

/// The feature level from which on the state tells whether a sequence number is used again with another job: see
/// [`Reject::SequenceReused`](crate::engine::Reject::SequenceReused).
pub const FEATURE_SEQUENCE_CHECK: u32 = 3;

/// The feature level from which on the state has a hash of a session's secret and its token's name, not the secret.
pub const FEATURE_SESSION_HASHES: u32 = 4;

/// The feature level from which on [`Command::PushIdempotent`](crate::engine::Command::PushIdempotent) is proposed.
pub const FEATURE_IDEMPOTENT_PUSH: u32 = 4;

/// The feature level from which on [`Command::RescheduleIf`](crate::engine::Command::RescheduleIf) is proposed.
pub const FEATURE_VERSIONS: u32 = 4;

/// The feature level from which on a release that counts as no attempt may have a delay.
pub const FEATURE_PARKING: u32 = 4;

/// The feature level from which on a topic's policy has call-backs.
pub const FEATURE_CALL_BACKS: u32 = 4;

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
