//! Every message with every kind of field, as strategies: what the properties of the codec are tried on.

use std::num::{NonZeroU64, NonZeroU128};

use adjourn_protocol::{
    Advance, Applied, BackupReady, Bulk, Change, ClusterReport, ConnectionList, ConnectionReport, Delivered,
    ErrorCode, ErrorReply, GoingAway, Hello, Idempotency, JobRef, JobReport, Leased, List, Member,
    MemberReport, NewJob, Push, PushResult, ReleaseKind, Request, Reserve, Response, Resume, Role,
    StageReport, StatsReport, Subscribe, TopicReport, TopicSet, TopicSettings, Totals, Welcome,
};
use adjourn_types::limits::{
    BACKUP_READ_BYTES_MAX, BULK_JOBS_MAX, CONNECTION_TOPICS_MAX, CONNECTIONS_LISTED_MAX, CREDIT_BYTES_MAX,
    CREDIT_JOBS_MAX, CURSOR_BYTES_MAX, DELAY_MS_MAX, KICK_JOBS_MAX, LIST_JOBS_MAX, RESERVE_JOBS_MAX,
    TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{
    Attributes, AttributesBuilder, BuryReason, Fence, Filter, IfExists, JobHistory, JobId, JobState, Key,
    Lease, ListOrder, Millis, PolicyChange, RetryDefaults, SessionId, SessionSecret, Setting, States,
    TopicName, When,
};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::policies::{has, settings};

pub(super) fn topic() -> impl Strategy<Value = TopicName> {
    "[a-z0-9._:/][a-zA-Z0-9._:/-]{0,127}".prop_map(|text| text.parse().expect("a topic"))
}

pub(super) fn key() -> impl Strategy<Value = Key> {
    "[a-zA-Z0-9 üж]{1,100}".prop_map(|text| text.parse().expect("a key"))
}

pub(super) fn body() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..200).prop_map(Bytes::from)
}

pub(super) fn when() -> impl Strategy<Value = When> {
    prop_oneof![(0..=DELAY_MS_MAX).prop_map(When::After), any::<u64>().prop_map(|at| When::At(Millis(at)))]
}

pub(super) fn attributes() -> impl Strategy<Value = Attributes> {
    let some =
        ("[a-z-]{1,20}", "[ -~]{0,40}", 1..100_u32, when()).prop_map(|(name, value, attempts, expires)| {
            let builder = AttributesBuilder::default().header(&name, &value).attempts_max(attempts);
            builder.expires(expires).raw(900, vec![1, 2, 3]).build().expect("valid")
        });
    prop_oneof![Just(Attributes::default()), some]
}

pub(super) fn ttr_ms() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), TTR_MS_MIN..=TTR_MS_MAX]
}

pub(super) fn new_job() -> impl Strategy<Value = NewJob> {
    let if_exists = (0..5_u8).prop_map(|number| IfExists::from_u8(number).expect("a mode"));
    (when(), any::<u32>(), ttr_ms(), if_exists, proptest::option::of(key()), attributes(), body()).prop_map(
        |(due, priority, ttr_ms, if_exists, key, attributes, body)| NewJob {
            due,
            priority,
            ttr_ms,
            if_exists,
            key,
            attributes,
            body,
        },
    )
}

pub(super) fn lease() -> impl Strategy<Value = Lease> {
    any::<(u64, u64)>().prop_map(|(job, fence)| Lease { job: JobId(job), fence: Fence(fence) })
}

pub(super) fn job_ref() -> impl Strategy<Value = JobRef> {
    prop_oneof![
        any::<u64>().prop_map(|id| JobRef::Id(JobId(id))),
        (topic(), key()).prop_map(|(topic, key)| JobRef::Key { topic, key }),
    ]
}

fn release_kind() -> impl Strategy<Value = ReleaseKind> {
    prop_oneof![
        Just(ReleaseKind::Backoff),
        Just(ReleaseKind::NotStarted),
        (0..=DELAY_MS_MAX).prop_map(ReleaseKind::After),
        (0..=DELAY_MS_MAX).prop_map(ReleaseKind::Parked),
    ]
}

