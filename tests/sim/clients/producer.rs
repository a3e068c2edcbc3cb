//! A producer: pushes jobs of all kinds, and repeats unanswered pushes under the same sequence numbers.

use std::collections::BTreeMap;

use adjourn_protocol::{ErrorCode, NewJob, Push, Request, RequestId, Response};
use adjourn_types::{Attributes, AttributesBuilder, Backoff, BackoffCurve, IfExists, Key, Millis, When};

use super::super::plan::{Pace, Plan};
use super::super::random::Random;
use super::super::time::{MS, SECOND, Us};
use super::{BRIEF, Board, Endpoint, Kept, Role, TOPICS, topic};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Users' ids, few enough to meet again.
const KEYS: u64 = 12;

const MODES: [IfExists; 8] = [
    IfExists::Reject,
    IfExists::Keep,
    IfExists::Replace,
    IfExists::Replace,
    IfExists::ReplaceReserved,
    IfExists::Postpone,
    IfExists::Postpone,
    IfExists::Postpone,
];

/// Who makes the jobs of one client.
pub(super) struct NewJobs {
    number: u64,
    /// Of the jobs that it made; part of their bodies, so that no two are alike.
    made: u64,
    calm: bool,
    pace: Pace,
}

pub(super) struct Producer {
    jobs: NewJobs,
    sequence: u64,
    unanswered: BTreeMap<u64, Push>,
    /// When to push again, and what.
    again: Vec<(Us, u64)>,
    next_push: Us,
    window: usize,
    draining: bool,
}

impl Producer {
    pub(super) fn new(number: u64, plan: &Plan) -> Self {
        Self {
            jobs: NewJobs::new(number, plan),
            sequence: 1,
            unanswered: BTreeMap::new(),
            again: Vec::new(),
            next_push: 0,
            window: 8,
            draining: false,
        }
    }

    fn push(&mut self, endpoint: &mut Endpoint) {
        let name = *endpoint.random.pick(&TOPICS);
        let jobs = self.jobs.list(endpoint, name == BRIEF);
        let protected = self.jobs.calm || !endpoint.random.percent(8);
        let push = Push {
            topic: topic(name),
            sequence: if protected { self.sequence } else { 0 },
            jobs,
            idempotency: None,
        };
        if protected {
            self.sequence += push.jobs.len() as u64;
            self.unanswered.insert(push.sequence, push.clone());
        }
        endpoint.send(Request::Push(push));
    }
}

impl NewJobs {
    pub(super) fn new(number: u64, plan: &Plan) -> Self {
        Self { number, made: 0, calm: plan.calm, pace: plan.pace }
    }

    /// One job, or some.
    pub(super) fn list(&mut self, endpoint: &mut Endpoint, brief: bool) -> Vec<NewJob> {
        let jobs = match endpoint.random.below(20) {
            0 if !self.calm => endpoint.random.within((30, 120)),
            0..=5 => endpoint.random.within((2, 6)),
            _ => 1,
        };
        (0..jobs).map(|_| self.job(endpoint, brief)).collect()
    }

    fn job(&mut self, endpoint: &mut Endpoint, brief: bool) -> NewJob {
        self.made += 1;
        let random = &mut endpoint.random;
        let mut body = format!("job {}.{}", self.number, self.made).into_bytes();
        let filler = match random.below(200) {
            0 => 70_000,
            1..=10 => 3_000,
            _ => random.below(40),
        };
        body.extend((0..filler).map(|place| b'a' + (place % 26) as u8));
        let keyed = !self.calm && random.percent(30);
        let if_exists = *random.pick(&MODES);
        NewJob {
            due: due(random, endpoint.wall, self.calm, self.pace),
            priority: *random.pick(&[0, 1, 1024, 1024, 1024, u32::MAX]),
            ttr_ms: *random.pick(if brief { &[100, 500, 2_000] } else { &[0, 100, 500, 2_000, 20_000] }),
            if_exists,
            key: keyed.then(|| key(random)),
            attributes: if self.calm {
                Attributes::default()
            } else {
                attributes(random, endpoint.wall, self.pace, if_exists)
            },
            body: body.into(),
        }
    }
}

impl Role for Producer {
    fn up(&mut self, endpoint: &mut Endpoint, kept: Kept) {
        self.again.clear();
        if kept == Kept::Nothing {
            // The outcome of these will never be known.
            self.unanswered.clear();
            self.sequence = 1;
        }
        for push in self.unanswered.values() {
            endpoint.send(Request::Push(push.clone()));
        }
    }

