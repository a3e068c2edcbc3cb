"""The other side of the protocol, for servers that tests play.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from adjourn.protocol import framing
from adjourn.protocol.elements import NO_ATTRIBUTES, Attributes, Filter, TopicPolicy
from adjourn.protocol.framing import Frame
from adjourn.protocol.numbers import (
    BURIED_REASONS,
    BulkChange,
    Dst,
    DueKind,
    IfExists,
    ListOrder,
    Missed,
    Overlap,
    PauseChange,
    States,
    Step,
    WhichPaused,
)
from adjourn.protocol.requests import (
    Advance,
    BackupBegin,
    BackupEnd,
    BackupRead,
    Bulk,
    Bury,
    Cancel,
    ClusterAdd,
    ClusterRemove,
    ClusterStatus,
    ClusterTransfer,
    Connections,
    Count,
    Credit,
    Delete,
    Disconnect,
    Edit,
    Finish,
    Get,
    Goodbye,
    GroupList,
    GroupSet,
    Hello,
    JobTemplate,
    Kick,
    KickMany,
    LeaseRef,
    Leases,
    List,
    Pause,
    Peek,
    Ping,
    Push,
    PushJob,
    Release,
    Request,
    Reschedule,
    Reserve,
    ReserveJob,
    Resume,
    RunNow,
    ScheduleDelete,
    ScheduleFill,
    ScheduleList,
    SchedulePause,
    SchedulePreview,
    ScheduleResume,
    ScheduleRules,
    ScheduleRun,
    ScheduleSet,
    ScheduleShow,
    Stats,
    Subscribe,
    TopicDelete,
    TopicSet,
    TopicShow,
    TopicWhy,
    Topics,
    Touch,
    Unsubscribe,
    Why,
)
from adjourn.protocol.responses import (
    BackupData,
    BackupReady,
    Bulked,
    Changed,
    ClusterReport,
    ConnectionList,
    ConnectionReport,
    Counted,
    Deliver,
    Delivered,
    Done,
    Error,
    GoingAway,
    GroupState,
    Groups,
    Instants,
    Job,
    JobReport,
    Jobs,
    Kicked,
    Leased,
    ListedSchedule,
    LocalInstant,
    Member,
    MemberReport,
    Pong,
    Pushed,
    QueueStats,
    Reason,
    Reasons,
    Reserved,
    Response,
    Schedule,
    ScheduleFilled,
    ScheduleRan,
    Scheduled,
    Schedules,
    Settled,
    StageReport,
    Subscribed,
    TopicCounts,
    TopicReport,
    TopicSettings,
    Welcome,
)
from adjourn.protocol.wire import (
    LIST_HEAD,
    TAG,
    U8,
    U16,
    U32,
    U64,
    MalformedFrame,
    bytes_at,
    cut_off,
    exactly,
    late,
    late_text,
    list_at,
    records,
    text,
    text_at,
)
from harness.requests import (
    check_due,
    check_magic,
    check_range,
    check_release,
    check_topic,
    check_topics,
    check_ttr,
    late_wide,
    number_list_at,
    ref_at,
    text_list_at,
)

_ADVANCE = struct.Struct("<BQ")
_BACKUP_READ = struct.Struct("<QI")
_BACKUP_READY = struct.Struct("<QQ16sQ")
_BULK = struct.Struct("<IBQH")
_BULKED = struct.Struct("<IH")
_CHANGED = struct.Struct("<QQBQ")
_CLUSTER_REPORT = struct.Struct("<Q16sQQQQIHI")
_CONNECTION = struct.Struct("<QQQIIIQQQBBBB")
_CONNECTIONS = struct.Struct("<QI")
_CONNECTION_LIST = struct.Struct("<BHI")
_COUNTED = struct.Struct("<QHI")
_CREDIT = struct.Struct("<IIQ")
_DELIVERED = struct.Struct("<QQQIIIBHHIQ")
_DISCONNECT = struct.Struct("<QB")
_DUE_BAR = struct.Struct("<QQ")
_EDIT = struct.Struct("<QIIHB")
_ERROR = struct.Struct("<HBBIB")
_FIRING = struct.Struct("<QQQQQB")
_GROUP_LIST = struct.Struct("<IB")
_GROUP_SET = struct.Struct("<IBB")
_GROUP_STATE = struct.Struct("<QQQQIBBB")
_HELLO = struct.Struct("<4sHHIIQ16sB")
_JOB = struct.Struct("<QQBBIIIIBHHI")
_JOB_2 = struct.Struct("<QQQQB")
_JOB_3 = struct.Struct("<QQ")
_KICK_MANY = struct.Struct("<IB")
_LEASE = struct.Struct("<QQ")
_LEASED = struct.Struct("<BHI")
_LEASES = struct.Struct("<QI")
_LIST = struct.Struct("<IBBH")
_LISTED = struct.Struct("<QQBBIIIIBHHIIQQQQBH")
_LISTED_SCHEDULE = struct.Struct("<QQQIIIBBQQQQQIIIBBBHBHHBBH")
_LOCAL_INSTANT = struct.Struct("<QB")
_MEMBER = struct.Struct("<QBB")
_NEW_JOB = struct.Struct("<QIIBBHHI")
_NODE = struct.Struct("<QBBQQqQBB")
_PONG = struct.Struct("<QQ")
_PUSH = struct.Struct("<QB")
_PUSH_RESULT = struct.Struct("<BHQ")
_QUEUE_STATS = struct.Struct("<QQIIIQQ16s")
_REASON = struct.Struct("<BQQQH")
_RESCHEDULE = struct.Struct("<QB")
_RESERVE = struct.Struct("<QI")
_SCHEDULE = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULED = struct.Struct("<QIQ")
_SCHEDULE_2 = struct.Struct("<IIHI")
_SCHEDULE_FILL = struct.Struct("<QQBB")
_SCHEDULE_FILLED = struct.Struct("<QQIIII")
_SCHEDULE_LIST = struct.Struct("<IQBB")
_SCHEDULE_PREVIEW = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULE_PREVIEW_2 = struct.Struct("<QI")
_SCHEDULE_SET = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULE_SET_2 = struct.Struct("<IIHI")
_SCHEDULE_STATE = struct.Struct("<QQQIIIBB")
_STAGE = struct.Struct("<BQQQQQ")
_SUBSCRIBE = struct.Struct("<IQ")
_TOPIC_COUNT = struct.Struct("<BIQBQQQQQQQQQ")
_TOPIC_SETTINGS = struct.Struct("<QQQBH")
_TOTALS = struct.Struct("<QQQQQQQQQ")
_WELCOME = struct.Struct("<HB16sQ16sIIIIIIIIB")


def decode_filter(data: bytes) -> Filter:
    """As a server does it: a condition that is not known is refused."""
    found: dict[str, Any] = {}
    before = 0
    at = 0
    while at < len(data):
        tag, length = TAG.unpack_from(data, at)
        at += TAG.size + length
        if at > len(data):
            raise cut_off("a condition of a filter")
        value = data[at - length : at]
        if tag <= before:
            raise MalformedFrame("a condition of a filter is out of order")
        before = tag
        if tag == 1:
            found["topic"] = value.decode()
        elif tag == 2:
            found["states"] = States(exactly(U8, value))
        elif tag == 3:
            found["due_from_ms"] = exactly(U64, value)
        elif tag == 4:
            found["due_before_ms"] = exactly(U64, value)
        elif tag == 5:
            found["key_prefix"] = value
        elif tag == 6:
            found["attempts_min"] = exactly(U32, value)
        elif tag == 7:
            found["attempts_max"] = exactly(U32, value)
        elif tag == 8:
            found["buried"] = BURIED_REASONS[exactly(U8, value)]
        elif tag == 9:
            found["reason"] = value.decode()
        elif tag == 10:
            found["group"] = value.decode()
        else:
            raise MalformedFrame(f"a filter has the unknown condition {tag}")
    return Filter(**found)


def _new_job_list(data: bytes, at: int) -> tuple[tuple[PushJob, ...], int]:
    fixed, items, at = list_at(data, at, 26)
    found: list[PushJob] = []
    for _ in range(items):
        (
            due_ms,
            priority,
            ttr_ms,
            due_kind,
            if_exists,
            key_length,
            attributes_length,
            body_length,
        ) = _NEW_JOB.unpack_from(data, at)
        at += fixed
        end = at + key_length
        key = data[at:end].decode()
        at = end + attributes_length
        attributes = Attributes.decode(data[end:at]) if attributes_length else NO_ATTRIBUTES
        end = at + body_length
        body = data[at:end]
        at = end
        if at > len(data):
            raise cut_off("new_job")
        check_due(due_ms, due_kind)
        check_ttr(ttr_ms)
        found.append(
            PushJob(due_ms, priority, ttr_ms, DueKind(due_kind), IfExists(if_exists), key or None, attributes, body)
        )
    return tuple(found), at


def _lease_list(data: bytes, at: int) -> tuple[tuple[LeaseRef, ...], int]:
    found, at = records(_LEASE, data, at)
    return tuple([LeaseRef(job, fence) for job, fence in found]), at


def _read_hello(data: bytes) -> Hello:
    (
        magic,
        version_min,
        version_max,
        options,
        heartbeat_ms,
        session,
        secret,
        client_name_length,
    ) = _HELLO.unpack_from(data)
    check_magic(magic)
    client_name, at = text_at(data, 41, client_name_length)
    (token_length,) = U16.unpack_from(data, at)
    at += 2
    token, _ = bytes_at(data, at, token_length)
    return Hello(
        version_min,
        version_max,
        bool(options & 1),
        bool(options & 2),
        heartbeat_ms,
        session,
        secret,
        client_name,
        token,
    )


def _read_ping(data: bytes) -> Ping:
    return Ping()


def _read_goodbye(data: bytes) -> Goodbye:
    return Goodbye()


def _read_push(data: bytes) -> Push:
    sequence, topic_length = _PUSH.unpack_from(data)
    topic, at = text_at(data, 9, topic_length)
    jobs, at = _new_job_list(data, at)
    idempotency, at = late_wide(data, at)
    list_jobs, _ = late(U32, data, at)
    check_topic(topic)
    check_range("jobs", len(jobs), 1, 0xFFFF_FFFF)
    return Push(sequence, topic, jobs, idempotency, list_jobs)


def _read_reserve(data: bytes) -> Reserve:
    wait_ms, jobs_max = _RESERVE.unpack_from(data)
    topics, at = text_list_at(data, 12)
    weights, _ = number_list_at(data, at) if at < len(data) else ((), at)
    check_range("wait_ms", wait_ms, 0, 3_600_000)
    check_range("jobs_max", jobs_max, 1, 1_024)
    check_topics(topics)
    return Reserve(wait_ms, jobs_max, topics, weights)


def _read_subscribe(data: bytes) -> Subscribe:
    credit_jobs, credit_bytes = _SUBSCRIBE.unpack_from(data)
    topics, at = text_list_at(data, 12)
    weights, _ = number_list_at(data, at) if at < len(data) else ((), at)
    check_range("credit_jobs", credit_jobs, 0, 65_536)
    check_range("credit_bytes", credit_bytes, 0, 268_435_456)
    check_topics(topics)
    return Subscribe(credit_jobs, credit_bytes, topics, weights)


def _read_credit(data: bytes) -> Credit:
    subscription, credit_jobs, credit_bytes = _CREDIT.unpack_from(data)
    check_range("credit_jobs", credit_jobs, 0, 65_536)
    check_range("credit_bytes", credit_bytes, 0, 268_435_456)
    return Credit(subscription, credit_jobs, credit_bytes)


def _read_unsubscribe(data: bytes) -> Unsubscribe:
    (subscription,) = U32.unpack_from(data)
    return Unsubscribe(subscription)


def _read_cancel(data: bytes) -> Cancel:
    (request,) = U32.unpack_from(data)
    return Cancel(request)


def _read_leases(data: bytes) -> Leases:
    after, jobs_max = _LEASES.unpack_from(data)
    check_range("jobs_max", jobs_max, 1, 1_024)
    return Leases(after, jobs_max)


def _read_reserve_job(data: bytes) -> ReserveJob:
    ref, _ = ref_at(data, 0)
    return ReserveJob(ref)


def _read_finish(data: bytes) -> Finish:
    leases, _ = _lease_list(data, 0)
    check_range("leases", len(leases), 1, 0xFFFF_FFFF)
    return Finish(leases)


def _read_release(data: bytes) -> Release:
    (delay_ms,) = U64.unpack_from(data)
    leases, at = _lease_list(data, 8)
    reason, _ = late_text(U16, data, at)
    check_release(delay_ms)
    check_range("leases", len(leases), 1, 0xFFFF_FFFF)
    return Release(delay_ms, leases, reason)


def _read_touch(data: bytes) -> Touch:
    (ttr_ms,) = U32.unpack_from(data)
    leases, _ = _lease_list(data, 4)
    check_ttr(ttr_ms)
    check_range("leases", len(leases), 1, 0xFFFF_FFFF)
    return Touch(ttr_ms, leases)


def _read_bury(data: bytes) -> Bury:
    leases, at = _lease_list(data, 0)
    reason, _ = late_text(U16, data, at)
    check_range("leases", len(leases), 1, 0xFFFF_FFFF)
    return Bury(leases, reason)


def _read_get(data: bytes) -> Get:
    ref, _ = ref_at(data, 0)
    return Get(ref)


def _read_delete(data: bytes) -> Delete:
    ref, _ = ref_at(data, 0)
    return Delete(ref)


def _read_reschedule(data: bytes) -> Reschedule:
    due_ms, due_kind = _RESCHEDULE.unpack_from(data)
    ref, at = ref_at(data, 9)
    if_version, _ = late(U64, data, at)
    check_due(due_ms, due_kind)
    return Reschedule(due_ms, DueKind(due_kind), ref, if_version)


def _read_run_now(data: bytes) -> RunNow:
    ref, _ = ref_at(data, 0)
    return RunNow(ref)


def _read_kick(data: bytes) -> Kick:
    ref, _ = ref_at(data, 0)
    return Kick(ref)


def _read_peek(data: bytes) -> Peek:
    (topic_length,) = U8.unpack_from(data)
    topic, _ = text_at(data, 1, topic_length)
    check_topic(topic)
    return Peek(topic)


def _read_kick_many(data: bytes) -> KickMany:
    jobs_max, topic_length = _KICK_MANY.unpack_from(data)
    topic, _ = text_at(data, 5, topic_length)
    check_range("jobs_max", jobs_max, 1, 4_096)
    check_topic(topic)
    return KickMany(jobs_max, topic)


def _read_list(data: bytes) -> List:
    jobs_max, order, marks, cursor_length = _LIST.unpack_from(data)
    cursor, at = bytes_at(data, 8, cursor_length)
    (filter__length,) = U16.unpack_from(data, at)
    at += 2
    filter__bytes, _ = bytes_at(data, at, filter__length)
    filter_ = decode_filter(filter__bytes)
    check_range("jobs_max", jobs_max, 1, 1_024)
    return List(jobs_max, ListOrder(order), bool(marks & 1), cursor, filter_)


def _read_count(data: bytes) -> Count:
    (filter__length,) = U16.unpack_from(data)
    filter__bytes, at = bytes_at(data, 2, filter__length)
    filter_ = decode_filter(filter__bytes)
    bars, at = late(U32, data, at)
    bars_from_ms, at = late(U64, data, at)
    bar_ms, _ = late(U64, data, at)
    check_range("bars", bars, 0, 1_024)
    return Count(filter_, bars, bars_from_ms, bar_ms)


def _read_bulk(data: bytes) -> Bulk:
    jobs_max, change, due_ms, cursor_length = _BULK.unpack_from(data)
    cursor, at = bytes_at(data, 15, cursor_length)
    (filter__length,) = U16.unpack_from(data, at)
    at += 2
    filter__bytes, at = bytes_at(data, at, filter__length)
    filter_ = decode_filter(filter__bytes)
    to, _ = late_text(U8, data, at)
    check_range("jobs_max", jobs_max, 1, 1_024)
    check_topic(to, may_be_empty=True)
    return Bulk(jobs_max, BulkChange(change), due_ms, cursor, filter_, to)


def _read_edit(data: bytes) -> Edit:
    due_ms, priority, ttr_ms, edited, due_kind = _EDIT.unpack_from(data)
    ref, at = ref_at(data, 19)
    (attributes_length,) = U16.unpack_from(data, at)
    at += 2
    attributes_bytes, at = bytes_at(data, at, attributes_length)
    attributes = Attributes.decode(attributes_bytes)
    (body_length,) = U32.unpack_from(data, at)
    at += 4
    body, at = bytes_at(data, at, body_length)
    if_version, _ = late(U64, data, at)
    check_ttr(ttr_ms)
    return Edit(
        due_ms,
        priority,
        ttr_ms,
        bool(edited & 1),
        bool(edited & 2),
        bool(edited & 4),
        bool(edited & 8),
        bool(edited & 16),
        bool(edited & 32),
        bool(edited & 64),
        bool(edited & 128),
        bool(edited & 256),
        bool(edited & 512),
        DueKind(due_kind),
        ref,
        attributes,
        body,
        if_version,
    )


def _read_pause(data: bytes) -> Pause:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    for_ms, _ = late(U64, data, at)
    check_topic(topic)
    return Pause(topic, for_ms)


def _read_resume(data: bytes) -> Resume:
    (topic_length,) = U8.unpack_from(data)
    topic, _ = text_at(data, 1, topic_length)
    check_topic(topic)
    return Resume(topic)


def _read_topics(data: bytes) -> Topics:
    return Topics()


def _read_stats(data: bytes) -> Stats:
    return Stats()


def _read_connections(data: bytes) -> Connections:
    after, connections_max = _CONNECTIONS.unpack_from(data)
    check_range("connections_max", connections_max, 1, 256)
    return Connections(after, connections_max)


def _read_disconnect(data: bytes) -> Disconnect:
    connection, options = _DISCONNECT.unpack_from(data)
    return Disconnect(connection, bool(options & 1))


def _read_topic_set(data: bytes) -> TopicSet:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (settings_length,) = U16.unpack_from(data, at)
    at += 2
    settings_bytes, _ = bytes_at(data, at, settings_length)
    settings = TopicPolicy.decode(settings_bytes)
    check_topic(topic)
    return TopicSet(topic, settings)


def _read_topic_delete(data: bytes) -> TopicDelete:
    (topic_length,) = U8.unpack_from(data)
    topic, _ = text_at(data, 1, topic_length)
    check_topic(topic)
    return TopicDelete(topic)


def _read_topic_show(data: bytes) -> TopicShow:
    (topic_length,) = U8.unpack_from(data)
    topic, _ = text_at(data, 1, topic_length)
    check_topic(topic)
    return TopicShow(topic)


def _read_advance(data: bytes) -> Advance:
    step, by_ms = _ADVANCE.unpack_from(data)
    check_range("by_ms", by_ms, 0, 315_360_000_000)
    return Advance(Step(step), by_ms)


def _read_backup_begin(data: bytes) -> BackupBegin:
    return BackupBegin()


def _read_backup_read(data: bytes) -> BackupRead:
    offset, bytes_ = _BACKUP_READ.unpack_from(data)
    check_range("bytes", bytes_, 1, 1_048_576)
    return BackupRead(offset, bytes_)


def _read_backup_end(data: bytes) -> BackupEnd:
    return BackupEnd()


def _read_schedule_preview(data: bytes) -> SchedulePreview:
    (
        origin_ms,
        start_ms,
        end_ms,
        count,
        window_ms,
        missed_max,
        jitter_ms,
        failures_max,
        dst,
        missed,
        overlap,
        when_length,
        zone_length,
        key_length,
        note_length,
    ) = _SCHEDULE_PREVIEW.unpack_from(data)
    when, at = text_at(data, 62, when_length)
    zone, at = text_at(data, at, zone_length)
    key, at = text_at(data, at, key_length)
    note, at = text_at(data, at, note_length)
    from_ms, instants_max = _SCHEDULE_PREVIEW_2.unpack_from(data, at)
    check_range("missed_max", missed_max, 0, 1_000)
    check_range("jitter_ms", jitter_ms, 0, 86_400_000)
    check_range("instants_max", instants_max, 1, 1_000)
    rules = ScheduleRules(
        origin_ms,
        start_ms,
        end_ms,
        count,
        window_ms,
        missed_max,
        jitter_ms,
        failures_max,
        Dst(dst),
        Missed(missed),
        Overlap(overlap),
        when,
        zone,
        key or None,
        note,
    )
    return SchedulePreview(rules, from_ms, instants_max)


def _read_cluster_status(data: bytes) -> ClusterStatus:
    return ClusterStatus()


def _read_cluster_add(data: bytes) -> ClusterAdd:
    (address_length,) = U8.unpack_from(data)
    address, _ = text_at(data, 1, address_length)
    return ClusterAdd(address)


def _read_cluster_remove(data: bytes) -> ClusterRemove:
    (node,) = U64.unpack_from(data)
    return ClusterRemove(node)


def _read_cluster_transfer(data: bytes) -> ClusterTransfer:
    (node,) = U64.unpack_from(data)
    return ClusterTransfer(node)


def _read_group_set(data: bytes) -> GroupSet:
    weight, pause, topic_length = _GROUP_SET.unpack_from(data)
    topic, at = text_at(data, 6, topic_length)
    (group_length,) = U8.unpack_from(data, at)
    at += 1
    group, _ = text_at(data, at, group_length)
    check_range("weight", weight, 0, 1_000)
    check_topic(topic)
    return GroupSet(weight, PauseChange(pause), topic, group)


def _read_group_list(data: bytes) -> GroupList:
    groups_max, topic_length = _GROUP_LIST.unpack_from(data)
    topic, at = text_at(data, 5, topic_length)
    (after_length,) = U8.unpack_from(data, at)
    at += 1
    after, at = text_at(data, at, after_length)
    (prefix_length,) = U8.unpack_from(data, at)
    at += 1
    prefix, _ = text_at(data, at, prefix_length)
    check_range("groups_max", groups_max, 1, 1_000)
    check_topic(topic)
    return GroupList(groups_max, topic, after, prefix)


def _read_why(data: bytes) -> Why:
    ref, _ = ref_at(data, 0)
    return Why(ref)


def _read_topic_why(data: bytes) -> TopicWhy:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (group_length,) = U8.unpack_from(data, at)
    at += 1
    group, _ = text_at(data, at, group_length)
    check_topic(topic)
    return TopicWhy(topic, group)


def _read_schedule_set(data: bytes) -> ScheduleSet:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, at = text_at(data, at, name_length)
    (
        origin_ms,
        start_ms,
        end_ms,
        count,
        window_ms,
        missed_max,
        jitter_ms,
        failures_max,
        dst,
        missed,
        overlap,
        when_length,
        zone_length,
        key_length,
        note_length,
    ) = _SCHEDULE_SET.unpack_from(data, at)
    at += 62
    when, at = text_at(data, at, when_length)
    zone, at = text_at(data, at, zone_length)
    key, at = text_at(data, at, key_length)
    note, at = text_at(data, at, note_length)
    priority, ttr_ms, attributes_length, body_length = _SCHEDULE_SET_2.unpack_from(data, at)
    at += 14
    attributes_bytes, at = bytes_at(data, at, attributes_length)
    attributes = Attributes.decode(attributes_bytes)
    body, at = bytes_at(data, at, body_length)
    if_version, _ = late(U32, data, at)
    check_topic(topic)
    check_range("missed_max", missed_max, 0, 1_000)
    check_range("jitter_ms", jitter_ms, 0, 86_400_000)
    check_ttr(ttr_ms)
    rules = ScheduleRules(
        origin_ms,
        start_ms,
        end_ms,
        count,
        window_ms,
        missed_max,
        jitter_ms,
        failures_max,
        Dst(dst),
        Missed(missed),
        Overlap(overlap),
        when,
        zone,
        key or None,
        note,
    )
    template = JobTemplate(priority, ttr_ms, attributes, body)
    return ScheduleSet(topic, name, rules, template, if_version)


def _read_schedule_show(data: bytes) -> ScheduleShow:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, _ = text_at(data, at, name_length)
    check_topic(topic)
    return ScheduleShow(topic, name)


def _read_schedule_list(data: bytes) -> ScheduleList:
    schedules_max, next_before_ms, paused, topic_length = _SCHEDULE_LIST.unpack_from(data)
    topic, at = text_at(data, 14, topic_length)
    (prefix_length,) = U8.unpack_from(data, at)
    at += 1
    prefix, at = text_at(data, at, prefix_length)
    (cursor_length,) = U16.unpack_from(data, at)
    at += 2
    cursor, _ = bytes_at(data, at, cursor_length)
    check_range("schedules_max", schedules_max, 1, 256)
    check_topic(topic, may_be_empty=True)
    return ScheduleList(schedules_max, next_before_ms, WhichPaused(paused), topic, prefix, cursor)


def _read_schedule_delete(data: bytes) -> ScheduleDelete:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, _ = text_at(data, at, name_length)
    check_topic(topic)
    return ScheduleDelete(topic, name)


def _read_schedule_pause(data: bytes) -> SchedulePause:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, at = text_at(data, at, name_length)
    note, _ = late_text(U16, data, at)
    check_topic(topic)
    return SchedulePause(topic, name, note)


def _read_schedule_resume(data: bytes) -> ScheduleResume:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, _ = text_at(data, at, name_length)
    check_topic(topic)
    return ScheduleResume(topic, name)


def _read_schedule_run(data: bytes) -> ScheduleRun:
    (topic_length,) = U8.unpack_from(data)
    topic, at = text_at(data, 1, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, _ = text_at(data, at, name_length)
    check_topic(topic)
    return ScheduleRun(topic, name)


def _read_schedule_fill(data: bytes) -> ScheduleFill:
    from_ms, to_ms, dry_run, topic_length = _SCHEDULE_FILL.unpack_from(data)
    topic, at = text_at(data, 18, topic_length)
    (name_length,) = U8.unpack_from(data, at)
    at += 1
    name, _ = text_at(data, at, name_length)
    check_range("dry_run", dry_run, 0, 1)
    check_topic(topic)
    return ScheduleFill(from_ms, to_ms, dry_run, topic, name)


def _write_delivered(one: Delivered, parts: list[bytes]) -> None:
    topic = text(one.topic)
    key = text(one.key) if one.key else b""
    attributes = b"" if one.attributes is NO_ATTRIBUTES else one.attributes.encode()
    parts.append(
        _DELIVERED.pack(
            one.lease.job,
            one.lease.fence,
            one.due_ms,
            one.priority,
            one.attempts,
            one.ttr_left_ms,
            len(topic),
            len(key),
            len(attributes),
            len(one.body),
            one.deadline_ms,
        )
    )
    parts += (topic, key, attributes, one.body)


def _write_listed(one: JobReport, parts: list[bytes]) -> None:
    topic = text(one.topic)
    key = text(one.key) if one.key else b""
    attributes = b"" if one.attributes is NO_ATTRIBUTES else one.attributes.encode()
    held_by = text(one.held_by)
    reason = text(one.reason)
    parts.append(
        _LISTED.pack(
            one.id,
            one.due_ms,
            one.state,
            one.buried,
            one.priority,
            one.attempts,
            one.ttr_ms,
            one.ttr_left_ms,
            len(topic),
            len(key),
            len(attributes),
            len(one.body),
            one.body_bytes,
            one.pushed_ms,
            one.reserved_first_ms,
            one.reserved_last_ms,
            one.edited_ms,
            len(held_by),
            len(reason),
        )
    )
    parts += (topic, key, attributes, one.body, held_by, reason)


def _write_topic_count(one: TopicReport, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts.append(
        _TOPIC_COUNT.pack(
            int(one.paused),
            one.consumers,
            one.late_ms,
            len(topic),
            one.totals.delayed,
            one.totals.ready,
            one.totals.reserved,
            one.totals.buried,
            one.totals.pushed,
            one.totals.finished,
            one.totals.deleted,
            one.totals.expired,
            one.totals.oldest_ready_ms,
        )
    )
    parts.append(topic)


def _write_stage(one: StageReport, parts: list[bytes]) -> None:
    stage = text(one.stage)
    parts += (_STAGE.pack(len(stage), one.count, one.p50_us, one.p99_us, one.p999_us, one.max_us), stage)


def _write_connection(one: ConnectionReport, parts: list[bytes]) -> None:
    address = text(one.address)
    client_name = text(one.client_name)
    topics = [text(topic) for topic in one.topics]
    parts.append(
        _CONNECTION.pack(
            one.connection,
            one.session,
            one.since_ms,
            one.leases,
            one.subscriptions,
            one.reserves,
            one.credit_jobs,
            one.credit_bytes,
            one.unsent_bytes,
            int(one.has_more_topics),
            len(address),
            len(client_name),
            len(topics),
        )
    )
    parts += (address, client_name, b"".join([U8.pack(len(topic)) + topic for topic in topics]))


def _write_member(one: Member, parts: list[bytes]) -> None:
    address = text(one.address)
    parts += (_MEMBER.pack(one.node, int(one.leads), len(address)), address)


def _write_node(one: MemberReport, parts: list[bytes]) -> None:
    peer_address = text(one.peer_address)
    client_address = text(one.client_address)
    parts.append(
        _NODE.pack(
            one.node,
            one.role,
            int(one.is_connected)
            | (one.matched is not None) << 1
            | (one.applied is not None) << 2
            | (one.ahead_ms is not None) << 3
            | (one.same_state is not None) << 4
            | bool(one.same_state) << 5,
            one.matched or 0,
            one.applied or 0,
            one.ahead_ms or 0,
            one.audited,
            len(peer_address),
            len(client_address),
        )
    )
    parts += (peer_address, client_address)


def _write_group_state(one: GroupState, parts: list[bytes]) -> None:
    name = text(one.name)
    parts.append(
        _GROUP_STATE.pack(
            one.ready, one.reserved, one.oldest_ms, one.until_ms, one.weight, one.hold, one.paused, len(name)
        )
    )
    parts.append(name)


def _write_reason(one: Reason, parts: list[bytes]) -> None:
    text_ = text(one.text)
    parts += (_REASON.pack(one.why, one.since_ms, one.until_ms, one.jobs, len(text_)), text_)


def _write_local_instant(one: LocalInstant, parts: list[bytes]) -> None:
    local = text(one.local)
    parts += (_LOCAL_INSTANT.pack(one.instant_ms, len(local)), local)


def _write_listed_schedule(one: ListedSchedule, parts: list[bytes]) -> None:
    when = text(one.rules.when)
    zone = text(one.rules.zone)
    key = text(one.rules.key) if one.rules.key else b""
    note = text(one.rules.note)
    topic = text(one.topic)
    name = text(one.name)
    pause_note = text(one.pause_note)
    parts.append(
        _LISTED_SCHEDULE.pack(
            one.state.schedule,
            one.state.next_ms,
            one.state.fired,
            one.state.version,
            one.state.running,
            one.state.failures,
            one.state.paused,
            int(one.state.come) | bool(one.state.held) << 1,
            one.rules.origin_ms,
            one.rules.start_ms,
            one.rules.end_ms,
            one.rules.count,
            one.rules.window_ms,
            one.rules.missed_max,
            one.rules.jitter_ms,
            one.rules.failures_max,
            one.rules.dst,
            one.rules.missed,
            one.rules.overlap,
            len(when),
            len(zone),
            len(key),
            len(note),
            len(topic),
            len(name),
            len(pause_note),
        )
    )
    parts += (when, zone, key, note, topic, name, pause_note)


def _write_welcome(one: Welcome, parts: list[bytes]) -> None:
    server_name = text(one.server_name)
    parts.append(
        _WELCOME.pack(
            one.version,
            int(one.resumed) | bool(one.leases_kept) << 1,
            one.cluster_id,
            one.session,
            one.secret,
            one.heartbeat_ms,
            one.session_grace_ms,
            one.frame_bytes_max,
            one.body_bytes_max,
            one.push_jobs_max,
            one.leases_max,
            one.reserve_jobs_max,
            one.in_flight_max,
            len(server_name),
        )
    )
    parts.append(server_name)
    parts.append(LIST_HEAD.pack(10, len(one.members)))
    for member in one.members:
        _write_member(member, parts)
    parts.append(U64.pack(one.clock_ms))


def _write_pong(one: Pong, parts: list[bytes]) -> None:
    parts.append(_PONG.pack(one.now_ms, one.clock_ms))


def _write_done(one: Done, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_going_away(one: GoingAway, parts: list[bytes]) -> None:
    message = text(one.message)
    parts += (U16.pack(len(message)), message)
    parts.append(U8.pack(one.reason))


def _write_pushed(one: Pushed, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(11, len(one.results)))
    parts += [_PUSH_RESULT.pack(result.outcome, result.code, result.job) for result in one.results]


def _write_reserved(one: Reserved, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(53, len(one.jobs)))
    for job in one.jobs:
        _write_delivered(job, parts)


def _write_subscribed(one: Subscribed, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_deliver(one: Deliver, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(53, len(one.jobs)))
    for job in one.jobs:
        _write_delivered(job, parts)


def _write_leased(one: Leased, parts: list[bytes]) -> None:
    parts.append(_LEASED.pack(int(one.has_more), 53, len(one.jobs)))
    for job in one.jobs:
        _write_delivered(job, parts)


def _write_settled(one: Settled, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(2, len(one.results)))
    parts += [U16.pack(result) for result in one.results]


def _write_job(one: Job, parts: list[bytes]) -> None:
    topic = text(one.job.topic)
    key = text(one.job.key) if one.job.key else b""
    attributes = b"" if one.job.attributes is NO_ATTRIBUTES else one.job.attributes.encode()
    parts.append(
        _JOB.pack(
            one.job.id,
            one.job.due_ms,
            one.job.state,
            one.job.buried,
            one.job.priority,
            one.job.attempts,
            one.job.ttr_ms,
            one.job.ttr_left_ms,
            len(topic),
            len(key),
            len(attributes),
            len(one.job.body),
        )
    )
    parts += (topic, key, attributes, one.job.body)
    held_by = text(one.job.held_by)
    parts.append(
        _JOB_2.pack(
            one.job.pushed_ms, one.job.reserved_first_ms, one.job.reserved_last_ms, one.job.edited_ms, len(held_by)
        )
    )
    parts.append(held_by)
    reason = text(one.job.reason)
    parts += (U16.pack(len(reason)), reason)
    parts.append(_JOB_3.pack(one.job.finished_ms, one.job.version))


def _write_changed(one: Changed, parts: list[bytes]) -> None:
    parts.append(_CHANGED.pack(one.job, one.due_ms, one.state, one.version))


def _write_kicked(one: Kicked, parts: list[bytes]) -> None:
    parts.append(U32.pack(one.jobs))


def _write_jobs(one: Jobs, parts: list[bytes]) -> None:
    parts += (U16.pack(len(one.cursor)), one.cursor)
    parts.append(LIST_HEAD.pack(82, len(one.jobs)))
    for job in one.jobs:
        _write_listed(job, parts)


def _write_counted(one: Counted, parts: list[bytes]) -> None:
    parts.append(_COUNTED.pack(one.jobs, 16, len(one.by_due)))
    parts += [_DUE_BAR.pack(by_due.start_ms, by_due.jobs) for by_due in one.by_due]


def _write_bulked(one: Bulked, parts: list[bytes]) -> None:
    parts += (_BULKED.pack(one.jobs, len(one.cursor)), one.cursor)
    parts.append(U32.pack(one.skipped))


def _write_topic_counts(one: TopicCounts, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(86, len(one.topics)))
    for topic in one.topics:
        _write_topic_count(topic, parts)


def _write_queue_stats(one: QueueStats, parts: list[bytes]) -> None:
    parts.append(
        _QUEUE_STATS.pack(
            one.now_ms,
            one.uptime_ms,
            one.connections,
            one.sessions,
            one.waiting,
            one.applied_index,
            one.term,
            one.state_hash.to_bytes(16, "little"),
        )
    )
    parts.append(
        _TOTALS.pack(
            one.totals.delayed,
            one.totals.ready,
            one.totals.reserved,
            one.totals.buried,
            one.totals.pushed,
            one.totals.finished,
            one.totals.deleted,
            one.totals.expired,
            one.totals.oldest_ready_ms,
        )
    )
    parts.append(LIST_HEAD.pack(86, len(one.topics)))
    for topic in one.topics:
        _write_topic_count(topic, parts)
    parts.append(LIST_HEAD.pack(41, len(one.stages)))
    for stage in one.stages:
        _write_stage(stage, parts)


def _write_connection_list(one: ConnectionList, parts: list[bytes]) -> None:
    parts.append(_CONNECTION_LIST.pack(int(one.has_more), 64, len(one.connections)))
    for connection in one.connections:
        _write_connection(connection, parts)


def _write_topic_settings(one: TopicSettings, parts: list[bytes]) -> None:
    settings = one.policy.encode()
    parts.append(
        _TOPIC_SETTINGS.pack(
            one.jobs,
            one.bytes,
            one.pause_left_ms,
            int(one.paused) | bool(one.attempts_of_server) << 1 | bool(one.backoff_of_server) << 2,
            len(settings),
        )
    )
    parts.append(settings)


def _write_backup_ready(one: BackupReady, parts: list[bytes]) -> None:
    parts.append(_BACKUP_READY.pack(one.index, one.jobs, one.state_hash.to_bytes(16, "little"), one.bytes))


def _write_backup_data(one: BackupData, parts: list[bytes]) -> None:
    parts += (U32.pack(len(one.data)), one.data)


def _write_instants(one: Instants, parts: list[bytes]) -> None:
    zone_data = text(one.zone_data)
    parts += (U8.pack(len(zone_data)), zone_data)
    parts.append(LIST_HEAD.pack(9, len(one.instants)))
    for instant in one.instants:
        _write_local_instant(instant, parts)


def _write_cluster_report(one: ClusterReport, parts: list[bytes]) -> None:
    parts.append(
        _CLUSTER_REPORT.pack(
            one.node,
            one.cluster_id,
            one.leader,
            one.term,
            one.last,
            one.commit,
            one.feature_level,
            44,
            len(one.members),
        )
    )
    for member in one.members:
        _write_node(member, parts)


def _write_groups(one: Groups, parts: list[bytes]) -> None:
    after = text(one.after)
    parts += (U8.pack(len(after)), after)
    parts.append(LIST_HEAD.pack(39, len(one.groups)))
    for group in one.groups:
        _write_group_state(group, parts)


def _write_reasons(one: Reasons, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(27, len(one.reasons)))
    for reason in one.reasons:
        _write_reason(reason, parts)


def _write_scheduled(one: Scheduled, parts: list[bytes]) -> None:
    parts.append(_SCHEDULED.pack(one.schedule, one.version, one.next_ms))


def _write_schedule(one: Schedule, parts: list[bytes]) -> None:
    parts.append(
        _SCHEDULE_STATE.pack(
            one.state.schedule,
            one.state.next_ms,
            one.state.fired,
            one.state.version,
            one.state.running,
            one.state.failures,
            one.state.paused,
            int(one.state.come) | bool(one.state.held) << 1,
        )
    )
    pause_note = text(one.pause_note)
    parts += (U16.pack(len(pause_note)), pause_note)
    when = text(one.rules.when)
    zone = text(one.rules.zone)
    key = text(one.rules.key) if one.rules.key else b""
    note = text(one.rules.note)
    parts.append(
        _SCHEDULE.pack(
            one.rules.origin_ms,
            one.rules.start_ms,
            one.rules.end_ms,
            one.rules.count,
            one.rules.window_ms,
            one.rules.missed_max,
            one.rules.jitter_ms,
            one.rules.failures_max,
            one.rules.dst,
            one.rules.missed,
            one.rules.overlap,
            len(when),
            len(zone),
            len(key),
            len(note),
        )
    )
    parts += (when, zone, key, note)
    attributes = b"" if one.template.attributes is NO_ATTRIBUTES else one.template.attributes.encode()
    parts.append(_SCHEDULE_2.pack(one.template.priority, one.template.ttr_ms, len(attributes), len(one.template.body)))
    parts += (attributes, one.template.body)
    parts.append(LIST_HEAD.pack(41, len(one.history)))
    parts += [
        _FIRING.pack(history.instant_ms, history.last_ms, history.instants, history.at_ms, history.job, history.fired)
        for history in one.history
    ]


def _write_schedules(one: Schedules, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(104, len(one.schedules)))
    for schedule in one.schedules:
        _write_listed_schedule(schedule, parts)
    parts += (U16.pack(len(one.cursor)), one.cursor)


def _write_schedule_ran(one: ScheduleRan, parts: list[bytes]) -> None:
    parts.append(U64.pack(one.job))


def _write_schedule_filled(one: ScheduleFilled, parts: list[bytes]) -> None:
    parts.append(_SCHEDULE_FILLED.pack(one.next_ms, one.bytes, one.instants, one.pushed, one.kept, one.refused))


def _write_error(one: Error, parts: list[bytes]) -> None:
    leader = text(one.leader)
    parts += (_ERROR.pack(one.code, int(one.retryable), one.applied, one.retry_after_ms, len(leader)), leader)
    message = text(one.message)
    parts += (U16.pack(len(message)), message)


REQUEST_READERS: dict[int, Callable[[bytes], Request]] = {
    0x01: _read_hello,
    0x02: _read_ping,
    0x03: _read_goodbye,
    0x10: _read_push,
    0x20: _read_reserve,
    0x21: _read_subscribe,
    0x22: _read_credit,
    0x23: _read_unsubscribe,
    0x24: _read_cancel,
    0x25: _read_leases,
    0x26: _read_reserve_job,
    0x30: _read_finish,
    0x31: _read_release,
    0x32: _read_touch,
    0x33: _read_bury,
    0x40: _read_get,
    0x41: _read_delete,
    0x42: _read_reschedule,
    0x43: _read_run_now,
    0x44: _read_kick,
    0x45: _read_peek,
    0x46: _read_kick_many,
    0x47: _read_list,
    0x48: _read_count,
    0x49: _read_bulk,
    0x4A: _read_edit,
    0x50: _read_pause,
    0x51: _read_resume,
    0x52: _read_topics,
    0x53: _read_stats,
    0x54: _read_connections,
    0x55: _read_disconnect,
    0x56: _read_topic_set,
    0x57: _read_topic_delete,
    0x58: _read_topic_show,
    0x59: _read_advance,
    0x60: _read_backup_begin,
    0x61: _read_backup_read,
    0x62: _read_backup_end,
    0x6F: _read_schedule_preview,
    0x70: _read_cluster_status,
    0x71: _read_cluster_add,
    0x72: _read_cluster_remove,
    0x73: _read_cluster_transfer,
    0x74: _read_group_set,
    0x75: _read_group_list,
    0x76: _read_why,
    0x77: _read_topic_why,
    0x78: _read_schedule_set,
    0x79: _read_schedule_show,
    0x7A: _read_schedule_list,
    0x7B: _read_schedule_delete,
    0x7C: _read_schedule_pause,
    0x7D: _read_schedule_resume,
    0x7E: _read_schedule_run,
    0x7F: _read_schedule_fill,
}
RESPONSE_WRITERS: dict[int, Callable[[Any, list[bytes]], None]] = {
    0x81: _write_welcome,
    0x82: _write_pong,
    0x83: _write_done,
    0x84: _write_going_away,
    0x90: _write_pushed,
    0xA0: _write_reserved,
    0xA1: _write_subscribed,
    0xA2: _write_deliver,
    0xA3: _write_leased,
    0xB0: _write_settled,
    0xC0: _write_job,
    0xC1: _write_changed,
    0xC2: _write_kicked,
    0xC3: _write_jobs,
    0xC4: _write_counted,
    0xC5: _write_bulked,
    0xD0: _write_topic_counts,
    0xD1: _write_queue_stats,
    0xD2: _write_connection_list,
    0xD3: _write_topic_settings,
    0xE0: _write_backup_ready,
    0xE1: _write_backup_data,
    0xEF: _write_instants,
    0xF0: _write_cluster_report,
    0xF5: _write_groups,
    0xF6: _write_reasons,
    0xF8: _write_scheduled,
    0xF9: _write_schedule,
    0xFA: _write_schedules,
    0xFB: _write_schedule_ran,
    0xFC: _write_schedule_filled,
    0xFF: _write_error,
}


def decode_request(frame: Frame) -> Request:
    """The request in a frame."""
    if frame.request_id == 0:
        raise MalformedFrame("a request has an id other than 0")
    read = REQUEST_READERS.get(frame.opcode)
    if read is None or frame.group != 0:
        raise MalformedFrame(f"no request has the opcode 0x{frame.opcode:02x} of group {frame.group}")
    return framing.read(read, frame)


def encode_response(request_id: int, message: Response) -> bytearray:
    """A whole frame of a server."""
    return framing.framed(request_id, message.OPCODE, message.NAME, RESPONSE_WRITERS[message.OPCODE], message)