fn reason() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[ -~üж]{1,300}")
}

fn history() -> impl Strategy<Value = JobHistory> {
    let time = || proptest::option::of((1..=u64::MAX).prop_map(Millis));
    let held_by = proptest::option::of((1..=u64::MAX).prop_map(SessionId));
    (time(), time(), time(), held_by, reason(), time()).prop_map(
        |(pushed, reserved_first, reserved_last, held_by, reason, finished)| JobHistory {
            pushed,
            reserved_first,
            reserved_last,
            held_by,
            reason,
            finished,
        },
    )
}

pub(super) fn hello() -> impl Strategy<Value = Hello> {
    let resume =
        proptest::option::of((1..u64::MAX, any::<[u8; 16]>()).prop_map(|(session, secret)| Resume {
            session: SessionId(session),
            secret: SessionSecret(secret),
        }));
    (any::<(u16, u16, u32, [bool; 2])>(), "[ -~]{0,64}", vec(any::<u8>(), 0..=256), resume).prop_map(
        |((version_min, version_max, heartbeat_ms, options), client_name, token, resume)| Hello {
            version_min,
            version_max,
            client_name,
            token: token.into(),
            heartbeat_ms,
            resume,
            leases_outlive: options[0],
            without_session: options[1],
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Delete),
        Just(Change::Kick),
        Just(Change::RunNow),
        any::<u64>().prop_map(|due| Change::Reschedule { due: Millis(due) }),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    use proptest::option::of;
    let states = (1..16_u8).prop_map(|bits| States::from_bits(bits).expect("some states"));
    let time = || of(any::<u64>().prop_map(Millis));
    let buried = prop_oneof![Just(BuryReason::Consumer), Just(BuryReason::AttemptsUsedUp)];
    let attempts = (of(any::<u32>()), of(any::<u32>()), of(buried));
    (of(topic()), states, time(), time(), of(key()), attempts, of("[ -~]{0,40}")).prop_map(
        |(topic, states, due_from, due_before, key, (attempts_min, attempts_max, buried), reason)| Filter {
            topic,
            states,
            due_from,
            due_before,
            key_prefix: key.map(|key| Bytes::copy_from_slice(key.as_bytes())),
            attempts_min,
            attempts_max,
            buried,
            reason,
        },
    )
}

/// Topics, and a weight for each or none.
fn weighed_topics() -> impl Strategy<Value = (Vec<TopicName>, Vec<u16>)> {
    (vec((topic(), 1..=u16::MAX), 1..=4), any::<bool>()).prop_map(|(topics, weighed)| {
        let (topics, weights): (Vec<_>, Vec<_>) = topics.into_iter().unzip();
        (topics, if weighed { weights } else { Vec::new() })
    })
}

fn about_a_job() -> impl Strategy<Value = Request> {
    prop_oneof![
        job_ref().prop_map(Request::Get),
        job_ref().prop_map(Request::Delete),
        (job_ref(), when(), any::<u64>()).prop_map(|(job, due, version)| Request::Reschedule {
            job,
            due,
            if_version: NonZeroU64::new(version),
        }),
        job_ref().prop_map(Request::RunNow),
        job_ref().prop_map(Request::Kick),
    ]
}

fn about_a_topic() -> impl Strategy<Value = Request> {
    prop_oneof![
        topic().prop_map(|topic| Request::Pause { topic }),
        topic().prop_map(|topic| Request::Resume { topic }),
        (topic(), settings(), vec(0..Setting::ALL.len(), 0..4)).prop_map(|(topic, set, unset)| {
            let unset = unset.into_iter().filter_map(|nth| Setting::ALL.get(nth).copied());
            let unset = unset.filter(|setting| !has(&set, *setting)).collect();
            Request::TopicSet(TopicSet { topic, change: Box::new(PolicyChange { set, unset }) })
        }),
        topic().prop_map(|topic| Request::TopicShow { topic }),
        topic().prop_map(|topic| Request::TopicDelete { topic }),
    ]
}

fn advance() -> impl Strategy<Value = Advance> {
    prop_oneof![(0..=DELAY_MS_MAX).prop_map(Advance::By), Just(Advance::ToNext)]
}

fn credit(subscription: u32, credit_jobs: u32, credit_bytes: u64) -> Request {
    Request::Credit { subscription, credit_jobs, credit_bytes }
}

/// By what a repeat of a push is known: a sequence, a key, or nothing.
fn known_by() -> impl Strategy<Value = (u64, Option<NonZeroU128>)> {
    prop_oneof![
        (0..=u64::MAX - 8).prop_map(|sequence| (sequence, None)),
        any::<u128>().prop_map(|key| (0, NonZeroU128::new(key))),
    ]
}

pub(super) fn request() -> impl Strategy<Value = Request> {
    let leases = || vec(lease(), 1..20);
    prop_oneof![
        hello().prop_map(Request::Hello),
        Just(Request::Ping),
        Just(Request::Goodbye),
        (topic(), known_by(), vec(new_job(), 1..8)).prop_map(|(topic, (sequence, key), jobs)| {
            let list_jobs = u32::try_from(jobs.len()).expect("few");
            let idempotency = key.map(|key| Idempotency { key, list_jobs });
            Request::Push(Push { topic, sequence, jobs, idempotency })
        }),
        (weighed_topics(), 1..=RESERVE_JOBS_MAX, 0..=WAIT_MS_MAX).prop_map(
            |((topics, weights), jobs_max, wait_ms)| {
                Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights })
            }
        ),
        (weighed_topics(), 0..=CREDIT_JOBS_MAX, 0..=CREDIT_BYTES_MAX).prop_map(
            |((topics, weights), credit_jobs, credit_bytes)| {
                Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes, weights })
            }
        ),
        (any::<u32>(), 0..=CREDIT_JOBS_MAX, 0..=CREDIT_BYTES_MAX)
            .prop_map(|(subscription, jobs, bytes)| credit(subscription, jobs, bytes)),
        any::<u32>().prop_map(|subscription| Request::Unsubscribe { subscription }),
        any::<u32>().prop_map(|request| Request::Cancel { request }),
        (any::<u64>(), 1..=RESERVE_JOBS_MAX)
            .prop_map(|(after, jobs_max)| Request::Leases { after: JobId(after), jobs_max }),
        leases().prop_map(|leases| Request::Finish { leases }),
        (leases(), release_kind(), reason()).prop_map(|(leases, kind, reason)| Request::Release {
            leases,
            kind,
            reason
        }),
        (leases(), proptest::option::of(TTR_MS_MIN..=TTR_MS_MAX))
            .prop_map(|(leases, ttr_ms)| Request::Touch { leases, ttr_ms }),
        (leases(), reason()).prop_map(|(leases, reason)| Request::Bury { leases, reason }),
        about_a_job(),
        (topic(), 1..=KICK_JOBS_MAX).prop_map(|(topic, jobs_max)| Request::KickMany { topic, jobs_max }),
        topic().prop_map(|topic| Request::Peek { topic }),
        (filter(), 0..3_u8, 1..=LIST_JOBS_MAX, any::<bool>(), vec(any::<u8>(), 0..=CURSOR_BYTES_MAX))
            .prop_map(|(filter, order, jobs_max, with_bodies, cursor)| {
                let order = ListOrder::from_u8(order).expect("an order");
                Request::List(List { filter, order, jobs_max, with_bodies, cursor: cursor.into() })
            }),
        filter().prop_map(Request::Count),
        (change(), filter(), 1..=BULK_JOBS_MAX, vec(any::<u8>(), 0..=CURSOR_BYTES_MAX)).prop_map(
            |(change, filter, jobs_max, cursor)| {
                Request::Bulk(Bulk { change, filter, jobs_max, cursor: cursor.into() })
            }
        ),
        about_a_topic(),
        Just(Request::Topics),
        Just(Request::Stats),
        (any::<u64>(), 1..=CONNECTIONS_LISTED_MAX)
            .prop_map(|(after, connections_max)| Request::Connections { after, connections_max }),
        any::<(u64, bool)>()
            .prop_map(|(connection, ends_session)| Request::Disconnect { connection, ends_session }),
        advance().prop_map(Request::Advance),
        Just(Request::BackupBegin),
        (any::<u64>(), 1..=BACKUP_READ_BYTES_MAX)
            .prop_map(|(offset, bytes)| Request::BackupRead { offset, bytes }),
        Just(Request::BackupEnd),
        Just(Request::ClusterStatus),
        "[ -~]{0,255}".prop_map(|address| Request::ClusterAdd { address }),
        any::<u64>().prop_map(|node| Request::ClusterRemove { node }),
        any::<u64>().prop_map(|node| Request::ClusterTransfer { node }),
    ]
}

