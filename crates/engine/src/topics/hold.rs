//! What holds a job back.

use super::groups::group::GroupHold;
use crate::outcome::Paused;
use adjourn_types::{BuryReason, Millis};

/// What holds a job back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its due time has not come. That is by the wall clock.
    Delayed(Millis),
    /// The topic is paused.
    TopicPaused(Paused),
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
    /// A session has it until this stamp.
    Reserved(Millis),
    /// It is buried.
    Buried(BuryReason),
    /// It is finished, and remembered.
    Finished,
    /// No job is ready.
    Empty,
}
