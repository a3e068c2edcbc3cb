"""Frames as neutral JSON: the fields of protocol.md under their names there.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from adjourn.protocol.elements import Attributes, Filter, TopicPolicy
from adjourn.protocol.framing import FrameDecoder, decode_response, encode
from adjourn.protocol.numbers import (
    BACKOFF_KINDS,
    BURIED_REASONS,
    EFFECTS,
    ERROR_CODES,
    FIRING_OUTCOMES,
    GOING_AWAY_REASONS,
    HOLD_REASONS,
    JOB_STATES,
    LATE_ACTIONS,
    MEMBER_ROLES,
    PAUSED_REASONS,
    PUSH_OUTCOMES,
    BulkChange,
    Dst,
    DueKind,
    Effect,
    ErrorCode,
    IfExists,
    ListOrder,
    Missed,
    Overlap,
    PauseChange,
    PushOutcome,
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
    DueBar,
    Error,
    Firing,
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
    PushedJob,
    QueueStats,
    Reason,
    Reasons,
    Reserved,
    Response,
    Schedule,
    ScheduleFilled,
    ScheduleRan,
    ScheduleState,
    Scheduled,
    Schedules,
    Settled,
    StageReport,
    Subscribed,
    TopicCounts,
    TopicReport,
    TopicSettings,
    Totals,
    Welcome,
)
from adjourn.protocol.values import BACKOFF_NAMES, UNSET, Backoff, Expiry, JobRef, Late, Unset
from harness.server import decode_request, encode_response

Json = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(text: str) -> bytes:
    return base64.b64decode(text)


def decoded(side: str, data: bytes) -> Json:
    """A frame as JSON."""
    (frame,) = FrameDecoder().feed(data)
    message = decode_request(frame) if side == "request" else decode_response(frame)
    if message is None:
        return {"request_id": frame.request_id, "opcode": frame.opcode, "fields": {}}
    fields = TO_JSON[message.NAME](message)
    return {"request_id": frame.request_id, "opcode": message.NAME, "fields": fields}


def encoded(frame: Json) -> bytes:
    """A frame from JSON."""
    message = FROM_JSON[frame["opcode"]](frame["fields"])
    request_id = int(frame["request_id"])
    return bytes(encode(request_id, message) if isinstance(message, Request) else encode_response(request_id, message))


def ref_json(ref: JobRef) -> Json:
    """A job reference as JSON."""
    if ref.job is not None:
        return {"job_kind": 0, "job": str(ref.job)}
    return {"job_kind": 1, "topic": ref.topic, "key": ref.key}


def ref_of(found: Json) -> JobRef:
    """A job reference from JSON."""
    if found.get("job_kind", 0) == 1:
        return JobRef(topic=found["topic"], key=found["key"])
    return JobRef(job=int(found["job"]))


def _expiry_json(one: Expiry) -> Json:
    return {
        "kind": int(one.is_at),
        "ms": str(one.ms),
    }


def _expiry_of(found: Json) -> Expiry:
    kind = found.get("kind", 0)
    ms = int(found["ms"])
    return Expiry(is_at=kind == 1, ms=ms)


def _backoff_json(one: Backoff) -> Json:
    return {
        "kind": BACKOFF_NAMES[one.kind],
        "jitter": one.jitter_percent,
        "waits_ms": list(one.values_ms),
    }


def _backoff_of(found: Json) -> Backoff:
    kind = found.get("kind", 0)
    jitter = found.get("jitter", 0)
    waits_ms = tuple(found["waits_ms"])
    return Backoff(kind=BACKOFF_KINDS[kind].name.lower(), jitter_percent=jitter, values_ms=waits_ms)


def _late_json(one: Late) -> Json:
    return {
        "after_ms": str(one.after_ms),
        "action": one.action,
        "value": str(one.value),
    }


def _late_of(found: Json) -> Late:
    after_ms = int(found["after_ms"])
    action = found.get("action", 0)
    value = int(found["value"])
    return Late(after_ms=after_ms, action=LATE_ACTIONS[action], value=value)


def attributes_json(one: Attributes) -> Json:
    found: Json = {}
    if one.headers:
        found["headers"] = [list(value) for value in one.headers]
    if one.expires is not None:
        found["expires"] = _expiry_json(one.expires)
    if one.attempts_max is not None:
        found["attempts_max"] = one.attempts_max
    if one.backoff is not None:
        found["backoff"] = _backoff_json(one.backoff)
    if one.group is not None:
        found["group"] = one.group
    if one.dedupe_retention_ms is not None:
        found["dedupe_retention_ms"] = str(one.dedupe_retention_ms)
    if one.created_at_ms is not None:
        found["created_at_ms"] = str(one.created_at_ms)
    if one.schedule_reference is not None:
        found["schedule_reference"] = b64(one.schedule_reference)
    if one.postpone_max_ms is not None:
        found["postpone_max_ms"] = str(one.postpone_max_ms)
    if one.buried is not None:
        found["buried"] = one.buried
    if one.others:
        found["unknown"] = [{"tag": tag, "value": b64(value)} for tag, value in one.others]
    return found


def attributes_of(found: Json) -> Attributes:
    values: Json = {}
    if "headers" in found:
        values["headers"] = tuple((name, value) for name, value in found["headers"])
    if "expires" in found:
        values["expires"] = _expiry_of(found["expires"])
    if "attempts_max" in found:
        values["attempts_max"] = found["attempts_max"]
    if "backoff" in found:
        values["backoff"] = _backoff_of(found["backoff"])
    if "group" in found:
        values["group"] = found["group"]
    if "dedupe_retention_ms" in found:
        values["dedupe_retention_ms"] = int(found["dedupe_retention_ms"])
    if "created_at_ms" in found:
        values["created_at_ms"] = int(found["created_at_ms"])
    if "schedule_reference" in found:
        values["schedule_reference"] = raw(found["schedule_reference"])
    if "postpone_max_ms" in found:
        values["postpone_max_ms"] = int(found["postpone_max_ms"])
    if "buried" in found:
        values["buried"] = found["buried"]
    if "unknown" in found:
        values["others"] = tuple((one["tag"], raw(one["value"])) for one in found["unknown"])
    return Attributes(**values)


def filter_json(one: Filter) -> Json:
    found: Json = {}
    if one.topic is not None:
        found["topic"] = one.topic
    if one.states is not None:
        found["states"] = int(one.states)
    if one.due_from_ms is not None:
        found["due_from_ms"] = str(one.due_from_ms)
    if one.due_before_ms is not None:
        found["due_before_ms"] = str(one.due_before_ms)
    if one.key_prefix is not None:
        found["key_prefix"] = b64(one.key_prefix)
    if one.attempts_min is not None:
        found["attempts_min"] = one.attempts_min
    if one.attempts_max is not None:
        found["attempts_max"] = one.attempts_max
    if one.buried is not None:
        found["buried"] = int(one.buried)
    if one.reason is not None:
        found["reason"] = one.reason
    if one.group is not None:
        found["group"] = one.group
    return found


def filter_of(found: Json) -> Filter:
    values: Json = {}
    if "topic" in found:
        values["topic"] = found["topic"]
    if "states" in found:
        values["states"] = States(found["states"])
    if "due_from_ms" in found:
        values["due_from_ms"] = int(found["due_from_ms"])
    if "due_before_ms" in found:
        values["due_before_ms"] = int(found["due_before_ms"])
    if "key_prefix" in found:
        values["key_prefix"] = raw(found["key_prefix"])
    if "attempts_min" in found:
        values["attempts_min"] = found["attempts_min"]
    if "attempts_max" in found:
        values["attempts_max"] = found["attempts_max"]
    if "buried" in found:
        values["buried"] = found["buried"]
    if "reason" in found:
        values["reason"] = found["reason"]
    if "group" in found:
        values["group"] = found["group"]
    return Filter(**values)


def settings_json(one: TopicPolicy) -> Json:
    found: Json = {}
    if isinstance(one.ttr_ms, Unset):
        found["ttr_ms"] = None
    elif one.ttr_ms is not None:
        found["ttr_ms"] = one.ttr_ms
    if isinstance(one.priority, Unset):
        found["priority"] = None
    elif one.priority is not None:
        found["priority"] = one.priority
    if isinstance(one.attempts_max, Unset):
        found["attempts_max"] = None
    elif one.attempts_max is not None:
        found["attempts_max"] = one.attempts_max
    if isinstance(one.backoff, Unset):
        found["backoff"] = None
    elif one.backoff is not None:
        found["backoff"] = _backoff_json(one.backoff)
    if isinstance(one.expires_after_ms, Unset):
        found["expires_after_ms"] = None
    elif one.expires_after_ms is not None:
        found["expires_after_ms"] = str(one.expires_after_ms)
    if isinstance(one.jobs_max, Unset):
        found["jobs_max"] = None
    elif one.jobs_max is not None:
        found["jobs_max"] = str(one.jobs_max)
    if isinstance(one.bytes_max, Unset):
        found["bytes_max"] = None
    elif one.bytes_max is not None:
        found["bytes_max"] = str(one.bytes_max)
    if isinstance(one.body_bytes_max, Unset):
        found["body_max"] = None
    elif one.body_bytes_max is not None:
        found["body_max"] = one.body_bytes_max
    if isinstance(one.leases_max, Unset):
        found["leases_max"] = None
    elif one.leases_max is not None:
        found["leases_max"] = one.leases_max
    if isinstance(one.per_second_max, Unset):
        found["rate"] = None
    elif one.per_second_max is not None:
        found["rate"] = one.per_second_max
    if isinstance(one.late, Unset):
        found["late"] = None
    elif one.late is not None:
        found["late"] = _late_json(one.late)
    if isinstance(one.dead_letters, Unset):
        found["dead_letters"] = None
    elif one.dead_letters is not None:
        found["dead_letters"] = one.dead_letters
    if isinstance(one.remember_ms, Unset):
        found["remember_ms"] = None
    elif one.remember_ms is not None:
        found["remember_ms"] = str(one.remember_ms)
    if isinstance(one.call_back, Unset):
        found["call_back"] = None
    elif one.call_back is not None:
        found["call_back"] = one.call_back
    if isinstance(one.call_back_method, Unset):
        found["call_back_method"] = None
    elif one.call_back_method is not None:
        found["call_back_method"] = one.call_back_method
    if isinstance(one.call_back_headers, Unset):
        found["call_back_headers"] = None
    elif one.call_back_headers is not None:
        found["call_back_headers"] = one.call_back_headers
    if isinstance(one.call_back_body, Unset):
        found["call_back_body"] = None
    elif one.call_back_body is not None:
        found["call_back_body"] = one.call_back_body
    if isinstance(one.call_back_timeout_ms, Unset):
        found["call_back_timeout_ms"] = None
    elif one.call_back_timeout_ms is not None:
        found["call_back_timeout_ms"] = one.call_back_timeout_ms
    if isinstance(one.call_back_concurrency, Unset):
        found["call_back_concurrency"] = None
    elif one.call_back_concurrency is not None:
        found["call_back_concurrency"] = one.call_back_concurrency
    if isinstance(one.call_back_rate, Unset):
        found["call_back_rate"] = None
    elif one.call_back_rate is not None:
        found["call_back_rate"] = one.call_back_rate
    if isinstance(one.call_back_secrets, Unset):
        found["call_back_secrets"] = None
    elif one.call_back_secrets is not None:
        found["call_back_secrets"] = one.call_back_secrets
    if isinstance(one.call_back_refused, Unset):
        found["call_back_refused"] = None
    elif one.call_back_refused is not None:
        found["call_back_refused"] = one.call_back_refused
    if isinstance(one.call_back_retry_if, Unset):
        found["call_back_retry_if"] = None
    elif one.call_back_retry_if is not None:
        found["call_back_retry_if"] = one.call_back_retry_if
    if isinstance(one.call_back_success, Unset):
        found["call_back_success"] = None
    elif one.call_back_success is not None:
        found["call_back_success"] = one.call_back_success
    if isinstance(one.call_back_of_job, Unset):
        found["call_back_of_job"] = None
    elif one.call_back_of_job is not None:
        found["call_back_of_job"] = one.call_back_of_job
    if isinstance(one.call_back_log_ms, Unset):
        found["call_back_log_ms"] = None
    elif one.call_back_log_ms is not None:
        found["call_back_log_ms"] = str(one.call_back_log_ms)
    if isinstance(one.call_back_paused, Unset):
        found["call_back_paused"] = None
    elif one.call_back_paused is not None:
        found["call_back_paused"] = one.call_back_paused
    if isinstance(one.call_back_delay_ms, Unset):
        found["call_back_delay_ms"] = None
    elif one.call_back_delay_ms is not None:
        found["call_back_delay_ms"] = str(one.call_back_delay_ms)
    if isinstance(one.fair, Unset):
        found["fair"] = None
    elif one.fair is not None:
        found["fair"] = one.fair
    if isinstance(one.group_leases_max, Unset):
        found["group_leases_max"] = None
    elif one.group_leases_max is not None:
        found["group_leases_max"] = one.group_leases_max
    if isinstance(one.group_per_second_max, Unset):
        found["group_per_second_max"] = None
    elif one.group_per_second_max is not None:
        found["group_per_second_max"] = one.group_per_second_max
    if isinstance(one.group_burst, Unset):
        found["group_burst"] = None
    elif one.group_burst is not None:
        found["group_burst"] = one.group_burst
    if isinstance(one.group_order, Unset):
        found["group_order"] = None
    elif one.group_order is not None:
        found["group_order"] = one.group_order
    if isinstance(one.group_on_bury, Unset):
        found["group_on_bury"] = None
    elif one.group_on_bury is not None:
        found["group_on_bury"] = one.group_on_bury
    return found


def settings_of(found: Json) -> TopicPolicy:
    values: Json = {}
    if "ttr_ms" in found:
        value = found["ttr_ms"]
        values["ttr_ms"] = UNSET if value is None else value
    if "priority" in found:
        value = found["priority"]
        values["priority"] = UNSET if value is None else value
    if "attempts_max" in found:
        value = found["attempts_max"]
        values["attempts_max"] = UNSET if value is None else value
    if "backoff" in found:
        value = found["backoff"]
        values["backoff"] = UNSET if value is None else _backoff_of(value)
    if "expires_after_ms" in found:
        value = found["expires_after_ms"]
        values["expires_after_ms"] = UNSET if value is None else int(value)
    if "jobs_max" in found:
        value = found["jobs_max"]
        values["jobs_max"] = UNSET if value is None else int(value)
    if "bytes_max" in found:
        value = found["bytes_max"]
        values["bytes_max"] = UNSET if value is None else int(value)
    if "body_max" in found:
        value = found["body_max"]
        values["body_bytes_max"] = UNSET if value is None else value
    if "leases_max" in found:
        value = found["leases_max"]
        values["leases_max"] = UNSET if value is None else value
    if "rate" in found:
        value = found["rate"]
        values["per_second_max"] = UNSET if value is None else value
    if "late" in found:
        value = found["late"]
        values["late"] = UNSET if value is None else _late_of(value)
    if "dead_letters" in found:
        value = found["dead_letters"]
        values["dead_letters"] = UNSET if value is None else value
    if "remember_ms" in found:
        value = found["remember_ms"]
        values["remember_ms"] = UNSET if value is None else int(value)
    if "call_back" in found:
        value = found["call_back"]
        values["call_back"] = UNSET if value is None else value
    if "call_back_method" in found:
        value = found["call_back_method"]
        values["call_back_method"] = UNSET if value is None else value
    if "call_back_headers" in found:
        value = found["call_back_headers"]
        values["call_back_headers"] = UNSET if value is None else value
    if "call_back_body" in found:
        value = found["call_back_body"]
        values["call_back_body"] = UNSET if value is None else value
    if "call_back_timeout_ms" in found:
        value = found["call_back_timeout_ms"]
        values["call_back_timeout_ms"] = UNSET if value is None else value
    if "call_back_concurrency" in found:
        value = found["call_back_concurrency"]
        values["call_back_concurrency"] = UNSET if value is None else value
    if "call_back_rate" in found:
        value = found["call_back_rate"]
        values["call_back_rate"] = UNSET if value is None else value
    if "call_back_secrets" in found:
        value = found["call_back_secrets"]
        values["call_back_secrets"] = UNSET if value is None else value
    if "call_back_refused" in found:
        value = found["call_back_refused"]
        values["call_back_refused"] = UNSET if value is None else value
    if "call_back_retry_if" in found:
        value = found["call_back_retry_if"]
        values["call_back_retry_if"] = UNSET if value is None else value
    if "call_back_success" in found:
        value = found["call_back_success"]
        values["call_back_success"] = UNSET if value is None else value
    if "call_back_of_job" in found:
        value = found["call_back_of_job"]
        values["call_back_of_job"] = UNSET if value is None else value
    if "call_back_log_ms" in found:
        value = found["call_back_log_ms"]
        values["call_back_log_ms"] = UNSET if value is None else int(value)
    if "call_back_paused" in found:
        value = found["call_back_paused"]
        values["call_back_paused"] = UNSET if value is None else value
    if "call_back_delay_ms" in found:
        value = found["call_back_delay_ms"]
        values["call_back_delay_ms"] = UNSET if value is None else int(value)
    if "fair" in found:
        value = found["fair"]
        values["fair"] = UNSET if value is None else value
    if "group_leases_max" in found:
        value = found["group_leases_max"]
        values["group_leases_max"] = UNSET if value is None else value
    if "group_per_second_max" in found:
        value = found["group_per_second_max"]
        values["group_per_second_max"] = UNSET if value is None else value
    if "group_burst" in found:
        value = found["group_burst"]
        values["group_burst"] = UNSET if value is None else value
    if "group_order" in found:
        value = found["group_order"]
        values["group_order"] = UNSET if value is None else value
    if "group_on_bury" in found:
        value = found["group_on_bury"]
        values["group_on_bury"] = UNSET if value is None else value
    return TopicPolicy(**values)


def _new_job_json(one: PushJob) -> Json:
    return {
        "due_ms": str(one.due_ms),
        "priority": one.priority,
        "ttr_ms": one.ttr_ms,
        "due_kind": one.due_kind,
        "if_exists": one.if_exists,
        "key": one.key or "",
        "attributes": attributes_json(one.attributes),
        "body": b64(one.body),
    }


def _new_job_of(found: Json) -> PushJob:
    due_ms = int(found.get("due_ms", 0))
    priority = int(found.get("priority", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    due_kind = int(found.get("due_kind", 0))
    if_exists = int(found.get("if_exists", 0))
    key = found.get("key", "")
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    return PushJob(due_ms, priority, ttr_ms, DueKind(due_kind), IfExists(if_exists), key or None, attributes, body)


def _push_result_json(one: PushedJob) -> Json:
    return {
        "outcome": one.outcome,
        "code": one.code,
        "job": str(one.job),
    }


def _push_result_of(found: Json) -> PushedJob:
    outcome = int(found.get("outcome", 0))
    code = int(found.get("code", 0))
    job = int(found.get("job", 0))
    return PushedJob(
        PUSH_OUTCOMES.get(outcome, PushOutcome.REFUSED),
        ERROR_CODES.get(code, code) if outcome in PUSH_OUTCOMES else ErrorCode.OUTCOME_UNKNOWN,
        job,
    )


def _lease_json(one: LeaseRef) -> Json:
    return {
        "job": str(one.job),
        "fence": str(one.fence),
    }


def _lease_of(found: Json) -> LeaseRef:
    job = int(found.get("job", 0))
    fence = int(found.get("fence", 0))
    return LeaseRef(job, fence)


def _delivered_json(one: Delivered) -> Json:
    return {
        "job": str(one.lease.job),
        "fence": str(one.lease.fence),
        "due_ms": str(one.due_ms),
        "priority": one.priority,
        "attempts": one.attempts,
        "ttr_left_ms": one.ttr_left_ms,
        "topic": one.topic,
        "key": one.key or "",
        "attributes": attributes_json(one.attributes),
        "body": b64(one.body),
        "deadline_ms": str(one.deadline_ms),
    }


def _delivered_of(found: Json) -> Delivered:
    job = int(found.get("job", 0))
    fence = int(found.get("fence", 0))
    due_ms = int(found.get("due_ms", 0))
    priority = int(found.get("priority", 0))
    attempts = int(found.get("attempts", 0))
    ttr_left_ms = int(found.get("ttr_left_ms", 0))
    topic = found.get("topic", "")
    key = found.get("key", "")
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    deadline_ms = int(found.get("deadline_ms", 0))
    lease = LeaseRef(job, fence)
    return Delivered(lease, due_ms, priority, attempts, ttr_left_ms, topic, key or None, attributes, body, deadline_ms)


def _listed_json(one: JobReport) -> Json:
    return {
        "job": str(one.id),
        "due_ms": str(one.due_ms),
        "state": one.state,
        "buried": one.buried,
        "priority": one.priority,
        "attempts": one.attempts,
        "ttr_ms": one.ttr_ms,
        "ttr_left_ms": one.ttr_left_ms,
        "topic": one.topic,
        "key": one.key or "",
        "attributes": attributes_json(one.attributes),
        "body": b64(one.body),
        "body_bytes": one.body_bytes,
        "pushed_ms": str(one.pushed_ms),
        "reserved_first_ms": str(one.reserved_first_ms),
        "reserved_last_ms": str(one.reserved_last_ms),
        "edited_ms": str(one.edited_ms),
        "held_by": one.held_by,
        "reason": one.reason,
    }


def _listed_of(found: Json) -> JobReport:
    job = int(found.get("job", 0))
    due_ms = int(found.get("due_ms", 0))
    state = int(found.get("state", 0))
    buried = int(found.get("buried", 0))
    priority = int(found.get("priority", 0))
    attempts = int(found.get("attempts", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    ttr_left_ms = int(found.get("ttr_left_ms", 0))
    topic = found.get("topic", "")
    key = found.get("key", "")
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    body_bytes = int(found.get("body_bytes", 0))
    pushed_ms = int(found.get("pushed_ms", 0))
    reserved_first_ms = int(found.get("reserved_first_ms", 0))
    reserved_last_ms = int(found.get("reserved_last_ms", 0))
    edited_ms = int(found.get("edited_ms", 0))
    held_by = found.get("held_by", "")
    reason = found.get("reason", "")
    return JobReport(
        id=job,
        due_ms=due_ms,
        state=JOB_STATES.get(state, state),
        buried=BURIED_REASONS.get(buried, buried),
        priority=priority,
        attempts=attempts,
        ttr_ms=ttr_ms,
        ttr_left_ms=ttr_left_ms,
        topic=topic,
        key=key or None,
        attributes=attributes,
        body=body,
        body_bytes=body_bytes,
        pushed_ms=pushed_ms,
        reserved_first_ms=reserved_first_ms,
        reserved_last_ms=reserved_last_ms,
        edited_ms=edited_ms,
        held_by=held_by,
        reason=reason,
    )


def _totals_json(one: Totals) -> Json:
    return {
        "delayed": str(one.delayed),
        "ready": str(one.ready),
        "reserved": str(one.reserved),
        "buried": str(one.buried),
        "pushed": str(one.pushed),
        "finished": str(one.finished),
        "deleted": str(one.deleted),
        "expired": str(one.expired),
        "oldest_ready_ms": str(one.oldest_ready_ms),
    }


def _totals_of(found: Json) -> Totals:
    delayed = int(found.get("delayed", 0))
    ready = int(found.get("ready", 0))
    reserved = int(found.get("reserved", 0))
    buried = int(found.get("buried", 0))
    pushed = int(found.get("pushed", 0))
    finished = int(found.get("finished", 0))
    deleted = int(found.get("deleted", 0))
    expired = int(found.get("expired", 0))
    oldest_ready_ms = int(found.get("oldest_ready_ms", 0))
    return Totals(delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms)


def _topic_count_json(one: TopicReport) -> Json:
    return {
        "marks": int(one.paused),
        "consumers": one.consumers,
        "late_ms": str(one.late_ms),
        "topic": one.topic,
        "delayed": str(one.totals.delayed),
        "ready": str(one.totals.ready),
        "reserved": str(one.totals.reserved),
        "buried": str(one.totals.buried),
        "pushed": str(one.totals.pushed),
        "finished": str(one.totals.finished),
        "deleted": str(one.totals.deleted),
        "expired": str(one.totals.expired),
        "oldest_ready_ms": str(one.totals.oldest_ready_ms),
    }


def _topic_count_of(found: Json) -> TopicReport:
    marks = int(found.get("marks", 0))
    consumers = int(found.get("consumers", 0))
    late_ms = int(found.get("late_ms", 0))
    topic = found.get("topic", "")
    delayed = int(found.get("delayed", 0))
    ready = int(found.get("ready", 0))
    reserved = int(found.get("reserved", 0))
    buried = int(found.get("buried", 0))
    pushed = int(found.get("pushed", 0))
    finished = int(found.get("finished", 0))
    deleted = int(found.get("deleted", 0))
    expired = int(found.get("expired", 0))
    oldest_ready_ms = int(found.get("oldest_ready_ms", 0))
    totals = Totals(delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms)
    return TopicReport(bool(marks & 1), consumers, late_ms, topic, totals)


def _stage_json(one: StageReport) -> Json:
    return {
        "stage": one.stage,
        "count": str(one.count),
        "p50_us": str(one.p50_us),
        "p99_us": str(one.p99_us),
        "p999_us": str(one.p999_us),
        "max_us": str(one.max_us),
    }


def _stage_of(found: Json) -> StageReport:
    stage = found.get("stage", "")
    count = int(found.get("count", 0))
    p50_us = int(found.get("p50_us", 0))
    p99_us = int(found.get("p99_us", 0))
    p999_us = int(found.get("p999_us", 0))
    max_us = int(found.get("max_us", 0))
    return StageReport(stage, count, p50_us, p99_us, p999_us, max_us)


def _due_bar_json(one: DueBar) -> Json:
    return {
        "start_ms": str(one.start_ms),
        "jobs": str(one.jobs),
    }


def _due_bar_of(found: Json) -> DueBar:
    start_ms = int(found.get("start_ms", 0))
    jobs = int(found.get("jobs", 0))
    return DueBar(start_ms, jobs)


def _connection_json(one: ConnectionReport) -> Json:
    return {
        "connection": str(one.connection),
        "session": str(one.session),
        "since_ms": str(one.since_ms),
        "leases": one.leases,
        "subscriptions": one.subscriptions,
        "reserves": one.reserves,
        "credit_jobs": str(one.credit_jobs),
        "credit_bytes": str(one.credit_bytes),
        "unsent_bytes": str(one.unsent_bytes),
        "marks": int(one.has_more_topics),
        "address": one.address,
        "client_name": one.client_name,
        "topics": list(one.topics),
    }


def _connection_of(found: Json) -> ConnectionReport:
    connection = int(found.get("connection", 0))
    session = int(found.get("session", 0))
    since_ms = int(found.get("since_ms", 0))
    leases = int(found.get("leases", 0))
    subscriptions = int(found.get("subscriptions", 0))
    reserves = int(found.get("reserves", 0))
    credit_jobs = int(found.get("credit_jobs", 0))
    credit_bytes = int(found.get("credit_bytes", 0))
    unsent_bytes = int(found.get("unsent_bytes", 0))
    marks = int(found.get("marks", 0))
    address = found.get("address", "")
    client_name = found.get("client_name", "")
    topics = tuple(found.get("topics", ()))
    return ConnectionReport(
        connection,
        session,
        since_ms,
        leases,
        subscriptions,
        reserves,
        credit_jobs,
        credit_bytes,
        unsent_bytes,
        bool(marks & 1),
        address,
        client_name,
        topics,
    )


def _member_json(one: Member) -> Json:
    return {
        "node": str(one.node),
        "marks": int(one.leads),
        "address": one.address,
    }


def _member_of(found: Json) -> Member:
    node = int(found.get("node", 0))
    marks = int(found.get("marks", 0))
    address = found.get("address", "")
    return Member(node, bool(marks & 1), address)


def _node_json(one: MemberReport) -> Json:
    return {
        "node": str(one.node),
        "role": one.role,
        "marks": int(one.is_connected)
        | (one.matched is not None) << 1
        | (one.applied is not None) << 2
        | (one.ahead_ms is not None) << 3
        | (one.same_state is not None) << 4
        | bool(one.same_state) << 5,
        "matched": str(one.matched or 0),
        "applied": str(one.applied or 0),
        "ahead_ms": str(one.ahead_ms or 0),
        "audited": str(one.audited),
        "peer_address": one.peer_address,
        "client_address": one.client_address,
    }


def _node_of(found: Json) -> MemberReport:
    node = int(found.get("node", 0))
    role = int(found.get("role", 0))
    marks = int(found.get("marks", 0))
    matched = int(found.get("matched", 0))
    applied = int(found.get("applied", 0))
    ahead_ms = int(found.get("ahead_ms", 0))
    audited = int(found.get("audited", 0))
    peer_address = found.get("peer_address", "")
    client_address = found.get("client_address", "")
    return MemberReport(
        node,
        MEMBER_ROLES.get(role, role),
        bool(marks & 1),
        bool(marks & 32) if marks & 16 else None,
        matched if marks & 2 else None,
        applied if marks & 4 else None,
        ahead_ms if marks & 8 else None,
        audited,
        peer_address,
        client_address,
    )


def _group_state_json(one: GroupState) -> Json:
    return {
        "ready": str(one.ready),
        "reserved": str(one.reserved),
        "oldest_ms": str(one.oldest_ms),
        "until_ms": str(one.until_ms),
        "weight": one.weight,
        "hold": one.hold,
        "paused": one.paused,
        "name": one.name,
    }


def _group_state_of(found: Json) -> GroupState:
    ready = int(found.get("ready", 0))
    reserved = int(found.get("reserved", 0))
    oldest_ms = int(found.get("oldest_ms", 0))
    until_ms = int(found.get("until_ms", 0))
    weight = int(found.get("weight", 0))
    hold = int(found.get("hold", 0))
    paused = int(found.get("paused", 0))
    name = found.get("name", "")
    return GroupState(ready, reserved, oldest_ms, until_ms, weight, HOLD_REASONS.get(hold, hold), paused, name)


def _reason_json(one: Reason) -> Json:
    return {
        "why": one.why,
        "since_ms": str(one.since_ms),
        "until_ms": str(one.until_ms),
        "jobs": str(one.jobs),
        "text": one.text,
    }


def _reason_of(found: Json) -> Reason:
    why = int(found.get("why", 0))
    since_ms = int(found.get("since_ms", 0))
    until_ms = int(found.get("until_ms", 0))
    jobs = int(found.get("jobs", 0))
    text_ = found.get("text", "")
    return Reason(HOLD_REASONS.get(why, why), since_ms, until_ms, jobs, text_)


def _schedule_state_json(one: ScheduleState) -> Json:
    return {
        "schedule": str(one.schedule),
        "next_ms": str(one.next_ms),
        "fired": str(one.fired),
        "version": one.version,
        "running": one.running,
        "failures": one.failures,
        "paused": one.paused,
        "marks": int(one.come) | bool(one.held) << 1,
    }


def _schedule_state_of(found: Json) -> ScheduleState:
    schedule = int(found.get("schedule", 0))
    next_ms = int(found.get("next_ms", 0))
    fired = int(found.get("fired", 0))
    version = int(found.get("version", 0))
    running = int(found.get("running", 0))
    failures = int(found.get("failures", 0))
    paused = int(found.get("paused", 0))
    marks = int(found.get("marks", 0))
    return ScheduleState(
        schedule,
        next_ms,
        fired,
        version,
        running,
        failures,
        PAUSED_REASONS.get(paused, paused),
        bool(marks & 1),
        bool(marks & 2),
    )


def _firing_json(one: Firing) -> Json:
    return {
        "instant_ms": str(one.instant_ms),
        "last_ms": str(one.last_ms),
        "instants": str(one.instants),
        "at_ms": str(one.at_ms),
        "job": str(one.job),
        "fired": one.fired,
    }


def _firing_of(found: Json) -> Firing:
    instant_ms = int(found.get("instant_ms", 0))
    last_ms = int(found.get("last_ms", 0))
    instants = int(found.get("instants", 0))
    at_ms = int(found.get("at_ms", 0))
    job = int(found.get("job", 0))
    fired = int(found.get("fired", 0))
    return Firing(instant_ms, last_ms, instants, at_ms, job, FIRING_OUTCOMES.get(fired, fired))


def _local_instant_json(one: LocalInstant) -> Json:
    return {
        "instant_ms": str(one.instant_ms),
        "local": one.local,
    }


def _local_instant_of(found: Json) -> LocalInstant:
    instant_ms = int(found.get("instant_ms", 0))
    local = found.get("local", "")
    return LocalInstant(instant_ms, local)


def _listed_schedule_json(one: ListedSchedule) -> Json:
    return {
        "schedule": str(one.state.schedule),
        "next_ms": str(one.state.next_ms),
        "fired": str(one.state.fired),
        "version": one.state.version,
        "running": one.state.running,
        "failures": one.state.failures,
        "paused": one.state.paused,
        "marks": int(one.state.come) | bool(one.state.held) << 1,
        "origin_ms": str(one.rules.origin_ms),
        "start_ms": str(one.rules.start_ms),
        "end_ms": str(one.rules.end_ms),
        "count": str(one.rules.count),
        "window_ms": str(one.rules.window_ms),
        "missed_max": one.rules.missed_max,
        "jitter_ms": one.rules.jitter_ms,
        "failures_max": one.rules.failures_max,
        "dst": one.rules.dst,
        "missed": one.rules.missed,
        "overlap": one.rules.overlap,
        "when": one.rules.when,
        "zone": one.rules.zone,
        "key": one.rules.key or "",
        "note": one.rules.note,
        "topic": one.topic,
        "name": one.name,
        "pause_note": one.pause_note,
    }


def _listed_schedule_of(found: Json) -> ListedSchedule:
    schedule = int(found.get("schedule", 0))
    next_ms = int(found.get("next_ms", 0))
    fired = int(found.get("fired", 0))
    version = int(found.get("version", 0))
    running = int(found.get("running", 0))
    failures = int(found.get("failures", 0))
    paused = int(found.get("paused", 0))
    marks = int(found.get("marks", 0))
    origin_ms = int(found.get("origin_ms", 0))
    start_ms = int(found.get("start_ms", 0))
    end_ms = int(found.get("end_ms", 0))
    count = int(found.get("count", 0))
    window_ms = int(found.get("window_ms", 0))
    missed_max = int(found.get("missed_max", 0))
    jitter_ms = int(found.get("jitter_ms", 0))
    failures_max = int(found.get("failures_max", 0))
    dst = int(found.get("dst", 0))
    missed = int(found.get("missed", 0))
    overlap = int(found.get("overlap", 0))
    when = found.get("when", "")
    zone = found.get("zone", "")
    key = found.get("key", "")
    note = found.get("note", "")
    topic = found.get("topic", "")
    name = found.get("name", "")
    pause_note = found.get("pause_note", "")
    state = ScheduleState(
        schedule,
        next_ms,
        fired,
        version,
        running,
        failures,
        PAUSED_REASONS.get(paused, paused),
        bool(marks & 1),
        bool(marks & 2),
    )
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
    return ListedSchedule(state, rules, topic, name, pause_note)


def _hello_json(one: Hello) -> Json:
    return {
        "version_min": one.version_min,
        "version_max": one.version_max,
        "options": int(one.leases_outlive) | bool(one.without_session) << 1,
        "heartbeat_ms": one.heartbeat_ms,
        "session": str(one.session),
        "secret": b64(one.secret),
        "client_name": one.client_name,
        "token": b64(one.token),
    }


def _hello_of(found: Json) -> Hello:
    version_min = int(found.get("version_min", 0))
    version_max = int(found.get("version_max", 0))
    options = int(found.get("options", 0))
    heartbeat_ms = int(found.get("heartbeat_ms", 0))
    session = int(found.get("session", 0))
    secret = raw(found["secret"]) if "secret" in found else bytes(16)
    client_name = found.get("client_name", "")
    token = raw(found.get("token", ""))
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


def _ping_json(one: Ping) -> Json:
    return {}


def _ping_of(found: Json) -> Ping:
    return Ping()


def _goodbye_json(one: Goodbye) -> Json:
    return {}


def _goodbye_of(found: Json) -> Goodbye:
    return Goodbye()


def _push_json(one: Push) -> Json:
    return {
        "sequence": str(one.sequence),
        "topic": one.topic,
        "jobs": [_new_job_json(item) for item in one.jobs],
        "idempotency": str(one.idempotency),
        "list_jobs": one.list_jobs,
    }


def _push_of(found: Json) -> Push:
    sequence = int(found.get("sequence", 0))
    topic = found.get("topic", "")
    jobs = tuple(_new_job_of(job) for job in found.get("jobs", ()))
    idempotency = int(found.get("idempotency", 0))
    list_jobs = int(found.get("list_jobs", 0))
    return Push(sequence, topic, jobs, idempotency, list_jobs)


def _reserve_json(one: Reserve) -> Json:
    return {
        "wait_ms": str(one.wait_ms),
        "jobs_max": one.jobs_max,
        "topics": list(one.topics),
        "weights": list(one.weights),
    }


def _reserve_of(found: Json) -> Reserve:
    wait_ms = int(found.get("wait_ms", 0))
    jobs_max = int(found.get("jobs_max", 0))
    topics = tuple(found.get("topics", ()))
    weights = tuple(found.get("weights", ()))
    return Reserve(wait_ms, jobs_max, topics, weights)


def _subscribe_json(one: Subscribe) -> Json:
    return {
        "credit_jobs": one.credit_jobs,
        "credit_bytes": str(one.credit_bytes),
        "topics": list(one.topics),
        "weights": list(one.weights),
    }


def _subscribe_of(found: Json) -> Subscribe:
    credit_jobs = int(found.get("credit_jobs", 0))
    credit_bytes = int(found.get("credit_bytes", 0))
    topics = tuple(found.get("topics", ()))
    weights = tuple(found.get("weights", ()))
    return Subscribe(credit_jobs, credit_bytes, topics, weights)


def _credit_json(one: Credit) -> Json:
    return {
        "subscription": one.subscription,
        "credit_jobs": one.credit_jobs,
        "credit_bytes": str(one.credit_bytes),
    }


def _credit_of(found: Json) -> Credit:
    subscription = int(found.get("subscription", 0))
    credit_jobs = int(found.get("credit_jobs", 0))
    credit_bytes = int(found.get("credit_bytes", 0))
    return Credit(subscription, credit_jobs, credit_bytes)


def _unsubscribe_json(one: Unsubscribe) -> Json:
    return {
        "subscription": one.subscription,
    }


def _unsubscribe_of(found: Json) -> Unsubscribe:
    subscription = int(found.get("subscription", 0))
    return Unsubscribe(subscription)


def _cancel_json(one: Cancel) -> Json:
    return {
        "request": one.request,
    }


def _cancel_of(found: Json) -> Cancel:
    request = int(found.get("request", 0))
    return Cancel(request)


def _leases_json(one: Leases) -> Json:
    return {
        "after": str(one.after),
        "jobs_max": one.jobs_max,
    }


def _leases_of(found: Json) -> Leases:
    after = int(found.get("after", 0))
    jobs_max = int(found.get("jobs_max", 0))
    return Leases(after, jobs_max)


def _reserve_job_json(one: ReserveJob) -> Json:
    return {
        **ref_json(one.job),
    }


def _reserve_job_of(found: Json) -> ReserveJob:
    ref = ref_of(found)
    return ReserveJob(ref)


def _finish_json(one: Finish) -> Json:
    return {
        "leases": [_lease_json(item) for item in one.leases],
    }


def _finish_of(found: Json) -> Finish:
    leases = tuple(_lease_of(lease) for lease in found.get("leases", ()))
    return Finish(leases)


def _release_json(one: Release) -> Json:
    return {
        "delay_ms": str(one.delay_ms),
        "leases": [_lease_json(item) for item in one.leases],
        "reason": one.reason,
    }


def _release_of(found: Json) -> Release:
    delay_ms = int(found.get("delay_ms", 0))
    leases = tuple(_lease_of(lease) for lease in found.get("leases", ()))
    reason = found.get("reason", "")
    return Release(delay_ms, leases, reason)


def _touch_json(one: Touch) -> Json:
    return {
        "ttr_ms": one.ttr_ms,
        "leases": [_lease_json(item) for item in one.leases],
    }


def _touch_of(found: Json) -> Touch:
    ttr_ms = int(found.get("ttr_ms", 0))
    leases = tuple(_lease_of(lease) for lease in found.get("leases", ()))
    return Touch(ttr_ms, leases)


def _bury_json(one: Bury) -> Json:
    return {
        "leases": [_lease_json(item) for item in one.leases],
        "reason": one.reason,
    }


def _bury_of(found: Json) -> Bury:
    leases = tuple(_lease_of(lease) for lease in found.get("leases", ()))
    reason = found.get("reason", "")
    return Bury(leases, reason)


def _get_json(one: Get) -> Json:
    return {
        **ref_json(one.job),
    }


def _get_of(found: Json) -> Get:
    ref = ref_of(found)
    return Get(ref)


def _delete_json(one: Delete) -> Json:
    return {
        **ref_json(one.job),
    }


def _delete_of(found: Json) -> Delete:
    ref = ref_of(found)
    return Delete(ref)


def _reschedule_json(one: Reschedule) -> Json:
    return {
        "due_ms": str(one.due_ms),
        "due_kind": one.due_kind,
        **ref_json(one.job),
        "if_version": str(one.if_version),
    }


def _reschedule_of(found: Json) -> Reschedule:
    due_ms = int(found.get("due_ms", 0))
    due_kind = int(found.get("due_kind", 0))
    ref = ref_of(found)
    if_version = int(found.get("if_version", 0))
    return Reschedule(due_ms, DueKind(due_kind), ref, if_version)


def _run_now_json(one: RunNow) -> Json:
    return {
        **ref_json(one.job),
    }


def _run_now_of(found: Json) -> RunNow:
    ref = ref_of(found)
    return RunNow(ref)


def _kick_json(one: Kick) -> Json:
    return {
        **ref_json(one.job),
    }


def _kick_of(found: Json) -> Kick:
    ref = ref_of(found)
    return Kick(ref)


def _peek_json(one: Peek) -> Json:
    return {
        "topic": one.topic,
    }


def _peek_of(found: Json) -> Peek:
    topic = found.get("topic", "")
    return Peek(topic)


def _kick_many_json(one: KickMany) -> Json:
    return {
        "jobs_max": one.jobs_max,
        "topic": one.topic,
    }


def _kick_many_of(found: Json) -> KickMany:
    jobs_max = int(found.get("jobs_max", 0))
    topic = found.get("topic", "")
    return KickMany(jobs_max, topic)


def _list_json(one: List) -> Json:
    return {
        "jobs_max": one.jobs_max,
        "order": one.order,
        "marks": int(one.with_bodies),
        "cursor": b64(one.cursor),
        "filter": filter_json(one.filter),
    }


def _list_of(found: Json) -> List:
    jobs_max = int(found.get("jobs_max", 0))
    order = int(found.get("order", 0))
    marks = int(found.get("marks", 0))
    cursor = raw(found.get("cursor", ""))
    filter_ = filter_of(found.get("filter", {}))
    return List(jobs_max, ListOrder(order), bool(marks & 1), cursor, filter_)


def _count_json(one: Count) -> Json:
    return {
        "filter": filter_json(one.filter),
        "bars": one.bars,
        "bars_from_ms": str(one.bars_from_ms),
        "bar_ms": str(one.bar_ms),
    }


def _count_of(found: Json) -> Count:
    filter_ = filter_of(found.get("filter", {}))
    bars = int(found.get("bars", 0))
    bars_from_ms = int(found.get("bars_from_ms", 0))
    bar_ms = int(found.get("bar_ms", 0))
    return Count(filter_, bars, bars_from_ms, bar_ms)


def _bulk_json(one: Bulk) -> Json:
    return {
        "jobs_max": one.jobs_max,
        "change": one.change,
        "due_ms": str(one.due_ms),
        "cursor": b64(one.cursor),
        "filter": filter_json(one.filter),
        "to": one.to,
    }


def _bulk_of(found: Json) -> Bulk:
    jobs_max = int(found.get("jobs_max", 0))
    change = int(found.get("change", 0))
    due_ms = int(found.get("due_ms", 0))
    cursor = raw(found.get("cursor", ""))
    filter_ = filter_of(found.get("filter", {}))
    to = found.get("to", "")
    return Bulk(jobs_max, BulkChange(change), due_ms, cursor, filter_, to)


def _edit_json(one: Edit) -> Json:
    return {
        "due_ms": str(one.due_ms),
        "priority": one.priority,
        "ttr_ms": one.ttr_ms,
        "edited": int(one.edits_due)
        | bool(one.edits_priority) << 1
        | bool(one.edits_ttr) << 2
        | bool(one.edits_body) << 3
        | bool(one.edits_headers) << 4
        | bool(one.edits_expires) << 5
        | bool(one.edits_attempts_max) << 6
        | bool(one.edits_backoff) << 7
        | bool(one.edits_dedupe_retention) << 8
        | bool(one.edits_group) << 9,
        "due_kind": one.due_kind,
        **ref_json(one.job),
        "attributes": attributes_json(one.attributes),
        "body": b64(one.body),
        "if_version": str(one.if_version),
    }


def _edit_of(found: Json) -> Edit:
    due_ms = int(found.get("due_ms", 0))
    priority = int(found.get("priority", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    edited = int(found.get("edited", 0))
    due_kind = int(found.get("due_kind", 0))
    ref = ref_of(found)
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    if_version = int(found.get("if_version", 0))
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


def _pause_json(one: Pause) -> Json:
    return {
        "topic": one.topic,
        "for_ms": str(one.for_ms),
    }


def _pause_of(found: Json) -> Pause:
    topic = found.get("topic", "")
    for_ms = int(found.get("for_ms", 0))
    return Pause(topic, for_ms)


def _resume_json(one: Resume) -> Json:
    return {
        "topic": one.topic,
    }


def _resume_of(found: Json) -> Resume:
    topic = found.get("topic", "")
    return Resume(topic)


def _topics_json(one: Topics) -> Json:
    return {}


def _topics_of(found: Json) -> Topics:
    return Topics()


def _stats_json(one: Stats) -> Json:
    return {}


def _stats_of(found: Json) -> Stats:
    return Stats()


def _connections_json(one: Connections) -> Json:
    return {
        "after": str(one.after),
        "connections_max": one.connections_max,
    }


def _connections_of(found: Json) -> Connections:
    after = int(found.get("after", 0))
    connections_max = int(found.get("connections_max", 0))
    return Connections(after, connections_max)


def _disconnect_json(one: Disconnect) -> Json:
    return {
        "connection": str(one.connection),
        "options": int(one.ends_session),
    }


def _disconnect_of(found: Json) -> Disconnect:
    connection = int(found.get("connection", 0))
    options = int(found.get("options", 0))
    return Disconnect(connection, bool(options & 1))


def _topic_set_json(one: TopicSet) -> Json:
    return {
        "topic": one.topic,
        "settings": settings_json(one.policy),
    }


def _topic_set_of(found: Json) -> TopicSet:
    topic = found.get("topic", "")
    settings = settings_of(found.get("settings", {}))
    return TopicSet(topic, settings)


def _topic_delete_json(one: TopicDelete) -> Json:
    return {
        "topic": one.topic,
    }


def _topic_delete_of(found: Json) -> TopicDelete:
    topic = found.get("topic", "")
    return TopicDelete(topic)


def _topic_show_json(one: TopicShow) -> Json:
    return {
        "topic": one.topic,
    }


def _topic_show_of(found: Json) -> TopicShow:
    topic = found.get("topic", "")
    return TopicShow(topic)


def _advance_json(one: Advance) -> Json:
    return {
        "step": one.step,
        "by_ms": str(one.by_ms),
    }


def _advance_of(found: Json) -> Advance:
    step = int(found.get("step", 0))
    by_ms = int(found.get("by_ms", 0))
    return Advance(Step(step), by_ms)


def _backup_begin_json(one: BackupBegin) -> Json:
    return {}


def _backup_begin_of(found: Json) -> BackupBegin:
    return BackupBegin()


def _backup_read_json(one: BackupRead) -> Json:
    return {
        "offset": str(one.offset),
        "bytes": one.bytes,
    }


def _backup_read_of(found: Json) -> BackupRead:
    offset = int(found.get("offset", 0))
    bytes_ = int(found.get("bytes", 0))
    return BackupRead(offset, bytes_)


def _backup_end_json(one: BackupEnd) -> Json:
    return {}


def _backup_end_of(found: Json) -> BackupEnd:
    return BackupEnd()


def _schedule_preview_json(one: SchedulePreview) -> Json:
    return {
        "origin_ms": str(one.rules.origin_ms),
        "start_ms": str(one.rules.start_ms),
        "end_ms": str(one.rules.end_ms),
        "count": str(one.rules.count),
        "window_ms": str(one.rules.window_ms),
        "missed_max": one.rules.missed_max,
        "jitter_ms": one.rules.jitter_ms,
        "failures_max": one.rules.failures_max,
        "dst": one.rules.dst,
        "missed": one.rules.missed,
        "overlap": one.rules.overlap,
        "when": one.rules.when,
        "zone": one.rules.zone,
        "key": one.rules.key or "",
        "note": one.rules.note,
        "from_ms": str(one.from_ms),
        "instants_max": one.instants_max,
    }


def _schedule_preview_of(found: Json) -> SchedulePreview:
    origin_ms = int(found.get("origin_ms", 0))
    start_ms = int(found.get("start_ms", 0))
    end_ms = int(found.get("end_ms", 0))
    count = int(found.get("count", 0))
    window_ms = int(found.get("window_ms", 0))
    missed_max = int(found.get("missed_max", 0))
    jitter_ms = int(found.get("jitter_ms", 0))
    failures_max = int(found.get("failures_max", 0))
    dst = int(found.get("dst", 0))
    missed = int(found.get("missed", 0))
    overlap = int(found.get("overlap", 0))
    when = found.get("when", "")
    zone = found.get("zone", "")
    key = found.get("key", "")
    note = found.get("note", "")
    from_ms = int(found.get("from_ms", 0))
    instants_max = int(found.get("instants_max", 0))
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


def _cluster_status_json(one: ClusterStatus) -> Json:
    return {}


def _cluster_status_of(found: Json) -> ClusterStatus:
    return ClusterStatus()


def _cluster_add_json(one: ClusterAdd) -> Json:
    return {
        "address": one.address,
    }


def _cluster_add_of(found: Json) -> ClusterAdd:
    address = found.get("address", "")
    return ClusterAdd(address)


def _cluster_remove_json(one: ClusterRemove) -> Json:
    return {
        "node": str(one.node),
    }


def _cluster_remove_of(found: Json) -> ClusterRemove:
    node = int(found.get("node", 0))
    return ClusterRemove(node)


def _cluster_transfer_json(one: ClusterTransfer) -> Json:
    return {
        "node": str(one.node),
    }


def _cluster_transfer_of(found: Json) -> ClusterTransfer:
    node = int(found.get("node", 0))
    return ClusterTransfer(node)


def _group_set_json(one: GroupSet) -> Json:
    return {
        "weight": one.weight,
        "pause": one.pause,
        "topic": one.topic,
        "group": one.group,
    }


def _group_set_of(found: Json) -> GroupSet:
    weight = int(found.get("weight", 0))
    pause = int(found.get("pause", 0))
    topic = found.get("topic", "")
    group = found.get("group", "")
    return GroupSet(weight, PauseChange(pause), topic, group)


def _group_list_json(one: GroupList) -> Json:
    return {
        "groups_max": one.groups_max,
        "topic": one.topic,
        "after": one.after,
        "prefix": one.prefix,
    }


def _group_list_of(found: Json) -> GroupList:
    groups_max = int(found.get("groups_max", 0))
    topic = found.get("topic", "")
    after = found.get("after", "")
    prefix = found.get("prefix", "")
    return GroupList(groups_max, topic, after, prefix)


def _why_json(one: Why) -> Json:
    return {
        **ref_json(one.job),
    }


def _why_of(found: Json) -> Why:
    ref = ref_of(found)
    return Why(ref)


def _topic_why_json(one: TopicWhy) -> Json:
    return {
        "topic": one.topic,
        "group": one.group,
    }


def _topic_why_of(found: Json) -> TopicWhy:
    topic = found.get("topic", "")
    group = found.get("group", "")
    return TopicWhy(topic, group)


def _schedule_set_json(one: ScheduleSet) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
        "origin_ms": str(one.rules.origin_ms),
        "start_ms": str(one.rules.start_ms),
        "end_ms": str(one.rules.end_ms),
        "count": str(one.rules.count),
        "window_ms": str(one.rules.window_ms),
        "missed_max": one.rules.missed_max,
        "jitter_ms": one.rules.jitter_ms,
        "failures_max": one.rules.failures_max,
        "dst": one.rules.dst,
        "missed": one.rules.missed,
        "overlap": one.rules.overlap,
        "when": one.rules.when,
        "zone": one.rules.zone,
        "key": one.rules.key or "",
        "note": one.rules.note,
        "priority": one.template.priority,
        "ttr_ms": one.template.ttr_ms,
        "attributes": attributes_json(one.template.attributes),
        "body": b64(one.template.body),
        "if_version": one.if_version,
    }


def _schedule_set_of(found: Json) -> ScheduleSet:
    topic = found.get("topic", "")
    name = found.get("name", "")
    origin_ms = int(found.get("origin_ms", 0))
    start_ms = int(found.get("start_ms", 0))
    end_ms = int(found.get("end_ms", 0))
    count = int(found.get("count", 0))
    window_ms = int(found.get("window_ms", 0))
    missed_max = int(found.get("missed_max", 0))
    jitter_ms = int(found.get("jitter_ms", 0))
    failures_max = int(found.get("failures_max", 0))
    dst = int(found.get("dst", 0))
    missed = int(found.get("missed", 0))
    overlap = int(found.get("overlap", 0))
    when = found.get("when", "")
    zone = found.get("zone", "")
    key = found.get("key", "")
    note = found.get("note", "")
    priority = int(found.get("priority", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    if_version = int(found.get("if_version", 0))
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


def _schedule_show_json(one: ScheduleShow) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
    }


def _schedule_show_of(found: Json) -> ScheduleShow:
    topic = found.get("topic", "")
    name = found.get("name", "")
    return ScheduleShow(topic, name)


def _schedule_list_json(one: ScheduleList) -> Json:
    return {
        "schedules_max": one.schedules_max,
        "next_before_ms": str(one.next_before_ms),
        "paused": one.paused,
        "topic": one.topic,
        "prefix": one.prefix,
        "cursor": b64(one.cursor),
    }


def _schedule_list_of(found: Json) -> ScheduleList:
    schedules_max = int(found.get("schedules_max", 0))
    next_before_ms = int(found.get("next_before_ms", 0))
    paused = int(found.get("paused", 0))
    topic = found.get("topic", "")
    prefix = found.get("prefix", "")
    cursor = raw(found.get("cursor", ""))
    return ScheduleList(schedules_max, next_before_ms, WhichPaused(paused), topic, prefix, cursor)


def _schedule_delete_json(one: ScheduleDelete) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
    }


def _schedule_delete_of(found: Json) -> ScheduleDelete:
    topic = found.get("topic", "")
    name = found.get("name", "")
    return ScheduleDelete(topic, name)


def _schedule_pause_json(one: SchedulePause) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
        "note": one.note,
    }


def _schedule_pause_of(found: Json) -> SchedulePause:
    topic = found.get("topic", "")
    name = found.get("name", "")
    note = found.get("note", "")
    return SchedulePause(topic, name, note)


def _schedule_resume_json(one: ScheduleResume) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
    }


def _schedule_resume_of(found: Json) -> ScheduleResume:
    topic = found.get("topic", "")
    name = found.get("name", "")
    return ScheduleResume(topic, name)


def _schedule_run_json(one: ScheduleRun) -> Json:
    return {
        "topic": one.topic,
        "name": one.name,
    }


def _schedule_run_of(found: Json) -> ScheduleRun:
    topic = found.get("topic", "")
    name = found.get("name", "")
    return ScheduleRun(topic, name)


def _schedule_fill_json(one: ScheduleFill) -> Json:
    return {
        "from_ms": str(one.from_ms),
        "to_ms": str(one.to_ms),
        "dry_run": one.dry_run,
        "topic": one.topic,
        "name": one.name,
    }


def _schedule_fill_of(found: Json) -> ScheduleFill:
    from_ms = int(found.get("from_ms", 0))
    to_ms = int(found.get("to_ms", 0))
    dry_run = int(found.get("dry_run", 0))
    topic = found.get("topic", "")
    name = found.get("name", "")
    return ScheduleFill(from_ms, to_ms, dry_run, topic, name)


def _welcome_json(one: Welcome) -> Json:
    return {
        "version": one.version,
        "marks": int(one.resumed) | bool(one.leases_kept) << 1,
        "cluster_id": b64(one.cluster_id),
        "session": str(one.session),
        "secret": b64(one.secret),
        "heartbeat_ms": one.heartbeat_ms,
        "session_grace_ms": one.session_grace_ms,
        "frame_bytes_max": one.frame_bytes_max,
        "body_bytes_max": one.body_bytes_max,
        "push_jobs_max": one.push_jobs_max,
        "leases_max": one.leases_max,
        "reserve_jobs_max": one.reserve_jobs_max,
        "in_flight_max": one.in_flight_max,
        "server_name": one.server_name,
        "members": [_member_json(item) for item in one.members],
        "clock_ms": str(one.clock_ms),
    }


def _welcome_of(found: Json) -> Welcome:
    version = int(found.get("version", 0))
    marks = int(found.get("marks", 0))
    cluster_id = raw(found["cluster_id"]) if "cluster_id" in found else bytes(16)
    session = int(found.get("session", 0))
    secret = raw(found["secret"]) if "secret" in found else bytes(16)
    heartbeat_ms = int(found.get("heartbeat_ms", 0))
    session_grace_ms = int(found.get("session_grace_ms", 0))
    frame_bytes_max = int(found.get("frame_bytes_max", 0))
    body_bytes_max = int(found.get("body_bytes_max", 0))
    push_jobs_max = int(found.get("push_jobs_max", 0))
    leases_max = int(found.get("leases_max", 0))
    reserve_jobs_max = int(found.get("reserve_jobs_max", 0))
    in_flight_max = int(found.get("in_flight_max", 0))
    server_name = found.get("server_name", "")
    members = tuple(_member_of(member) for member in found.get("members", ()))
    clock_ms = int(found.get("clock_ms", 0))
    return Welcome(
        version,
        bool(marks & 1),
        bool(marks & 2),
        cluster_id,
        session,
        secret,
        heartbeat_ms,
        session_grace_ms,
        frame_bytes_max,
        body_bytes_max,
        push_jobs_max,
        leases_max,
        reserve_jobs_max,
        in_flight_max,
        server_name,
        members,
        clock_ms,
    )


def _pong_json(one: Pong) -> Json:
    return {
        "now": str(one.now_ms),
        "clock_ms": str(one.clock_ms),
    }


def _pong_of(found: Json) -> Pong:
    now = int(found.get("now", 0))
    clock_ms = int(found.get("clock_ms", 0))
    return Pong(now, clock_ms)


def _done_json(one: Done) -> Json:
    return {}


def _done_of(found: Json) -> Done:
    return Done()


def _going_away_json(one: GoingAway) -> Json:
    return {
        "message": one.message,
        "reason": one.reason,
    }


def _going_away_of(found: Json) -> GoingAway:
    message = found.get("message", "")
    reason = int(found.get("reason", 0))
    return GoingAway(message, GOING_AWAY_REASONS.get(reason, reason))


def _pushed_json(one: Pushed) -> Json:
    return {
        "results": [_push_result_json(item) for item in one.results],
    }


def _pushed_of(found: Json) -> Pushed:
    results = tuple(_push_result_of(result) for result in found.get("results", ()))
    return Pushed(results)


def _reserved_json(one: Reserved) -> Json:
    return {
        "jobs": [_delivered_json(item) for item in one.jobs],
    }


def _reserved_of(found: Json) -> Reserved:
    jobs = tuple(_delivered_of(job) for job in found.get("jobs", ()))
    return Reserved(jobs)


def _subscribed_json(one: Subscribed) -> Json:
    return {}


def _subscribed_of(found: Json) -> Subscribed:
    return Subscribed()


def _deliver_json(one: Deliver) -> Json:
    return {
        "jobs": [_delivered_json(item) for item in one.jobs],
    }


def _deliver_of(found: Json) -> Deliver:
    jobs = tuple(_delivered_of(job) for job in found.get("jobs", ()))
    return Deliver(jobs)


def _leased_json(one: Leased) -> Json:
    return {
        "marks": int(one.has_more),
        "jobs": [_delivered_json(item) for item in one.jobs],
    }


def _leased_of(found: Json) -> Leased:
    marks = int(found.get("marks", 0))
    jobs = tuple(_delivered_of(job) for job in found.get("jobs", ()))
    return Leased(bool(marks & 1), jobs)


def _settled_json(one: Settled) -> Json:
    return {
        "results": [{"code": int(item)} for item in one.results],
    }


def _settled_of(found: Json) -> Settled:
    results = tuple(result["code"] for result in found.get("results", ()))
    return Settled(results)


def _job_json(one: Job) -> Json:
    return {
        "job": str(one.job.id),
        "due_ms": str(one.job.due_ms),
        "state": one.job.state,
        "buried": one.job.buried,
        "priority": one.job.priority,
        "attempts": one.job.attempts,
        "ttr_ms": one.job.ttr_ms,
        "ttr_left_ms": one.job.ttr_left_ms,
        "topic": one.job.topic,
        "key": one.job.key or "",
        "attributes": attributes_json(one.job.attributes),
        "body": b64(one.job.body),
        "pushed_ms": str(one.job.pushed_ms),
        "reserved_first_ms": str(one.job.reserved_first_ms),
        "reserved_last_ms": str(one.job.reserved_last_ms),
        "edited_ms": str(one.job.edited_ms),
        "held_by": one.job.held_by,
        "reason": one.job.reason,
        "finished_ms": str(one.job.finished_ms),
        "version": str(one.job.version),
    }


def _job_of(found: Json) -> Job:
    job = int(found.get("job", 0))
    due_ms = int(found.get("due_ms", 0))
    state = int(found.get("state", 0))
    buried = int(found.get("buried", 0))
    priority = int(found.get("priority", 0))
    attempts = int(found.get("attempts", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    ttr_left_ms = int(found.get("ttr_left_ms", 0))
    topic = found.get("topic", "")
    key = found.get("key", "")
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    pushed_ms = int(found.get("pushed_ms", 0))
    reserved_first_ms = int(found.get("reserved_first_ms", 0))
    reserved_last_ms = int(found.get("reserved_last_ms", 0))
    edited_ms = int(found.get("edited_ms", 0))
    held_by = found.get("held_by", "")
    reason = found.get("reason", "")
    finished_ms = int(found.get("finished_ms", 0))
    version = int(found.get("version", 0))
    report = JobReport(
        id=job,
        due_ms=due_ms,
        state=JOB_STATES.get(state, state),
        buried=BURIED_REASONS.get(buried, buried),
        priority=priority,
        attempts=attempts,
        ttr_ms=ttr_ms,
        ttr_left_ms=ttr_left_ms,
        topic=topic,
        key=key or None,
        attributes=attributes,
        body=body,
        pushed_ms=pushed_ms,
        reserved_first_ms=reserved_first_ms,
        reserved_last_ms=reserved_last_ms,
        edited_ms=edited_ms,
        held_by=held_by,
        reason=reason,
        finished_ms=finished_ms,
        version=version,
        body_bytes=len(body),
    )
    return Job(report)


def _changed_json(one: Changed) -> Json:
    return {
        "job": str(one.job),
        "due_ms": str(one.due_ms),
        "state": one.state,
        "version": str(one.version),
    }


def _changed_of(found: Json) -> Changed:
    job = int(found.get("job", 0))
    due_ms = int(found.get("due_ms", 0))
    state = int(found.get("state", 0))
    version = int(found.get("version", 0))
    return Changed(job, due_ms, JOB_STATES.get(state, state), version)


def _kicked_json(one: Kicked) -> Json:
    return {
        "jobs": one.jobs,
    }


def _kicked_of(found: Json) -> Kicked:
    jobs = int(found.get("jobs", 0))
    return Kicked(jobs)


def _jobs_json(one: Jobs) -> Json:
    return {
        "cursor": b64(one.cursor),
        "jobs": [_listed_json(item) for item in one.jobs],
    }


def _jobs_of(found: Json) -> Jobs:
    cursor = raw(found.get("cursor", ""))
    jobs = tuple(_listed_of(job) for job in found.get("jobs", ()))
    return Jobs(cursor, jobs)


def _counted_json(one: Counted) -> Json:
    return {
        "jobs": str(one.jobs),
        "by_due": [_due_bar_json(item) for item in one.by_due],
    }


def _counted_of(found: Json) -> Counted:
    jobs = int(found.get("jobs", 0))
    by_due = tuple(_due_bar_of(by_due) for by_due in found.get("by_due", ()))
    return Counted(jobs, by_due)


def _bulked_json(one: Bulked) -> Json:
    return {
        "jobs": one.jobs,
        "cursor": b64(one.cursor),
        "skipped": one.skipped,
    }


def _bulked_of(found: Json) -> Bulked:
    jobs = int(found.get("jobs", 0))
    cursor = raw(found.get("cursor", ""))
    skipped = int(found.get("skipped", 0))
    return Bulked(jobs, cursor, skipped)


def _topic_counts_json(one: TopicCounts) -> Json:
    return {
        "topics": [_topic_count_json(item) for item in one.topics],
    }


def _topic_counts_of(found: Json) -> TopicCounts:
    topics = tuple(_topic_count_of(topic) for topic in found.get("topics", ()))
    return TopicCounts(topics)


def _queue_stats_json(one: QueueStats) -> Json:
    return {
        "now": str(one.now_ms),
        "uptime_ms": str(one.uptime_ms),
        "connections": one.connections,
        "sessions": one.sessions,
        "waiting": one.waiting,
        "applied_index": str(one.applied_index),
        "term": str(one.term),
        "state_hash": str(one.state_hash),
        "totals": _totals_json(one.totals),
        "topics": [_topic_count_json(item) for item in one.topics],
        "stages": [_stage_json(item) for item in one.stages],
    }


def _queue_stats_of(found: Json) -> QueueStats:
    now = int(found.get("now", 0))
    uptime_ms = int(found.get("uptime_ms", 0))
    connections = int(found.get("connections", 0))
    sessions = int(found.get("sessions", 0))
    waiting = int(found.get("waiting", 0))
    applied_index = int(found.get("applied_index", 0))
    term = int(found.get("term", 0))
    state_hash = int(found.get("state_hash", 0))
    totals = _totals_of(found.get("totals", {}))
    topics = tuple(_topic_count_of(topic) for topic in found.get("topics", ()))
    stages = tuple(_stage_of(stage) for stage in found.get("stages", ()))
    return QueueStats(
        now, uptime_ms, connections, sessions, waiting, applied_index, term, state_hash, totals, topics, stages
    )


def _connection_list_json(one: ConnectionList) -> Json:
    return {
        "marks": int(one.has_more),
        "connections": [_connection_json(item) for item in one.connections],
    }


def _connection_list_of(found: Json) -> ConnectionList:
    marks = int(found.get("marks", 0))
    connections = tuple(_connection_of(connection) for connection in found.get("connections", ()))
    return ConnectionList(bool(marks & 1), connections)


def _topic_settings_json(one: TopicSettings) -> Json:
    return {
        "jobs": str(one.jobs),
        "bytes": str(one.bytes),
        "pause_left_ms": str(one.pause_left_ms),
        "marks": int(one.paused) | bool(one.attempts_of_server) << 1 | bool(one.backoff_of_server) << 2,
        "settings": settings_json(one.policy),
    }


def _topic_settings_of(found: Json) -> TopicSettings:
    jobs = int(found.get("jobs", 0))
    bytes_ = int(found.get("bytes", 0))
    pause_left_ms = int(found.get("pause_left_ms", 0))
    marks = int(found.get("marks", 0))
    settings = settings_of(found.get("settings", {}))
    return TopicSettings(jobs, bytes_, pause_left_ms, bool(marks & 1), bool(marks & 2), bool(marks & 4), settings)


def _backup_ready_json(one: BackupReady) -> Json:
    return {
        "index": str(one.index),
        "jobs": str(one.jobs),
        "state_hash": str(one.state_hash),
        "bytes": str(one.bytes),
    }


def _backup_ready_of(found: Json) -> BackupReady:
    index = int(found.get("index", 0))
    jobs = int(found.get("jobs", 0))
    state_hash = int(found.get("state_hash", 0))
    bytes_ = int(found.get("bytes", 0))
    return BackupReady(index, jobs, state_hash, bytes_)


def _backup_data_json(one: BackupData) -> Json:
    return {
        "data": b64(one.data),
    }


def _backup_data_of(found: Json) -> BackupData:
    data_ = raw(found.get("data", ""))
    return BackupData(data_)


def _instants_json(one: Instants) -> Json:
    return {
        "zone_data": one.zone_data,
        "instants": [_local_instant_json(item) for item in one.instants],
    }


def _instants_of(found: Json) -> Instants:
    zone_data = found.get("zone_data", "")
    instants = tuple(_local_instant_of(instant) for instant in found.get("instants", ()))
    return Instants(zone_data, instants)


def _cluster_report_json(one: ClusterReport) -> Json:
    return {
        "node": str(one.node),
        "cluster_id": b64(one.cluster_id),
        "leader": str(one.leader),
        "term": str(one.term),
        "last": str(one.last),
        "commit": str(one.commit),
        "feature_level": one.feature_level,
        "members": [_node_json(item) for item in one.members],
    }


def _cluster_report_of(found: Json) -> ClusterReport:
    node = int(found.get("node", 0))
    cluster_id = raw(found["cluster_id"]) if "cluster_id" in found else bytes(16)
    leader = int(found.get("leader", 0))
    term = int(found.get("term", 0))
    last = int(found.get("last", 0))
    commit = int(found.get("commit", 0))
    feature_level = int(found.get("feature_level", 0))
    members = tuple(_node_of(member) for member in found.get("members", ()))
    return ClusterReport(node, cluster_id, leader, term, last, commit, feature_level, members)


def _groups_json(one: Groups) -> Json:
    return {
        "after": one.after,
        "groups": [_group_state_json(item) for item in one.groups],
    }


def _groups_of(found: Json) -> Groups:
    after = found.get("after", "")
    groups = tuple(_group_state_of(group) for group in found.get("groups", ()))
    return Groups(after, groups)


def _reasons_json(one: Reasons) -> Json:
    return {
        "reasons": [_reason_json(item) for item in one.reasons],
    }


def _reasons_of(found: Json) -> Reasons:
    reasons = tuple(_reason_of(reason) for reason in found.get("reasons", ()))
    return Reasons(reasons)


def _scheduled_json(one: Scheduled) -> Json:
    return {
        "schedule": str(one.schedule),
        "version": one.version,
        "next_ms": str(one.next_ms),
    }


def _scheduled_of(found: Json) -> Scheduled:
    schedule = int(found.get("schedule", 0))
    version = int(found.get("version", 0))
    next_ms = int(found.get("next_ms", 0))
    return Scheduled(schedule, version, next_ms)


def _schedule_json(one: Schedule) -> Json:
    return {
        "state": _schedule_state_json(one.state),
        "pause_note": one.pause_note,
        "origin_ms": str(one.rules.origin_ms),
        "start_ms": str(one.rules.start_ms),
        "end_ms": str(one.rules.end_ms),
        "count": str(one.rules.count),
        "window_ms": str(one.rules.window_ms),
        "missed_max": one.rules.missed_max,
        "jitter_ms": one.rules.jitter_ms,
        "failures_max": one.rules.failures_max,
        "dst": one.rules.dst,
        "missed": one.rules.missed,
        "overlap": one.rules.overlap,
        "when": one.rules.when,
        "zone": one.rules.zone,
        "key": one.rules.key or "",
        "note": one.rules.note,
        "priority": one.template.priority,
        "ttr_ms": one.template.ttr_ms,
        "attributes": attributes_json(one.template.attributes),
        "body": b64(one.template.body),
        "history": [_firing_json(item) for item in one.history],
    }


def _schedule_of(found: Json) -> Schedule:
    state = _schedule_state_of(found.get("state", {}))
    pause_note = found.get("pause_note", "")
    origin_ms = int(found.get("origin_ms", 0))
    start_ms = int(found.get("start_ms", 0))
    end_ms = int(found.get("end_ms", 0))
    count = int(found.get("count", 0))
    window_ms = int(found.get("window_ms", 0))
    missed_max = int(found.get("missed_max", 0))
    jitter_ms = int(found.get("jitter_ms", 0))
    failures_max = int(found.get("failures_max", 0))
    dst = int(found.get("dst", 0))
    missed = int(found.get("missed", 0))
    overlap = int(found.get("overlap", 0))
    when = found.get("when", "")
    zone = found.get("zone", "")
    key = found.get("key", "")
    note = found.get("note", "")
    priority = int(found.get("priority", 0))
    ttr_ms = int(found.get("ttr_ms", 0))
    attributes = attributes_of(found.get("attributes", {}))
    body = raw(found.get("body", ""))
    history = tuple(_firing_of(history) for history in found.get("history", ()))
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
    return Schedule(state, pause_note, rules, template, history)


def _schedules_json(one: Schedules) -> Json:
    return {
        "schedules": [_listed_schedule_json(item) for item in one.schedules],
        "cursor": b64(one.cursor),
    }


def _schedules_of(found: Json) -> Schedules:
    schedules = tuple(_listed_schedule_of(schedule) for schedule in found.get("schedules", ()))
    cursor = raw(found.get("cursor", ""))
    return Schedules(schedules, cursor)


def _schedule_ran_json(one: ScheduleRan) -> Json:
    return {
        "job": str(one.job),
    }


def _schedule_ran_of(found: Json) -> ScheduleRan:
    job = int(found.get("job", 0))
    return ScheduleRan(job)


def _schedule_filled_json(one: ScheduleFilled) -> Json:
    return {
        "next_ms": str(one.next_ms),
        "bytes": str(one.bytes),
        "instants": one.instants,
        "pushed": one.pushed,
        "kept": one.kept,
        "refused": one.refused,
    }


def _schedule_filled_of(found: Json) -> ScheduleFilled:
    next_ms = int(found.get("next_ms", 0))
    bytes_ = int(found.get("bytes", 0))
    instants = int(found.get("instants", 0))
    pushed = int(found.get("pushed", 0))
    kept = int(found.get("kept", 0))
    refused = int(found.get("refused", 0))
    return ScheduleFilled(next_ms, bytes_, instants, pushed, kept, refused)


def _error_json(one: Error) -> Json:
    return {
        "code": one.code,
        "marks": int(one.retryable),
        "applied": one.applied,
        "retry_after_ms": one.retry_after_ms,
        "leader": one.leader,
        "message": one.message,
    }


def _error_of(found: Json) -> Error:
    code = int(found.get("code", 0))
    marks = int(found.get("marks", 0))
    applied = int(found.get("applied", 0))
    retry_after_ms = int(found.get("retry_after_ms", 0))
    leader = found.get("leader", "")
    message = found.get("message", "")
    return Error(
        ERROR_CODES.get(code, code),
        bool(marks & 1),
        EFFECTS.get(applied, Effect.UNKNOWN),
        retry_after_ms,
        leader,
        message,
    )


TO_JSON: dict[str, Callable[[Any], Json]] = {
    "HELLO": _hello_json,
    "PING": _ping_json,
    "GOODBYE": _goodbye_json,
    "PUSH": _push_json,
    "RESERVE": _reserve_json,
    "SUBSCRIBE": _subscribe_json,
    "CREDIT": _credit_json,
    "UNSUBSCRIBE": _unsubscribe_json,
    "CANCEL": _cancel_json,
    "LEASES": _leases_json,
    "RESERVE_JOB": _reserve_job_json,
    "FINISH": _finish_json,
    "RELEASE": _release_json,
    "TOUCH": _touch_json,
    "BURY": _bury_json,
    "GET": _get_json,
    "DELETE": _delete_json,
    "RESCHEDULE": _reschedule_json,
    "RUN_NOW": _run_now_json,
    "KICK": _kick_json,
    "PEEK": _peek_json,
    "KICK_MANY": _kick_many_json,
    "LIST": _list_json,
    "COUNT": _count_json,
    "BULK": _bulk_json,
    "EDIT": _edit_json,
    "PAUSE": _pause_json,
    "RESUME": _resume_json,
    "TOPICS": _topics_json,
    "STATS": _stats_json,
    "CONNECTIONS": _connections_json,
    "DISCONNECT": _disconnect_json,
    "TOPIC_SET": _topic_set_json,
    "TOPIC_DELETE": _topic_delete_json,
    "TOPIC_SHOW": _topic_show_json,
    "ADVANCE": _advance_json,
    "BACKUP_BEGIN": _backup_begin_json,
    "BACKUP_READ": _backup_read_json,
    "BACKUP_END": _backup_end_json,
    "SCHEDULE_PREVIEW": _schedule_preview_json,
    "CLUSTER_STATUS": _cluster_status_json,
    "CLUSTER_ADD": _cluster_add_json,
    "CLUSTER_REMOVE": _cluster_remove_json,
    "CLUSTER_TRANSFER": _cluster_transfer_json,
    "GROUP_SET": _group_set_json,
    "GROUP_LIST": _group_list_json,
    "WHY": _why_json,
    "TOPIC_WHY": _topic_why_json,
    "SCHEDULE_SET": _schedule_set_json,
    "SCHEDULE_SHOW": _schedule_show_json,
    "SCHEDULE_LIST": _schedule_list_json,
    "SCHEDULE_DELETE": _schedule_delete_json,
    "SCHEDULE_PAUSE": _schedule_pause_json,
    "SCHEDULE_RESUME": _schedule_resume_json,
    "SCHEDULE_RUN": _schedule_run_json,
    "SCHEDULE_FILL": _schedule_fill_json,
    "WELCOME": _welcome_json,
    "PONG": _pong_json,
    "DONE": _done_json,
    "GOING_AWAY": _going_away_json,
    "PUSHED": _pushed_json,
    "RESERVED": _reserved_json,
    "SUBSCRIBED": _subscribed_json,
    "DELIVER": _deliver_json,
    "LEASED": _leased_json,
    "SETTLED": _settled_json,
    "JOB": _job_json,
    "CHANGED": _changed_json,
    "KICKED": _kicked_json,
    "JOBS": _jobs_json,
    "COUNTED": _counted_json,
    "BULKED": _bulked_json,
    "TOPIC_COUNTS": _topic_counts_json,
    "QUEUE_STATS": _queue_stats_json,
    "CONNECTION_LIST": _connection_list_json,
    "TOPIC_SETTINGS": _topic_settings_json,
    "BACKUP_READY": _backup_ready_json,
    "BACKUP_DATA": _backup_data_json,
    "INSTANTS": _instants_json,
    "CLUSTER_REPORT": _cluster_report_json,
    "GROUPS": _groups_json,
    "REASONS": _reasons_json,
    "SCHEDULED": _scheduled_json,
    "SCHEDULE": _schedule_json,
    "SCHEDULES": _schedules_json,
    "SCHEDULE_RAN": _schedule_ran_json,
    "SCHEDULE_FILLED": _schedule_filled_json,
    "ERROR": _error_json,
}


FROM_JSON: dict[str, Callable[[Json], Request | Response]] = {
    "HELLO": _hello_of,
    "PING": _ping_of,
    "GOODBYE": _goodbye_of,
    "PUSH": _push_of,
    "RESERVE": _reserve_of,
    "SUBSCRIBE": _subscribe_of,
    "CREDIT": _credit_of,
    "UNSUBSCRIBE": _unsubscribe_of,
    "CANCEL": _cancel_of,
    "LEASES": _leases_of,
    "RESERVE_JOB": _reserve_job_of,
    "FINISH": _finish_of,
    "RELEASE": _release_of,
    "TOUCH": _touch_of,
    "BURY": _bury_of,
    "GET": _get_of,
    "DELETE": _delete_of,
    "RESCHEDULE": _reschedule_of,
    "RUN_NOW": _run_now_of,
    "KICK": _kick_of,
    "PEEK": _peek_of,
    "KICK_MANY": _kick_many_of,
    "LIST": _list_of,
    "COUNT": _count_of,
    "BULK": _bulk_of,
    "EDIT": _edit_of,
    "PAUSE": _pause_of,
    "RESUME": _resume_of,
    "TOPICS": _topics_of,
    "STATS": _stats_of,
    "CONNECTIONS": _connections_of,
    "DISCONNECT": _disconnect_of,
    "TOPIC_SET": _topic_set_of,
    "TOPIC_DELETE": _topic_delete_of,
    "TOPIC_SHOW": _topic_show_of,
    "ADVANCE": _advance_of,
    "BACKUP_BEGIN": _backup_begin_of,
    "BACKUP_READ": _backup_read_of,
    "BACKUP_END": _backup_end_of,
    "SCHEDULE_PREVIEW": _schedule_preview_of,
    "CLUSTER_STATUS": _cluster_status_of,
    "CLUSTER_ADD": _cluster_add_of,
    "CLUSTER_REMOVE": _cluster_remove_of,
    "CLUSTER_TRANSFER": _cluster_transfer_of,
    "GROUP_SET": _group_set_of,
    "GROUP_LIST": _group_list_of,
    "WHY": _why_of,
    "TOPIC_WHY": _topic_why_of,
    "SCHEDULE_SET": _schedule_set_of,
    "SCHEDULE_SHOW": _schedule_show_of,
    "SCHEDULE_LIST": _schedule_list_of,
    "SCHEDULE_DELETE": _schedule_delete_of,
    "SCHEDULE_PAUSE": _schedule_pause_of,
    "SCHEDULE_RESUME": _schedule_resume_of,
    "SCHEDULE_RUN": _schedule_run_of,
    "SCHEDULE_FILL": _schedule_fill_of,
    "WELCOME": _welcome_of,
    "PONG": _pong_of,
    "DONE": _done_of,
    "GOING_AWAY": _going_away_of,
    "PUSHED": _pushed_of,
    "RESERVED": _reserved_of,
    "SUBSCRIBED": _subscribed_of,
    "DELIVER": _deliver_of,
    "LEASED": _leased_of,
    "SETTLED": _settled_of,
    "JOB": _job_of,
    "CHANGED": _changed_of,
    "KICKED": _kicked_of,
    "JOBS": _jobs_of,
    "COUNTED": _counted_of,
    "BULKED": _bulked_of,
    "TOPIC_COUNTS": _topic_counts_of,
    "QUEUE_STATS": _queue_stats_of,
    "CONNECTION_LIST": _connection_list_of,
    "TOPIC_SETTINGS": _topic_settings_of,
    "BACKUP_READY": _backup_ready_of,
    "BACKUP_DATA": _backup_data_of,
    "INSTANTS": _instants_of,
    "CLUSTER_REPORT": _cluster_report_of,
    "GROUPS": _groups_of,
    "REASONS": _reasons_of,
    "SCHEDULED": _scheduled_of,
    "SCHEDULE": _schedule_of,
    "SCHEDULES": _schedules_of,
    "SCHEDULE_RAN": _schedule_ran_of,
    "SCHEDULE_FILLED": _schedule_filled_of,
    "ERROR": _error_of,
}
