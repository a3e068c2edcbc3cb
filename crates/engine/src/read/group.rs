//! Groups as readers see them.

use crate::Engine;
use crate::topics::groups::GroupView;
use adjourn_types::TopicId;

impl Engine {
    /// The groups of a topic whose names begin like this and come after the other text, by name: those that have a job that is
    /// ready or reserved or holds the group's place, settings, or a rate to remember.
    pub fn groups_after<'a>(
        &'a self,
        topic: TopicId,
        prefix: &'a str,
        after: &str,
    ) -> impl Iterator<Item = GroupView<'a>> {
        let (found, stamp) = (self.topics.find(topic), self.clock.stamp);
        found.map(|topic| topic.groups_after(prefix, after, stamp)).into_iter().flatten()
    }

    /// A group of a topic.
    pub fn group(&self, topic: TopicId, name: &str) -> Option<GroupView<'_>> {
        self.topics.find(topic)?.group(name, self.clock.stamp)
    }
}
