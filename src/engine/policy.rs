//! Topic policies: what a topic decides for its jobs, and how much of its rates is used.
//!
//! Defaults are resolved when a job is pushed; a later change of the policy does not touch jobs that are there. Limits, rates, and
//! what happens to late jobs and to jobs that would be buried go by the policy of the moment.
//!
//! Rates follow the generic cell rate algorithm (ITU-T I.371), with the time at which the next delivery would come if all came
//! evenly as the only state. It tolerates a tenth of a second, less one interval: so slow rates are strict.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Engine;
use super::clock::{Moment, Timeline};
use super::command::{NewJob, TopicSelect};
use super::events::JobEventKind;
use super::hash::Element;
use super::job::{DUE_ANEW, Job};
use super::jobs::Slot;
use super::outcome::{Outcome, PushOutcome, Reject};
use super::retry::Retry;
use super::store::JobStore;
use crate::types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID, TTR_MS_DEFAULT};
use crate::types::{
    BuryReason, FEATURE_TOPIC_POLICY, JobState, LateAction, Millis, PolicyChange, TopicId, TopicPolicy,
};

/// Deliveries may come early by up to this time.
const TOLERANCE_NS: u64 = 100_000_000;
const NS_PER_MS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A topic's policy at work.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    policy: TopicPolicy,
    /// As stamps in nanoseconds: when the next delivery would come if all came evenly, and when the next late job is to come due.
    delivery_ns: u64,
    late_ns: u64,
}

/// What a checkpoint says of a topic once it has a policy, or jobs whose bytes are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedRule {
    pub(super) topic: TopicId,
    /// Of the bodies of its jobs, as far as they are counted.
    pub(super) bytes: u64,
    delivery_ns: u64,
    late_ns: u64,
    /// As [`TopicPolicy::encode`] writes it.
    #[serde(with = "serde_bytes")]
    policy: Vec<u8>,
}

/// What becomes of a job that comes due, or would be granted, later than its topic allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    InTime,
    /// It comes due anew.
    Later(Moment),
    Bury,
    Drop,
}

impl Rule {
    fn new(policy: TopicPolicy) -> Self {
        Self { policy, delivery_ns: 0, late_ns: 0 }
    }

    /// A rate that changes begins anew.
    fn change(&mut self, policy: TopicPolicy) {
        if policy.per_second_max != self.policy.per_second_max {
            self.delivery_ns = 0;
        }
        if policy.late != self.policy.late {
            self.late_ns = 0;
        }
        self.policy = policy;
    }

    pub(super) fn policy(&self) -> &TopicPolicy {
        &self.policy
    }

    /// How many deliveries the rate allows at this stamp.
    fn rate_room(&self, stamp: Millis) -> u64 {
        let Some(interval_ns) = self.interval_ns() else { return u64::MAX };
        let until_ns = nanos(stamp).saturating_add(TOLERANCE_NS.saturating_sub(interval_ns));
        let next_ns = self.delivery_ns.max(nanos(stamp));
        until_ns.checked_sub(next_ns).map_or(0, |left_ns| left_ns / interval_ns + 1)
    }

    /// When the rate allows a delivery again; `None` if it is not the rate that holds deliveries back.
    pub(super) fn free_at(&self, reserved: u64) -> Option<Millis> {
        let interval_ns = self.interval_ns().filter(|_| self.lease_room(reserved) > 0)?;
        let early_ns = TOLERANCE_NS.saturating_sub(interval_ns);
        Some(Millis(self.delivery_ns.saturating_sub(early_ns).div_ceil(NS_PER_MS)))
    }

    /// How many jobs may be granted at this stamp, beside those that are reserved.
    pub(super) fn room(&self, reserved: u64, stamp: Millis) -> u64 {
        self.lease_room(reserved).min(self.rate_room(stamp))
    }

    fn lease_room(&self, reserved: u64) -> u64 {
        self.policy.leases_max.map_or(u64::MAX, u64::from).saturating_sub(reserved)
    }

    /// Whether a grant changes it.
    pub(super) fn counts_grants(&self) -> bool {
        self.policy.per_second_max.is_some()
    }

    /// A job is granted at this stamp, if [grants count](Self::counts_grants).
    pub(super) fn note_grant(&mut self, stamp: Millis) {
        if let Some(interval_ns) = self.interval_ns() {
            self.delivery_ns = self.delivery_ns.max(nanos(stamp)).saturating_add(interval_ns);
        }
    }

    fn interval_ns(&self) -> Option<u64> {
        self.policy.per_second_max.map(|jobs| SECOND_NS.div_ceil(u64::from(jobs.max(1))))
    }

    /// Its part of the topic's hash.
    pub(super) fn hash(&self, element: &mut Element) {
        element.word(xxh3_64(&self.policy.encode())).word(self.delivery_ns).word(self.late_ns);
    }

    pub(super) fn save(&self, topic: TopicId, bytes: u64) -> SavedRule {
        let Self { delivery_ns, late_ns, .. } = *self;
        SavedRule { topic, bytes, delivery_ns, late_ns, policy: self.policy.encode() }
    }
}

