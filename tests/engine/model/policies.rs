//! Topic policies in the model, and the changes of them that steps draw from.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use std::sync::LazyLock;

use adjourn_engine::{NewJob, PushOutcome, Reject};
use adjourn_types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID, TTR_MS_DEFAULT};
use adjourn_types::{
    Backoff, BackoffCurve, BuryReason, JobEnd, Late, LateAction, OnBury, Policy, PolicyChange, RetryDefaults,
    Setting, TopicPolicy,
};
use xxhash_rust::xxh3::xxh3_64;

use super::naive::{Job, Model, State, Time};

/// The encoded changes. The last one takes all settings away.
pub(crate) static CHANGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let set = |set: fn(&mut TopicPolicy)| {
        let mut change = PolicyChange::default();
        set(&mut change.set);
        change.encode()
    };
    let unset = PolicyChange { set: TopicPolicy::default(), unset: Setting::ALL.into_iter().collect() };
    vec![
        set(|policy| (policy.ttr_ms, policy.priority) = (Some(500), Some(1))),
        set(|policy| (policy.attempts_max, policy.backoff) = (Some(2), Some(fixed(40)))),
        set(|policy| policy.expires_after_ms = Some(300)),
        set(|policy| policy.retention_ms = Some(400)),
        set(|policy| policy.jobs_max = Some(3)),
        set(|policy| (policy.bytes_max, policy.body_bytes_max) = (Some(5), Some(2))),
        set(|policy| policy.leases_max = Some(1)),
        set(|policy| policy.per_second_max = Some(20)),
        set(|policy| policy.per_second_max = Some(3)),
        set(|policy| policy.late = Some(Late { after_ms: 30, then: LateAction::PerSecond(10) })),
        set(|policy| policy.late = Some(Late { after_ms: 30, then: LateAction::Spread { over_ms: 200 } })),
        set(|policy| policy.late = Some(Late { after_ms: 50, then: LateAction::Bury })),
        set(|policy| policy.late = Some(Late { after_ms: 0, then: LateAction::Drop })),
        set(|policy| policy.groups.fair = true),
        set(|policy| (policy.groups.fifo, policy.groups.on_bury) = (true, Some(OnBury::Continue))),
        set(|policy| policy.groups.fifo = true),
        set(|policy| policy.groups.leases_max = Some(2)),
        set(|policy| (policy.groups.per_second_max, policy.groups.burst) = (Some(10), Some(2))),
        set(|policy| policy.dead_letters = Some("reports".parse().expect("a name"))),
        unset.encode(),
    ]
});

/// The queue's defaults that steps draw from.
pub(crate) const DEFAULTS: [RetryDefaults; 3] = [
    RetryDefaults::NONE,
    RetryDefaults { attempts_max: Some(3), backoff: None },
    RetryDefaults { attempts_max: Some(2), backoff: Some(fixed(30)) },
];

fn is_alive(job: &Job) -> bool {
    !matches!(job.state, State::Finished { .. })
}

const fn fixed(wait_ms: u32) -> Backoff {
    Backoff { curve: BackoffCurve::Fixed(wait_ms), jitter_percent: 0 }
}

/// A topic's policy, and when the next delivery and the next late job would come if all came evenly, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    pub(crate) policy: TopicPolicy,
    delivery_ns: u64,
    late_ns: u64,
}

/// What a new job says, or its topic for it.
pub(super) struct Resolved {
    pub(super) ttr_ms: u32,
    pub(super) priority: u32,
    pub(super) expires: Option<Time>,
    pub(super) policy: Policy,
}

impl Rule {
    pub(super) fn is_there(&self) -> bool {
        !self.policy.is_empty()
    }

    /// Whether the rate allows a delivery.
    fn has_turn(&self, stamp: u64) -> bool {
        let Some(rate) = self.policy.per_second_max else { return true };
        let early_ns = 100_000_000_u64.saturating_sub(1_000_000_000_u64.div_ceil(rate.into()));
        self.delivery_ns <= stamp * 1_000_000 + early_ns
    }
}

impl Model {
    pub(super) fn change_policy(&mut self, topic: &str, change: &[u8]) -> Result<(), Reject> {
        let topic = self.topic(topic, true)?;
        let change = PolicyChange::decode(change).expect("it is valid");
        let rule = &mut self.topics[topic].rule;
        let policy = rule.policy.changed(&change);
        if policy.per_second_max != rule.policy.per_second_max {
            rule.delivery_ns = 0;
        }
        if policy.late != rule.policy.late {
            rule.late_ns = 0;
        }
        let groups = rule.policy.groups;
        rule.policy = policy;
        if rule.policy.is_empty() {
            *rule = Rule::default();
        }
        self.refresh_groups(topic, groups);
        Ok(())
    }

    pub(crate) fn bytes(&self, topic: usize) -> u64 {
        let counted = |job: &&Job| job.topic == topic && is_alive(job);
        self.jobs.iter().filter(counted).map(|job| job.body.len() as u64).sum()
    }

