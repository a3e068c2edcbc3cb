//! The topics as a checkpoint stores them: names, counts and numbers.

use serde::{Deserialize, Serialize};

use super::state_metadata::TopicCounts;
use super::topics::TopicTotals;
use crate::types::{Millis, TopicId, TopicName};

/// A topic as it is written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTopic {
    pub(super) name: String,
    pub(super) paused: bool,
    pub(super) delayed: u64,
    pub(super) ready: u64,
    pub(super) reserved: u64,
    pub(super) buried: u64,
    pub(super) totals: TopicTotals,
}

impl SavedTopic {
    /// Its name, if it is one.
    pub(super) fn name(&self) -> Option<TopicName> {
        self.name.parse().ok()
    }

    /// What it counts.
    pub(super) fn counts(&self, id: TopicId) -> Option<TopicCounts> {
        let Self { paused, delayed, ready, reserved, buried, .. } = *self;
        Some(TopicCounts { id, name: self.name()?, paused, delayed, ready, reserved, buried })
    }
}

/// What a checkpoint says in addition once topics may be forgotten; empty before that, as in older checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedNumbers {
    /// The number of each saved topic, and since when it is idle. Without these they are numbered from 0.
    pub(super) topics: Vec<(TopicId, Option<Millis>)>,
    pub(super) next: u32,
    pub(super) forgotten: TopicTotals,
}

impl SavedNumbers {
    /// Whether there are this number of topics, in ascending order, with valid numbers.
    pub(super) fn fit(&self, topics: usize) -> bool {
        let follow =
            self.topics.windows(2).all(|pair| pair.first().map(|one| one.0) < pair.last().map(|one| one.0));
        let last = self.topics.last().is_none_or(|(id, _)| id.0 < self.next);
        *self == Self::default() || (self.topics.len() == topics && follow && last)
    }

    /// The number of each of these topics, and since when it is idle.
    pub(super) fn of<'a>(
        &'a self,
        saved: &'a [SavedTopic],
    ) -> impl Iterator<Item = (TopicId, Option<Millis>)> + 'a {
        let numbered = if *self == Self::default() { saved.len() } else { 0 };
        let numbered = (0..).map(TopicId).take(numbered).map(|id| (id, None));
        self.topics.iter().copied().chain(numbered)
    }

    /// The number of the next topic.
    pub(super) fn next(&self, saved: &[SavedTopic]) -> u32 {
        if *self == Self::default() { u32::try_from(saved.len()).unwrap_or(u32::MAX) } else { self.next }
    }
}
