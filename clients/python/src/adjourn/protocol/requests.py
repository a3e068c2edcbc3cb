"""Every request: its fields, how they are written, and how they are read (by test servers)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import ClassVar

from .attributes import NO_ATTRIBUTES, Attributes
from .numbers import (
    DELAY_MS_MAX,
    MAGIC,
    PRIORITY_UNSAID,
    RELEASE_BACKOFF,
    RELEASE_NOT_STARTED,
    TTR_MS_MAX,
    TTR_MS_MIN,
    VERSION,
    WAIT_MS_MAX,
    IfExists,
)
from .operations import (
    BackupBegin,
    BackupEnd,
    BackupRead,
    Bulk,
    ClusterAdd,
    ClusterRemove,
    ClusterStatus,
    ClusterTransfer,
    Connections,
    Count,
    Delete,
    Disconnect,
    Get,
    Kick,
    KickMany,
    List,
    Pause,
    Peek,
    Reschedule,
    Resume,
    RunNow,
    Stats,
    TopicDelete,
    TopicSet,
    TopicShow,
    Topics,
)
from .request import REQUESTS, Due, JobRef, LeaseRef, Request, check_range, check_topic, choice, request
from .wire import U8, U16, MalformedFrame, Reader, Writer, encode_text, pack

_LEASE = struct.Struct("<QQ")
_NEW_JOB = struct.Struct("<QIIBBHHI")
_NO_SECRET = bytes(16)
_LEASES_OUTLIVE, _NO_SESSION = 1, 2

__all__ = [
    "BackupBegin",
    "BackupEnd",
    "BackupRead",
    "Bulk",
    "Bury",
    "Cancel",
    "ClusterAdd",
    "ClusterRemove",
    "ClusterStatus",
    "ClusterTransfer",
    "Connections",
    "Count",
    "Credit",
    "Delete",
    "Disconnect",
    "Due",
    "Finish",
    "Get",
    "Goodbye",
    "Hello",
    "JobRef",
    "Kick",
    "KickMany",
    "LeaseRef",
    "Leases",
    "List",
    "Pause",
    "Peek",
    "Ping",
    "Push",
    "PushJob",
    "REQUESTS",
    "Release",
    "Request",
    "Reschedule",
    "Reserve",
    "Resume",
    "RunNow",
    "Stats",
    "Subscribe",
    "TopicDelete",
    "TopicSet",
    "TopicShow",
    "Topics",
    "Touch",
    "Unsubscribe",
]


@request(0x01, "HELLO")
@dataclass(frozen=True, slots=True)
class Hello(Request):
    client_name: str
    token: bytes = b""
    heartbeat_ms: int = 0
    session: int = 0
    secret: bytes = _NO_SECRET
    leases_outlive: bool = False
    without_session: bool = False
    version_min: int = VERSION
    version_max: int = VERSION

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<4sHHIIQ16s")

    def write(self, w: Writer) -> None:
        w.pack(
            self._FIXED,
            MAGIC,
            self.version_min,
            self.version_max,
            bool(self.leases_outlive) * _LEASES_OUTLIVE | bool(self.without_session) * _NO_SESSION,
            self.heartbeat_ms,
            self.session,
            self.secret,
        )
        w.text8(self.client_name)
        w.bytes16(self.token)

    @classmethod
    def read(cls, r: Reader) -> Hello:
        magic, least, most, options, heartbeat_ms, session, secret = r.unpack(cls._FIXED, "HELLO")
        if magic != MAGIC:
            raise MalformedFrame("HELLO without the magic")
        marks = bool(options & _LEASES_OUTLIVE), bool(options & _NO_SESSION)
        return cls(r.text8("client_name"), r.bytes16("token"), heartbeat_ms, session, secret, *marks, least, most)


@request(0x02, "PING")
@dataclass(frozen=True, slots=True)
class Ping(Request):
    pass


@request(0x03, "GOODBYE")
@dataclass(frozen=True, slots=True)
class Goodbye(Request):
    pass


@dataclass(slots=True)
class PushJob:
    """One job of a PUSH. Do not change it: its bytes are kept."""

    body: bytes = b""
    due: Due = Due(False, 0)
    priority: int = PRIORITY_UNSAID
    ttr_ms: int = 0
    if_exists: IfExists | int = IfExists.REJECT
    key: str | None = None
    attributes: Attributes = NO_ATTRIBUTES
    _head: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def head(self) -> bytes:
        """All of it but the body, as it travels: encoded once, to check it, to measure it and to send it."""
        if self._head is None:
            self._head = self._encoded_head()
        return self._head

    @property
    def frame_bytes(self) -> int:
        """Bytes that this job takes in a PUSH."""
        return len(self.head) + len(self.body)

    def _encoded_head(self) -> bytes:
        key = encode_text(self.key) if self.key else b""
        attributes = self.attributes.encode()
        fixed = pack(
            _NEW_JOB,
            self.due.ms,
            self.priority,
            self.ttr_ms,
            self.due.is_at,
            self.if_exists,
            len(key),
            len(attributes),
            len(self.body),
        )
        return fixed + key + attributes


@request(0x10, "PUSH")
@dataclass(frozen=True, slots=True)
class Push(Request):
    topic: str
    jobs: tuple[PushJob, ...]
    sequence: int = 0
    #: A number under which a repeat is known, instead of a sequence; 0 for none.
    idempotency: int = 0

    def write(self, w: Writer) -> None:
        w.u64(self.sequence)
        w.text8(self.topic)

        def write(job: PushJob) -> None:
            w.raw(job.head)
            w.raw(job.body)

        w.items(_NEW_JOB, self.jobs, write)
        if self.idempotency:
            w.u128(self.idempotency)

    @classmethod
    def read(cls, r: Reader) -> Push:
        sequence, topic = r.u64("sequence"), check_topic(r.text8("topic"))

        def job(fields: tuple[int, ...], _rest: bytes) -> PushJob:
            ms, priority, ttr_ms, kind, if_exists, key, attributes, body = fields
            name = r.text(key, "key") or None
            found = Attributes.decode(r.raw(attributes, "attributes"))
            due = Due.of(ms, kind)
            check_ttr(ttr_ms)
            mode = choice(IfExists, if_exists, "if_exists")
            return PushJob(r.raw(body, "body"), due, priority, ttr_ms, mode, name, found)

        jobs = r.items(_NEW_JOB, "jobs", job)
        if not jobs:
            raise MalformedFrame("PUSH without a job")
        return cls(topic, jobs, sequence, 0 if r.at_end else r.u128("idempotency"))


def _write_topics(w: Writer, topics: tuple[str, ...], weights: tuple[int, ...]) -> None:
    w.items(U8, topics, w.text8)
    if weights:
        w.items(U16, weights, w.u16)


def _read_topics(r: Reader) -> tuple[tuple[str, ...], tuple[int, ...]]:
    topics = r.items(U8, "topics", lambda fields, _rest: check_topic(r.text(fields[0], "topic")))
    if not topics:
        raise MalformedFrame("a request without a topic")
    weights = () if r.at_end else r.items(U16, "weights", lambda fields, _rest: int(fields[0]))
    return topics, weights


@request(0x20, "RESERVE")
@dataclass(frozen=True, slots=True)
class Reserve(Request):
    topics: tuple[str, ...]
    jobs_max: int = 1
    wait_ms: int = 0
    weights: tuple[int, ...] = ()

    def write(self, w: Writer) -> None:
        w.u64(self.wait_ms)
        w.u32(self.jobs_max)
        _write_topics(w, self.topics, self.weights)

    @classmethod
    def read(cls, r: Reader) -> Reserve:
        wait_ms, jobs_max = check_range(r.u64("wait_ms"), "wait_ms", 0, WAIT_MS_MAX), r.positive("jobs_max")
        topics, weights = _read_topics(r)
        return cls(topics, jobs_max, wait_ms, weights)


@request(0x21, "SUBSCRIBE")
@dataclass(frozen=True, slots=True)
class Subscribe(Request):
    topics: tuple[str, ...]
    credit_jobs: int
    credit_bytes: int
    weights: tuple[int, ...] = ()

    def write(self, w: Writer) -> None:
        w.u32(self.credit_jobs)
        w.u64(self.credit_bytes)
        _write_topics(w, self.topics, self.weights)

    @classmethod
    def read(cls, r: Reader) -> Subscribe:
        credit_jobs, credit_bytes = r.u32("credit_jobs"), r.u64("credit_bytes")
        topics, weights = _read_topics(r)
        return cls(topics, credit_jobs, credit_bytes, weights)


@request(0x22, "CREDIT")
@dataclass(frozen=True, slots=True)
class Credit(Request):
    subscription: int
    credit_jobs: int
    credit_bytes: int

    def write(self, w: Writer) -> None:
        w.u32(self.subscription)
        w.u32(self.credit_jobs)
        w.u64(self.credit_bytes)

    @classmethod
    def read(cls, r: Reader) -> Credit:
        return cls(r.u32("subscription"), r.u32("credit_jobs"), r.u64("credit_bytes"))


@request(0x23, "UNSUBSCRIBE")
@dataclass(frozen=True, slots=True)
class Unsubscribe(Request):
    subscription: int

    def write(self, w: Writer) -> None:
        w.u32(self.subscription)

    @classmethod
    def read(cls, r: Reader) -> Unsubscribe:
        return cls(r.u32("subscription"))


@request(0x24, "CANCEL")
@dataclass(frozen=True, slots=True)
class Cancel(Request):
    request: int

    def write(self, w: Writer) -> None:
        w.u32(self.request)

    @classmethod
    def read(cls, r: Reader) -> Cancel:
        return cls(r.u32("request"))


@request(0x25, "LEASES")
@dataclass(frozen=True, slots=True)
class Leases(Request):
    after: int
    jobs_max: int

    def write(self, w: Writer) -> None:
        w.u64(self.after)
        w.u32(self.jobs_max)

    @classmethod
    def read(cls, r: Reader) -> Leases:
        return cls(r.u64("after"), r.positive("jobs_max"))


def _write_leases(w: Writer, leases: tuple[LeaseRef, ...]) -> None:
    w.items(_LEASE, leases, lambda lease: w.pack(_LEASE, lease.job, lease.fence))


def _read_leases(r: Reader) -> tuple[LeaseRef, ...]:
    leases = r.items(_LEASE, "leases", lambda fields, _rest: LeaseRef(*fields))
    if not leases:
        raise MalformedFrame("a request without a lease")
    return leases


@request(0x30, "FINISH")
@dataclass(frozen=True, slots=True)
class Finish(Request):
    leases: tuple[LeaseRef, ...]

    def write(self, w: Writer) -> None:
        _write_leases(w, self.leases)

    @classmethod
    def read(cls, r: Reader) -> Finish:
        return cls(_read_leases(r))


@request(0x31, "RELEASE")
@dataclass(frozen=True, slots=True)
class Release(Request):
    leases: tuple[LeaseRef, ...]
    delay_ms: int
    reason: str = ""

    def write(self, w: Writer) -> None:
        w.u64(self.delay_ms)
        _write_leases(w, self.leases)
        w.late_text16(self.reason)

    @classmethod
    def read(cls, r: Reader) -> Release:
        delay_ms = r.u64("delay_ms")
        if delay_ms not in (RELEASE_BACKOFF, RELEASE_NOT_STARTED):
            check_range(delay_ms, "delay_ms", 0, DELAY_MS_MAX)
        return cls(_read_leases(r), delay_ms, r.late_text16("reason"))


@request(0x32, "TOUCH")
@dataclass(frozen=True, slots=True)
class Touch(Request):
    leases: tuple[LeaseRef, ...]
    ttr_ms: int = 0

    def write(self, w: Writer) -> None:
        w.u32(self.ttr_ms)
        _write_leases(w, self.leases)

    @classmethod
    def read(cls, r: Reader) -> Touch:
        ttr_ms = check_ttr(r.u32("ttr_ms"))
        return cls(_read_leases(r), ttr_ms)


@request(0x33, "BURY")
@dataclass(frozen=True, slots=True)
class Bury(Request):
    leases: tuple[LeaseRef, ...]
    reason: str = ""

    def write(self, w: Writer) -> None:
        _write_leases(w, self.leases)
        w.late_text16(self.reason)

    @classmethod
    def read(cls, r: Reader) -> Bury:
        return cls(_read_leases(r), r.late_text16("reason"))


def check_ttr(ttr_ms: int) -> int:
    """A time to run, if it is in its range; 0 is the default."""
    return check_range(ttr_ms, "ttr_ms", TTR_MS_MIN, TTR_MS_MAX) if ttr_ms else 0
