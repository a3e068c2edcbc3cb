//! The topics as a checkpoint stores them.

use serde::{Deserialize, Serialize};

use super::policy::SavedRule;
use super::state_metadata::TopicCounts;
use super::topics::TopicTotals;
use adjourn_types::{Millis, TopicId, TopicName};

/// One topic in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTopic {
    pub(super) id: TopicId,
    pub(super) name: String,
    pub(super) paused: bool,
    pub(super) delayed: u64,
    pub(super) ready: u64,
    pub(super) reserved: u64,
    pub(super) buried: u64,
    pub(super) totals: TopicTotals,
    pub(super) idle_since: Option<Millis>,
    /// The size of its jobs' bodies.
    pub(super) bytes: u64,
    pub(super) rule: Option<SavedRule>,
}

/// All topics, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTopics {
    pub(super) known: Vec<SavedTopic>,
    /// The number that the next new topic gets.
    pub(super) next: u32,
    pub(super) forgotten: TopicTotals,
}

impl SavedTopic {
    /// Its name, if it is valid.
    pub(super) fn name(&self) -> Option<TopicName> {
        self.name.parse().ok()
    }

    /// Its counters, if its name is valid.
    pub(super) fn counts(&self) -> Option<TopicCounts> {
        let Self { id, paused, delayed, ready, reserved, buried, .. } = *self;
        Some(TopicCounts { id, name: self.name()?, paused, delayed, ready, reserved, buried })
    }
}

impl SavedTopics {
    /// Checks that the numbers ascend and were issued, and that policies can be read. Fails with the first topic whose name
    /// is not valid.
    pub(super) fn check(&self) -> Result<bool, TopicId> {
        if let Some(nameless) = self.known.iter().find(|topic| topic.name().is_none()) {
            return Err(nameless.id);
        }
        let rise = self.known.is_sorted_by(|one, next| one.id < next.id);
        let were_given_out = self.known.last().is_none_or(|last| last.id.0 < self.next);
        let are_readable = self.known.iter().all(|topic| topic.rule.as_ref().is_none_or(SavedRule::is_valid));
        Ok(rise && were_given_out && are_readable)
    }
}
