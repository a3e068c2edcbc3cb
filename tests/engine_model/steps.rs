//! Random work for an engine: the drawn steps, and their translation to the commands of an entry.
//!
//! A lease or a job can only be named once it is known, so steps name them by number, and are made concrete when their turn
//! comes.

#![expect(clippy::indexing_slicing, reason = "numbers are drawn below the lengths")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use adjourn::engine::{BulkChange, Command, Conditions, JobSelect, KeyedJob, NewJob, Share, TopicSelect};
use adjourn::types::limits::{DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, PRIORITY_UNSAID};
use adjourn::types::{
    AttributesBuilder, Backoff, BackoffCurve, FEATURE_LEVEL, IfExists, JobId, Lease, Millis, SessionId,
    SessionSecret, TopicId, When,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::policies::CHANGES;

pub(crate) const TOPICS: [&str; 3] = ["orders", "mails", "reports"];
pub(crate) const KEYS: [&[u8]; 3] = [b"a", b"b", b"order 17"];
/// Why leases end. The last reason is longer than the limit, and the limit lies within a character.
static REASONS: LazyLock<[String; 4]> = LazyLock::new(|| {
    [String::new(), "no such address".to_owned(), "später".to_owned(), format!("x{}", "ü".repeat(600))]
});
const BODY: &[u8] = b"0123456789";
const DAY: i64 = 86_400_000;

/// An entry: how far the clock moved, and the actions.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) elapsed_ms: i64,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    due: Due,
    priority: u32,
    ttr_ms: u32,
    if_exists: IfExists,
    key: Option<usize>,
    postpone_max: Option<u64>,
    retention_ms: Option<u64>,
    expires: Option<Due>,
    attempts_max: Option<u32>,
    backoff: Option<Backoff>,
    body_bytes: usize,
}

/// A due time; on the wall clock it is relative to what that shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    After(u64),
    Wall(i64),
}

#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// The nth job from the one that was pushed last.
    Back(u64),
    Key(usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Genesis,
    ClockStep(i64),
    Open(bool),
    Resume(u64, bool),
    Lapse(u64),
    Close(u64),
    Push {
        session: u64,
        sequence: u64,
        topic: usize,
        by_id: bool,
        jobs: Vec<Job>,
    },
    Reserve {
        session: u64,
        topics: Vec<u32>,
        jobs_max: u32,
        bytes_max: u64,
    },
    ReserveNamed {
        session: u64,
        topics: Vec<usize>,
        jobs_max: u32,
    },
    /// Topics, their weights and standings.
    ReserveWeighted {
        session: u64,
        shares: Vec<(usize, u16, i64)>,
        jobs_max: u32,
    },
    Finish(Vec<usize>),
    Release(Vec<usize>, Option<u64>, bool),
    Touch(Vec<usize>, Option<u32>),
    Bury(Vec<usize>),
    /// As a release, with the nth of some reasons.
    ReleaseBecause(Vec<usize>, Option<u64>, bool, usize),
    BuryBecause(Vec<usize>, usize),
    Delete(Which),
    Reschedule(Which, Due),
    RunNow(Which),
    Kick(Which),
    /// To which of the newest jobs, and in which states of how many attempts.
    Bulk {
        change: usize,
        topic: Option<usize>,
        jobs: Vec<u64>,
        states: u8,
        attempts: (Option<u32>, Option<u32>),
        due: (Due, Due),
    },
    /// The nth topic, if one is named, to which of the newest jobs with which of the keys, to which topic, in which states.
    Move {
        from: Option<usize>,
        to: usize,
        jobs: Vec<(u64, Option<usize>)>,
        states: u8,
    },
    DeleteTopic(usize),
    /// Of which topic, named or by its number, and how many at most.
    KickMany(usize, bool, u32),
    Pause(usize, bool),
    /// Of which topic, and which of some changes.
    Policy(usize, usize),
    SkipIds,
    /// A member, and which of two copies of the data it has.
    Member(u64, bool),
    FeatureLevel(u32),
}

