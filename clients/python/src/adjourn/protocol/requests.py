"""Every request: its fields, how they are written, and how they are read (by test servers)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from .attributes import Attributes
from .numbers import MAGIC, PRIORITY_UNSAID, VERSION, BulkChange, IfExists, ListOrder, known
from .selection import Filter, TopicPolicy
from .wire import U8, U16, MalformedFrame, Reader, Unencodable, Writer, encode_text

_LEASE = struct.Struct("<QQ")
_NEW_JOB = struct.Struct("<QIIBBHHI")
_NO_SECRET = bytes(16)


class Request:
    """A frame that the client sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]

    def write(self, w: Writer) -> None:
        """Writes the payload."""

    @classmethod
    def read(cls, r: Reader) -> Request:
        """Reads the payload."""
        return cls()


REQUESTS: dict[int, type[Request]] = {}
R = TypeVar("R", bound=type[Request])


def _request(opcode: int, name: str) -> Callable[[R], R]:
    def register(cls: R) -> R:
        cls.OPCODE, cls.NAME = opcode, name
        REQUESTS[opcode] = cls
        return cls

    return register


@dataclass(frozen=True, slots=True)
class LeaseRef:
    """Names a lease: send it to settle the job."""

    job: int
    fence: int


@dataclass(frozen=True, slots=True)
class JobRef:
    """Names a job: by its id, or by topic and key."""

    job: int | None = None
    topic: str = ""
    key: str = ""

    def write(self, w: Writer) -> None:
        if self.job is not None:
            w.u8(0)
            w.u64(self.job)
        else:
            w.u8(1)
            w.text8(self.topic)
            w.text16(self.key)

    @classmethod
    def read(cls, r: Reader) -> JobRef:
        kind = r.u8("job_kind")
        if kind == 0:
            return cls(job=r.u64("job"))
        if kind == 1:
            return cls(topic=r.text8("topic"), key=r.text16("key"))
        raise MalformedFrame(f"a job reference of the kind {kind}")


@dataclass(frozen=True, slots=True)
class Due:
    """When a job is due: after a time, or at a time."""

    is_at: bool
    ms: int