impl SavedRule {
    /// Of a topic without a policy.
    pub(super) fn of_bytes(topic: TopicId, bytes: u64) -> Self {
        Self { topic, bytes, delivery_ns: 0, late_ns: 0, policy: Vec::new() }
    }

    /// Whether its policy can be read.
    pub(super) fn is_valid(&self) -> bool {
        PolicyChange::decode(&self.policy).is_ok()
    }

    /// The rule, if there is one.
    pub(super) fn rule(&self) -> Option<Box<Rule>> {
        let policy = PolicyChange::decode(&self.policy).ok()?.set;
        let Self { delivery_ns, late_ns, .. } = *self;
        (!policy.is_empty()).then(|| Box::new(Rule { policy, delivery_ns, late_ns }))
    }
}

impl Engine {
    /// The settings of a topic; `None` if it has none.
    pub fn topic_policy(&self, topic: TopicId) -> Option<&TopicPolicy> {
        Some(self.rule(topic)?.policy())
    }

    /// Bytes of the bodies of a topic's jobs, without those that were pushed before this was counted.
    pub fn topic_bytes(&self, topic: TopicId) -> u64 {
        self.topics.find(topic).map_or(0, |topic| topic.bytes)
    }

    /// Changes the settings of a topic, which is made if it is new.
    pub(super) fn change_policy(&mut self, topic: TopicSelect<'_>, change: &[u8]) -> Result<Outcome, Reject> {
        // An entry with a change that this version cannot read was refused as a whole.
        let change = PolicyChange::decode(change).map_err(|_| Reject::NotFound)?;
        let id = self.intern(topic)?;
        let policy = self.topic_policy(id).cloned().unwrap_or_default().changed(&change);
        let rule = self.topics.rule_mut(id);
        match rule {
            Some(rule) if !policy.is_empty() => rule.change(policy),
            _ => *rule = (!policy.is_empty()).then(|| Box::new(Rule::new(policy))),
        }
        self.topics.note_deliverable(id);
        Ok(Outcome::Done)
    }

    pub(super) fn rule(&self, topic: TopicId) -> Option<&Rule> {
        self.topics.find(topic)?.rule.as_deref()
    }

    /// Whether jobs may leave some of their settings to their topic.
    fn has_policies(&self) -> bool {
        self.feature_level() >= FEATURE_TOPIC_POLICY
    }

    /// Time to run and priority of a new job.
    pub(super) fn ttr_and_priority(&self, topic: TopicId, new: &NewJob<'_>) -> (u32, u32) {
        let policy = self.topic_policy(topic);
        let ttr_ms = match new.ttr_ms {
            0 => policy.and_then(|policy| policy.ttr_ms).unwrap_or(TTR_MS_DEFAULT),
            ttr_ms => ttr_ms,
        };
        let priority = match new.priority {
            PRIORITY_UNSAID if self.has_policies() => {
                policy.and_then(|policy| policy.priority).unwrap_or(PRIORITY_DEFAULT)
            }
            priority => priority,
        };
        (ttr_ms, priority)
    }

    /// Retries and expiry of a new job that is due then: its own, or its topic's.
    pub(super) fn retry(&self, topic: TopicId, attributes: &[u8], due: Moment) -> Option<Retry> {
        let own = Retry::read(attributes, self.clock, self.remembers_jobs());
        match self.topic_policy(topic) {
            Some(policy) => Retry::with_defaults(own, attributes, policy, due),
            None => own,
        }
    }

    /// Why a topic takes no job with a body of this length, if it does not. One that `replaces` another job is no more jobs.
    pub(super) fn not_by_policy(
        &self,
        topic: TopicId,
        body_bytes: usize,
        replaces: Option<Slot>,
    ) -> Option<PushOutcome> {
        let replaces = replaces.filter(|slot| self.jobs[*slot].state != JobState::Finished);
        let found = self.topics.find(topic)?;
        let policy = found.rule.as_ref()?.policy();
        let refused = |reject| Some(PushOutcome::Refused(reject, None));
        if policy.body_bytes_max.is_some_and(|bytes_max| body_bytes > bytes_max as usize) {
            return refused(Reject::BodyTooLarge);
        }
        if replaces.is_none() && policy.jobs_max.is_some_and(|jobs_max| found.jobs() >= jobs_max) {
            return refused(Reject::TopicFull);
        }
        let freed = replaces.map_or(0, |slot| self.jobs[slot].counted_bytes());
        let bytes = found.bytes.saturating_sub(freed).saturating_add(body_bytes as u64);
        if policy.bytes_max.is_some_and(|bytes_max| bytes > bytes_max) {
            return refused(Reject::TopicFull);
        }
        None
    }

