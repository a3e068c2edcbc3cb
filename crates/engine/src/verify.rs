//! Checks of the engine against itself: they recompute from scratch what is maintained incrementally.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use super::hash::Sum;
use super::jobs::Found;
use super::store::JobStore;
use crate::capture::state_metadata::RestoreError;
use crate::job::KeyHash;
use crate::job::in_group::GroupPart;
use crate::outcome::TopicView;
use crate::timers::firing_of;
use crate::topics::ready::{Rank, buried_rank_of, rank_of, reached_rank_of};
use crate::topics::topic::Topic;
use adjourn_types::{JobId, JobState, SessionId, TopicId};

impl Engine {
    /// Counts all jobs and sums their hashes from scratch; spilled jobs are read from the store. The inner error names the
    /// first difference from the recorded state. For files whose content is not trusted.
    pub fn recount<S: JobStore>(&self, store: &mut S) -> Result<Result<(), RestoreError>, S::Error> {
        let mut by_topic: BTreeMap<TopicId, [u64; 6]> = BTreeMap::new();
        let mut sum = Sum::default();
        let mut count = |topic, state| {
            if let Some(count) = by_topic.entry(topic).or_default().get_mut(state as usize) {
                *count += 1;
            }
        };
        for (_, job) in self.jobs.iter() {
            count(job.topic, job.state);
            sum.add(job.hash());
        }
        for (id, key_hash, place) in self.jobs.spilled().iter() {
            let saved = store.spilled_job(place)?;
            let same = (saved.id(), saved.key_hash(), saved.state())
                == (id, key_hash.map(KeyHash::get), JobState::Delayed);
            if !same || saved.fence().0 > self.numbers.last_fence() {
                return Ok(Err(RestoreError::Job(id)));
            }
            count(saved.topic(), JobState::Delayed);
            sum.add(saved.hash());
        }
        for view in self.topics.views() {
            let counts = by_topic.remove(&view.id).unwrap_or_default();
            if counts != counts_of(&view) {
                return Ok(Err(RestoreError::TopicJobs(view.id.0)));
            }
        }
        if let Some((topic, _)) = by_topic.pop_first() {
            return Ok(Err(RestoreError::TopicJobs(topic.0)));
        }
        self.add_all_but_jobs(&mut sum);
        Ok(if sum == self.sum { Ok(()) } else { Err(RestoreError::Hash) })
    }

    /// Accepts the jobs as they are and recomputes the state hash and the topics' bytes from them.
    pub fn sum_anew<S: JobStore>(&mut self, store: &mut S) -> Result<(), S::Error> {
        let mut sum = Sum::default();
        let mut bytes: BTreeMap<TopicId, u64> = BTreeMap::new();
        for (_, job) in self.jobs.iter() {
            sum.add(job.hash());
            *bytes.entry(job.topic).or_default() += job.counted_bytes();
        }
        for (.., place) in self.jobs.spilled().iter() {
            let job = store.spilled_job(place)?.into_job(place);
            sum.add(job.hash());
            *bytes.entry(job.topic).or_default() += job.counted_bytes();
        }
        self.topics.set_bytes(&bytes);
        self.add_all_but_jobs(&mut sum);
        self.sum = sum;
        Ok(())
    }

    fn add_all_but_jobs(&self, sum: &mut Sum) {
        sum.add(self.topics.hash());
        sum.add(self.sessions.hash());
        sum.add(self.finished.hash());
        sum.add(self.idempotent.hash());
        sum.add(self.members.hash());
    }

    /// Panics if counters, orders, indexes, timers or the state hash do not match the jobs. For tests and for debugging: it
    /// visits every job.
    #[doc(hidden)]
    pub fn verify<S: JobStore<Error: std::fmt::Debug>>(&self, store: &mut S) {
        let mut by_topic: BTreeMap<TopicId, ([BTreeSet<Rank>; 2], [u64; 6])> = BTreeMap::new();
        let mut bytes: BTreeMap<TopicId, u64> = BTreeMap::new();
        let (mut held, mut reached) = (BTreeSet::new(), BTreeSet::new());
        let mut sum = Sum::default();
        for (slot, job) in self.jobs.iter() {
            assert_eq!(self.jobs.resident(job.id), Some(slot), "the index of ids");
            if let Some(key_hash) = job.key_hash() {
                assert_eq!(self.jobs.find_key(key_hash), Some(Found::Resident(slot)), "the index of keys");
            }
            assert_eq!(self.timers.at(slot), job.timer().map(|timer| timer.at), "the timer of {job:?}");
            assert!(
                job.id.sequence() <= self.numbers.last_job() && job.fence().0 <= self.numbers.last_fence(),
                "{job:?}"
            );
            reached.extend(reached_rank_of(job, slot));
            let ([ready, buried], counts) = by_topic.entry(job.topic).or_default();
            if let Some(count) = counts.get_mut(job.state as usize) {
                *count += 1;
            }
            match job.state {
                JobState::Ready => _ = ready.insert(rank_of(job, slot)),
                JobState::Buried => _ = buried.insert(buried_rank_of(job, slot)),
                JobState::Delayed | JobState::Reserved | JobState::Finished | JobState::Scheduled => {}
            }
            if job.holder() != SessionId::NONE {
                held.insert((job.holder(), job.id, slot));
            }
            *bytes.entry(job.topic).or_default() += job.counted_bytes();
            sum.add(job.hash());
        }
        for (id, key_hash, place) in self.jobs.spilled().iter() {
            let saved = store.spilled_job(place).expect("a spilled job can be read");
            assert_eq!((saved.id(), saved.key_hash()), (id, key_hash.map(KeyHash::get)), "a spilled job");
            let found = self.jobs.find(id);
            assert!(matches!(found, Some(Found::Spilled(_))), "the index of ids");
            assert!(key_hash.is_none_or(|key_hash| self.jobs.find_key(key_hash) == found), "and of keys");
            let (_, [delayed, ..]) = by_topic.entry(saved.topic()).or_default();
            *delayed += 1;
            *bytes.entry(saved.topic()).or_default() += saved.clone().into_job(place).counted_bytes();
            sum.add(saved.hash());
        }
        assert_eq!(
            self.jobs.iter().count() + self.jobs.spilled().len(),
            self.jobs.len(),
            "the number of jobs"
        );
        assert!(self.sessions.leases().eq(held), "the leases of sessions");
        assert!(self.timers.reached().eq(&reached), "the jobs that rest on the wall clock");
        self.verify_schedules();
        self.verify_groups();
        self.topics.verify_listed();
        self.verify_topics(by_topic, bytes);
        self.add_all_but_jobs(&mut sum);
        assert_eq!(sum, self.sum, "the sum of the state hash");
    }