    fn answered(&mut self, endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        let Request::Push(push) = request else { return };
        match response {
            Response::Error(error) if error.code.retryable() && push.sequence != 0 => {
                let pause = Us::from(error.retry_after_ms.clamp(20, 500)) * MS;
                self.again.push((endpoint.now + pause, push.sequence));
            }
            Response::Error(error) => {
                self.unanswered.remove(&push.sequence);
                if error.code == ErrorCode::SessionUnknown {
                    endpoint.hang_up();
                }
            }
            _ => _ = self.unanswered.remove(&push.sequence),
        }
    }

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, endpoint: &mut Endpoint, _board: &Board) -> Us {
        let (now_again, later) = self.again.drain(..).partition(|(at, _)| *at <= endpoint.now);
        self.again = later;
        let due: Vec<(Us, u64)> = now_again;
        for (_, sequence) in due {
            if let Some(push) = self.unanswered.get(&sequence) {
                endpoint.send(Request::Push(push.clone()));
            }
        }
        if !self.draining && self.next_push <= endpoint.now && self.unanswered.len() < self.window {
            self.push(endpoint);
            self.next_push = endpoint.now + self.jobs.pace.stretched(endpoint.random.within((MS, 120 * MS)));
            if endpoint.random.percent(3) {
                self.next_push += endpoint.random.within((SECOND, 4 * SECOND));
            }
        }
        let next_push =
            if self.draining { endpoint.now + SECOND } else { self.next_push.max(endpoint.now + 5 * MS) };
        self.again.iter().map(|(at, _)| *at).fold(next_push, Us::min)
    }

    fn drain(&mut self) {
        self.draining = true;
    }

    fn is_done(&self) -> bool {
        self.unanswered.is_empty()
    }
}

pub(super) fn key(random: &mut Random) -> Key {
    format!("key {}", random.below(KEYS)).parse().expect("it is a key")
}

pub(super) fn due(random: &mut Random, wall: Millis, calm: bool, pace: Pace) -> When {
    let kind = random.below(20);
    let delay_ms = match kind {
        // Around the horizon, and far beyond it.
        2..=5 if pace.is_long() => random.within((20 * MINUTE_MS, 80 * MINUTE_MS)),
        6..=13 if pace.is_long() => random.within((HOUR_MS, 4 * HOUR_MS)),
        14..=18 if pace.is_long() => random.within((HOUR_MS, 40 * HOUR_MS)),
        0..=3 => 0,
        4..=9 => random.within((1, 60)),
        10..=16 => random.within((60, 4_000)),
        17 | 18 => random.within((4_000, 30_000)),
        _ => random.within((60_000, 40 * 86_400_000)),
    };
    if !random.percent(30) {
        return When::After(delay_ms);
    }
    let late_ms = if calm { 0 } else { random.below(3) * 1500 };
    When::At(Millis(wall.after(delay_ms).0.saturating_sub(late_ms)))
}

fn attributes(random: &mut Random, wall: Millis, pace: Pace, if_exists: IfExists) -> Attributes {
    let mut builder = AttributesBuilder::default();
    if if_exists == IfExists::Postpone && random.percent(50) {
        let max_ms = if pace.is_long() { random.below(20 * HOUR_MS) } else { random.below(20_000) };
        builder = builder.postpone_max(max_ms);
    }
    if random.percent(40) {
        builder =
            builder.dedupe_retention(random.within((1, if pace.is_long() { 6 * HOUR_MS } else { 60_000 })));
    }
    if random.percent(10) {
        builder = builder.header("content-type", "text/plain");
    }
    if random.percent(8) {
        let lives_ms = match pace {
            pace if pace.is_long() && random.percent(70) => random.within((HOUR_MS / 2, 6 * HOUR_MS)),
            _ => random.within((200, 60_000)),
        };
        let expires = if random.percent(50) { When::After(lives_ms) } else { When::At(wall.after(lives_ms)) };
        builder = builder.expires(expires);
    }
    if random.percent(15) {
        builder = builder.attempts_max(u32::try_from(random.within((1, 5))).expect("it is small"));
    }
    if random.percent(15) {
        let curve = match random.below(3) {
            0 => BackoffCurve::Fixed(50),
            1 => BackoffCurve::Exponential { first_ms: 20, max_ms: 2_000 },
            _ => BackoffCurve::List(vec![0, 10, 900]),
        };
        builder = builder.backoff(&Backoff { curve, jitter_percent: 20 });
    }
    // The time decides, so that nothing more is drawn and the named seeds keep their meaning.
    if wall.0.is_multiple_of(53) {
        builder = builder.buried("");
    }
    builder.build().expect("it is within its limits")
}