/// What steps refer to.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Every lease that was granted, the newest last.
    pub(crate) leases: Vec<Lease>,
    pub(crate) last_job: u64,
    pub(crate) wall: u64,
    pub(crate) offset: i64,
    /// The keys of the jobs that live.
    pub(crate) keys: BTreeMap<JobId, Option<Vec<u8>>>,
    /// Attributes of the entry that is being made.
    attributes: Vec<Vec<u8>>,
}

pub(crate) fn secret(session: u64) -> SessionSecret {
    SessionSecret([u8::try_from(session % 251).expect("small"); 16])
}

impl Known {
    /// The commands of a step; they borrow from data prepared here.
    pub(crate) fn commands(&mut self, actions: &[Action], next_session: u64) -> Vec<Command<'_>> {
        self.attributes = actions.iter().flat_map(|action| self.attributes_of(action)).collect();
        let this = &*self;
        let mut attributes = this.attributes.iter().map(Vec::as_slice);
        let mut opened = 0;
        let command = |action: &Action| match action {
            Action::Open(leases_outlive) => {
                opened += 1;
                let secret = secret(next_session + opened - 1);
                Command::SessionOpen { secret, leases_outlive: *leases_outlive }
            }
            Action::Push { session, sequence, topic, by_id, jobs } => {
                let name = TOPICS[*topic];
                let topic = TopicId(u32::try_from(*topic).expect("small"));
                Command::Push {
                    session: SessionId(*session),
                    sequence: *sequence,
                    topic: if *by_id { TopicSelect::Id(topic) } else { TopicSelect::Name(name) },
                    jobs: jobs.iter().map(|job| this.job(job, attributes.next().expect("made"))).collect(),
                }
            }
            action => this.command(action),
        };
        actions.iter().map(command).collect()
    }

    fn command(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Genesis => Command::Genesis { key_secret: [7; 16] },
            Action::SkipIds => Command::SkipIds { floor: 0 },
            Action::Member(node, other) => Command::MemberSet {
                node: *node,
                storage_id: [u8::from(*other); 16],
                peer_address: "peer:1",
                client_address: "client:1",
            },
            Action::FeatureLevel(level) => Command::FeatureLevel { level: *level },
            Action::ClockStep(by_ms) => Command::ClockOffset { offset_ms: self.offset + by_ms },
            Action::Resume(session, right) => Command::SessionResume {
                session: SessionId(*session),
                secret: secret(session + u64::from(!right)),
            },
            Action::Lapse(session) => Command::SessionLapse { session: SessionId(*session) },
            Action::Close(session) => Command::SessionClose { session: SessionId(*session) },
            Action::Reserve { session, topics, jobs_max, bytes_max } => Command::Reserve {
                session: SessionId(*session),
                topics: topics.iter().copied().map(TopicId).collect(),
                jobs_max: *jobs_max,
                bytes_max: *bytes_max,
            },
            Action::ReserveNamed { session, topics, jobs_max } => Command::ReserveNamed {
                session: SessionId(*session),
                topics: topics.iter().map(|topic| TopicSelect::Name(TOPICS[*topic])).collect(),
                jobs_max: *jobs_max,
                bytes_max: 1000,
            },
            Action::ReserveWeighted { session, shares, jobs_max } => Command::ReserveWeighted {
                session: SessionId(*session),
                shares: shares
                    .iter()
                    .map(|(topic, weight, standing)| Share {
                        topic: TopicSelect::Name(TOPICS[*topic]),
                        weight: *weight,
                        standing: *standing,
                    })
                    .collect(),
                jobs_max: *jobs_max,
                bytes_max: 1000,
            },
            Action::Finish(_)
            | Action::Release(..)
            | Action::Touch(..)
            | Action::Bury(_)
            | Action::ReleaseBecause(..)
            | Action::BuryBecause(..) => self.settling(action),
            Action::Delete(which) => Command::Delete { job: self.which(which) },
            Action::Reschedule(which, due) => {
                Command::Reschedule { job: self.which(which), due: self.when(*due) }
            }
            Action::RunNow(which) => Command::RunNow { job: self.which(which) },
            Action::Kick(which) => Command::Kick { job: self.which(which) },
            Action::Bulk { .. } | Action::Move { .. } => self.many(action),
            Action::KickMany(topic, by_id, jobs_max) => {
                let id = TopicSelect::Id(TopicId(u32::try_from(*topic).expect("few")));
                let topic = if *by_id { id } else { TopicSelect::Name(TOPICS[*topic]) };
                Command::KickMany { topic, jobs_max: *jobs_max }
            }
            Action::Pause(..) | Action::Policy(..) | Action::DeleteTopic(_) => Self::of_topic(action),
            Action::Open(_) | Action::Push { .. } => unreachable!("made by the caller"),
        }
    }

    fn of_topic(action: &Action) -> Command<'static> {
        match action {
            Action::Pause(topic, paused) => {
                Command::TopicPause { topic: TopicSelect::Name(TOPICS[*topic]), paused: *paused }
            }
            Action::Policy(topic, change) => {
                Command::TopicPolicy { topic: TopicSelect::Name(TOPICS[*topic]), change: &CHANGES[*change] }
            }
            Action::DeleteTopic(topic) => Command::TopicDelete { topic: TopicSelect::Name(TOPICS[*topic]) },
            other => unreachable!("{other:?} is not about a topic"),
        }
    }

    fn many(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Bulk { change, topic, jobs, states, attempts, due } => {
                self.bulk(*change, *topic, jobs, *states, *attempts, *due)
            }
            Action::Move { from, to, jobs, states } => Command::Move {
                from: from.map(|from| TopicSelect::Name(TOPICS[from])),
                to: TopicSelect::Name(TOPICS[*to]),
                jobs: jobs.iter().map(|(back, key)| self.keyed(*back, *key)).collect(),
                conditions: Conditions { states: *states, ..Conditions::default() },
            },
            other => unreachable!("{other:?} changes no jobs together"),
        }
    }

    fn settling(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Finish(leases) => Command::Finish { leases: self.leases(leases) },
            Action::Release(leases, delay_ms, attempted) => {
                Command::Release { leases: self.leases(leases), delay_ms: *delay_ms, attempted: *attempted }
            }
            Action::Touch(leases, ttr_ms) => Command::Touch { leases: self.leases(leases), ttr_ms: *ttr_ms },
            Action::Bury(leases) => Command::Bury { leases: self.leases(leases) },
            Action::ReleaseBecause(leases, delay_ms, attempted, reason) => Command::ReleaseBecause {
                leases: self.leases(leases),
                delay_ms: *delay_ms,
                attempted: *attempted,
                reason: &REASONS[*reason],
            },
            Action::BuryBecause(leases, reason) => {
                Command::BuryBecause { leases: self.leases(leases), reason: &REASONS[*reason] }
            }
            other => unreachable!("{other:?} settles no leases"),
        }
    }

    fn job<'a>(&self, job: &Job, attributes: &'a [u8]) -> NewJob<'a> {
        NewJob {
            due: self.when(job.due),
            priority: job.priority,
            ttr_ms: job.ttr_ms,
            if_exists: job.if_exists,
            key: job.key.map(|key| KEYS[key]),
            attributes,
            body: &BODY[..job.body_bytes],
        }
    }

    fn attributes_of(&self, action: &Action) -> Vec<Vec<u8>> {
        let Action::Push { jobs, .. } = action else { return Vec::new() };
        let of = |job: &Job| {
            let mut builder = AttributesBuilder::default();
            if job.body_bytes == 1 {
                builder = builder.header("a", "b");
            }
            if let Some(expires) = job.expires {
                builder = builder.expires(self.when(expires));
            }
            if let Some(attempts) = job.attempts_max {
                builder = builder.attempts_max(attempts);
            }
            if let Some(backoff) = &job.backoff {
                builder = builder.backoff(backoff);
            }
            if let Some(retention_ms) = job.retention_ms {
                builder = builder.dedupe_retention(retention_ms);
            }
            if let Some(max_ms) = job.postpone_max {
                builder = builder.postpone_max(max_ms);
            }
            builder.build().expect("valid").as_bytes().to_vec()
        };
        jobs.iter().map(of).collect()
    }

    fn when(&self, due: Due) -> When {
        match due {
            Due::After(delay_ms) => When::After(delay_ms),
            Due::Wall(by_ms) => When::At(Millis(self.wall.saturating_add_signed(by_ms))),
        }
    }

    fn bulk(
        &self,
        change: usize,
        topic: Option<usize>,
        jobs: &[u64],
        states: u8,
        attempts: (Option<u32>, Option<u32>),
        due: (Due, Due),
    ) -> Command<'static> {
        let wall = |due: Due| match self.when(due) {
            When::At(at) => at,
            When::After(delay_ms) => Millis(self.wall + delay_ms),
        };
        let change = match change {
            0 => BulkChange::Delete,
            1 => BulkChange::Kick,
            2 => BulkChange::RunNow,
            _ => BulkChange::Reschedule { due: wall(due.0) },
        };
        let conditions = Conditions {
            states,
            due_from: matches!(due.1, Due::Wall(_)).then(|| wall(due.1)),
            due_before: matches!(due.1, Due::After(_)).then(|| wall(due.1)),
            attempts_min: attempts.0,
            attempts_max: attempts.1,
            buried: None,
            reason: None,
        };
        let jobs = jobs.iter().map(|back| JobId((self.last_job + 1).saturating_sub(*back))).collect();
        match topic.map(|topic| TopicSelect::Name(TOPICS[topic])) {
            Some(topic) => Command::BulkIn { topic, change, jobs, conditions },
            None => Command::Bulk { change, jobs, conditions },
        }
    }

    /// A job with its key, as read by the proposer of a move; or with another key.
    fn keyed(&self, back: u64, wrong: Option<usize>) -> KeyedJob<'_> {
        let job = JobId((self.last_job + 1).saturating_sub(back));
        let key = self.keys.get(&job).and_then(Option::as_deref);
        // Of a job without a key the state could not tell.
        let key = wrong.filter(|_| key.is_some()).map(|wrong| KEYS[wrong]).or(key);
        KeyedJob { job, key }
    }

    fn leases(&self, back: &[usize]) -> Vec<Lease> {
        back.iter().filter_map(|back| self.leases.iter().rev().nth(*back)).copied().collect()
    }

    fn which(&self, which: &Which) -> JobSelect<'static> {
        match *which {
            Which::Back(back) => JobSelect::Id(JobId((self.last_job + 1).saturating_sub(back))),
            Which::Key(topic, key) => {
                JobSelect::Key { topic: TopicSelect::Name(TOPICS[topic]), key: KEYS[key] }
            }
        }
    }
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let elapsed = prop_oneof![
        8 => Just(0),
        16 => 1..60_i64,
        6 => 60..3_000_i64,
        1 => Just(60_000_i64),
        2 => -5_000..0_i64,
        1 => Just(700_000_i64),
        1 => Just(30 * DAY),
    ];
    let step = (elapsed, proptest::collection::vec(action(), 0..5), proptest::bool::weighted(0.3))
        .prop_map(|(elapsed_ms, actions, again)| (Step { elapsed_ms, actions }, again));
    let begin = Step {
        elapsed_ms: 0,
        actions: vec![Action::Genesis, Action::Open(false), Action::Open(true), Action::Open(false)],
    };
    proptest::collection::vec(step, 1..100).prop_map(move |drawn| {
        let mut steps = vec![begin.clone()];
        for (mut step, again) in drawn {
            // The jobs pushed last are pushed again, under the same numbers.
            let pushed = steps.iter().rev().flat_map(|step| &step.actions);
            let last = pushed.filter(|_| again).find(|action| matches!(action, Action::Push { .. }));
            step.actions.extend(last.cloned());
            steps.push(step);
        }
        steps
    })
}