    /// Time to run, priority, expiry, and retries.
    pub(super) fn resolved(&self, topic: usize, new: &NewJob<'_>, own: Policy, due: Time) -> Resolved {
        let defaults = &self.topics[topic].rule.policy;
        let ttr_ms = if new.ttr_ms == 0 { defaults.ttr_ms.unwrap_or(TTR_MS_DEFAULT) } else { new.ttr_ms };
        let unsaid = new.priority == PRIORITY_UNSAID;
        let priority = if unsaid { defaults.priority.unwrap_or(PRIORITY_DEFAULT) } else { new.priority };
        let after_due = |after_ms: u64| match due {
            Time::Stamp(at) => Time::Stamp(at + after_ms),
            Time::Wall(at) => Time::Wall(at + after_ms),
        };
        let expires = own.expires.map(|when| self.time(when)).or(defaults.expires_after_ms.map(after_due));
        let of_queue = self.of_queue();
        let policy = Policy {
            expires: own.expires,
            attempts_max: own.attempts_max.or(defaults.attempts_max).or(of_queue.attempts_max),
            backoff: own.backoff.or_else(|| defaults.backoff.clone()).or(of_queue.backoff),
        };
        Resolved { ttr_ms, priority, expires, policy }
    }

    /// The queue's defaults for retries.
    pub(super) fn of_queue(&self) -> RetryDefaults {
        self.defaults.clone().unwrap_or(RetryDefaults::NONE)
    }

    /// Why a topic does not take a job; `going` are those that it would replace.
    pub(super) fn refused(&self, topic: usize, body: usize, going: &[Job]) -> Option<PushOutcome> {
        let policy = &self.topics[topic].rule.policy;
        let refused = |reject| Some(PushOutcome::Refused(reject, None));
        if policy.body_bytes_max.is_some_and(|max| body > max as usize) {
            return refused(Reject::BodyTooLarge);
        }
        let going = going.iter().filter(|job| job.topic == topic && is_alive(job));
        let jobs = self.jobs.iter().filter(|job| job.topic == topic && is_alive(job)).count() as u64;
        if going.clone().count() == 0 && policy.jobs_max.is_some_and(|max| jobs >= max) {
            return refused(Reject::TopicFull);
        }
        let freed = going.map(|job| job.body.len() as u64).sum::<u64>();
        let bytes = self.bytes(topic) - freed + body as u64;
        if policy.bytes_max.is_some_and(|max| bytes > max) {
            return refused(Reject::TopicFull);
        }
        None
    }

    /// Whether a topic may give one more job.
    pub(crate) fn has_room(&self, topic: usize) -> bool {
        let rule = &self.topics[topic].rule;
        let reserved = self.jobs.iter().filter(|job| job.topic == topic);
        let reserved = reserved.filter(|job| matches!(job.state, State::Reserved { .. })).count();
        self.topics[topic].paused.is_none()
            && rule.policy.leases_max.is_none_or(|max| reserved < max as usize)
            && rule.has_turn(self.stamp)
    }

    /// Sets a job aside, or moves it to its topic's dead letters.
    pub(super) fn bury_job(&mut self, id: u64, reason: BuryReason) {
        self.leave_schedule(id, JobEnd::Failed);
        self.find_mut(id).held = None;
        let from = self.find(id).topic;
        let Some(name) = self.topics[from].rule.policy.dead_letters.clone() else {
            self.find_mut(id).state = State::Buried(reason);
            return;
        };
        let to = self.topic(name.as_str(), true).expect("there is room");
        if to == from {
            self.find_mut(id).state = State::Buried(reason);
            return;
        }
        let stamp = self.stamp;
        let job = self.find_mut(id);
        (job.topic, job.attempts, job.due, job.holds_place) = (to, 0, Time::Stamp(stamp), false);
        job.state = State::Ready { order: stamp };
        job.found_by = None;
        if job.past.reason.is_none() {
            job.past.reason = Some(reason.to_string());
        }
        self.topics[from].deleted += 1;
        self.topics[to].pushed += 1;
    }

    pub(super) fn surely_expired(&self, job: &Job) -> bool {
        job.expires.is_some_and(|expires| self.surely(expires) <= i128::from(self.stamp))
    }

    pub(super) fn note_grant(&mut self, topic: usize) {
        let stamp = self.stamp;
        let rule = &mut self.topics[topic].rule;
        if let Some(rate) = rule.policy.per_second_max {
            rule.delivery_ns =
                rule.delivery_ns.max(stamp * 1_000_000) + 1_000_000_000_u64.div_ceil(rate.into());
        }
    }

    /// Does to a job what its topic says of late ones, if it is. Whether it is not for delivery now.
    pub(super) fn treat_as_late(&mut self, id: u64, comes_due: bool) -> bool {
        let job = self.find(id);
        let (topic, is_first) = (job.topic, job.attempts == 0);
        let late_ms = i128::from(self.stamp) - self.surely(job.due);
        if job.due_anew == Some(job.due) {
            return false;
        }
        let late = self.topics[topic].rule.policy.late.filter(|late| late_ms > i128::from(late.after_ms));
        let Some(late) = late else { return false };
        let due = match late.then {
            LateAction::Bury | LateAction::Drop if !comes_due && !is_first => return false,
            LateAction::Bury => {
                self.bury_job(id, BuryReason::TooLate);
                return true;
            }
            LateAction::Drop => {
                self.expire(id);
                return true;
            }
            _ if !comes_due => return false,
            LateAction::Spread { over_ms } => self.stamp + xxh3_64(&id.to_le_bytes()) % over_ms,
            LateAction::PerSecond(jobs) => {
                let stamp = self.stamp;
                let rule = &mut self.topics[topic].rule;
                let at_ns = rule.late_ns.max(stamp * 1_000_000);
                rule.late_ns = at_ns + 1_000_000_000_u64.div_ceil(jobs.into());
                at_ns / 1_000_000
            }
        };
        let job = self.find_mut(id);
        (job.state, job.due, job.held) = (State::Delayed, Time::Stamp(due), None);
        job.also_due = None;
        job.due_anew = Some(job.due);
        true
    }
}
