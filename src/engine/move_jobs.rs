//! Jobs that go to another topic: many at once, for an operator.
//!
//! A job keeps its id, its state, its due time and all that happened to it. Its key is unique in its topic, so the hash of the
//! key is another one there. No key is read for that: the command brings each job's key along.

use super::Engine;
use super::command::{Conditions, KeyedJob, TopicSelect};
use super::events::JobEventKind;
use super::job::KeyHash;
use super::jobs::{Found, Slot};
use super::outcome::{Outcome, Reject};
use crate::types::{Filter, JobState, TopicId};

/// Whether a job moves to another topic.
enum Moves {
    /// It goes.
    Goes(Slot),
    /// Another job has its key there.
    InTheWay,
    /// It is not meant, or may not go.
    Stays,
}

impl Engine {
    /// Moves each of these jobs that is there, meets the conditions and may go. They are resident by now.
    pub(super) fn move_many(
        &mut self,
        from: Option<TopicSelect<'_>>,
        to: TopicSelect<'_>,
        jobs: &[KeyedJob<'_>],
        conditions: &Conditions<'_>,
    ) -> Result<Outcome, Reject> {
        let (mut moved, mut in_the_way) = (0, 0);
        let Ok(from) = self.known_or_all(from) else { return Ok(Outcome::Moved { jobs: moved, in_the_way }) };
        let filter = conditions.filter();
        for job in jobs {
            match self.may_move(job, from, to, &filter) {
                Moves::Goes(slot) => {
                    // Made when the first job goes there: nothing was changed yet if that is refused.
                    let topic = self.intern(to)?;
                    self.move_job(slot, topic, job.key.map(|key| self.key_hash(topic, key)));
                    moved += 1;
                }
                Moves::InTheWay => in_the_way += 1,
                Moves::Stays => {}
            }
        }
        Ok(Outcome::Moved { jobs: moved, in_the_way })
    }

    /// Puts a job that is not reserved into another topic, under this hash of its key there, which no job has. With `None` it is
    /// no longer found by its key, and its key may be used again in both topics. It counts as deleted from the one and as pushed to
    /// the other, so that the counts of each topic add up.
    pub(super) fn move_job(&mut self, slot: Slot, topic: TopicId, key_hash: Option<KeyHash>) {
        debug_assert!(self.jobs[slot].state != JobState::Reserved, "its consumer has a lease on it");
        // A job that is remembered was counted as finished where it was.
        if self.jobs[slot].state != JobState::Finished {
            self.topics.totals(self.jobs[slot].topic).deleted += 1;
            self.topics.totals(topic).pushed += 1;
        }
        self.note_event(slot, JobEventKind::Moved);
        self.leave(slot);
        self.jobs.set_topic(slot, topic, key_hash);
        self.enter(slot);
        self.note_event(slot, JobEventKind::Moved);
    }

    fn may_move(
        &self,
        job: &KeyedJob<'_>,
        from: Option<TopicId>,
        to: TopicSelect<'_>,
        filter: &Filter,
    ) -> Moves {
        let Some(Found::Resident(slot)) = self.jobs.find(job.job) else { return Moves::Stays };
        let found = &self.jobs[slot];
        let to = self.known(to);
        if to == Some(found.topic)
            || found.state == JobState::Reserved
            || !self.meets(filter, from, found)
            || !self.is_key_of(job.key, slot)
        {
            return Moves::Stays;
        }
        let taken = |key| self.jobs.find_key(self.key_hash(to?, key));
        if job.key.and_then(taken).is_some() { Moves::InTheWay } else { Moves::Goes(slot) }
    }

    /// Whether this is the key of a job, as far as the state can tell: of a job that is not found by its key it knows nothing.
    fn is_key_of(&self, key: Option<&[u8]>, slot: Slot) -> bool {
        let job = &self.jobs[slot];
        job.key_hash().is_none_or(|key_hash| key.is_some_and(|key| self.key_hash(job.topic, key) == key_hash))
    }
}

#[cfg(test)]
impl Engine {
    /// Moves a job without its key being found any more. Panics if there is no such job.
    pub(crate) fn move_without_key<S>(&mut self, job: crate::types::JobId, topic: &str, store: &mut S)
    where
        S: super::store::JobStore<Error: std::fmt::Debug>,
    {
        let topic = self.intern(TopicSelect::Name(topic)).expect("there is room");
        let named = super::Command::Delete { job: super::JobSelect::Id(job) };
        self.load_named(&named, store).expect("read");
        let slot = self.jobs.resident(job).expect("it is there");
        self.move_job(slot, topic, None);
        self.topics.settle(None, &mut self.sum);
    }
}
