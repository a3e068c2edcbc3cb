//! Requests whose numbers, texts and lists may be beyond their limits, as strategies.

use std::num::NonZeroU128;

use adjourn_protocol::{
    Advance, Bulk, Change, Hello, Idempotency, JobRef, List, NewJob, Push, ReleaseKind, Request, Reserve,
    Subscribe, TopicSet,
};
use adjourn_types::limits::{
    BULK_JOBS_MAX, CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, CURSOR_BYTES_MAX, DEDUPE_RETENTION_MS_MAX,
    DELAY_MS_MAX, KEY_BYTES_MAX, KICK_JOBS_MAX, LEASES_MAX, LIST_JOBS_MAX, PUSH_JOBS_MAX, REASON_BYTES_MAX,
    RESERVE_JOBS_MAX, RESERVE_TOPICS_MAX, TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{
    AttributesBuilder, Filter, JobId, ListOrder, Millis, PolicyChange, States, TopicName, TopicPolicy, When,
};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::messages::{key, lease, new_job, request, topic};

/// The number of a job's attribute that says for how long it is remembered.
const DEDUPE_RETENTION: u16 = 6;

/// Numbers at both sides of a limit.
fn around(limit: u64) -> impl Strategy<Value = u64> {
    prop_oneof![limit.saturating_sub(2)..=limit.saturating_add(2), any::<u64>(), 0..3_u64]
}

fn around_u32(limit: u32) -> impl Strategy<Value = u32> {
    around(limit.into()).prop_map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// A text, or bytes, of about this length.
fn about(limit: usize) -> impl Strategy<Value = String> {
    prop_oneof![0..3_usize, limit - 2..=limit + 2].prop_map(|bytes| "x".repeat(bytes))
}

/// A list of at most four, or of about `limit`.
fn some<T: Clone + std::fmt::Debug>(
    item: impl Strategy<Value = T>,
    limit: usize,
) -> impl Strategy<Value = Vec<T>> {
    let many = prop_oneof![4 => Just(None), 1 => (limit - 1..=limit + 1).prop_map(Some)];
    (vec(item, 0..=4), many).prop_map(|(items, many)| match (items.first(), many) {
        (Some(first), Some(many)) => vec![first.clone(); many],
        _ => items,
    })
}

fn topics() -> impl Strategy<Value = (Vec<TopicName>, Vec<u16>)> {
    (some(topic(), RESERVE_TOPICS_MAX), prop_oneof![Just(Vec::new()), some(0..3_u16, RESERVE_TOPICS_MAX)])
}

fn jobs() -> impl Strategy<Value = Vec<NewJob>> {
    let ttr_ms = prop_oneof![around_u32(TTR_MS_MIN), around_u32(TTR_MS_MAX)];
    let numbers = (around(DELAY_MS_MAX), ttr_ms, around(DEDUPE_RETENTION_MS_MAX), any::<bool>());
    let job = (new_job(), numbers).prop_map(|(job, (delay_ms, ttr_ms, retention_ms, is_remembered))| {
        let retention =
            AttributesBuilder::default().raw(DEDUPE_RETENTION, retention_ms.to_le_bytes().to_vec());
        let attributes = if is_remembered { retention.build().expect("attributes") } else { job.attributes };
        NewJob { due: When::After(delay_ms), ttr_ms, attributes, ..job }
    });
    some(job, PUSH_JOBS_MAX)
}

fn push() -> impl Strategy<Value = Request> {
    let idempotency = proptest::option::of((any::<u128>(), 0..6_u32));
    (topic(), prop_oneof![Just(0), around(u64::MAX)], jobs(), idempotency).prop_map(
        |(topic, sequence, jobs, idempotency)| {
            let idempotency = idempotency
                .and_then(|(key, list_jobs)| Some(Idempotency { key: NonZeroU128::new(key)?, list_jobs }));
            Request::Push(Push { topic, sequence, jobs, idempotency })
        },
    )
}

fn filter() -> impl Strategy<Value = Filter> {
    use proptest::option::of;
    let states = prop_oneof![Just(States::of([])), Just(States::ALL), Just(States::WITH_FINISHED)];
    (of(topic()), states, of(about(KEY_BYTES_MAX)), of(prop_oneof![about(256), about(900)])).prop_map(
        |(topic, states, key_prefix, reason)| Filter {
            topic,
            states,
            key_prefix: key_prefix.map(Bytes::from),
            reason,
            ..Filter::default()
        },
    )
}

fn of_many() -> impl Strategy<Value = Request> {
    let asked = || (filter(), about(CURSOR_BYTES_MAX).prop_map(Bytes::from));
    prop_oneof![
        filter().prop_map(Request::Count),
        (asked(), around_u32(LIST_JOBS_MAX)).prop_map(|((filter, cursor), jobs_max)| {
            Request::List(List { filter, order: ListOrder::Id, jobs_max, with_bodies: false, cursor })
        }),
        (asked(), around_u32(BULK_JOBS_MAX), topic()).prop_map(|((filter, cursor), jobs_max, to)| {
            Request::Bulk(Bulk { change: Change::Move { to }, filter, jobs_max, cursor })
        }),
    ]
}

fn topic_set() -> impl Strategy<Value = Request> {
    let policy = (around_u32(TTR_MS_MAX), around_u32(1), any::<bool>(), key());
    (topic(), policy).prop_map(|(topic, (ttr_ms, attempts_max, is_own, other))| {
        let other = other.as_str().parse().ok();
        let dead_letters = if is_own { Some(topic.clone()) } else { other };
        let set = TopicPolicy {
            ttr_ms: Some(ttr_ms),
            attempts_max: Some(attempts_max),
            dead_letters,
            ..TopicPolicy::default()
        };
        Request::TopicSet(TopicSet {
            topic,
            change: Box::new(PolicyChange { set, ..PolicyChange::default() }),
        })
    })
}

fn settling() -> impl Strategy<Value = Request> {
    let leases = || some(lease(), LEASES_MAX);
    let delay_ms = || prop_oneof![around(DELAY_MS_MAX), around(1 << 63), around(u64::MAX)];
    let kind = prop_oneof![delay_ms().prop_map(ReleaseKind::After), delay_ms().prop_map(ReleaseKind::Parked)];
    let reason = proptest::option::of(about(REASON_BYTES_MAX));
    prop_oneof![
        (leases(), kind, reason).prop_map(|(leases, kind, reason)| Request::Release { kind, leases, reason }),
        (leases(), proptest::option::of(around_u32(TTR_MS_MAX)))
            .prop_map(|(leases, ttr_ms)| Request::Touch { ttr_ms, leases }),
    ]
}

/// A request that a server may refuse for what it says.
pub(super) fn spoilt() -> impl Strategy<Value = Request> {
    let hello = (about(64), about(256)).prop_map(|(client_name, token)| {
        Request::Hello(Hello { client_name, token: Bytes::from(token).into(), ..Hello::default() })
    });
    prop_oneof![
        request(),
        hello,
        push(),
        (topics(), around_u32(RESERVE_JOBS_MAX), around(WAIT_MS_MAX)).prop_map(
            |((topics, weights), jobs_max, wait_ms)| {
                Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights })
            }
        ),
        (topics(), around_u32(CREDIT_JOBS_MAX), around(CREDIT_BYTES_MAX)).prop_map(
            |((topics, weights), credit_jobs, credit_bytes)| {
                Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes, weights })
            }
        ),
        (around_u32(CREDIT_JOBS_MAX), around(CREDIT_BYTES_MAX)).prop_map(|(credit_jobs, credit_bytes)| {
            Request::Credit { subscription: 1, credit_jobs, credit_bytes }
        }),
        around_u32(RESERVE_JOBS_MAX).prop_map(|jobs_max| Request::Leases { after: JobId(0), jobs_max }),
        (around_u32(KICK_JOBS_MAX), topic())
            .prop_map(|(jobs_max, topic)| Request::KickMany { jobs_max, topic }),
        (around(DELAY_MS_MAX), any::<(u64, bool)>()).prop_map(|(delay_ms, (id, is_time))| {
            let job = JobRef::Id(JobId(id));
            let due = if is_time { When::At(Millis(delay_ms)) } else { When::After(delay_ms) };
            Request::Reschedule { due, job, if_version: None }
        }),
        around(DELAY_MS_MAX).prop_map(|by_ms| Request::Advance(Advance::By(by_ms))),
        settling(),
        of_many(),
        topic_set(),
    ]
}
