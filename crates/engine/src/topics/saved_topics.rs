//! The topics as a checkpoint stores them.

use serde::{Deserialize, Serialize};

use super::TopicTotals;
use super::groups::saved::SavedGroups;
use super::policy::SavedRule;
use crate::outcome::Paused;
use adjourn_types::limits::CLIENT_BYTES_MAX;
use adjourn_types::{Millis, TopicId, TopicName};

/// The counters of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicCounts {
    /// Its number.
    pub id: TopicId,
    /// Its name.
    pub name: TopicName,
    /// True if reserve takes no job of it.
    pub paused: bool,
    /// Jobs whose due time lies ahead.
    pub delayed: u64,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// Jobs set aside.
    pub buried: u64,
}

/// One topic in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedTopic {
    pub(crate) id: TopicId,
    pub(crate) name: String,
    pub(crate) paused: Option<Paused>,
    pub(crate) delayed: u64,
    pub(crate) ready: u64,
    pub(crate) reserved: u64,
    pub(crate) buried: u64,
    pub(crate) schedules: u64,
    pub(crate) totals: TopicTotals,
    pub(crate) idle_since: Option<Millis>,
    /// The size of its jobs' bodies.
    pub(crate) bytes: u64,
    pub(crate) rule: Option<SavedRule>,
    /// What does not follow from its jobs.
    pub(crate) groups: Option<SavedGroups>,
}

/// All topics, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedTopics {
    pub(crate) known: Vec<SavedTopic>,
    /// The number that the next new topic gets.
    pub(crate) next: u32,
    pub(crate) forgotten: TopicTotals,
}

impl SavedTopic {
    /// Its name, if it is valid.
    pub(crate) fn name(&self) -> Option<TopicName> {
        self.name.parse().ok()
    }

    /// Its counters, if its name is valid.
    pub(crate) fn counts(&self) -> Option<TopicCounts> {
        let Self { id, delayed, ready, reserved, buried, .. } = *self;
        let paused = self.paused.is_some();
        Some(TopicCounts { id, name: self.name()?, paused, delayed, ready, reserved, buried })
    }
}

impl SavedTopics {
    /// Checks that the numbers ascend and were issued, and that policies can be read. Fails with the first topic whose name
    /// is not valid.
    pub(crate) fn check(&self) -> Result<bool, TopicId> {
        if let Some(nameless) = self.known.iter().find(|topic| topic.name().is_none()) {
            return Err(nameless.id);
        }
        let rise = self.known.is_sorted_by(|one, next| one.id < next.id);
        let were_given_out = self.known.last().is_none_or(|last| last.id.0 < self.next);
        let are_readable = self.known.iter().all(|topic| topic.rule.as_ref().is_none_or(SavedRule::is_valid));
        let are_possible =
            self.known.iter().all(|topic| topic.groups.as_ref().is_none_or(SavedGroups::is_valid));
        let paused = self.known.iter().filter_map(|topic| topic.paused.as_ref());
        let are_short = paused.map(|paused| paused.by.len()).all(|length| length <= CLIENT_BYTES_MAX);
        Ok(rise && were_given_out && are_readable && are_possible && are_short)
    }
}