fn action() -> impl Strategy<Value = Action> {
    let leases = || proptest::collection::vec(prop_oneof![4 => 0..3_usize, 1 => 3..8_usize], 1..4);
    let session = || prop_oneof![9 => 1..4_u64, 1 => Just(0), 1 => 4..6_u64];
    // Topics that come back have other numbers.
    let topics = proptest::collection::vec(prop_oneof![3 => 0..4_u32, 1 => 4..8_u32], 1..4);
    let push = (session(), sequence(), 0..3_usize, proptest::bool::weighted(0.2), jobs());
    prop_oneof![
        1 => Just(Action::Genesis),
        1 => Just(Action::SkipIds),
        1 => (1..4_u64, proptest::bool::weighted(0.2)).prop_map(|(node, other)| Action::Member(node, other)),
        3 => (0..=FEATURE_LEVEL).prop_map(Action::FeatureLevel),
        2 => select(vec![-2 * DAY, -90_000, -1_500, 1_500, 90_000, DAY]).prop_map(Action::ClockStep),
        2 => proptest::bool::weighted(0.3).prop_map(Action::Open),
        4 => (session(), proptest::bool::weighted(0.8)).prop_map(|(id, right)| Action::Resume(id, right)),
        2 => session().prop_map(Action::Lapse),
        1 => session().prop_map(Action::Close),
        30 => push.prop_map(|(session, sequence, topic, by_id, jobs)| {
            Action::Push { session, sequence, topic, by_id, jobs }
        }),
        30 => (session(), topics, 0..6_u32, select(vec![0, 1, 4, 8, 1000, 1000, 1000])).prop_map(
            |(session, topics, jobs_max, bytes_max)| {
                Action::Reserve { session, topics, jobs_max, bytes_max }
            }
        ),
        5 => (session(), proptest::collection::vec(0..3_usize, 1..4), 0..6_u32)
            .prop_map(|(session, topics, jobs_max)| Action::ReserveNamed { session, topics, jobs_max }),
        10 => (session(), proptest::collection::vec((0..3_usize, 1..6_u16, -6..6_i64), 1..4), 0..6_u32)
            .prop_map(|(session, shares, jobs_max)| Action::ReserveWeighted { session, shares, jobs_max }),
        10 => leases().prop_map(Action::Finish),
        12 => (leases(), select(vec![None, None, Some(0), Some(40), Some(5_000)]), proptest::bool::weighted(0.8))
            .prop_map(|(leases, delay_ms, attempted)| Action::Release(leases, delay_ms, attempted)),
        6 => (leases(), select(vec![None, Some(100), Some(900)]))
            .prop_map(|(leases, ttr_ms)| Action::Touch(leases, ttr_ms)),
        4 => leases().prop_map(Action::Bury),
        6 => (leases(), select(vec![None, Some(40), Some(5_000_000)]), proptest::bool::weighted(0.8), 0..REASONS.len())
            .prop_map(|(leases, delay_ms, attempted, reason)| {
                Action::ReleaseBecause(leases, delay_ms, attempted, reason)
            }),
        4 => (leases(), 0..REASONS.len()).prop_map(|(leases, reason)| Action::BuryBecause(leases, reason)),
        3 => which().prop_map(Action::Delete),
        6 => (which(), due()).prop_map(|(which, due)| Action::Reschedule(which, due)),
        4 => which().prop_map(Action::RunNow),
        6 => which().prop_map(Action::Kick),
        4 => (0..3_usize, any::<bool>(), 0..5_u32)
            .prop_map(|(topic, by_id, max)| Action::KickMany(topic, by_id, max)),
        8 => bulk(),
        8 => moves(),
        3 => (0..3_usize).prop_map(Action::DeleteTopic),
        2 => (0..3_usize, proptest::bool::weighted(0.3)).prop_map(|(topic, paused)| Action::Pause(topic, paused)),
        5 => (0..3_usize, 0..CHANGES.len()).prop_map(|(topic, change)| Action::Policy(topic, change)),
    ]
}

