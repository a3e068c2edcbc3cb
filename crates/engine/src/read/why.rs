//! Why a job, a topic or a group gives nothing now. The answers come from what decides about deliveries.

use crate::Engine;
use crate::jobs::Found;
use crate::outcome::JobView;
use crate::topics::hold::Hold;
use adjourn_types::{BuryReason, JobState, TopicId};

impl Engine {
    /// What holds back all jobs of a topic.
    pub fn holds_of_topic(&self, topic: TopicId) -> Vec<Hold> {
        let Some(topic) = self.topics.find(topic) else { return Vec::new() };
        let mut holds = topic.holds(self.clock.stamp);
        if topic.ready() == 0 {
            holds.push(Hold::Empty);
        } else if holds.is_empty() && !topic.can_deliver(self.clock.stamp) {
            holds.extend(topic.hold_of_first_group(self.clock.stamp));
        }
        holds
    }

    /// What holds back all jobs of a group.
    pub fn holds_of_group(&self, topic: TopicId, group: &str) -> Vec<Hold> {
        let Some(found) = self.topics.find(topic) else { return Vec::new() };
        let mut holds = found.holds(self.clock.stamp);
        match found.group(group, self.clock.stamp) {
            None => holds.push(Hold::Empty),
            Some(group) => {
                holds.extend(group.hold.map(|hold| Hold::Group(hold, group.reserved)));
                holds.extend((group.ready == 0).then_some(Hold::Empty));
            }
        }
        holds
    }

    /// What holds back a job: the most important reason first.
    pub fn holds_of_job(&self, view: &JobView) -> Vec<Hold> {
        match view.state {
            JobState::Delayed => vec![Hold::Delayed(view.due)],
            JobState::Reserved => {
                let until = view.lease.map(|(_, until)| until).unwrap_or_default();
                vec![Hold::Reserved(until)]
            }
            JobState::Buried => vec![Hold::Buried(view.buried.unwrap_or(BuryReason::Consumer))],
            JobState::Finished | JobState::Scheduled => vec![Hold::Finished],
            JobState::Ready => self.holds_of_ready(view),
        }
    }

    fn holds_of_ready(&self, view: &JobView) -> Vec<Hold> {
        let found = self.jobs.find(view.id).and_then(Found::resident);
        let (Some(slot), Some(topic)) = (found, self.topics.find(view.topic)) else { return Vec::new() };
        let job = &self.jobs[slot];
        let mut holds = topic.holds(self.clock.stamp);
        let group = job.group().and_then(|name| topic.group(name, self.clock.stamp));
        holds.extend(group.and_then(|group| Some(Hold::Group(group.hold?, group.reserved))));
        let (jobs, groups) = topic.before(slot, job);
        holds.extend((jobs + groups > 0).then_some(Hold::Behind { jobs, groups }));
        holds
    }
}
