//! Topic policies at work: how they decide about jobs, and how much of a rate is used.
//!
//! Defaults are resolved when a job is pushed; a later change of the policy does not affect existing jobs. Limits, rates,
//! late jobs and dead letters follow the current policy.
//!
//! Rates use the generic cell rate algorithm (ITU-T I.371), whose only state is the time at which the next delivery would
//! come if deliveries were evenly spread. It tolerates a tenth of a second, less one interval: so slow rates are strict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Topics;
use super::hold::Hold;
use crate::clock::{Clock, Moment, Timeline};
use crate::hash::Element;
use crate::job::{DUE_ANEW, Job};
use crate::outcome::Reject;
use adjourn_types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID, TTR_MS_DEFAULT};
use adjourn_types::{JobState, LateAction, Millis, PolicyChange, TopicId, TopicPolicy};

/// Deliveries may come early by up to this time.
const TOLERANCE_NS: u64 = 100_000_000;
const NS_PER_MS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A topic's policy and the state of its rates.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    policy: TopicPolicy,
    /// As stamps in nanoseconds: the next delivery if deliveries were evenly spread, and the new due time of the next late
    /// job.
    delivery_ns: u64,
    late_ns: u64,
}

/// A rule as a checkpoint stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedRule {
    delivery_ns: u64,
    late_ns: u64,
    /// As [`TopicPolicy::encode`] writes it.
    #[serde(with = "serde_bytes")]
    policy: Vec<u8>,
}

/// The decision about a job that comes due or is to be granted, by how late it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    InTime,
    /// It gets this new due time.
    Later(Moment),
    Bury,
    Drop,
}

/// A rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    interval_ns: u64,
    /// How much earlier than evenly spread deliveries may come.
    early_ns: u64,
}

impl Pace {
    /// Evenly spread deliveries.
    fn even(per_second: u32) -> Self {
        let interval_ns = SECOND_NS.div_ceil(u64::from(per_second.max(1)));
        Self { interval_ns, early_ns: TOLERANCE_NS.saturating_sub(interval_ns) }
    }

    /// At most `burst` deliveries at once.
    pub(crate) fn with_burst(per_second: u32, burst: u32) -> Self {
        let Self { interval_ns, .. } = Self::even(per_second);
        Self { interval_ns, early_ns: interval_ns.saturating_mul(u64::from(burst.saturating_sub(1))) }
    }

    /// How many deliveries it allows at this stamp, if the next one would come at `next_ns`.
    pub(crate) fn room(self, next_ns: u64, stamp: Millis) -> u64 {
        let until_ns = nanos(stamp).saturating_add(self.early_ns);
        let left_ns = until_ns.checked_sub(next_ns.max(nanos(stamp)));
        left_ns.map_or(0, |left_ns| left_ns / self.interval_ns + 1)
    }

    /// When it allows the next delivery.
    pub(crate) fn free_at(self, next_ns: u64) -> Millis {
        millis(next_ns.saturating_sub(self.early_ns))
    }

    /// When the next delivery would come after one at this stamp.
    pub(crate) fn after_one(self, next_ns: u64, stamp: Millis) -> u64 {
        next_ns.max(nanos(stamp)).saturating_add(self.interval_ns)
    }
}

impl Rule {
    fn new(policy: TopicPolicy) -> Self {
        Self { policy, delivery_ns: 0, late_ns: 0 }
    }

    /// Changes the policy. A rate that changes starts afresh.
    fn change(&mut self, policy: TopicPolicy) {
        if policy.per_second_max != self.policy.per_second_max {
            self.delivery_ns = 0;
        }
        if policy.late != self.policy.late {
            self.late_ns = 0;
        }
        self.policy = policy;
    }

    pub(crate) fn policy(&self) -> &TopicPolicy {
        &self.policy
    }

    /// When the rate allows the next delivery; `None` if there are too many leases.
    pub(crate) fn free_at(&self, reserved: u64) -> Option<Millis> {
        let free_at = self.pace().map_or(Millis(0), |pace| pace.free_at(self.delivery_ns));
        (self.lease_room(reserved) > 0).then_some(free_at)
    }

