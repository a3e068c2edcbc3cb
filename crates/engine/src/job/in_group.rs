//! The group of a job in its topic.

use std::sync::Arc;

use super::{Job, JobExtras};
use adjourn_types::{Attributes, JobState};

/// A job's group, and whether the job holds the group's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InGroup {
    name: Arc<str>,
    /// True from its first delivery on, in a topic whose groups are in order: the jobs behind it wait until it has ended.
    holds_place: bool,
}

/// What a job means to its group at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupPart {
    /// It can be delivered.
    Ready,
    /// It is reserved.
    Reserved,
    /// It waits for its next attempt, and holds the group's place.
    Retrying,
    /// It is buried, and holds the group's place.
    Buried,
}

impl Job {
    /// The group that it belongs to.
    pub(crate) fn group(&self) -> Option<&Arc<str>> {
        Some(&self.in_group()?.name)
    }

    /// True if the jobs of its group wait until it has ended, where groups are in order.
    pub(crate) fn holds_place(&self) -> bool {
        self.in_group().is_some_and(|in_group| in_group.holds_place)
    }

    /// What it means to its group; `None` for nothing. A job without a group counts as one of the group without a name.
    pub(crate) fn group_part(&self) -> Option<GroupPart> {
        match self.state {
            JobState::Ready => Some(GroupPart::Ready),
            JobState::Reserved => Some(GroupPart::Reserved),
            JobState::Delayed if self.holds_place() => Some(GroupPart::Retrying),
            JobState::Buried if self.holds_place() => Some(GroupPart::Buried),
            JobState::Delayed | JobState::Buried | JobState::Finished | JobState::Scheduled => None,
        }
    }

    /// Sets the group of its attributes. It holds no place there.
    pub(crate) fn set_group_of(&mut self, attributes: &[u8]) {
        let group = Attributes::group_of(attributes);
        if self.group().map(AsRef::as_ref) != group {
            self.set_in_group(group.map(Arc::from), false);
        }
    }

    /// Sets whether it holds its group's place.
    pub(crate) fn set_holds_place(&mut self, holds_place: bool) {
        if self.holds_place() != holds_place {
            let group = self.group().cloned();
            self.set_in_group(group, holds_place);
        }
    }

    /// Sets its group and frees whatever is back at its default.
    pub(super) fn set_in_group(&mut self, group: Option<Arc<str>>, holds_place: bool) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.in_group = group.map(|name| Box::new(InGroup { name, holds_place }));
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    fn in_group(&self) -> Option<&InGroup> {
        self.extras.as_ref()?.in_group.as_deref()
    }
}