@_request(0x01, "HELLO")
@dataclass(frozen=True, slots=True)
class Hello(Request):
    client_name: str
    token: bytes = b""
    heartbeat_ms: int = 0
    session: int = 0
    secret: bytes = _NO_SECRET
    leases_outlive: bool = False
    version_min: int = VERSION
    version_max: int = VERSION

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<4sHHIIQ16s")

    def write(self, w: Writer) -> None:
        w.pack(
            self._FIXED,
            MAGIC,
            self.version_min,
            self.version_max,
            int(self.leases_outlive),
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
        return cls(
            r.text8("client_name"), r.bytes16("token"), heartbeat_ms, session, secret, bool(options & 1), least, most
        )


@_request(0x02, "PING")
@dataclass(frozen=True, slots=True)
class Ping(Request):
    pass


@_request(0x03, "GOODBYE")
@dataclass(frozen=True, slots=True)
class Goodbye(Request):
    pass


@dataclass(frozen=True, slots=True)
class PushJob:
    """One job of a PUSH."""

    body: bytes = b""
    due: Due = Due(False, 0)
    priority: int = PRIORITY_UNSAID
    ttr_ms: int = 0
    if_exists: IfExists | int = IfExists.REJECT
    key: str | None = None
    attributes: Attributes = Attributes()

    def write(self, w: Writer) -> None:
        key = encode_text(self.key) if self.key else b""
        attributes = self.attributes.encode()
        w.pack(
            _NEW_JOB,
            self.due.ms,
            self.priority,
            self.ttr_ms,
            int(self.due.is_at),
            self.if_exists,
            len(key),
            len(attributes),
            len(self.body),
        )
        w.raw(key)
        w.raw(attributes)
        w.raw(self.body)

    @property
    def frame_bytes(self) -> int:
        """Bytes that this job takes in a PUSH."""
        key_bytes = len(encode_text(self.key)) if self.key else 0
        return _NEW_JOB.size + key_bytes + len(self.attributes.encode()) + len(self.body)


@_request(0x10, "PUSH")
@dataclass(frozen=True, slots=True)
class Push(Request):
    topic: str
    jobs: tuple[PushJob, ...]
    sequence: int = 0

    def write(self, w: Writer) -> None:
        w.u64(self.sequence)
        w.text8(self.topic)
        w.items(_NEW_JOB, self.jobs, lambda job: job.write(w))

    @classmethod
    def read(cls, r: Reader) -> Push:
        sequence, topic = r.u64("sequence"), r.text8("topic")

        def job(fields: tuple[int, ...], _rest: bytes) -> PushJob:
            ms, priority, ttr_ms, kind, if_exists, key, attributes, body = fields
            if kind > 1:
                raise MalformedFrame(f"a due point of the kind {kind}")
            name = r.text(key, "key") or None
            found = Attributes.decode(r.raw(attributes, "attributes"))
            due = Due(kind == 1, ms)
            return PushJob(r.raw(body, "body"), due, priority, ttr_ms, known(IfExists, if_exists), name, found)

        jobs = r.items(_NEW_JOB, "jobs", job)
        if not jobs:
            raise MalformedFrame("PUSH without a job")
        return cls(topic, jobs, sequence)


def _write_topics(w: Writer, topics: tuple[str, ...], weights: tuple[int, ...]) -> None:
    w.items(U8, topics, w.text8)
    if weights:
        w.items(U16, weights, w.u16)


def _read_topics(r: Reader) -> tuple[tuple[str, ...], tuple[int, ...]]:
    topics = r.items(U8, "topics", lambda fields, _rest: r.text(fields[0], "topic"))
    if not topics:
        raise MalformedFrame("a request without a topic")
    weights = () if r.at_end else r.items(U16, "weights", lambda fields, _rest: int(fields[0]))
    return topics, weights


@_request(0x20, "RESERVE")
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
        wait_ms, jobs_max = r.u64("wait_ms"), r.u32("jobs_max")
        topics, weights = _read_topics(r)
        return cls(topics, jobs_max, wait_ms, weights)


@_request(0x21, "SUBSCRIBE")
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


@_request(0x22, "CREDIT")
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


@_request(0x23, "UNSUBSCRIBE")
@dataclass(frozen=True, slots=True)
class Unsubscribe(Request):
    subscription: int

    def write(self, w: Writer) -> None:
        w.u32(self.subscription)

    @classmethod
    def read(cls, r: Reader) -> Unsubscribe:
        return cls(r.u32("subscription"))


@_request(0x24, "CANCEL")
@dataclass(frozen=True, slots=True)
class Cancel(Request):
    request: int

    def write(self, w: Writer) -> None:
        w.u32(self.request)

    @classmethod
    def read(cls, r: Reader) -> Cancel:
        return cls(r.u32("request"))


@_request(0x25, "LEASES")
@dataclass(frozen=True, slots=True)
class Leases(Request):
    after: int
    jobs_max: int

    def write(self, w: Writer) -> None:
        w.u64(self.after)
        w.u32(self.jobs_max)

    @classmethod
    def read(cls, r: Reader) -> Leases:
        return cls(r.u64("after"), r.u32("jobs_max"))


def _write_leases(w: Writer, leases: tuple[LeaseRef, ...]) -> None:
    w.items(_LEASE, leases, lambda lease: w.pack(_LEASE, lease.job, lease.fence))


def _read_leases(r: Reader) -> tuple[LeaseRef, ...]:
    leases = r.items(_LEASE, "leases", lambda fields, _rest: LeaseRef(*fields))
    if not leases:
        raise MalformedFrame("a request without a lease")
    return leases


@_request(0x30, "FINISH")
@dataclass(frozen=True, slots=True)
class Finish(Request):
    leases: tuple[LeaseRef, ...]

    def write(self, w: Writer) -> None:
        _write_leases(w, self.leases)

    @classmethod
    def read(cls, r: Reader) -> Finish:
        return cls(_read_leases(r))


@_request(0x31, "RELEASE")
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
        return cls(_read_leases(r), delay_ms, r.late_text16("reason"))


@_request(0x32, "TOUCH")
@dataclass(frozen=True, slots=True)
class Touch(Request):
    leases: tuple[LeaseRef, ...]
    ttr_ms: int = 0

    def write(self, w: Writer) -> None:
        w.u32(self.ttr_ms)
        _write_leases(w, self.leases)

    @classmethod
    def read(cls, r: Reader) -> Touch:
        ttr_ms = r.u32("ttr_ms")
        return cls(_read_leases(r), ttr_ms)


@_request(0x33, "BURY")
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


@dataclass(frozen=True, slots=True)
class _OfJob(Request):
    job: JobRef

    def write(self, w: Writer) -> None:
        self.job.write(w)

    @classmethod
    def read(cls, r: Reader) -> _OfJob:
        return cls(JobRef.read(r))


@_request(0x40, "GET")
@dataclass(frozen=True, slots=True)
class Get(_OfJob):
    pass


@_request(0x41, "DELETE")
@dataclass(frozen=True, slots=True)
class Delete(_OfJob):
    pass


@_request(0x42, "RESCHEDULE")
@dataclass(frozen=True, slots=True)
class Reschedule(Request):
    job: JobRef
    due: Due

    def write(self, w: Writer) -> None:
        w.u64(self.due.ms)
        w.u8(int(self.due.is_at))
        self.job.write(w)

    @classmethod
    def read(cls, r: Reader) -> Reschedule:
        ms, kind = r.u64("due_ms"), r.u8("due_kind")
        if kind > 1:
            raise MalformedFrame(f"a due point of the kind {kind}")
        return cls(JobRef.read(r), Due(kind == 1, ms))


@_request(0x43, "RUN_NOW")
@dataclass(frozen=True, slots=True)
class RunNow(_OfJob):
    pass


@_request(0x44, "KICK")
@dataclass(frozen=True, slots=True)
class Kick(_OfJob):
    pass


@dataclass(frozen=True, slots=True)
class _OfTopic(Request):
    topic: str

    def write(self, w: Writer) -> None:
        w.text8(self.topic)

    @classmethod
    def read(cls, r: Reader) -> _OfTopic:
        return cls(r.text8("topic"))


@_request(0x45, "PEEK")
@dataclass(frozen=True, slots=True)
class Peek(_OfTopic):
    pass


@_request(0x46, "KICK_MANY")
@dataclass(frozen=True, slots=True)
class KickMany(Request):
    topic: str
    jobs_max: int

    def write(self, w: Writer) -> None:
        w.u32(self.jobs_max)
        w.text8(self.topic)

    @classmethod
    def read(cls, r: Reader) -> KickMany:
        jobs_max = r.u32("jobs_max")
        return cls(r.text8("topic"), jobs_max)


@_request(0x47, "LIST")
@dataclass(frozen=True, slots=True)
class List(Request):
    filter: Filter = Filter()
    order: ListOrder | int = ListOrder.DUE
    jobs_max: int = 100
    with_bodies: bool = False
    cursor: bytes = b""

    def write(self, w: Writer) -> None:
        w.u32(self.jobs_max)
        w.u8(self.order)
        w.u8(int(self.with_bodies))
        w.bytes16(self.cursor)
        w.bytes16(self.filter.encode())

    @classmethod
    def read(cls, r: Reader) -> List:
        jobs_max, order, marks = r.u32("jobs_max"), r.u8("order"), r.u8("marks")
        cursor = r.bytes16("cursor")
        chosen = Filter.decode(r.bytes16("filter"))
        return cls(chosen, known(ListOrder, order), jobs_max, bool(marks & 1), cursor)


@_request(0x48, "COUNT")
@dataclass(frozen=True, slots=True)
class Count(Request):
    filter: Filter = Filter()

    def write(self, w: Writer) -> None:
        w.bytes16(self.filter.encode())

    @classmethod
    def read(cls, r: Reader) -> Count:
        return cls(Filter.decode(r.bytes16("filter")))


@_request(0x49, "BULK")
@dataclass(frozen=True, slots=True)
class Bulk(Request):
    change: BulkChange | int
    filter: Filter = Filter()
    jobs_max: int = 1_024
    due_ms: int = 0
    cursor: bytes = b""
    to: str = ""

    def write(self, w: Writer) -> None:
        if (self.change == BulkChange.MOVE) != bool(self.to):
            raise Unencodable("a bulk change names another topic if it moves jobs, and only then")
        w.u32(self.jobs_max)
        w.u8(self.change)
        w.u64(self.due_ms)
        w.bytes16(self.cursor)
        w.bytes16(self.filter.encode())
        if self.to:
            w.text8(self.to)

    @classmethod
    def read(cls, r: Reader) -> Bulk:
        jobs_max, change, due_ms = r.u32("jobs_max"), r.u8("change"), r.u64("due_ms")
        cursor = r.bytes16("cursor")
        chosen = Filter.decode(r.bytes16("filter"))
        to = r.text8("to") if change == BulkChange.MOVE else ""
        return cls(known(BulkChange, change), chosen, jobs_max, due_ms, cursor, to)


@_request(0x50, "PAUSE")
@dataclass(frozen=True, slots=True)
class Pause(_OfTopic):
    pass


@_request(0x51, "RESUME")
@dataclass(frozen=True, slots=True)
class Resume(_OfTopic):
    pass


@_request(0x52, "TOPICS")
@dataclass(frozen=True, slots=True)
class Topics(Request):
    pass


@_request(0x53, "STATS")
@dataclass(frozen=True, slots=True)
class Stats(Request):
    pass


@_request(0x54, "CONNECTIONS")
@dataclass(frozen=True, slots=True)
class Connections(Request):
    after: int = 0
    connections_max: int = 256

    def write(self, w: Writer) -> None:
        w.u64(self.after)
        w.u32(self.connections_max)

    @classmethod
    def read(cls, r: Reader) -> Connections:
        return cls(r.u64("after"), r.u32("connections_max"))


@_request(0x55, "DISCONNECT")
@dataclass(frozen=True, slots=True)
class Disconnect(Request):
    connection: int
    ends_session: bool = False

    def write(self, w: Writer) -> None:
        w.u64(self.connection)
        w.u8(int(self.ends_session))

    @classmethod
    def read(cls, r: Reader) -> Disconnect:
        return cls(r.u64("connection"), bool(r.u8("options") & 1))


@_request(0x56, "TOPIC_SET")
@dataclass(frozen=True, slots=True)
class TopicSet(Request):
    topic: str
    policy: TopicPolicy

    def write(self, w: Writer) -> None:
        w.text8(self.topic)
        w.bytes16(self.policy.encode())

    @classmethod
    def read(cls, r: Reader) -> TopicSet:
        return cls(r.text8("topic"), TopicPolicy.decode(r.bytes16("settings")))


@_request(0x57, "TOPIC_DELETE")
@dataclass(frozen=True, slots=True)
class TopicDelete(_OfTopic):
    pass


@_request(0x58, "TOPIC_SHOW")
@dataclass(frozen=True, slots=True)
class TopicShow(_OfTopic):
    pass


@_request(0x60, "BACKUP_BEGIN")
@dataclass(frozen=True, slots=True)
class BackupBegin(Request):
    pass


@_request(0x61, "BACKUP_READ")
@dataclass(frozen=True, slots=True)
class BackupRead(Request):
    offset: int
    bytes: int

    def write(self, w: Writer) -> None:
        w.u64(self.offset)
        w.u32(self.bytes)

    @classmethod
    def read(cls, r: Reader) -> BackupRead:
        return cls(r.u64("offset"), r.u32("bytes"))


@_request(0x62, "BACKUP_END")
@dataclass(frozen=True, slots=True)
class BackupEnd(Request):
    pass


@_request(0x70, "CLUSTER_STATUS")
@dataclass(frozen=True, slots=True)
class ClusterStatus(Request):
    pass


@_request(0x71, "CLUSTER_ADD")
@dataclass(frozen=True, slots=True)
class ClusterAdd(Request):
    address: str

    def write(self, w: Writer) -> None:
        w.text8(self.address)

    @classmethod
    def read(cls, r: Reader) -> ClusterAdd:
        return cls(r.text8("address"))


@dataclass(frozen=True, slots=True)
class _OfNode(Request):
    node: int

    def write(self, w: Writer) -> None:
        w.u64(self.node)

    @classmethod
    def read(cls, r: Reader) -> _OfNode:
        return cls(r.u64("node"))


@_request(0x72, "CLUSTER_REMOVE")
@dataclass(frozen=True, slots=True)
class ClusterRemove(_OfNode):
    pass


@_request(0x73, "CLUSTER_TRANSFER")
@dataclass(frozen=True, slots=True)
class ClusterTransfer(_OfNode):
    pass
