//! What can be broken on purpose around the real code. A simulation that cannot fail proves nothing: each of these must
//! be caught by the invariant that is written beside it.

use adjourn_storage::PersistBatch;

/// Something that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// Nothing.
    None,
    /// Syncs of the disk do nothing, and say that they did.
    SyncsLie,
    /// The driver reports a batch durable before it has written it.
    PersistedTooSoon,
    /// The last entry of the log is not there after a restart.
    LastEntryLost,
    /// The last entry that pushes something stands in the log twice after a restart.
    EntryTwice,
    /// Term and vote are forgotten in a restart.
    VoteForgotten,
    /// The monotonic clock that the node is shown runs ahead.
    ClockRunsAhead,
    /// The wall clock that the node is shown is a minute ahead.
    WallAhead,
    /// The node is not shown that its wall clock was set back.
    SetBackUnseen,
    /// A delivery to one connection goes to another one as well.
    DeliveredTwice,
    /// The monotonic clock that clients are shown is behind the one by which leases end.
    ClockShownBehind,
    /// On its way to the node, an old lease in a FINISH becomes the newest one of its job.
    FenceIgnored,
    /// On its way to the node, a PUSH loses its sequence number.
    SequenceLost,
    /// On its way to the node, a RELEASE or BURY loses its reason.
    ReasonLost,
    /// The driver does not say that a connection is gone.
    DisconnectSwallowed,
    /// The driver wakes the replica late.
    Oversleeps,
    /// The core takes up a request after many turns.
    TurnsTaken,
    /// The driver forgets a request now and then.
    RequestForgotten,
    /// Bodies of one PUSH change places on their way.
    BodiesSwapped,
    /// Jobs of one answer come in another order.
    OrderReversed,
    /// The log is cut when a checkpoint begins.
    CutTooSoon,
    /// The folder's syncs of names do nothing, and say that they did.
    NamesNotSynced,
    /// A new manifest does not take the place of the old one.
    ManifestStays,
    /// Who takes away what the manifest does not list also takes the newest chunk.
    SweptTooMuch,
    /// What the manifest does not list stays.
    NothingSwept,
    /// Jobs that were captured do not get into the checkpoint.
    JobsNotCaptured,
    /// A node that has lost its disk says that it has it still.
    WipedIsKnown,
    /// A leader is told at once that all others have what it has only just written.
    AcksForOthers,
    /// A leader is told that all others hear it, whether they do or not.
    HeartbeatsEchoed,
    /// Term and vote are reported durable before they are written.
    VoteTooSoon,
    /// On its way to another node than before, a PUSH loses its sequence number.
    SequenceLostElsewhere,
    /// A follower is shown a stamp that is a minute ahead.
    StampJumps,
    /// A node sees its own clock in place of the others'.
    ClocksUnseen,
    /// All nodes but the founder give up sessions whose connection is lost, and those that they take over.
    GraceForgotten,
    /// A checkpoint of another node comes without its sessions.
    SessionsLeftBehind,
    /// A start takes everything in the log for committed.
    CommitAhead,
    /// Nodes of an older version say that they are of the newest.
    VersionHidden,
    /// A job that took the place of another one is deleted at once.
    ReplacementLost,
    /// A job that expires is deleted at once.
    ExpiredTooSoon,
    /// A node says of all topics what it said of them first.
    TopicsRepeated,
    /// A byte of a backup is another one.
    BackupDamaged,
    /// A schedule's history leaves out one firing.
    FiringLeftOut,
    /// A schedule has pushed another job at its last instant each time that somebody looks.
    FiringRepeated,
    /// On its way to the node, a `TOPIC_SET` loses its limit of leases of a group.
    GroupLimitLost,
    /// On its way to the node, a `TOPIC_SET` loses its order of the jobs of a group.
    GroupOrderLost,
    /// On its way to the node, a `GROUP_SET` asks for a much higher weight.
    GroupWeightRaised,
    /// Strangers may do everything.
    StrangersMayAll,
    /// The driver says that one is connected who was not let in.
    StrangersHeard,
}