    /// What holds deliveries back at this stamp, with `reserved` leased already.
    pub(crate) fn hold(&self, reserved: u64, stamp: Millis) -> Option<Hold> {
        if self.lease_room(reserved) == 0 {
            return Some(Hold::TopicLeases(reserved));
        }
        self.free_at(reserved).filter(|free_at| *free_at > stamp).map(Hold::TopicRate)
    }

    /// How many more jobs may be granted at this stamp, with `reserved` leased already.
    pub(crate) fn room(&self, reserved: u64, stamp: Millis) -> u64 {
        let rate_room = self.pace().map_or(u64::MAX, |pace| pace.room(self.delivery_ns, stamp));
        self.lease_room(reserved).min(rate_room)
    }

    fn lease_room(&self, reserved: u64) -> u64 {
        self.policy.leases_max.map_or(u64::MAX, u64::from).saturating_sub(reserved)
    }

    /// True if grants count against a rate.
    pub(crate) fn counts_grants(&self) -> bool {
        self.policy.per_second_max.is_some()
    }

    /// Counts a grant at this stamp, if [grants count](Self::counts_grants).
    pub(crate) fn note_grant(&mut self, stamp: Millis) {
        if let Some(pace) = self.pace() {
            self.delivery_ns = pace.after_one(self.delivery_ns, stamp);
        }
    }

    fn pace(&self) -> Option<Pace> {
        self.policy.per_second_max.map(Pace::even)
    }

    /// Adds it to the topic's element of the state hash.
    pub(crate) fn hash(&self, element: &mut Element) {
        element.word(xxh3_64(&self.policy.encode())).word(self.delivery_ns).word(self.late_ns);
    }

    pub(crate) fn save(&self) -> SavedRule {
        let Self { delivery_ns, late_ns, .. } = *self;
        SavedRule { delivery_ns, late_ns, policy: self.policy.encode() }
    }
}

impl SavedRule {
    /// True if its policy can be decoded and is not empty.
    pub(crate) fn is_valid(&self) -> bool {
        self.policy().is_some()
    }

    fn policy(&self) -> Option<TopicPolicy> {
        let PolicyChange { set, unset } = PolicyChange::decode(&self.policy).ok()?;
        (!set.is_empty() && unset.is_empty()).then_some(set)
    }

    /// The rule; `None` if it is not valid.
    pub(crate) fn rule(&self) -> Option<Box<Rule>> {
        let policy = self.policy()?;
        let Self { delivery_ns, late_ns, .. } = *self;
        Some(Box::new(Rule { policy, delivery_ns, late_ns }))
    }
}

impl Topics {
    /// Changes the settings of a topic.
    pub(crate) fn change_policy(&mut self, topic: TopicId, change: &PolicyChange) {
        let policy = self.policy(topic).cloned().unwrap_or_default().changed(change);
        let rule = self.rule_mut(topic);
        match rule {
            Some(rule) if !policy.is_empty() => rule.change(policy),
            _ => *rule = (!policy.is_empty()).then(|| Box::new(Rule::new(policy))),
        }
        self.change_group_policy(topic);
        self.note_deliverable(topic);
    }

    /// The settings of a topic; `None` if it has none.
    pub(crate) fn policy(&self, topic: TopicId) -> Option<&TopicPolicy> {
        Some(self.rule(topic)?.policy())
    }

    pub(crate) fn rule(&self, topic: TopicId) -> Option<&Rule> {
        self.find(topic)?.rule.as_deref()
    }

    /// Time to run and priority of a new job: its own, else its topic's, else the default.
    pub(crate) fn ttr_and_priority(&self, topic: TopicId, ttr_ms: u32, priority: u32) -> (u32, u32) {
        let policy = self.policy(topic);
        let ttr_ms = match ttr_ms {
            0 => policy.and_then(|policy| policy.ttr_ms).unwrap_or(TTR_MS_DEFAULT),
            ttr_ms => ttr_ms,
        };
        let priority = match priority {
            PRIORITY_UNSAID => policy.and_then(|policy| policy.priority).unwrap_or(PRIORITY_DEFAULT),
            priority => priority,
        };
        (ttr_ms, priority)
    }

    /// How long a job that finishes now is remembered, in milliseconds; 0 for not at all.
    pub(crate) fn retention_ms(&self, job: &Job) -> u64 {
        match job.retention_ms() {
            0 => self.policy(job.topic).and_then(|policy| policy.retention_ms).unwrap_or(0),
            own_ms => own_ms,
        }
    }