    /// What becomes of a job whose due time has come, by how long ago that was for sure: a wall clock that is set forward makes no job
    /// late.
    pub(super) fn when_due(&mut self, slot: Slot) -> Verdict {
        let job = &self.jobs[slot];
        let (id, topic) = (job.id, job.topic);
        let Some(late) = self.late_action(job) else { return Verdict::InTime };
        let stamp = self.clock.stamp;
        match late {
            LateAction::Bury => Verdict::Bury,
            LateAction::Drop => Verdict::Drop,
            LateAction::Spread { over_ms } => {
                Verdict::Later(self.clock.later(xxh3_64(&id.0.to_le_bytes()) % over_ms.max(1)))
            }
            LateAction::PerSecond(jobs) => {
                let Some(rule) = self.topics.rule_mut(topic) else { return Verdict::InTime };
                let at_ns = rule.late_ns.max(nanos(stamp));
                rule.late_ns = at_ns.saturating_add(SECOND_NS.div_ceil(u64::from(jobs.max(1))));
                Verdict::Later(Moment { timeline: Timeline::Stamp, at: at_ns / NS_PER_MS })
            }
        }
    }

    /// The same of one that would be granted: only its first delivery can be late.
    pub(super) fn when_granted(&self, slot: Slot) -> Verdict {
        let job = &self.jobs[slot];
        match self.late_action(job).filter(|_| job.attempts == 0) {
            Some(LateAction::Bury) => Verdict::Bury,
            Some(LateAction::Drop) => Verdict::Drop,
            _ => Verdict::InTime,
        }
    }

    fn late_action(&self, job: &Job) -> Option<LateAction> {
        if job.state == JobState::Delayed && job.since == DUE_ANEW {
            return None;
        }
        let late = self.rule(job.topic)?.policy().late?;
        let late_ms = i128::from(self.clock.stamp.0) - self.clock.surely(job.due());
        (late_ms > i128::from(late.after_ms)).then_some(late.then)
    }

    /// Does to a job what its topic says of late ones. Whether it is not for delivery now.
    pub(super) fn carry_out_verdict(
        &mut self,
        slot: Slot,
        verdict: Verdict,
        store: &mut impl JobStore,
    ) -> bool {
        match verdict {
            Verdict::InTime => return false,
            Verdict::Later(due) => self.change(slot, |job| {
                job.set_delayed(due);
                job.since = DUE_ANEW;
            }),
            Verdict::Bury => self.bury_job(slot, BuryReason::TooLate),
            Verdict::Drop => self.expire(slot, store),
        }
        true
    }

    /// A job is set aside, or goes to its topic's dead letters: ready, with all its attempts before it, and not found by its key,
    /// which may be taken there.
    pub(super) fn bury_job(&mut self, slot: Slot, reason: BuryReason) {
        let Some(topic) = self.dead_letters(self.jobs[slot].topic) else {
            return self.change(slot, |job| job.set_buried(reason));
        };
        let now = self.clock.later(0);
        let text = self.keeps_history().then(|| Arc::from(reason.to_string()));
        self.change_unnoted(slot, |job| {
            job.attempts = 0;
            job.set_due(now);
            job.set_ready(i128::from(now.at));
            if let Some(text) = text.filter(|_| job.past().is_none_or(|past| past.reason.is_none())) {
                job.set_reason(text);
            }
        });
        self.move_job(slot, topic, None);
        self.note_event(slot, JobEventKind::Ready);
    }

    /// The topic that takes what would be buried in this one, made if it is new. If there are too many topics, there is none.
    fn dead_letters(&mut self, topic: TopicId) -> Option<TopicId> {
        let name = self.rule(topic)?.policy().dead_letters.clone()?;
        self.intern(TopicSelect::Name(name.as_str())).ok().filter(|id| *id != topic)
    }

    /// How many jobs of a topic a reserve at this stamp could have, if `coming` more were ready by then.
    pub fn available(&self, topic: TopicId, coming: u64, stamp: Millis) -> u64 {
        let Some(found) = self.topics.find(topic).filter(|found| !found.paused) else { return 0 };
        let ready = found.ready.len() as u64 + coming;
        ready.min(found.room(stamp.max(self.clock.stamp)))
    }

    /// Topics that have ready jobs and must wait for their rate, until this stamp at most.
    pub fn free_by(&self, stamp: Millis) -> impl Iterator<Item = TopicId> {
        self.topics.throttled().range(..=(stamp, TopicId(u32::MAX))).map(|(_, topic)| *topic)
    }

    /// When the first of these topics may give a job again, as a stamp after this one; of those for which `is_wanted` says so.
    /// Those that may by now wait for something else.
    pub fn next_free(&self, stamp: Millis, is_wanted: impl Fn(TopicId) -> bool) -> Option<Millis> {
        self.topics
            .throttled()
            .range((stamp.after(1), TopicId(0))..)
            .find(|(_, topic)| is_wanted(*topic))
            .map(|(at, _)| *at)
    }
}

impl Job {
    /// Its share of the bytes of its topic: 0 if it was pushed before they were counted, or is finished.
    pub(super) fn counted_bytes(&self) -> u64 {
        if self.pushed_at == 0 || self.state == JobState::Finished {
            0
        } else {
            u64::from(self.body.body_bytes)
        }
    }
}

/// Topics whose rate holds ready jobs back, by when that ends.
pub(super) type Throttled = BTreeSet<(Millis, TopicId)>;

fn nanos(stamp: Millis) -> u64 {
    stamp.0.saturating_mul(NS_PER_MS)
}