impl Mutant {
    /// Whether the driver reports this batch durable before it has written it.
    pub(super) fn reports_too_soon(self, batch: &PersistBatch) -> bool {
        match self {
            Self::PersistedTooSoon => true,
            Self::VoteTooSoon => batch.vote.is_some() && batch.entries.is_empty(),
            _ => false,
        }
    }

    /// Every mutant, with its invariants: one of these must catch it.
    pub(super) const ALL: [(Self, &'static [&'static str]); 27] = [
        (Self::SyncsLie, &["starts", "acknowledged", "same log", "same state"]),
        (Self::PersistedTooSoon, &["acknowledged", "same log", "same state"]),
        (Self::LastEntryLost, &["acknowledged", "same log"]),
        (Self::EntryTwice, &["same log"]),
        (Self::VoteForgotten, &["same log"]),
        (Self::ClockRunsAhead, &["never early", "one lease"]),
        (Self::WallAhead, &["never early"]),
        (Self::SetBackUnseen, &["never early"]),
        (Self::DeliveredTwice, &["one lease"]),
        (Self::ClockShownBehind, &["one lease"]),
        (Self::FenceIgnored, &["settled once"]),
        (Self::SequenceLost, &["pushed once", "acknowledged"]),
        (Self::ReasonLost, &["last reason"]),
        (Self::DisconnectSwallowed, &["lapse"]),
        (Self::Oversleeps, &["hardly late"]),
        (Self::TurnsTaken, &["few turns"]),
        (Self::RequestForgotten, &["progress"]),
        (Self::BodiesSwapped, &["acknowledged", "pushed once", "never early"]),
        (Self::OrderReversed, &["order"]),
        (Self::ReplacementLost, &["acknowledged"]),
        (Self::ExpiredTooSoon, &["acknowledged"]),
        (Self::FiringLeftOut, &["firings"]),
        (Self::FiringRepeated, &["firings"]),
        (Self::GroupLimitLost, &["group limits"]),
        (Self::GroupOrderLost, &["group order"]),
        (Self::GroupWeightRaised, &["group turns"]),
        (Self::StrangersMayAll, &["strangers"]),
    ];

    /// Those that need several nodes to be seen.
    pub(super) const OF_CLUSTERS: [(Self, &'static [&'static str]); 17] = [
        (Self::TopicsRepeated, &["fresh reads", "strangers"]),
        (Self::SessionsLeftBehind, &["same state"]),
        (Self::AcksForOthers, &["same state", "acknowledged", "never early"]),
        (
            Self::HeartbeatsEchoed,
            &["cut off", "fresh reads", "ended", "acknowledged", "one lease", "never early", "progress"],
        ),
        (Self::PersistedTooSoon, &["acknowledged", "same log", "same state"]),
        (Self::VoteTooSoon, &["same log", "same state", "progress"]),
        (Self::VoteForgotten, &["same log"]),
        (Self::LastEntryLost, &["acknowledged", "same log"]),
        (Self::CommitAhead, &["same state", "no panic"]),
        // A repeated push may replace the job that was pushed after it under the same key.
        (Self::SequenceLostElsewhere, &["pushed once", "acknowledged"]),
        (Self::StampJumps, &["acknowledged", "order", "never early", "one lease", "settled once"]),
        // Jobs expire by a wrong clock, too.
        (Self::ClocksUnseen, &["never early", "acknowledged"]),
        (Self::GraceForgotten, &["one lease", "settled once"]),
        (Self::VersionHidden, &["known"]),
        (Self::WipedIsKnown, &["acknowledged", "members", "same state"]),
        (Self::DeliveredTwice, &["one lease"]),
        (Self::StrangersHeard, &["no panic", "progress", "one leader", "same log", "starts"]),
    ];

    /// Those that need checkpoints to be seen.
    pub(super) const OF_CHECKPOINTS: [(Self, &'static [&'static str]); 7] = [
        (Self::BackupDamaged, &["backups"]),
        (Self::CutTooSoon, &["starts"]),
        (Self::NamesNotSynced, &["starts", "checkpoints"]),
        (Self::ManifestStays, &["checkpoints"]),
        (Self::SweptTooMuch, &["starts", "checkpoints"]),
        (Self::NothingSwept, &["checkpoints"]),
        (Self::JobsNotCaptured, &["starts", "checkpoints", "no panic"]),
    ];
}
