"""Frames as neutral JSON: the fields of protocol.md under their names there."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from adjourn.protocol import requests as rq
from adjourn.protocol import responses as rs
from adjourn.protocol.attributes import FAIRNESS_KEY, Attributes, Backoff, Expiry
from adjourn.protocol.framing import FrameDecoder, decode_request, decode_response, encode
from adjourn.protocol.numbers import BuriedReason, States
from adjourn.protocol.requests import REQUESTS, Due, JobRef, LeaseRef, PushJob
from adjourn.protocol.responses import RESPONSES, Member, MemberReport
from adjourn.protocol.selection import UNSET, Filter, Late, LateAction, TopicPolicy

Json = dict[str, Any]
_KINDS = ("fixed", "linear", "exponential", "list")
_WIDE = frozenset(
    "job fence sequence session due_ms delay_ms wait_ms after credit_bytes connection node offset cluster index state_hash "
    "clock_ms now pushed_ms reserved_first_ms reserved_last_ms held_by finished_ms delayed ready reserved buried_jobs pushed "
    "finished deleted expired oldest_ready_ms uptime_ms applied_index term since_ms unsent_bytes leader last commit matched "
    "version if_version idempotency applied ahead_ms audited deadline_ms count p50_us p99_us p999_us max_us".split()
)
_OTHER_WIDTHS = {
    ("SUBSCRIBE", "after"): False,
    ("COUNTED", "jobs"): True,
    ("BACKUP_READY", "jobs"): True,
    ("BACKUP_READY", "bytes"): True,
    ("TOPIC_SETTINGS", "jobs"): True,
    ("TOPIC_SETTINGS", "bytes"): True,
    ("CONNECTION_LIST", "credit_jobs"): True,
    ("WELCOME", "version"): False,
    ("ERROR", "leader"): False,
    ("ERROR", "applied"): False,
}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(text: str) -> bytes:
    return base64.b64decode(text)


# ---- from frames


def decoded(side: str, data: bytes) -> Json:
    """A frame as JSON."""
    (frame,) = FrameDecoder().feed(data)
    if side == "request":
        message: rq.Request | rs.Response = decode_request(frame)
    else:
        found = decode_response(frame)
        if found is None:
            return {"request_id": frame.request_id, "opcode": frame.opcode, "fields": {}}
        message = found
    return {"request_id": frame.request_id, "opcode": message.NAME, "fields": _fields(message.NAME, message)}


def _fields(name: str, message: Any) -> Json:
    special = _SPECIAL.get(type(message))
    found = special(message) if special else {one.name: getattr(message, one.name) for one in fields(message)}
    return {key: _value(name, key, value) for key, value in found.items()}


def _value(name: str, key: str, value: Any) -> Any:
    if isinstance(value, Attributes):
        return attributes_json(value)
    if isinstance(value, Filter):
        return filter_json(value)
    if isinstance(value, TopicPolicy):
        return settings_json(value)
    if isinstance(value, JobRef):
        raise TypeError("a job reference is not a field")
    if is_dataclass(value):
        return _fields(name, value)
    if isinstance(value, tuple):
        return [_value(name, key, item) for item in value]
    if isinstance(value, bytes):
        return b64(value)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    number = int(value)
    wide = _OTHER_WIDTHS.get((name, key), key in _WIDE)
    return str(number) if wide else number


def _ref(ref: JobRef) -> Json:
    if ref.job is not None:
        return {"job_kind": 0, "job": ref.job}
    return {"job_kind": 1, "topic": ref.topic, "key": ref.key}


def _marked(message: Any, *bits: str, name: str = "marks") -> Json:
    found = {one.name: getattr(message, one.name) for one in fields(message)}
    found[name] = sum(1 << bit for bit, flag in enumerate(bits) if found.pop(flag))
    return found


def _renamed(found: Json, **names: str) -> Json:
    return {names.get(key, key): value for key, value in found.items()}


def _job(job: rs.JobReport) -> Json:
    return _renamed({one.name: getattr(job, one.name) for one in fields(job)}, id="job")


def _delivered(job: rs.Delivered) -> Json:
    found = {one.name: getattr(job, one.name) for one in fields(job)}
    lease = found.pop("lease")
    return {"job": lease.job, "fence": lease.fence, **found}


def _totals(topic: rs.TopicReport) -> Json:
    return {"marks": int(topic.paused), "topic": topic.topic, **_counts(topic.totals)}


def _counts(totals: rs.Totals) -> Json:
    return {one.name: str(getattr(totals, one.name)) for one in fields(totals)}


def _push_job(job: PushJob) -> Json:
    found = {one.name: getattr(job, one.name) for one in fields(job) if one.init}
    due = found.pop("due")
    return {**found, "due_ms": due.ms, "due_kind": int(due.is_at)}


def _member(member: MemberReport) -> Json:
    known = (
        member.is_connected,
        member.matched is not None,
        member.applied is not None,
        member.ahead_ms is not None,
        member.same_state is not None,
        bool(member.same_state),
    )
    found = {one.name: getattr(member, one.name) for one in fields(member)}
    del found["is_connected"], found["same_state"]
    for key in ("matched", "applied", "ahead_ms"):
        found[key] = found[key] or 0
    return {**found, "marks": sum(1 << bit for bit, is_set in enumerate(known) if is_set)}


_SPECIAL: dict[type, Callable[[Any], Json]] = {
    rs.Welcome: lambda m: _marked(m, "resumed", "leases_kept"),
    rs.Pong: lambda m: {"now": m.now_ms, "clock_ms": m.clock_ms},
    rs.Leased: lambda m: _marked(m, "has_more"),
    rs.Settled: lambda m: {"results": tuple(_Code(code) for code in m.codes)},
    rs.Job: lambda m: _job(m.job),
    rs.JobReport: _job,
    rs.Delivered: _delivered,
    rs.TopicReport: _totals,
    rs.Totals: _counts,
    rs.QueueStats: lambda m: _renamed({one.name: getattr(m, one.name) for one in fields(m)}, now_ms="now"),
    rs.ConnectionList: lambda m: _marked(m, "has_more"),
    rs.ConnectionReport: lambda m: _marked(m, "has_more_topics"),
    rs.TopicSettings: lambda m: _renamed(_marked(m, "paused"), policy="settings"),
    rs.Error: lambda m: _marked(m, "retryable"),
    Member: lambda m: _marked(m, "leader"),
    MemberReport: _member,
    PushJob: _push_job,
    rq.Hello: lambda m: _marked(m, "leases_outlive", "without_session", name="options"),
    rq.Disconnect: lambda m: _marked(m, "ends_session", name="options"),
    rq.List: lambda m: _marked(m, "with_bodies"),
    rq.TopicSet: lambda m: {"topic": m.topic, "settings": m.policy},
    rq.Reschedule: lambda m: {"due_ms": m.due.ms, "due_kind": int(m.due.is_at), **_ref(m.job), "if_version": str(m.if_version)},
    **{kind: (lambda m: _ref(m.job)) for kind in (rq.Get, rq.Delete, rq.RunNow, rq.Kick)},
}


class _Code:
    """A code in SETTLED, which is a list of objects in JSON."""

    __dataclass_fields__: dict[str, Any] = {}

    def __init__(self, code: int) -> None:
        self.code = int(code)


_SPECIAL[_Code] = lambda one: {"code": one.code}


def attributes_json(found: Attributes) -> Json:
    """Attributes as JSON."""
    shown: Json = {
        "headers": [list(pair) for pair in found.headers] or None,
        "expires": {"kind": int(found.expires.is_at), "ms": str(found.expires.ms)} if found.expires else None,
        "attempts_max": found.attempts_max,
        "backoff": _backoff_json(found.backoff) if found.backoff else None,
        "dedupe_retention_ms": _text(found.dedupe_retention_ms),
        "created_at_ms": _text(found.created_at_ms),
        "schedule_reference": None if found.schedule_reference is None else b64(found.schedule_reference),
        "postpone_max_ms": _text(found.postpone_max_ms),
    }
    unknown = [{"tag": tag, "value": b64(value)} for tag, value in found.others if tag != FAIRNESS_KEY]
    fairness = [value.decode() for tag, value in found.others if tag == FAIRNESS_KEY]
    shown["unknown"] = unknown or None
    shown["fairness_key"] = fairness[0] if fairness else None
    return _present(shown)


def filter_json(found: Filter) -> Json:
    """A filter as JSON."""
    return _present(
        {
            "topic": found.topic,
            "states": None if found.states is None else int(found.states),
            "due_from_ms": _text(found.due_from_ms),
            "due_before_ms": _text(found.due_before_ms),
            "key_prefix": None if found.key_prefix is None else b64(found.key_prefix),
            "attempts_min": found.attempts_min,
            "attempts_max": found.attempts_max,
            "buried": None if found.buried is None else int(found.buried),
            "reason": found.reason,
        }
    )


_SETTINGS = {"body_bytes_max": "body_max", "per_second_max": "rate"}
_WIDE_SETTINGS = {"expires_after_ms", "jobs_max", "bytes_max", "remember_ms"}


def settings_json(found: TopicPolicy) -> Json:
    """Settings as JSON."""
    shown: Json = {}
    for one in fields(found):
        value = getattr(found, one.name)
        name = _SETTINGS.get(one.name, one.name)
        if value is UNSET:
            shown[name] = None
        elif isinstance(value, Backoff):
            shown[name] = _backoff_json(value)
        elif isinstance(value, Late):
            shown[name] = {"after_ms": str(value.after_ms), "action": value.action.value, "value": str(value.value)}
        elif value is not None:
            shown[name] = str(value) if one.name in _WIDE_SETTINGS else value
    return shown


def _backoff_json(found: Backoff) -> Json:
    return {"kind": _KINDS.index(found.kind), "jitter": found.jitter_percent, "waits_ms": list(found.values_ms)}


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _present(shown: Json) -> Json:
    return {key: value for key, value in shown.items() if value is not None}


# ---- to frames


def encoded(side: str, frame: Json) -> bytes:
    """A frame from JSON."""
    names = {kind.NAME: kind for kind in REQUESTS.values()}
    if side != "request" or frame["opcode"] not in names:
        raise ValueError(f"cannot encode the {side} {frame['opcode']}")
    kind = names[frame["opcode"]]
    found = dict(frame["fields"])
    return encode(int(frame["request_id"]), kind(**_arguments(kind, found)))


def _arguments(kind: type[rq.Request], found: Json) -> Json:
    if kind is rq.Hello:
        options = found.pop("options", 0)
        found["leases_outlive"], found["without_session"] = bool(options & 1), bool(options & 2)
    elif kind is rq.Disconnect:
        found["ends_session"] = bool(found.pop("options", 0) & 1)
    elif kind is rq.List:
        found["with_bodies"] = bool(found.pop("marks", 0) & 1)
    elif kind is rq.TopicSet:
        return {"topic": found["topic"], "policy": settings_of(found.get("settings", {}))}
    elif kind in (rq.Get, rq.Delete, rq.RunNow, rq.Kick):
        return {"job": ref_of(found)}
    elif kind is rq.Reschedule:
        due = Due(found.get("due_kind", 0) == 1, int(found["due_ms"]))
        return {"job": ref_of(found), "due": due, "if_version": int(found.get("if_version", 0))}
    arguments: Json = {}
    for one in fields(kind):  # type: ignore[arg-type]
        if one.name in found:
            arguments[one.name] = _argument(one.name, found[one.name])
    return arguments


def _argument(name: str, value: Any) -> Any:
    if name in ("secret", "token", "cursor"):
        return raw(value)
    if name == "filter":
        return filter_of(value)
    if name == "jobs" and isinstance(value, list):
        return tuple(job_of(job) for job in value)
    if name == "leases":
        return tuple(LeaseRef(int(one["job"]), int(one["fence"])) for one in value)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str) and name not in ("topic", "client_name", "reason", "to", "address", "key"):
        return int(value)
    return value


def job_of(job: Json) -> PushJob:
    """A job of PUSH from JSON."""
    return PushJob(
        body=raw(job.get("body", "")),
        due=Due(job.get("due_kind", 0) == 1, int(job.get("due_ms", 0))),
        priority=job.get("priority", 0),
        ttr_ms=job.get("ttr_ms", 0),
        if_exists=job.get("if_exists", 0),
        key=job.get("key") or None,
        attributes=attributes_of(job.get("attributes", {})),
    )


def ref_of(found: Json) -> JobRef:
    """A job reference from JSON."""
    if found.get("job_kind", 0) == 1:
        return JobRef(topic=found["topic"], key=found["key"])
    return JobRef(job=int(found["job"]))


def attributes_of(found: Json) -> Attributes:
    """Attributes from JSON."""
    others = [(one["tag"], raw(one["value"])) for one in found.get("unknown", [])]
    if "fairness_key" in found:
        others.append((FAIRNESS_KEY, found["fairness_key"].encode()))
    expires = found.get("expires")
    reference = found.get("schedule_reference")
    return Attributes(
        headers=tuple((name, value) for name, value in found.get("headers", [])),
        expires=Expiry(expires["kind"] == 1, int(expires["ms"])) if expires else None,
        attempts_max=found.get("attempts_max"),
        backoff=backoff_of(found["backoff"]) if "backoff" in found else None,
        dedupe_retention_ms=_number(found.get("dedupe_retention_ms")),
        created_at_ms=_number(found.get("created_at_ms")),
        schedule_reference=None if reference is None else raw(reference),
        postpone_max_ms=_number(found.get("postpone_max_ms")),
        others=tuple(others),
    )


def filter_of(found: Json) -> Filter:
    """A filter from JSON."""
    prefix, states, buried = found.get("key_prefix"), found.get("states"), found.get("buried")
    return Filter(
        topic=found.get("topic"),
        states=None if states is None else States(states),
        due_from_ms=_number(found.get("due_from_ms")),
        due_before_ms=_number(found.get("due_before_ms")),
        key_prefix=None if prefix is None else raw(prefix),
        attempts_min=found.get("attempts_min"),
        attempts_max=found.get("attempts_max"),
        buried=None if buried is None else BuriedReason(buried),
        reason=found.get("reason"),
    )


def settings_of(found: Json) -> TopicPolicy:
    """Settings from JSON."""
    names = {short: long for long, short in _SETTINGS.items()}
    arguments: Json = {}
    for short, value in found.items():
        name = names.get(short, short)
        if value is None:
            arguments[name] = UNSET
        elif name == "backoff":
            arguments[name] = backoff_of(value)
        elif name == "late":
            arguments[name] = Late(int(value["after_ms"]), LateAction(value["action"]), int(value["value"]))
        else:
            arguments[name] = int(value) if name != "dead_letters" else value
    return TopicPolicy(**arguments)


def backoff_of(found: Json) -> Backoff:
    """A backoff from JSON."""
    return Backoff(_KINDS[found["kind"]], tuple(found["waits_ms"]), found.get("jitter", 0))


def _number(text: Any) -> int | None:
    return None if text is None else int(text)


def enum_name(value: Any) -> str:
    """The name of a choice, in lower case."""
    return value.name.lower() if isinstance(value, Enum) else str(value)
