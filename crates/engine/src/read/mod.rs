//! Queries. They change nothing that is hashed.
//!
//! Some take `&mut self`: the timers may sort ahead for an answer, which affects no outcome.

mod group;
pub(crate) mod list;
pub(crate) mod listing;
pub(crate) mod schedule;
mod why;

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Engine;
use crate::defaults::AfterFailure;
use crate::events::JobEvent;
use crate::hash::{Element, Kind};
use crate::job::Job;
use crate::jobs::{Found, Slot};
use crate::outcome::{FinishedView, Grant, JobView, SessionStatus, SessionView, TopicView};
use crate::store::JobStore;
use crate::timers::moved::Moved;
use crate::topics::TopicTotals;
use list::JobPass;
use listing::{Listed, Listing};

use adjourn_types::limits::DUE_PER_ENTRY_MAX;
use adjourn_types::{
    Filter, JobHistory, JobId, JobState, Lease, Member, Millis, RetryDefaults, SessionId, SessionSecret,
    TopicId, TopicPolicy,
};

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

    /// True after the genesis.
    pub fn has_genesis(&self) -> bool {
        self.key_secret.0.is_some()
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

    /// The totals of all topics that were deleted or forgotten.
    pub fn forgotten_topics(&self) -> TopicTotals {
        self.topics.forgotten()
    }

    /// Every topic, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicView<'_>> {
        self.topics.views()
    }

    /// The topics after this name, in the order of names.
    pub fn topics_after(&self, name: Option<&str>) -> impl Iterator<Item = TopicView<'_>> {
        self.topics.views_after(name)
    }

    /// The number that the next new topic gets.
    pub fn next_topic(&self) -> TopicId {
        TopicId(self.topics.next)
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.views().len()
    }

    /// Topics from which a reserve could get a job now.
    pub fn deliverable_topics(&self) -> &BTreeSet<TopicId> {
        self.topics.deliverable()
    }

    /// Calls `visit` with the topic of each resident job that an entry with this stamp would make ready, in that order.
    /// Returns true if another entry is needed at once: for more jobs than one moves, for jobs that must wait again because the
    /// wall clock was set back, or for a schedule whose instant has come, which is fired behind this one.
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
            let expired = job.is_expired(clock);
            let ready = match job.state {
                JobState::Delayed => job.also_due().is_none_or(|also| clock.reached(also)),
                JobState::Reserved => {
                    // Its end makes room under its topic's limit on leases, for another job.
                    let retries = matches!(self.defaults.after_failure(job, None), AfterFailure::Retry);
                    retries || self.topics.rule(job.topic).is_some()
                }
                JobState::Ready | JobState::Buried | JobState::Finished | JobState::Scheduled => false,
            };
            if ready && !expired && clock.reached(job.due()) {
                visit(job.topic);
            }
        }
        let instant_has_come = self.timers.first_instant(clock).is_some();
        moved.is_enough() || instant_has_come || self.timers.too_far(clock).is_some()
    }

    /// True if an entry with this stamp would move any job: make it ready, or wait again, end its lease or drop it.
    pub fn is_overdue(&mut self, stamp: Millis) -> bool {
        let clock = self.clock.at(stamp.max(self.clock.stamp));
        self.timers.first(clock).is_some()
            || self.timers.first_instant(clock).is_some()
            || self.timers.too_far(clock).is_some()
    }

    /// A stamp after `after` before which no timer of a resident job fires: the first timer's own if that is soon, else an
    /// earlier one at which to ask again. `None` without timers. Timers that fire at `after` or before are not considered:
    /// see [`Engine::is_overdue`].
    pub fn next_deadline_after(&mut self, after: Millis) -> Option<Millis> {
        self.timers.next_after(self.clock.at(after))
    }

    /// Sorts timers up to `stamp` ahead, in at most `budget` steps of one timer each, so that an entry need not. Returns
    /// true when complete. A few seconds ahead of the clock spread the work; hours ahead would make setting and cancelling
    /// timers of that time cost O(log n).
    pub fn prepare(&mut self, stamp: Millis, budget: usize) -> bool {
        self.timers.prepare(self.clock.at(stamp), budget)
    }

    /// The status of a session for a client that presents this secret.
    pub fn session_matches(&self, session: SessionId, secret: &SessionSecret) -> SessionStatus {
        self.sessions.status(session, secret)
    }

    /// The live sessions, by id.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView> {
        self.sessions.views()
    }

    /// The leases that a session holds, by job id, for ids greater than `after`. Leases that outlive their session belong
    /// to none.
    pub fn leases_of(&self, session: SessionId, after: JobId) -> impl Iterator<Item = Grant> {
        self.sessions.leases_of(session, after).map(|slot| self.granted(slot))
    }

    /// The number of leases that a session holds, without those that outlive it.
    pub fn lease_count(&self, session: SessionId) -> usize {
        self.sessions.lease_count(session)
    }

    /// The lapsed sessions that still have leases to give back, by id.
    pub fn lapsing_sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.lapsing()
    }

    /// The stamp at which the queue forgets the next lapsed session, which makes room for a new one. `None` if none lapsed.
    pub fn session_room_at(&self) -> Option<Millis> {
        self.sessions.room_at()
    }

    /// True if this session has not lapsed.
    pub fn is_session_live(&self, session: SessionId) -> bool {
        self.sessions.is_live(session)
    }

    /// The number of sessions, lapsed ones included.
    pub fn session_count(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// A hash of the whole state: equal on every replica at the same index.
    pub fn state_hash(&self) -> u128 {
        let mut scalars = Element::new(Kind::Scalars);
        scalars.word(self.numbers.group().0.into()).word(u64::from(self.key_secret.0.is_some()));
        scalars.wide(u128::from_le_bytes(self.key_secret.0.unwrap_or_default()));
        scalars.word(self.clock.stamp.0).word(self.clock.offset_ms.cast_unsigned());
        scalars.word(self.numbers.last_job()).word(self.numbers.last_fence());
        scalars.word(self.sessions.last());
        scalars.word(self.members.feature_level().into()).word(self.defaults.digest());
        if let Some(forward) = self.clock.forward {
            scalars.word(forward.at.0).word(forward.before_ms.cast_unsigned());
        }
        self.sum.with(scalars.hash())
    }

    /// The members of the cluster, by number.
    pub fn members(&self) -> &std::collections::BTreeMap<u64, Member> {
        self.members.all()
    }

    /// The numbers of former members.
    pub fn removed_members(&self) -> impl Iterator<Item = u64> {
        self.members.removed()
    }

    /// True if a node is a former member.
    pub fn was_member(&self, node: u64) -> bool {
        self.members.was_removed(node)
    }

    /// The feature level that all members support.
    pub fn feature_level(&self) -> u32 {
        self.members.feature_level()
    }

    /// The number of jobs, including finished ones that are still remembered.
    pub fn jobs(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// The number of spilled jobs.
    pub fn spilled_jobs(&self) -> u64 {
        self.jobs.spilled().len() as u64
    }

    /// An estimate of the memory of jobs and sessions, without the jobs' records, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let jobs = self.jobs.memory_bytes() + self.timers.memory_bytes() + self.topics.memory_bytes();
        let recent = self.finished.memory_bytes() + self.idempotent.memory_bytes();
        jobs + self.sessions.memory_bytes() + recent
    }

    /// An estimate of the memory of [`Engine::metadata`] and its encoding, in bytes.
    pub fn metadata_bytes(&self) -> usize {
        2 * (self.sessions.saved_bytes() + self.topics.saved_bytes())
    }

    /// The settings of a topic; `None` if it has none.
    pub fn topic_policy(&self, topic: TopicId) -> Option<&TopicPolicy> {
        self.topics.policy(topic)
    }

    /// Bytes of the bodies of a topic's jobs.
    pub fn topic_bytes(&self, topic: TopicId) -> u64 {
        self.topics.find(topic).map_or(0, |topic| topic.bytes)
    }

    /// How many jobs of a topic a reserve at this stamp could get, if `coming` more were ready by then.
    pub fn available(&self, topic: TopicId, coming: u64, stamp: Millis) -> u64 {
        self.topics.available(topic, coming, stamp.max(self.clock.stamp))
    }

    /// Topics whose rate allows a delivery at this stamp at the latest, or whose pause ends by then.
    pub fn free_by(&self, stamp: Millis) -> impl Iterator<Item = TopicId> {
        self.topics.throttled().range(..=(stamp, TopicId(u32::MAX))).map(|(_, topic)| *topic)
    }

    /// The first stamp after this one at which the rate of a wanted topic allows a delivery, or its pause ends. Some topics may by then wait
    /// for something else.
    pub fn next_free(&self, stamp: Millis, is_wanted: impl Fn(TopicId) -> bool) -> Option<Millis> {
        self.topics
            .throttled()
            .range((stamp.after(1), TopicId(0))..)
            .find(|(_, topic)| is_wanted(*topic))
            .map(|(at, _)| *at)
    }

    /// The retry defaults for jobs that are pushed now.
    pub fn retry_defaults(&self) -> &RetryDefaults {
        self.defaults.get(self.defaults.current())
    }

    /// The oldest job with this key in the topics that `is_seen` accepts, without finished ones. It is one look-up for each
    /// topic; nothing is read from the store.
    pub fn oldest_with_key(&self, key: &[u8], is_seen: impl Fn(&TopicView<'_>) -> bool) -> Option<JobId> {
        let with_key = |topic: &TopicView<'_>| self.jobs.find_key(self.key_secret.hash(topic.id, key));
        let is_live =
            |found: &Found| found.resident().is_none_or(|slot| self.jobs[slot].state != JobState::Finished);
        let seen = self.topics.views().filter(is_seen);
        seen.filter_map(|topic| with_key(&topic)).filter(is_live).map(|found| self.jobs.id(found)).min()
    }

    /// The finish of this job, if it is still remembered at `stamp`.
    pub fn finished_job(&self, job: JobId, stamp: Millis) -> Option<FinishedView> {
        let finish = self.finished.find(job, stamp)?;
        self.topics.find(finish.topic)?;
        Some(FinishedView { topic: finish.topic, attempts: finish.attempts, at: self.wall(finish.at) })
    }

    /// The topic of a job that may be leased, or whose finish is still remembered at `stamp`. Leased jobs are resident, so
    /// nothing is read from the store.
    pub fn topic_of_leased(&self, job: JobId, stamp: Millis) -> Option<TopicId> {
        let resident = self.jobs.resident(job).map(|slot| self.jobs[slot].topic);
        resident.or_else(|| self.finished_job(job, stamp).map(|finished| finished.topic))
    }

    /// True if this lease is the job's current one.
    pub fn holds(&self, lease: Lease) -> bool {
        self.held(lease).is_some()
    }

    /// The slot of the job if this lease is its current one.
    pub(super) fn held(&self, lease: Lease) -> Option<Slot> {
        let slot = self.jobs.resident(lease.job)?;
        let job = &self.jobs[slot];
        (job.state == JobState::Reserved && job.fence() == lease.fence).then_some(slot)
    }

    /// The number of matching jobs, from the topics' counters. `None` if the filter has other conditions than topic and
    /// states.
    pub fn count_by_state(&self, filter: &Filter) -> Option<u64> {
        let Filter { topic, states, .. } = filter;
        if *filter != (Filter { topic: topic.clone(), states: *states, ..Filter::default() }) {
            return None;
        }
        let one = |view: TopicView<'_>| {
            let of_state = |state| match state {
                JobState::Delayed => view.delayed,
                JobState::Ready => view.ready,
                JobState::Reserved => view.reserved,
                JobState::Buried => view.buried,
                JobState::Finished => view.remembered,
                JobState::Scheduled => view.schedules,
            };
            states.iter().map(of_state).sum::<u64>()
        };
        Some(match topic {
            Some(name) => self.topic_id(name.as_str()).and_then(|id| self.topic(id)).map_or(0, one),
            None => self.topics().map(one).sum(),
        })
    }

    /// Continues a pass. Each job that it looks at takes 1 from `budget`; it stops at 0.
    pub fn list<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Listed, S::Error> {
        JobPass { engine: self, listing, budget, store }.go_on()
    }

    /// The job to be reserved next: the first ready one, else the one that a [pass](Listing::first_delayed) finds.
    pub fn peek<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Listed, S::Error> {
        JobPass { engine: self, listing, budget, store }.peek()
    }

    /// Starts or stops making events.
    pub fn watch_jobs(&mut self, is_watched: bool) {
        self.events.watch(is_watched);
    }

    /// The events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<JobEvent> {
        self.events.take()
    }

    /// The number of changes to jobs since this engine was created.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The lease on a reserved job.
    pub(super) fn granted(&self, slot: Slot) -> Grant {
        let job = &self.jobs[slot];
        Grant {
            lease: job.lease(),
            topic: job.topic,
            priority: job.priority,
            attempts: job.attempts,
            due: self.clock.as_wall(job.due()),
            deadline: Millis(job.since),
            body: job.body,
        }
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
            expires: job.expires().map(|expires| self.clock.as_wall(expires)),
            attempts_max: self.defaults.attempts_max(job),
            backoff: self.defaults.backoff(job).cloned(),
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
            history.edited = wall(past.edited);
            history.held_by = past.held_by.as_deref().map(str::to_owned);
            history.reason = past.reason.as_deref().map(str::to_owned);
        }
        history
    }
}

/// A number that differs between all states of a job, and from those of an earlier job with its key. Also from that under
/// a lease that a crash took back: the number of changes comes again then, and the fence does not.
pub(super) fn version_of(job: &Job) -> u64 {
    let fence = job.fence().0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    xxh3_64_with_seed(&job.id.0.to_le_bytes(), u64::from(job.changes) ^ fence).max(1)
}
