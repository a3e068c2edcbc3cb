//! The steps, drawn at random.

use adjourn_engine::GroupChange;
use adjourn_types::limits::{DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, PRIORITY_UNSAID};
use adjourn_types::{Backoff, BackoffCurve, FEATURE_LEVEL, IfExists, Overlap};
use proptest::prelude::*;
use proptest::sample::select;

use super::groups::GROUPS;
use super::policies::{CHANGES, DEFAULTS};
use super::steps::{Action, DAY, Due, Edit, Fire, Job, KEYS, REASONS, Step, Which};

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
            let last = pushed
                .filter(|_| again)
                .find(|action| matches!(action, Action::Push { .. } | Action::PushIdempotent { .. }));
            step.actions.extend(last.cloned());
            steps.push(step);
        }
        steps
    })
}

fn action() -> impl Strategy<Value = Action> {
    let leases = || proptest::collection::vec(prop_oneof![4 => 0..3_usize, 1 => 3..8_usize], 1..4);
    let session = || prop_oneof![9 => 1..4_u64, 1 => Just(0), 1 => 4..6_u64];
    let topics = proptest::collection::vec(0..3_usize, 1..4);
    let push = (session(), sequence(), 0..3_usize, jobs());
    prop_oneof![
        1 => Just(Action::Genesis),
        1 => Just(Action::SkipIds),
        1 => select(vec![0, 3, 1 << 20, u64::MAX]).prop_map(Action::SkipFences),
        1 => (1..4_u64, proptest::bool::weighted(0.2)).prop_map(|(node, other)| Action::Member(node, other)),
        3 => (0..=FEATURE_LEVEL).prop_map(Action::FeatureLevel),
        3 => (0..DEFAULTS.len()).prop_map(Action::Defaults),
        2 => select(vec![-2 * DAY, -90_000, -1_500, 1_500, 90_000, DAY]).prop_map(Action::ClockStep),
        2 => proptest::bool::weighted(0.3).prop_map(Action::Open),
        4 => (session(), proptest::bool::weighted(0.8)).prop_map(|(id, right)| Action::Resume(id, right)),
        2 => session().prop_map(Action::Lapse),
        1 => session().prop_map(Action::Close),
        30 => push.prop_map(|(session, sequence, topic, jobs)| {
            Action::Push { session, sequence, topic, jobs }
        }),
        10 => (1..3_u64, 1..6_u128, select(vec![0, 0, 0, 1]), 0..3_usize, jobs()).prop_map(
            |(owner, key, more_jobs, topic, jobs)| {
                Action::PushIdempotent { owner, key, more_jobs, topic, jobs }
            }
        ),
        35 => (session(), topics, 0..6_u32, select(vec![0, 1, 4, 8, 1000, 1000, 1000])).prop_map(
            |(session, topics, jobs_max, bytes_max)| {
                Action::Reserve { session, topics, jobs_max, bytes_max }
            }
        ),
        10 => (session(), proptest::collection::vec((0..3_usize, 1..6_u16, -6..6_i64), 1..4), 0..6_u32)
            .prop_map(|(session, shares, jobs_max)| Action::ReserveWeighted { session, shares, jobs_max }),
        5 => (session(), which()).prop_map(|(session, which)| Action::ReserveJob(session, which)),
        10 => leases().prop_map(Action::Finish),
        18 => (
            leases(),
            select(vec![None, None, Some(0), Some(40), Some(5_000), Some(5_000_000)]),
            proptest::bool::weighted(0.8),
            0..REASONS.len(),
        )
            .prop_map(|(leases, delay_ms, attempted, reason)| {
                Action::Release(leases, delay_ms, attempted, reason)
            }),
        6 => (leases(), select(vec![None, Some(100), Some(900)]))
            .prop_map(|(leases, ttr_ms)| Action::Touch(leases, ttr_ms)),
        8 => (leases(), 0..REASONS.len()).prop_map(|(leases, reason)| Action::Bury(leases, reason)),
        3 => which().prop_map(Action::Delete),
        6 => (which(), due()).prop_map(|(which, due)| Action::Reschedule(which, due)),
        6 => (0..8_u64, due(), proptest::bool::weighted(0.8))
            .prop_map(|(back, due, right)| Action::RescheduleIf(back, due, right)),
        10 => edit().prop_map(Action::Edit),
        4 => which().prop_map(Action::RunNow),
        6 => which().prop_map(Action::Kick),
        4 => (0..3_usize, 0..5_u32).prop_map(|(topic, max)| Action::KickMany(topic, max)),
        5 => set_group(),
        8 => bulk(),
        8 => moves(),
        3 => (0..3_usize).prop_map(Action::DeleteTopic),
        8 => set_schedule(),
        14 => fire(),
        4 => (0..4_usize, proptest::bool::weighted(0.4)).prop_map(|(nth, paused)| Action::PauseSchedule(nth, paused)),
        1 => (0..4_usize).prop_map(Action::DeleteSchedule),
        2 => (0..3_usize, proptest::bool::weighted(0.3), proptest::option::of(0..300_u64))
            .prop_map(|(topic, paused, for_ms)| Action::Pause(topic, paused, for_ms)),
        5 => (0..3_usize, 0..CHANGES.len()).prop_map(|(topic, change)| Action::Policy(topic, change)),
    ]
}