pub(super) fn member() -> impl Strategy<Value = Member> {
    (any::<u64>(), "[ -~]{0,40}", any::<bool>()).prop_map(|(node, address, leader)| Member {
        node,
        address,
        leader,
    })
}

pub(super) fn welcome() -> impl Strategy<Value = Welcome> {
    let ids = any::<(u16, [u8; 16], u64, [u8; 16], bool, bool)>();
    (ids, any::<[u32; 8]>(), "[ -~]{0,40}", vec(member(), 0..5), any::<u64>()).prop_map(
        |(ids, numbers, server_name, members, clock_ms)| {
            let (version, cluster_id, session, secret, resumed, leases_kept) = ids;
            let [heartbeat_ms, session_grace_ms, frame_bytes_max, body_bytes_max, rest @ ..] = numbers;
            let [push_jobs_max, leases_max, reserve_jobs_max, in_flight_max] = rest;
            Welcome {
                version,
                server_name,
                cluster_id,
                session: SessionId(session),
                secret: SessionSecret(secret),
                resumed,
                leases_kept,
                heartbeat_ms,
                session_grace_ms,
                frame_bytes_max,
                body_bytes_max,
                push_jobs_max,
                leases_max,
                reserve_jobs_max,
                in_flight_max,
                members,
                clock_ms,
            }
        },
    )
}

