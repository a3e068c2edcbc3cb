//! Queries. Nothing here changes anything that is hashed.
//!
//! Some calls take `&mut self`: the timers may collect ahead of an answer, which no outcome ever shows.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Engine;
use super::hash::{Element, Kind};
use super::job::Job;
use super::jobs::Slot;
use super::outcome::{Grant, JobView, SessionStatus, SessionView, TopicView};
use super::topics::TopicTotals;
use super::transition::{AfterFailure, Moved};
use crate::types::limits::DUE_PER_ENTRY_MAX;
use crate::types::{JobHistory, JobId, JobState, Member, Millis, SessionId, SessionSecret, TopicId};

impl Engine {
    /// The stamp of the last entry; it never goes back.
    pub fn stamp(&self) -> Millis {
        self.clock.stamp
    }

    /// How far the wall clock is ahead of the stamp (negative: behind it), in milliseconds.
    pub fn clock_offset_ms(&self) -> i64 {
        self.clock.offset_ms
    }

    /// The wall clock at a stamp.
    pub fn wall(&self, stamp: Millis) -> Millis {
        self.clock.at(stamp).wall()
    }

    /// Whether the queue was founded.
    pub fn has_genesis(&self) -> bool {
        self.key_secret.is_some()
    }

    /// The number of the topic with this name.
    pub fn topic_id(&self, name: &str) -> Option<TopicId> {
        self.topics.id(name)
    }

