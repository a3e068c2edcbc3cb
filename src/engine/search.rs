//! What a peek shows when no job of a topic is ready: the delayed one whose time comes first.
//!
//! No index says that: one by topic and time would cost each job more memory than all else that is kept of a far one. So
//! all near jobs are looked at, and in the store as many far ones as it takes: a bounded number at once, with other work
//! between. What is found is the first if nothing of the topic changes meanwhile. Something is found if there is anything.

use super::Engine;
use super::clock::Moment;
use super::command::JobSelect;
use super::jobs::{Job, Slot};
use super::outcome::JobView;
use super::store::{FarSearch, JobStore};
use crate::types::{JobId, JobState, TopicId};

/// A search for the job of a topic that would be reserved next.
#[derive(Clone, Debug)]
pub struct Search {
    topic: TopicId,
    /// Near jobs before this slot were looked at.
    next_slot: Slot,
    near: Option<Candidate>,
    far: FarSearch,
}

/// A delayed job, and when its timer fires, as a stamp.
type Candidate = (i128, JobId);

/// How far a search has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// To its end.
    Job(JobView),
    /// To its end: the topic has no job that is ready or delayed.
    Nothing,
    /// What it was allowed to look at is used up.
    NotYet,
}

impl Search {
    /// Begins one.
    pub fn new(topic: TopicId) -> Self {
        Self { topic, next_slot: 0, near: None, far: FarSearch::new(topic) }
    }

    /// The topic whose job is searched for.
    pub fn topic(&self) -> TopicId {
        self.topic
    }
}

impl Engine {
    /// Goes on with a search: takes as many jobs as it looks at from `budget`, and stops when that is 0.
    pub fn search<S: JobStore>(
        &self,
        search: &mut Search,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Found, S::Error> {
        let Some(topic) = self.topics.find(search.topic) else { return Ok(Found::Nothing) };
        if let Some((.., slot)) = topic.ready.first() {
            return Ok(Found::Job(self.view(&self.jobs[*slot])));
        }
        if topic.delayed == 0 {
            return Ok(Found::Nothing);
        }
        if !self.search_near(search, budget) {
            return Ok(Found::NotYet);
        }
        if self.jobs.far().len() > 0 && !store.search_far(&mut search.far, budget)? {
            return Ok(Found::NotYet);
        }
        let far = search
            .far
            .found()
            .map(|(line, timer)| (self.clock.as_stamp(Moment { line, at: timer.at }), timer.job));
        let mut candidates: Vec<Candidate> = search.near.into_iter().chain(far).collect();
        candidates.sort_unstable();
        for (_, job) in candidates {
            let view = self.job(&JobSelect::Id(job), store)?;
            let delayed = |view: &JobView| view.state == JobState::Delayed && view.topic == search.topic;
            if let Some(view) = view.filter(delayed) {
                return Ok(Found::Job(view));
            }
        }
        // What was found has gone meanwhile, or was moved past where the search had come.
        *search = Search::new(search.topic);
        Ok(Found::NotYet)
    }

    /// Looks at near jobs. Whether it has seen all of them.
    fn search_near(&self, search: &mut Search, budget: &mut usize) -> bool {
        let jobs = self.jobs.slots_from(search.next_slot).take(*budget);
        for job in jobs {
            search.next_slot += 1;
            *budget -= 1;
            let wanted = |job: &&Job| job.state == JobState::Delayed && job.topic == search.topic;
            let timer = job.filter(wanted).and_then(|job| Some((self.clock.as_stamp(job.timer()?), job.id)));
            search.near = search.near.into_iter().chain(timer).min();
        }
        self.jobs.slots_from(search.next_slot).next().is_none()
    }
}