pub(super) fn code() -> impl Strategy<Value = ErrorCode> {
    proptest::sample::select(ErrorCode::ALL.to_vec())
}

/// Any state, or one that nobody here knows.
pub(super) fn state() -> impl Strategy<Value = Option<JobState>> {
    (0..=5_u8).prop_map(JobState::from_u8)
}

pub(super) fn push_result() -> impl Strategy<Value = PushResult> {
    let id = || any::<u64>().prop_map(JobId);
    let living = proptest::option::of((1..=u64::MAX).prop_map(JobId));
    prop_oneof![
        id().prop_map(PushResult::Pushed),
        id().prop_map(PushResult::Kept),
        id().prop_map(PushResult::Replaced),
        id().prop_map(PushResult::Postponed),
        (code(), living).prop_map(|(code, job)| PushResult::Refused(code, job)),
    ]
}

pub(super) fn delivered() -> impl Strategy<Value = Delivered> {
    let numbers = any::<(u32, u32, u64, u32, u64)>();
    (lease(), topic(), proptest::option::of(key()), numbers, attributes(), body()).prop_map(
        |(lease, topic, key, (priority, attempts, due, ttr_left_ms, deadline_ms), attributes, body)| {
            Delivered {
                lease,
                topic,
                key,
                priority,
                attempts,
                due: Millis(due),
                ttr_left_ms,
                deadline_ms,
                attributes,
                body,
            }
        },
    )
}

pub(super) fn report() -> impl Strategy<Value = JobReport> {
    let buried =
        prop_oneof![Just(None), Just(Some(BuryReason::Consumer)), Just(Some(BuryReason::AttemptsUsedUp))];
    (delivered(), state(), any::<u32>(), buried, history(), any::<u64>()).prop_map(
        |(job, state, ttr_ms, buried, history, version)| JobReport {
            id: job.lease.job,
            state,
            topic: job.topic,
            key: job.key,
            priority: job.priority,
            attempts: job.attempts,
            due: job.due,
            ttr_ms,
            ttr_left_ms: job.ttr_left_ms,
            buried,
            attributes: job.attributes,
            body_bytes: u32::try_from(job.body.len()).expect("a small body"),
            body: job.body,
            history,
            version,
        },
    )
}

