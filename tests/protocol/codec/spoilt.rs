//! Requests whose numbers, texts and lists may be beyond their limits, as strategies.
//!
//! The codec reads no such request, so they are made of the ones that it reads: a new field needs nothing here.

use std::num::NonZeroU128;

use adjourn_protocol::{Advance, Change, Idempotency, NewJob, ReleaseKind, Request};
use adjourn_types::limits::{
    BULK_JOBS_MAX, CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, CURSOR_BYTES_MAX, DEDUPE_RETENTION_MS_MAX,
    DELAY_MS_MAX, KEY_BYTES_MAX, KICK_JOBS_MAX, LEASES_MAX, LIST_JOBS_MAX, PUSH_JOBS_MAX, REASON_BYTES_MAX,
    RESERVE_JOBS_MAX, RESERVE_TOPICS_MAX, TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{AttributesBuilder, Fence, Filter, JobId, Lease, Millis, States, TopicName, When};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::messages;
use super::payload::Message;
use super::{request, rules};

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

/// Of how many items a list is to be: of none, of about `limit`, or of as many as it has.
fn count(limit: usize) -> impl Strategy<Value = Option<usize>> {
    prop_oneof![8 => Just(None), 1 => Just(Some(0)), 2 => (limit - 1..=limit + 1).prop_map(Some)]
}

/// Makes a list as long as that, of items like its first.
fn resize<T: Clone>(items: &mut Vec<T>, count: Option<usize>) {
    if let (Some(first), Some(count)) = (items.first().cloned(), count) {
        *items = vec![first; count];
    }
}

/// A list of at most four, or of about `limit`.
fn some<T: Clone + std::fmt::Debug>(
    item: impl Strategy<Value = T>,
    limit: usize,
) -> impl Strategy<Value = Vec<T>> {
    (vec(item, 0..=4), count(limit)).prop_map(|(mut items, count)| {
        resize(&mut items, count);
        items
    })
}

/// These requests, each changed with something that is drawn for it.
fn changed<T: std::fmt::Debug>(
    of: BoxedStrategy<Message>,
    with: impl Strategy<Value = T>,
    change: impl Fn(&mut Request, T),
) -> impl Strategy<Value = Request> {
    (of, with).prop_map(move |(message, with)| {
        let mut request = message.request();
        change(&mut request, with);
        request
    })
}

fn topic() -> impl Strategy<Value = TopicName> {
    let text = rules::text("topic").expect("a grammar");
    text.prop_map(|text| text.parse().expect("a topic"))
}

fn topics() -> impl Strategy<Value = (Vec<TopicName>, Vec<u16>)> {
    (some(topic(), RESERVE_TOPICS_MAX), prop_oneof![Just(Vec::new()), some(0..3_u16, RESERVE_TOPICS_MAX)])
}

/// Jobs of a push, of which only some numbers and the attributes change.
fn spoil(jobs: &mut [NewJob], delay_ms: u64, ttr_ms: u32, retention_ms: Option<u64>) {
    for job in jobs {
        (job.due, job.ttr_ms) = (When::After(delay_ms), ttr_ms);
        if let Some(retention_ms) = retention_ms {
            let value = retention_ms.to_le_bytes().to_vec();
            let retention = AttributesBuilder::default().raw(DEDUPE_RETENTION, value);
            job.attributes = retention.build().expect("attributes");
        }
    }
}

fn push() -> impl Strategy<Value = Request> {
    let ttr_ms = prop_oneof![around_u32(TTR_MS_MIN), around_u32(TTR_MS_MAX)];
    let of_jobs = (around(DELAY_MS_MAX), ttr_ms, option::of(around(DEDUPE_RETENTION_MS_MAX)));
    let sequence = prop_oneof![Just(0), around(u64::MAX)];
    let idempotency = option::of((any::<u128>(), 0..6_u32));
    let parts = (count(PUSH_JOBS_MAX), of_jobs, sequence, idempotency);
    changed(messages::push(), parts, |request, (count, (delay_ms, ttr_ms, retention_ms), sequence, known)| {
        let Request::Push(push) = request else { panic!("{request:?}") };
        spoil(&mut push.jobs, delay_ms, ttr_ms, retention_ms);
        resize(&mut push.jobs, count);
        push.sequence = sequence;
        push.idempotency =
            known.and_then(|(key, list_jobs)| Some(Idempotency { key: NonZeroU128::new(key)?, list_jobs }));
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let states = prop_oneof![Just(States::of([])), Just(States::ALL), Just(States::WITH_FINISHED)];
    let texts = (option::of(about(KEY_BYTES_MAX)), option::of(prop_oneof![about(256), about(900)]));
    (option::of(topic()), states, texts).prop_map(|(topic, states, (key_prefix, reason))| Filter {
        topic,
        states,
        key_prefix: key_prefix.map(Bytes::from),
        reason,
        ..Filter::default()
    })
}

fn of_many() -> impl Strategy<Value = Request> {
    let asked = || (filter(), about(CURSOR_BYTES_MAX).prop_map(Bytes::from));
    prop_oneof![
        filter().prop_map(|filter| Request::Count(filter.into())),
        changed(messages::list(), (asked(), around_u32(LIST_JOBS_MAX)), |request, (asked, jobs_max)| {
            let Request::List(list) = request else { panic!("{request:?}") };
            ((list.filter, list.cursor), list.jobs_max) = (asked, jobs_max);
        }),
        changed(
            messages::bulk(),
            (asked(), around_u32(BULK_JOBS_MAX), topic()),
            |request, (asked, jobs_max, to)| {
                let Request::Bulk(bulk) = request else { panic!("{request:?}") };
                ((bulk.filter, bulk.cursor), bulk.jobs_max) = (asked, jobs_max);
                bulk.change = Change::Move { to };
            }
        ),
    ]
}

fn topic_set() -> impl Strategy<Value = Request> {
    let parts = (around_u32(TTR_MS_MAX), around_u32(1), any::<bool>(), topic());
    changed(messages::topic_set(), parts, |request, (ttr_ms, attempts_max, is_own, other)| {
        let Request::TopicSet(set) = request else { panic!("{request:?}") };
        let policy = &mut set.change.set;
        (policy.ttr_ms, policy.attempts_max) = (Some(ttr_ms), Some(attempts_max));
        policy.dead_letters = Some(if is_own { set.topic.clone() } else { other });
        set.change.unset.clear();
    })
}

fn settling() -> impl Strategy<Value = Request> {
    let lease =
        || any::<(u64, u64)>().prop_map(|(job, fence)| Lease { job: JobId(job), fence: Fence(fence) });
    let leases = move || some(lease(), LEASES_MAX);
    let delay_ms = || prop_oneof![around(DELAY_MS_MAX), around(1 << 63), around(u64::MAX)];
    let kind = prop_oneof![delay_ms().prop_map(ReleaseKind::After), delay_ms().prop_map(ReleaseKind::Parked)];
    let release = (leases(), kind, option::of(about(REASON_BYTES_MAX)));
    prop_oneof![
        changed(messages::release(), release, |request, with| {
            let Request::Release { leases, kind, reason, .. } = request else { panic!("{request:?}") };
            (*leases, *kind, *reason) = with;
        }),
        changed(messages::touch(), (leases(), option::of(around_u32(TTR_MS_MAX))), |request, with| {
            let Request::Touch { leases, ttr_ms, .. } = request else { panic!("{request:?}") };
            (*leases, *ttr_ms) = with;
        }),
    ]
}

fn consuming() -> impl Strategy<Value = Request> {
    let credit = || (around_u32(CREDIT_JOBS_MAX), around(CREDIT_BYTES_MAX));
    let reserve = (topics(), around_u32(RESERVE_JOBS_MAX), around(WAIT_MS_MAX));
    prop_oneof![
        changed(messages::reserve(), reserve, |request, with| {
            let Request::Reserve(reserve) = request else { panic!("{request:?}") };
            ((reserve.topics, reserve.weights), reserve.jobs_max, reserve.wait_ms) = with;
        }),
        changed(messages::subscribe(), (topics(), credit()), |request, (topics, credit)| {
            let Request::Subscribe(subscribe) = request else { panic!("{request:?}") };
            (subscribe.topics, subscribe.weights) = topics;
            (subscribe.credit_jobs, subscribe.credit_bytes) = credit;
        }),
        changed(messages::credit(), credit(), |request, credit| {
            let Request::Credit { credit_jobs, credit_bytes, .. } = request else { panic!("{request:?}") };
            (*credit_jobs, *credit_bytes) = credit;
        }),
        changed(messages::leases(), around_u32(RESERVE_JOBS_MAX), |request, most| {
            let Request::Leases { jobs_max, .. } = request else { panic!("{request:?}") };
            *jobs_max = most;
        }),
    ]
}

/// A request that a server may refuse for what it says.
pub(super) fn spoilt() -> impl Strategy<Value = Request> {
    prop_oneof![
        request(),
        changed(messages::hello(), (about(64), about(256)), |request, (client_name, token)| {
            let Request::Hello(hello) = request else { panic!("{request:?}") };
            (hello.client_name, hello.token) = (client_name, Bytes::from(token).into());
        }),
        push(),
        consuming(),
        changed(messages::kick_many(), around_u32(KICK_JOBS_MAX), |request, most| {
            let Request::KickMany { jobs_max, .. } = request else { panic!("{request:?}") };
            *jobs_max = most;
        }),
        changed(messages::reschedule(), (around(DELAY_MS_MAX), any::<bool>()), |request, (ms, is_time)| {
            let Request::Reschedule { due, .. } = request else { panic!("{request:?}") };
            *due = if is_time { When::At(Millis(ms)) } else { When::After(ms) };
        }),
        around(DELAY_MS_MAX).prop_map(|by_ms| Request::Advance(Advance::By(by_ms))),
        settling(),
        of_many(),
        topic_set(),
    ]
}