    /// A topic.
    pub fn topic(&self, id: TopicId) -> Option<TopicView<'_>> {
        self.topics.find(id).map(|topic| topic.view(id))
    }

    /// The first topic with this number or a later one.
    pub fn first_topic_from(&self, id: TopicId) -> Option<TopicView<'_>> {
        self.topics.first_from(id).map(|(id, topic)| topic.view(id))
    }

    /// What topics counted that were forgotten because they had no jobs.
    pub fn forgotten_topics(&self) -> TopicTotals {
        self.topics.forgotten()
    }

    /// Every topic, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicView<'_>> {
        self.topics.views()
    }

    /// The topics behind this name, by name.
    pub fn topics_after(&self, name: Option<&str>) -> impl Iterator<Item = TopicView<'_>> {
        self.topics.views_after(name)
    }

    /// The number of the next topic that is made.
    pub fn next_topic(&self) -> TopicId {
        TopicId(self.topics.next)
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.views().len()
    }

    /// Topics from which a reserve could have a job now.
    pub fn deliverable_topics(&self) -> &BTreeSet<TopicId> {
        self.topics.deliverable()
    }

    /// Calls `visit` with the topic of each job that an entry with this stamp would make ready, in the order in
    /// which it would; of spilled jobs it knows nothing. Returns whether there may be more than one entry moves, or jobs that
    /// the wall clock does not make ready any more.
    pub fn due_topics(&mut self, stamp: Millis, visit: &mut dyn FnMut(TopicId)) -> bool {
        let clock = self.clock.at(stamp.max(self.clock.stamp));
        let due: Vec<Slot> = self.timers.due(clock, DUE_PER_ENTRY_MAX).collect();
        let mut moved = Moved::default();
        for slot in &due {
            if moved.is_enough() {
                break;
            }
            let job = &self.jobs[*slot];
            moved.add(job);
            let expired = job.expires().is_some_and(|expires| clock.reached(expires));
            let ready = match job.state {
                JobState::Delayed => job.also_due().is_none_or(|also| clock.reached(also)),
                JobState::Reserved => {
                    // Another job of its topic may have its place among the leases.
                    let retries = matches!(self.after_failure(job, None), AfterFailure::Retry);
                    retries || self.rule(job.topic).is_some()
                }
                JobState::Ready | JobState::Buried | JobState::Finished => false,
            };
            if ready && !expired && clock.reached(job.due()) {
                visit(job.topic);
            }
        }
        moved.is_enough() || self.timers.too_far(clock).is_some()
    }

    /// Whether an entry with this stamp would move any job: make it ready, or wait again, end its lease or drop it.
    pub fn is_overdue(&mut self, stamp: Millis) -> bool {
        let clock = self.clock.at(stamp.max(self.clock.stamp));
        self.timers.first(clock).is_some() || self.timers.too_far(clock).is_some()
    }

    /// A stamp after `after` at which to look again: no timer fires between the two. It is the first timer's own
    /// stamp when its job is resident, and a little before it when its job is spilled; `None` if there is no timer. What fires at `after` or before is for [`Engine::is_overdue`] to say.
    pub fn next_deadline_after(&mut self, after: Millis) -> Option<Millis> {
        self.timers.next_after(self.clock.at(after))
    }

    /// Collects the timers until `stamp` in order, in at most `budget` steps of one timer each, so that an entry finds it
    /// done. Returns whether it is complete. Looking a few seconds ahead of the clock spreads the work; looking hours
    /// ahead makes setting and cancelling timers of that time cost O(log n).
    pub fn prepare(&mut self, stamp: Millis, budget: usize) -> bool {
        self.timers.prepare(self.clock.at(stamp), budget)
    }

    /// What a client that shows this secret may expect of a session.
    pub fn session_matches(&self, session: SessionId, secret: &SessionSecret) -> SessionStatus {
        self.sessions.status(session, secret)
    }

    /// The sessions that have not lapsed, by id.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView> {
        self.sessions.views()
    }

    /// The leases that a session holds, by the ids of their jobs: those with a greater id than `after`. Leases that outlive their
    /// session belong to no session.
    pub fn leases_of(&self, session: SessionId, after: JobId) -> impl Iterator<Item = Grant> {
        self.sessions.leases_of(session, after).map(|slot| self.granted(slot))
    }

    /// How many leases a session holds, without those that outlive it.
    pub fn lease_count(&self, session: SessionId) -> usize {
        self.sessions.lease_count(session)
    }

    /// The sessions that lapsed and still have leases to give back, by id.
    pub fn lapsing_sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.lapsing()
    }

    /// When there may be room for one more session, as a stamp: one that lapsed is remembered no longer. `None` if none did.
    pub fn session_room_at(&self) -> Option<Millis> {
        self.sessions.room_at()
    }

    /// Whether this session has not lapsed.
    pub fn is_session_live(&self, session: SessionId) -> bool {
        self.sessions.is_live(session)
    }

    /// How many sessions the queue knows, lapsed ones included.
    pub fn session_count(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// A hash of the whole state: equal on every replica at the same index.
    pub fn state_hash(&self) -> u128 {
        let mut scalars = Element::new(Kind::Scalars);
        scalars.word(self.group.0.into()).word(u64::from(self.key_secret.is_some()));
        scalars.wide(u128::from_le_bytes(self.key_secret.unwrap_or_default()));
        scalars.word(self.clock.stamp.0).word(self.clock.offset_ms.cast_unsigned());
        scalars.word(self.last_job).word(self.last_fence);
        scalars.word(self.sessions.last());
        scalars.word(self.members.feature_level().into()).word(self.defaults.digest());
        if let Some(forward) = self.clock.forward {
            scalars.word(forward.at.0).word(forward.before_ms.cast_unsigned());
        }
        self.sum.with(scalars.hash())
    }

    /// The members of the cluster, by their numbers: where each is.
    pub fn members(&self) -> &std::collections::BTreeMap<u64, Member> {
        self.members.all()
    }

    /// The numbers of nodes that were members once, and are not any more.
    pub fn removed_members(&self) -> impl Iterator<Item = u64> {
        self.members.removed()
    }

    /// Whether a node was a member once, and is not any more.
    pub fn was_member(&self, node: u64) -> bool {
        self.members.was_removed(node)
    }

    /// What all members can do.
    pub fn feature_level(&self) -> u32 {
        self.members.feature_level()
    }

    /// How many jobs there are, finished ones that are remembered included.
    pub fn jobs(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// How many of them are spilled.
    pub fn spilled_jobs(&self) -> u64 {
        self.jobs.spilled().len() as u64
    }

    /// Bytes of memory that jobs and sessions take, without the jobs' records: an estimate.
    pub fn memory_bytes(&self) -> usize {
        let jobs = self.jobs.memory_bytes() + self.timers.memory_bytes() + self.topics.memory_bytes();
        let recent = self.finished.memory_bytes() + self.idempotent.memory_bytes();
        jobs + self.sessions.memory_bytes() + recent
    }

    /// Bytes of memory that [`Engine::metadata`] takes, with its encoding: an estimate.
    pub fn metadata_bytes(&self) -> usize {
        2 * (self.sessions.saved_bytes() + self.topics.saved_bytes())
    }

    pub(super) fn view(&self, job: &Job) -> JobView {
        let reserved = job.state == JobState::Reserved;
        JobView {
            id: job.id,
            state: job.state,
            topic: job.topic,
            priority: job.priority,
            attempts: job.attempts,
            due: self.clock.as_wall(job.due()),
            ttr_ms: job.ttr_ms,
            lease: reserved.then_some((job.fence(), Millis(job.since))),
            attempts_max: self.attempts_max(job),
            backoff: self.backoff(job).cloned(),
            buried: (job.state == JobState::Buried).then_some(job.buried),
            history: self.history(job),
            version: version_of(job),
            body: job.body,
        }
    }

    fn history(&self, job: &Job) -> JobHistory {
        let wall = |stamp: u64| (stamp != 0).then(|| self.wall(Millis(stamp)));
        let finished = (job.state == JobState::Finished).then(|| self.wall(Millis(job.since)));
        let mut history = JobHistory { pushed: wall(job.pushed_at), finished, ..JobHistory::default() };
        if let Some(past) = job.past() {
            history.reserved_first = wall(past.reserved_first);
            history.reserved_last = wall(past.reserved_last);
            history.held_by = (past.held_by != SessionId(0)).then_some(past.held_by);
            history.reason = past.reason.as_deref().map(str::to_owned);
        }
        history
    }
}

/// A number that no other state of this job had, nor one of the job that had its key before.
pub(super) fn version_of(job: &Job) -> u64 {
    xxh3_64_with_seed(&job.id.0.to_le_bytes(), job.changes.into()).max(1)
}