pub(super) fn totals() -> impl Strategy<Value = Totals> {
    any::<[u64; 9]>().prop_map(
        |[delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms]| Totals {
            delayed,
            ready,
            reserved,
            buried,
            pushed,
            finished,
            deleted,
            expired,
            oldest_ready_ms,
        },
    )
}

pub(super) fn topic_report() -> impl Strategy<Value = TopicReport> {
    (topic(), any::<bool>(), totals()).prop_map(|(topic, paused, totals)| TopicReport {
        topic,
        paused,
        totals,
    })
}

pub(super) fn stats() -> impl Strategy<Value = StatsReport> {
    let numbers = any::<(u64, u64, u32, u32, u32, u64, u64, u128)>();
    let parts = (numbers, totals(), vec(topic_report(), 0..4), vec(stage_report(), 0..4));
    parts.prop_map(|(numbers, totals, topics, stages)| {
        let (now, uptime_ms, connections, sessions, waiting, applied_index, term, state_hash) = numbers;
        StatsReport {
            now: Millis(now),
            uptime_ms,
            connections,
            sessions,
            waiting,
            applied_index,
            term,
            state_hash,
            totals,
            topics,
            stages,
        }
    })
}

fn stage_report() -> impl Strategy<Value = StageReport> {
    ("[a-z ]{0,20}", any::<[u64; 5]>()).prop_map(|(stage, [count, p50_us, p99_us, p999_us, max_us])| {
        StageReport { stage, count, p50_us, p99_us, p999_us, max_us }
    })
}

pub(super) fn connection_report() -> impl Strategy<Value = ConnectionReport> {
    let numbers = any::<((u64, u64, u64), (u32, u32, u32), (u64, u64), (u64, bool))>();
    (numbers, "[ -~]{0,60}", "[ -~]{0,64}", vec(topic(), 0..=CONNECTION_TOPICS_MAX)).prop_map(
        |(numbers, address, client_name, topics)| {
            let ((connection, session, since), (leases, subscriptions, reserves), credit, rest) = numbers;
            let ((credit_jobs, credit_bytes), (unsent_bytes, has_more_topics)) = (credit, rest);
            ConnectionReport {
                connection,
                session: Some(SessionId(session)).filter(|session| *session != SessionId(0)),
                since: Millis(since),
                leases,
                subscriptions,
                reserves,
                credit_jobs,
                credit_bytes,
                unsent_bytes,
                address,
                client_name,
                topics,
                has_more_topics,
            }
        },
    )
}

pub(super) fn member_report() -> impl Strategy<Value = MemberReport> {
    let role = prop_oneof![Just(Role::Learner), Just(Role::Voter), Just(Role::Leader)];
    let known = any::<(u64, bool, u64, Option<u64>, Option<u64>, Option<i64>, Option<bool>)>();
    (known, role, "[ -~]{0,255}", "[ -~]{0,40}").prop_map(|(known, role, peer_address, client_address)| {
        let (node, is_connected, audited, matched, applied, ahead_ms, same_state) = known;
        MemberReport {
            node,
            role,
            peer_address,
            client_address,
            is_connected,
            matched,
            applied,
            ahead_ms,
            audited,
            same_state,
        }
    })
}

pub(super) fn cluster_report() -> impl Strategy<Value = ClusterReport> {
    let leader = proptest::option::of(1..=u64::MAX);
    (any::<(u64, [u8; 16], u64, u64, u64, u32)>(), leader, vec(member_report(), 0..5)).prop_map(
        |((node, cluster_id, term, last, commit, feature_level), leader, members)| ClusterReport {
            node,
            cluster_id,
            leader,
            term,
            last,
            commit,
            feature_level,
            members,
        },
    )
}

