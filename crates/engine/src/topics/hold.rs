//! What holds a job back.

use super::groups::group::GroupHold;
use adjourn_types::{BuryReason, Millis, SessionId};

/// What holds a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its due time has not come. That is by the wall clock.
    Delayed(Millis),
    /// The topic is paused.
    TopicPaused,
    /// The topic has as many leases as it may: this many.
    TopicLeases(u64),
    /// The topic has used up its rate until this stamp.
    TopicRate(Millis),
    /// Its group, which has this many leases, is held back.
    Group(GroupHold, u64),
    /// Others come first.
    Behind {
        /// At least this many jobs of its group, or of its topic if groups do not take turns.
        jobs: u64,
        /// At least this many other groups.
        groups: u64,
    },
    /// A session has it.
    Reserved {
        /// The session.
        session: SessionId,
        /// When the lease ends, as a stamp.
        until: Millis,
    },
    /// It is buried.
    Buried(BuryReason),
    /// It is finished, and remembered.
    Finished,
    /// No job is ready.
    Empty,
}