    /// The part of [`Self::verify`] about topics: what their jobs make of them.
    fn verify_topics(
        &self,
        mut by_topic: BTreeMap<TopicId, ([BTreeSet<Rank>; 2], [u64; 6])>,
        mut bytes: BTreeMap<TopicId, u64>,
    ) {
        let in_order: u64 = self.topics.views().map(|view| view.ready + view.buried).sum();
        assert_eq!(self.topics.in_order() as u64, in_order, "the jobs that are ready or buried");
        for view in self.topics.views() {
            let ([ready, buried], counts) = by_topic.remove(&view.id).unwrap_or_default();
            assert_eq!(counts_of(&view), counts, "{view:?}");
            let topic = self.topics.find(view.id);
            assert_eq!(topic.map(Topic::ready_ranks), Some(ready), "the ready order");
            assert!(topic.is_some_and(|topic| topic.buried.iter().eq(&buried)), "the order of buried jobs");
            let can_deliver = topic.is_some_and(|topic| topic.can_deliver(self.clock.stamp));
            assert_eq!(
                self.topics.deliverable().contains(&view.id),
                can_deliver,
                "the topics that can deliver: {view:?}"
            );
            let bytes = bytes.remove(&view.id).unwrap_or_default();
            assert_eq!(self.topic_bytes(view.id), bytes, "the bytes of {view:?}");
        }
    }

    /// The part of [`Self::verify`] about groups.
    fn verify_groups(&self) {
        let mut by_topic: BTreeMap<TopicId, BTreeMap<(&str, GroupPart), u32>> = BTreeMap::new();
        for (_, job) in self.jobs.iter() {
            if let Some(part) = job.group_part() {
                let name = job.group().map(AsRef::as_ref).unwrap_or_default();
                *by_topic.entry(job.topic).or_default().entry((name, part)).or_default() += 1;
            }
        }
        for view in self.topics.views() {
            let jobs = by_topic.remove(&view.id).unwrap_or_default();
            self.topics.find(view.id).inspect(|topic| topic.verify_groups(&jobs, self.clock.stamp));
        }
    }

    /// The part of [`Self::verify`] about schedules.
    fn verify_schedules(&self) {
        let to_fire: BTreeSet<_> = self.jobs.iter().filter_map(|(slot, job)| firing_of(job, slot)).collect();
        assert!(self.timers.to_fire().eq(&to_fire), "the schedules whose instant has come");
        let schedules = self.jobs.iter().filter(|(_, job)| job.schedule().is_some());
        let with: BTreeSet<_> = schedules.map(|(_, job)| job.topic).collect();
        let found = self.topics.with_schedules(TopicId(0)).map(|(id, _)| id);
        assert!(found.eq(with), "the topics with schedules");
        let mut running = BTreeMap::<JobId, u32>::new();
        for schedule in self.jobs.iter().filter_map(|(_, job)| job.runs_for()) {
            *running.entry(schedule).or_default() += 1;
        }
        for (_, job) in self.jobs.iter() {
            if let Some(schedule) = job.schedule() {
                assert_eq!(schedule.running, running.remove(&job.id).unwrap_or_default(), "{job:?}");
            }
        }
        assert!(
            running.keys().all(|gone| self.jobs.find(*gone).is_none()),
            "jobs of schedules that are gone"
        );
    }
}

/// A topic's counters, in the order of [`JobState`].
fn counts_of(view: &TopicView<'_>) -> [u64; 6] {
    [view.delayed, view.ready, view.reserved, view.buried, view.remembered, view.schedules]
}