pub(super) fn error_reply() -> impl Strategy<Value = ErrorReply> {
    let applied = prop_oneof![Just(Applied::No), Just(Applied::Unknown)];
    let waits = (any::<bool>(), any::<u32>());
    (code(), applied, waits, proptest::option::of("[ -~]{1,40}"), "[ -~]{0,100}").prop_map(
        |(code, applied, (is_marked, retry_after_ms), leader, message)| ErrorReply {
            code,
            applied,
            is_retryable: is_marked || retry_after_ms > 0,
            retry_after_ms,
            leader,
            message,
        },
    )
}

pub(super) fn response() -> impl Strategy<Value = Response> {
    prop_oneof![
        welcome().prop_map(|welcome| Response::Welcome(Box::new(welcome))),
        any::<(u64, u64)>().prop_map(|(now, clock_ms)| Response::Pong { now: Millis(now), clock_ms }),
        Just(Response::Done),
        vec(push_result(), 0..20).prop_map(Response::Pushed),
        vec(delivered(), 0..8).prop_map(Response::Reserved),
        Just(Response::Subscribed),
        vec(delivered(), 0..8).prop_map(Response::Deliver),
        (any::<bool>(), vec(delivered(), 0..8))
            .prop_map(|(has_more, jobs)| Response::Leased(Leased { has_more, jobs })),
        vec(prop_oneof![Just(Ok(())), code().prop_map(Err)], 0..20).prop_map(Response::Settled),
        report().prop_map(|report| Response::Job(Box::new(report))),
        any::<u32>().prop_map(|jobs| Response::Kicked { jobs }),
        (vec((report(), any::<u32>()), 0..4), vec(any::<u8>(), 0..=CURSOR_BYTES_MAX)).prop_map(
            |(jobs, cursor)| {
                let jobs = jobs.into_iter().map(|(job, body_bytes)| {
                    let history = JobHistory { finished: None, ..job.history };
                    JobReport { body_bytes, history, version: 0, ..job }
                });
                Response::Jobs { jobs: jobs.collect(), cursor: cursor.into() }
            }
        ),
        any::<u64>().prop_map(|jobs| Response::Counted { jobs }),
        (any::<[u32; 2]>(), vec(any::<u8>(), 0..=CURSOR_BYTES_MAX)).prop_map(
            |([jobs, in_the_way], cursor)| Response::Bulked { jobs, in_the_way, cursor: cursor.into() }
        ),
        (any::<u64>(), state(), any::<u64>(), any::<u64>()).prop_map(|(job, state, due, version)| {
            Response::Changed { job: JobId(job), state, due: Millis(due), version }
        }),
        vec(topic_report(), 0..4).prop_map(Response::Topics),
        stats().prop_map(|stats| Response::Stats(Box::new(stats))),
        (any::<bool>(), vec(connection_report(), 0..4)).prop_map(|(has_more, connections)| {
            Response::Connections(ConnectionList { has_more, connections })
        }),
        (settings(), settings(), any::<(bool, u64, u64)>()).prop_map(
            |(policy, queue, (paused, jobs, bytes))| {
                let defaults = RetryDefaults {
                    attempts_max: queue.attempts_max.filter(|_| policy.attempts_max.is_none()),
                    backoff: queue.backoff.filter(|_| policy.backoff.is_none()),
                };
                Response::TopicSettings(Box::new(TopicSettings { policy, defaults, paused, jobs, bytes }))
            }
        ),
        any::<(u64, u64, u128, u64)>().prop_map(|(index, jobs, state_hash, bytes)| {
            Response::BackupReady(BackupReady { index, jobs, state_hash, bytes })
        }),
        vec(any::<u8>(), 0..300).prop_map(|data| Response::BackupData(data.into())),
        cluster_report().prop_map(|report| Response::Cluster(Box::new(report))),
        ("[ -~]{0,100}", 0..6_u8).prop_map(|(message, reason)| {
            Response::GoingAway { message, reason: GoingAway::from_u8(reason) }
        }),
        error_reply().prop_map(Response::Error),
    ]
}