fn set_group() -> impl Strategy<Value = Action> {
    use proptest::option::of;
    let change = (of(select(vec![1, 1, 2, 3])), of(proptest::bool::weighted(0.3)));
    (0..3_usize, 0..GROUPS.len(), change).prop_map(|(topic, group, (weight, paused))| {
        Action::SetGroup(topic, group, GroupChange { weight, paused })
    })
}

fn set_schedule() -> impl Strategy<Value = Action> {
    use proptest::option::weighted;
    let overlap = select(vec![Overlap::Allow, Overlap::Skip, Overlap::QueueOne, Overlap::Replace]);
    let next = weighted(0.9, prop_oneof![4 => -50..200_i64, 1 => 0..90_000_i64, 1 => Just(DAY)]);
    (0..3_usize, 0..2_usize, overlap, 0..3_u32, next, proptest::bool::weighted(0.1), 0..4_usize).prop_map(
        |(topic, name, overlap, failures_max, next, is_stale, body_bytes)| Action::SetSchedule {
            topic,
            name,
            overlap,
            failures_max,
            next,
            is_stale,
            body_bytes,
        },
    )
}

fn fire() -> impl Strategy<Value = Action> {
    use proptest::option::weighted;
    let rarely = || proptest::bool::weighted(0.05);
    let later = prop_oneof![9 => 0..20_i64, 1 => Just(DAY / 8)];
    let firings = proptest::collection::vec((later, weighted(0.5, 0..3_usize)), 0..3);
    let next = weighted(0.95, prop_oneof![4 => 1..100_u64, 1 => 1..90_000_u64]);
    let kinds = (proptest::bool::weighted(0.15), rarely(), rarely());
    let next = (next, weighted(0.1, 1..3_u64));
    (0..4_usize, kinds, weighted(0.2, (0..9_u64, 1..9_u64)), firings, next).prop_map(
        |(nth, (by_hand, is_stale, is_wrong), skipped, firings, (next, left))| {
            Action::Fire(Fire { nth, by_hand, is_stale, is_wrong, skipped, firings, next, left })
        },
    )
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
    proptest::collection::vec(job(), 1..5)
}

fn edit() -> impl Strategy<Value = Edit> {
    let version = proptest::option::weighted(0.3, proptest::bool::weighted(0.8));
    let is_stale = proptest::bool::weighted(0.1);
    (0..8_u64, job(), any::<[bool; 4]>(), any::<[bool; 6]>(), version, is_stale).prop_map(
        |(back, new, changes, replaced, version, is_stale)| Edit {
            back,
            new,
            changes,
            replaced,
            version,
            is_stale,
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
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
        // The last reason is longer than a push may have.
        proptest::option::weighted(0.1, 0..REASONS.len() - 1),
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
        proptest::option::weighted(0.6, 0..GROUPS.len()),
    );
    job.prop_map(|(due, priority, ttr_ms, if_exists, key, rare, body_bytes, group)| {
        let (postpone_max, retention_ms, expires, attempts_max, backoff, buried) = rare;
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
            group,
            buried,
        }
    })
}