    /// Refuses a job with a body of this length if the topic's policy forbids it. A job that `replaces` others, or itself,
    /// does not add to the number of jobs.
    pub(crate) fn has_room<'a>(
        &self,
        topic: TopicId,
        body_bytes: usize,
        replaces: impl IntoIterator<Item = &'a Job>,
    ) -> Result<(), Reject> {
        let Some(found) = self.find(topic) else { return Ok(()) };
        let Some(rule) = found.rule.as_ref() else { return Ok(()) };
        let policy = rule.policy();
        if policy.body_bytes_max.is_some_and(|bytes_max| body_bytes > bytes_max as usize) {
            return Err(Reject::BodyTooLarge);
        }
        let replaces =
            replaces.into_iter().filter(|job| job.topic == topic && job.state != JobState::Finished);
        let (going, freed) =
            replaces.fold((0, 0), |(jobs, bytes), job| (jobs + 1, bytes + job.counted_bytes()));
        if going == 0 && policy.jobs_max.is_some_and(|jobs_max| found.jobs() >= jobs_max) {
            return Err(Reject::TopicFull);
        }
        let bytes = found.bytes.saturating_sub(freed).saturating_add(body_bytes as u64);
        if policy.bytes_max.is_some_and(|bytes_max| bytes > bytes_max) {
            return Err(Reject::TopicFull);
        }
        Ok(())
    }

    /// Decides about a job that comes due, by how long it has surely been due: a wall clock that is set forward makes no
    /// job late.
    pub(crate) fn when_due(&mut self, job: &Job, clock: Clock) -> Verdict {
        let Some(late) = self.late_action(job, clock) else { return Verdict::InTime };
        match late {
            LateAction::Bury => Verdict::Bury,
            LateAction::Drop => Verdict::Drop,
            LateAction::Spread { over_ms } => {
                Verdict::Later(clock.later(xxh3_64(&job.id.0.to_le_bytes()) % over_ms.max(1)))
            }
            LateAction::PerSecond(jobs) => {
                let Some(rule) = self.rule_mut(job.topic) else { return Verdict::InTime };
                let at_ns = rule.late_ns.max(nanos(clock.stamp));
                rule.late_ns = at_ns.saturating_add(SECOND_NS.div_ceil(u64::from(jobs.max(1))));
                Verdict::Later(Moment { timeline: Timeline::Stamp, at: at_ns / NS_PER_MS })
            }
        }
    }

    /// Decides about a job that is to be granted: only its first delivery can be late.
    pub(crate) fn when_granted(&self, job: &Job, clock: Clock) -> Verdict {
        match self.late_action(job, clock).filter(|_| job.attempts == 0) {
            Some(LateAction::Bury) => Verdict::Bury,
            Some(LateAction::Drop) => Verdict::Drop,
            _ => Verdict::InTime,
        }
    }

    fn late_action(&self, job: &Job, clock: Clock) -> Option<LateAction> {
        if job.state == JobState::Delayed && job.since == DUE_ANEW {
            return None;
        }
        let late = self.policy(job.topic)?.late?;
        let late_ms = i128::from(clock.stamp.0) - clock.surely(job.due());
        (late_ms > i128::from(late.after_ms)).then_some(late.then)
    }

    /// How many jobs of a topic a reserve at this stamp could get, if `coming` more were ready by then.
    pub(crate) fn available(&self, topic: TopicId, coming: u64, stamp: Millis) -> u64 {
        self.find(topic).map_or(0, |found| found.available(coming, stamp))
    }
}

impl Job {
    /// Its share of its topic's bytes; 0 once it is finished.
    pub(crate) fn counted_bytes(&self) -> u64 {
        if matches!(self.state, JobState::Finished | JobState::Scheduled) {
            0
        } else {
            u64::from(self.body.body_bytes)
        }
    }
}

/// Topics whose rate holds ready jobs back, by the time at which it allows one.
pub(crate) type Throttled = BTreeSet<(Millis, TopicId)>;

pub(crate) fn nanos(stamp: Millis) -> u64 {
    stamp.0.saturating_mul(NS_PER_MS)
}

/// The first stamp that is not before this time.
pub(crate) fn millis(at_ns: u64) -> Millis {
    Millis(at_ns.div_ceil(NS_PER_MS))
}