fn sequence() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 6 => 1..8_u64, 1 => 16_380..16_400_u64, 1 => Just(40_000)]
}

fn bulk() -> impl Strategy<Value = Action> {
    use proptest::option::of;
    let jobs = proptest::collection::vec(0..12_u64, 0..8);
    let change = (0..4_usize, of(0..3_usize));
    (change, jobs, 1..32_u8, (of(0..3_u32), of(0..3_u32)), (due(), due())).prop_map(
        |((change, topic), jobs, states, attempts, due)| Action::Bulk {
            change,
            topic,
            jobs,
            states,
            attempts,
            due,
        },
    )
}

fn moves() -> impl Strategy<Value = Action> {
    use proptest::option::{of, weighted};
    let jobs = proptest::collection::vec((0..12_u64, weighted(0.1, 0..KEYS.len())), 0..8);
    (of(0..3_usize), 0..3_usize, jobs, prop_oneof![Just(15_u8), 1..16_u8])
        .prop_map(|(from, to, jobs, states)| Action::Move { from, to, jobs, states })
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        (0..8_u64).prop_map(Which::Back),
        (0..3_usize, 0..3_usize).prop_map(|(topic, key)| Which::Key(topic, key))
    ]
}

fn due() -> impl Strategy<Value = Due> {
    prop_oneof![
        2 => Just(Due::After(0)),
        4 => (0..200_u64).prop_map(Due::After),
        2 => (0..90_000_u64).prop_map(Due::After),
        1 => Just(Due::After(10 * 365 * 86_400_000)),
        3 => (-100..200_i64).prop_map(Due::Wall),
        1 => (-90_000..90_000_i64).prop_map(Due::Wall),
        1 => Just(Due::Wall(31 * DAY)),
    ]
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let backoff = prop_oneof![
        Just(BackoffCurve::Fixed(50)),
        Just(BackoffCurve::Linear { step_ms: 30, max_ms: 100 }),
        Just(BackoffCurve::Exponential { first_ms: 20, max_ms: 10_000 }),
        Just(BackoffCurve::List(vec![0, 700])),
    ];
    let backoff =
        (backoff, select(vec![0, 50])).prop_map(|(curve, jitter_percent)| Backoff { curve, jitter_percent });
    let rare = (
        proptest::option::weighted(0.4, select(vec![0, 40, 3_000, DELAY_MS_MAX])),
        proptest::option::weighted(0.4, select(vec![0, 50, 5_000, DEDUPE_RETENTION_MS_MAX + 1])),
        proptest::option::weighted(0.3, due()),
        proptest::option::weighted(0.3, 1..4_u32),
        proptest::option::weighted(0.3, backoff),
    );
    let job = (
        due(),
        prop_oneof![9 => 0..3_u32, 1 => Just(PRIORITY_UNSAID)],
        select(vec![0, 100, 1_000, 60_000]),
        select(vec![
            IfExists::Reject,
            IfExists::Keep,
            IfExists::Replace,
            IfExists::ReplaceReserved,
            IfExists::Postpone,
            IfExists::Postpone,
        ]),
        proptest::option::weighted(0.5, 0..3_usize),
        rare,
        0..4_usize,
    );
    let job = job.prop_map(|(due, priority, ttr_ms, if_exists, key, rare, body_bytes)| {
        let (postpone_max, retention_ms, expires, attempts_max, backoff) = rare;
        Job {
            due,
            priority,
            ttr_ms,
            if_exists,
            key,
            postpone_max,
            retention_ms,
            expires,
            attempts_max,
            backoff,
            body_bytes,
        }
    });
    proptest::collection::vec(job, 1..5)
}
