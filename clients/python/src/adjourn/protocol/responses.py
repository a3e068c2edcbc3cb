"""Every response: its fields, how they are read, and how they are written (by test servers)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from .attributes import Attributes
from .numbers import (
    BuriedReason,
    ErrorCode,
    GoingAwayReason,
    JobState,
    MemberRole,
    PushOutcome,
    known,
)
from .requests import LeaseRef
from .selection import TopicPolicy
from .wire import U8, U16, U64, MalformedFrame, Reader, Writer, encode_text

_DELIVERED = struct.Struct("<QQQIIIBHHI")
_DELIVERED_NOW = struct.Struct("<QQQIIIBHHIQ")
_JOB = struct.Struct("<QQBBIIIIBHHI")
_LISTED = struct.Struct("<QQBBIIIIBHHIIQQQQH")
_OUTCOMES = frozenset(PushOutcome)
_TOTALS = struct.Struct("<9Q")
_TOPIC = struct.Struct("<BB9Q")


class Response:
    """A frame that the server sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]

    def write(self, w: Writer) -> None:
        """Writes the payload."""

    @classmethod
    def read(cls, r: Reader) -> Response:
        """Reads the payload."""
        return cls()


RESPONSES: dict[int, type[Response]] = {}
R = TypeVar("R", bound=type[Response])


def _response(opcode: int, name: str) -> Callable[[R], R]:
    def register(cls: R) -> R:
        cls.OPCODE, cls.NAME = opcode, name
        RESPONSES[opcode] = cls
        return cls

    return register


@dataclass(frozen=True, slots=True)
class Member:
    """A node of the cluster, as WELCOME names it."""

    node: int
    address: str
    leader: bool


@_response(0x81, "WELCOME")
@dataclass(frozen=True, slots=True)
class Welcome(Response):
    version: int
    resumed: bool
    leases_kept: bool
    cluster_id: bytes
    session: int
    secret: bytes
    heartbeat_ms: int
    session_grace_ms: int
    frame_bytes_max: int
    body_bytes_max: int
    push_jobs_max: int
    leases_max: int
    reserve_jobs_max: int
    in_flight_max: int
    server_name: str
    members: tuple[Member, ...]
    clock_ms: int = 0

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<HB16sQ16s8I")
    _MEMBER: ClassVar[struct.Struct] = struct.Struct("<QBB")

    def write(self, w: Writer) -> None:
        w.pack(
            self._FIXED,
            self.version,
            int(self.resumed) | int(self.leases_kept) << 1,
            self.cluster_id,
            self.session,
            self.secret,
            self.heartbeat_ms,
            self.session_grace_ms,
            self.frame_bytes_max,
            self.body_bytes_max,
            self.push_jobs_max,
            self.leases_max,
            self.reserve_jobs_max,
            self.in_flight_max,
        )
        w.text8(self.server_name)

        def member(one: Member) -> None:
            address = encode_text(one.address)
            w.pack(self._MEMBER, one.node, int(one.leader), len(address))
            w.raw(address)

        w.items(self._MEMBER, self.members, member)
        w.u64(self.clock_ms)

    @classmethod
    def read(cls, r: Reader) -> Welcome:
        fixed = r.unpack(cls._FIXED, "WELCOME")
        marks: int = fixed[1]
        name = r.text8("server_name")
        members = r.items(
            cls._MEMBER,
            "members",
            lambda fields, _rest: Member(fields[0], r.text(fields[2], "address"), bool(fields[1] & 1)),
        )
        clock_ms = r.late(U64, "clock_ms")
        version, _, *rest = fixed
        known_fields: list[Any] = [version, bool(marks & 1), bool(marks & 2), *rest, name, members, clock_ms]
        return cls(*known_fields)

    def __repr__(self) -> str:
        return f"Welcome(session={self.session}, resumed={self.resumed}, leases_kept={self.leases_kept})"


@_response(0x82, "PONG")
@dataclass(frozen=True, slots=True)
class Pong(Response):
    now_ms: int
    clock_ms: int = 0

    def write(self, w: Writer) -> None:
        w.u64(self.now_ms)
        w.u64(self.clock_ms)

    @classmethod
    def read(cls, r: Reader) -> Pong:
        return cls(r.u64("now"), r.late(U64, "clock_ms"))


@_response(0x83, "DONE")
@dataclass(frozen=True, slots=True)
class Done(Response):
    pass


@_response(0x84, "GOING_AWAY")
@dataclass(frozen=True, slots=True)
class GoingAway(Response):
    message: str
    reason: GoingAwayReason | int = GoingAwayReason.NOT_SAID

    def write(self, w: Writer) -> None:
        w.text16(self.message)
        w.u8(self.reason)

    @classmethod
    def read(cls, r: Reader) -> GoingAway:
        return cls(r.text16("message"), known(GoingAwayReason, r.late(U8, "reason")))


@dataclass(frozen=True, slots=True)
class PushedJob:
    """What became of one job of a PUSH."""

    outcome: PushOutcome
    job: int
    code: ErrorCode | int = 0


@_response(0x90, "PUSHED")
@dataclass(frozen=True, slots=True)
class Pushed(Response):
    results: tuple[PushedJob, ...]

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<BHQ")

    def write(self, w: Writer) -> None:
        w.items(self._FIXED, self.results, lambda one: w.pack(self._FIXED, one.outcome, one.code, one.job))

    @classmethod
    def read(cls, r: Reader) -> Pushed:
        def read(fields: tuple[int, ...], _rest: bytes) -> PushedJob:
            outcome, code, job = fields
            if outcome not in _OUTCOMES:
                raise MalformedFrame(f"an unknown outcome of a push: {outcome}")
            return PushedJob(PushOutcome(outcome), job, known(ErrorCode, code))

        return cls(r.items(cls._FIXED, "results", read))


@dataclass(frozen=True, slots=True)
class Delivered:
    """A job under a lease."""

    lease: LeaseRef
    topic: str
    key: str | None
    priority: int
    attempts: int
    due_ms: int
    ttr_left_ms: int
    attributes: Attributes
    body: bytes
    deadline_ms: int = 0


def _write_delivered(w: Writer, jobs: tuple[Delivered, ...]) -> None:
    def write(job: Delivered) -> None:
        topic, key = encode_text(job.topic), encode_text(job.key or "")
        attributes = job.attributes.encode()
        w.pack(
            _DELIVERED_NOW,
            job.lease.job,
            job.lease.fence,
            job.due_ms,
            job.priority,
            job.attempts,
            job.ttr_left_ms,
            len(topic),
            len(key),
            len(attributes),
            len(job.body),
            job.deadline_ms,
        )
        for piece in (topic, key, attributes, job.body):
            w.raw(piece)

    w.items(_DELIVERED_NOW, jobs, write)


def _read_delivered(r: Reader) -> tuple[Delivered, ...]:
    def read(fields: tuple[int, ...], rest: bytes) -> Delivered:
        job, fence, due_ms, priority, attempts, ttr_left_ms, topic, key, attributes, body = fields
        name = r.text(topic, "topic")
        found_key = r.text(key, "key") or None
        found = Attributes.decode(r.raw(attributes, "attributes"))
        content = r.raw(body, "body")
        deadline_ms = Reader(rest).late(U64, "deadline_ms")
        lease = LeaseRef(job, fence)
        return Delivered(
            lease, name, found_key, priority, attempts, due_ms, ttr_left_ms, found, content, deadline_ms
        )

    return r.items(_DELIVERED, "jobs", read)


@_response(0xA0, "RESERVED")
@dataclass(frozen=True, slots=True)
class Reserved(Response):
    jobs: tuple[Delivered, ...]

    def write(self, w: Writer) -> None:
        _write_delivered(w, self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Reserved:
        return cls(_read_delivered(r))


@_response(0xA1, "SUBSCRIBED")
@dataclass(frozen=True, slots=True)
class Subscribed(Response):
    pass


@_response(0xA2, "DELIVER")
@dataclass(frozen=True, slots=True)
class Deliver(Response):
    jobs: tuple[Delivered, ...]

    def write(self, w: Writer) -> None:
        _write_delivered(w, self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Deliver:
        return cls(_read_delivered(r))


@_response(0xA3, "LEASED")
@dataclass(frozen=True, slots=True)
class Leased(Response):
    jobs: tuple[Delivered, ...]
    has_more: bool

    def write(self, w: Writer) -> None:
        w.u8(int(self.has_more))
        _write_delivered(w, self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Leased:
        marks = r.u8("marks")
        return cls(_read_delivered(r), bool(marks & 1))


@_response(0xB0, "SETTLED")
@dataclass(frozen=True, slots=True)
class Settled(Response):
    codes: tuple[ErrorCode | int, ...]
    """One per lease: 0 means done."""

    def write(self, w: Writer) -> None:
        w.items(U16, self.codes, w.u16)

    @classmethod
    def read(cls, r: Reader) -> Settled:
        return cls(r.items(U16, "results", lambda fields, _rest: known(ErrorCode, fields[0])))


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job as GET, PEEK and LIST show it. 0, an empty text or `None` means: it did not happen, or is not known."""

    id: int
    state: JobState | int
    topic: str
    key: str | None = None
    priority: int = 0
    attempts: int = 0
    due_ms: int = 0
    ttr_ms: int = 0
    ttr_left_ms: int = 0
    buried: BuriedReason | int = BuriedReason.NOT_BURIED
    attributes: Attributes = Attributes()
    body: bytes = b""
    body_bytes: int = 0
    pushed_ms: int = 0
    reserved_first_ms: int = 0
    reserved_last_ms: int = 0
    held_by: int = 0
    reason: str = ""
    finished_ms: int = 0

    @property
    def headers(self) -> dict[str, str]:
        """Its headers. Of headers with the same name, the last one."""
        return dict(self.attributes.headers)


def _fixed_job(job: JobReport) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    pieces = (encode_text(job.topic), encode_text(job.key or ""), job.attributes.encode(), job.body)
    numbers = (
        job.id,
        job.due_ms,
        int(job.state),
        int(job.buried),
        job.priority,
        job.attempts,
        job.ttr_ms,
        job.ttr_left_ms,
    )
    return (*numbers, *map(len, pieces)), pieces


@_response(0xC0, "JOB")
@dataclass(frozen=True, slots=True)
class Job(Response):
    job: JobReport

    def write(self, w: Writer) -> None:
        fixed, pieces = _fixed_job(self.job)
        w.pack(_JOB, *fixed)
        for piece in pieces:
            w.raw(piece)
        job = self.job
        for number in (job.pushed_ms, job.reserved_first_ms, job.reserved_last_ms, job.held_by):
            w.u64(number)
        w.text16(job.reason)
        w.u64(job.finished_ms)

    @classmethod
    def read(cls, r: Reader) -> Job:
        job, due_ms, state, buried, priority, attempts, ttr_ms, left_ms, *lengths = r.unpack(_JOB, "JOB")
        topic = r.text(lengths[0], "topic")
        key = r.text(lengths[1], "key") or None
        attributes = Attributes.decode(r.raw(lengths[2], "attributes"))
        body = r.raw(lengths[3], "body")
        return cls(
            JobReport(
                id=job,
                state=known(JobState, state),
                topic=topic,
                key=key,
                priority=priority,
                attempts=attempts,
                due_ms=due_ms,
                ttr_ms=ttr_ms,
                ttr_left_ms=left_ms,
                buried=known(BuriedReason, buried),
                attributes=attributes,
                body=body,
                body_bytes=len(body),
                pushed_ms=r.late(U64, "pushed_ms"),
                reserved_first_ms=r.late(U64, "reserved_first_ms"),
                reserved_last_ms=r.late(U64, "reserved_last_ms"),
                held_by=r.late(U64, "held_by"),
                reason=r.late_text16("reason"),
                finished_ms=r.late(U64, "finished_ms"),
            )
        )


@_response(0xC1, "CHANGED")
@dataclass(frozen=True, slots=True)
class Changed(Response):
    job: int
    due_ms: int
    state: JobState | int

    def write(self, w: Writer) -> None:
        w.u64(self.job)
        w.u64(self.due_ms)
        w.u8(self.state)

    @classmethod
    def read(cls, r: Reader) -> Changed:
        return cls(r.u64("job"), r.u64("due_ms"), known(JobState, r.u8("state")))


@_response(0xC2, "KICKED")
@dataclass(frozen=True, slots=True)
class Kicked(Response):
    jobs: int

    def write(self, w: Writer) -> None:
        w.u32(self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Kicked:
        return cls(r.u32("jobs"))


@_response(0xC3, "JOBS")
@dataclass(frozen=True, slots=True)
class Jobs(Response):
    jobs: tuple[JobReport, ...]
    cursor: bytes

    def write(self, w: Writer) -> None:
        w.bytes16(self.cursor)

        def write(job: JobReport) -> None:
            fixed, pieces = _fixed_job(job)
            reason = encode_text(job.reason)
            history = (job.pushed_ms, job.reserved_first_ms, job.reserved_last_ms, job.held_by)
            w.pack(_LISTED, *fixed, job.body_bytes, *history, len(reason))
            for piece in (*pieces, reason):
                w.raw(piece)

        w.items(_LISTED, self.jobs, write)

    @classmethod
    def read(cls, r: Reader) -> Jobs:
        cursor = r.bytes16("cursor")

        def read(fields: tuple[int, ...], _rest: bytes) -> JobReport:
            job, due_ms, state, buried, priority, attempts, ttr_ms, left_ms, *more = fields
            topic_bytes, key_bytes, attributes_bytes, shown_bytes, body_bytes, *history, reason_bytes = more
            topic = r.text(topic_bytes, "topic")
            key = r.text(key_bytes, "key") or None
            attributes = Attributes.decode(r.raw(attributes_bytes, "attributes"))
            body = r.raw(shown_bytes, "body")
            reason = r.text(reason_bytes, "reason")
            pushed_ms, reserved_first_ms, reserved_last_ms, held_by = history
            return JobReport(
                id=job,
                state=known(JobState, state),
                topic=topic,
                key=key,
                priority=priority,
                attempts=attempts,
                due_ms=due_ms,
                ttr_ms=ttr_ms,
                ttr_left_ms=left_ms,
                buried=known(BuriedReason, buried),
                attributes=attributes,
                body=body,
                body_bytes=body_bytes,
                pushed_ms=pushed_ms,
                reserved_first_ms=reserved_first_ms,
                reserved_last_ms=reserved_last_ms,
                held_by=held_by,
                reason=reason,
            )

        return cls(r.items(_LISTED, "jobs", read), cursor)


@_response(0xC4, "COUNTED")
@dataclass(frozen=True, slots=True)
class Counted(Response):
    jobs: int

    def write(self, w: Writer) -> None:
        w.u64(self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Counted:
        return cls(r.u64("jobs"))


@_response(0xC5, "BULKED")
@dataclass(frozen=True, slots=True)
class Bulked(Response):
    jobs: int
    cursor: bytes
    in_the_way: int = 0

    def write(self, w: Writer) -> None:
        w.u32(self.jobs)
        w.bytes16(self.cursor)
        w.u32(self.in_the_way)

    @classmethod
    def read(cls, r: Reader) -> Bulked:
        jobs, cursor = r.u32("jobs"), r.bytes16("cursor")
        return cls(jobs, cursor, 0 if r.at_end else r.u32("in_the_way"))


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of a topic, or of the whole queue."""

    delayed: int = 0
    ready: int = 0
    reserved: int = 0
    buried: int = 0
    pushed: int = 0
    finished: int = 0
    deleted: int = 0
    expired: int = 0
    oldest_ready_ms: int = 0

    def numbers(self) -> tuple[int, ...]:
        return (
            self.delayed,
            self.ready,
            self.reserved,
            self.buried,
            self.pushed,
            self.finished,
            self.deleted,
            self.expired,
            self.oldest_ready_ms,
        )


@dataclass(frozen=True, slots=True)
class TopicReport:
    """A topic and its counts."""

    topic: str
    paused: bool
    totals: Totals


def _write_topics(w: Writer, topics: tuple[TopicReport, ...]) -> None:
    def write(one: TopicReport) -> None:
        name = encode_text(one.topic)
        w.pack(_TOPIC, int(one.paused), len(name), *one.totals.numbers())
        w.raw(name)

    w.items(_TOPIC, topics, write)


def _read_topics(r: Reader) -> tuple[TopicReport, ...]:
    return r.items(
        _TOPIC,
        "topics",
        lambda fields, _rest: TopicReport(r.text(fields[1], "topic"), bool(fields[0] & 1), Totals(*fields[2:])),
    )


@_response(0xD0, "TOPIC_COUNTS")
@dataclass(frozen=True, slots=True)
class TopicCounts(Response):
    topics: tuple[TopicReport, ...]

    def write(self, w: Writer) -> None:
        _write_topics(w, self.topics)

    @classmethod
    def read(cls, r: Reader) -> TopicCounts:
        return cls(_read_topics(r))


@_response(0xD1, "QUEUE_STATS")
@dataclass(frozen=True, slots=True)
class QueueStats(Response):
    now_ms: int
    uptime_ms: int
    connections: int
    sessions: int
    waiting: int
    applied_index: int
    term: int
    state_hash: int
    totals: Totals
    topics: tuple[TopicReport, ...]

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<QQIIIQQ")

    def write(self, w: Writer) -> None:
        w.pack(
            self._FIXED,
            self.now_ms,
            self.uptime_ms,
            self.connections,
            self.sessions,
            self.waiting,
            self.applied_index,
            self.term,
        )
        w.u128(self.state_hash)
        w.pack(_TOTALS, *self.totals.numbers())
        _write_topics(w, self.topics)

    @classmethod
    def read(cls, r: Reader) -> QueueStats:
        fixed = r.unpack(cls._FIXED, "QUEUE_STATS")
        state_hash = r.u128("state_hash")
        totals = Totals(*r.unpack(_TOTALS, "totals"))
        known_fields: list[Any] = [*fixed, state_hash, totals, _read_topics(r)]
        return cls(*known_fields)


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """A client that is connected to the leader."""

    connection: int
    session: int
    since_ms: int
    leases: int
    subscriptions: int
    reserves: int
    credit_jobs: int
    credit_bytes: int
    unsent_bytes: int
    address: str
    client_name: str
    topics: tuple[str, ...]
    has_more_topics: bool


@_response(0xD2, "CONNECTION_LIST")
@dataclass(frozen=True, slots=True)
class ConnectionList(Response):
    connections: tuple[ConnectionReport, ...]
    has_more: bool

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<QQQIIIQQQBBBB")

    def write(self, w: Writer) -> None:
        w.u8(int(self.has_more))

        def write(one: ConnectionReport) -> None:
            address, name = encode_text(one.address), encode_text(one.client_name)
            w.pack(
                self._FIXED,
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
                len(name),
                len(one.topics),
            )
            w.raw(address)
            w.raw(name)
            for topic in one.topics:
                w.text8(topic)

        w.items(self._FIXED, self.connections, write)

    @classmethod
    def read(cls, r: Reader) -> ConnectionList:
        marks = r.u8("marks")

        def read(fields: tuple[int, ...], _rest: bytes) -> ConnectionReport:
            *numbers, more, address_bytes, name_bytes, topics = fields
            address = r.text(address_bytes, "address")
            name = r.text(name_bytes, "client_name")
            names = tuple(r.text8("topic") for _ in range(topics))
            known_fields: list[Any] = [*numbers, address, name, names, bool(more & 1)]
            return ConnectionReport(*known_fields)

        return cls(r.items(cls._FIXED, "connections", read), bool(marks & 1))


@_response(0xD3, "TOPIC_SETTINGS")
@dataclass(frozen=True, slots=True)
class TopicSettings(Response):
    jobs: int
    bytes: int
    paused: bool
    policy: TopicPolicy

    def write(self, w: Writer) -> None:
        w.u64(self.jobs)
        w.u64(self.bytes)
        w.u8(int(self.paused))
        w.bytes16(self.policy.encode())

    @classmethod
    def read(cls, r: Reader) -> TopicSettings:
        jobs, size, marks = r.u64("jobs"), r.u64("bytes"), r.u8("marks")
        return cls(jobs, size, bool(marks & 1), TopicPolicy.decode(r.bytes16("settings")))


@_response(0xE0, "BACKUP_READY")
@dataclass(frozen=True, slots=True)
class BackupReady(Response):
    index: int
    jobs: int
    state_hash: int
    bytes: int

    def write(self, w: Writer) -> None:
        w.u64(self.index)
        w.u64(self.jobs)
        w.u128(self.state_hash)
        w.u64(self.bytes)

    @classmethod
    def read(cls, r: Reader) -> BackupReady:
        return cls(r.u64("index"), r.u64("jobs"), r.u128("state_hash"), r.u64("bytes"))


@_response(0xE1, "BACKUP_DATA")
@dataclass(frozen=True, slots=True)
class BackupData(Response):
    data: bytes

    def write(self, w: Writer) -> None:
        w.u32(len(self.data))
        w.raw(self.data)

    @classmethod
    def read(cls, r: Reader) -> BackupData:
        return cls(r.raw(r.u32("data"), "data"))


@dataclass(frozen=True, slots=True)
class MemberReport:
    """A node of the cluster, as the node sees it that reports. `None`: not known."""

    node: int
    role: MemberRole | int
    peer_address: str
    client_address: str
    is_connected: bool
    matched: int | None
    applied: int | None
    ahead_ms: int | None
    audited: int
    same_state: bool | None


@_response(0xF0, "CLUSTER_REPORT")
@dataclass(frozen=True, slots=True)
class ClusterReport(Response):
    node: int
    cluster_id: bytes
    leader: int
    term: int
    last: int
    commit: int
    feature_level: int
    members: tuple[MemberReport, ...]

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<Q16sQQQQI")
    _MEMBER: ClassVar[struct.Struct] = struct.Struct("<QBBQQqQBB")

    def write(self, w: Writer) -> None:
        w.pack(
            self._FIXED,
            self.node,
            self.cluster_id,
            self.leader,
            self.term,
            self.last,
            self.commit,
            self.feature_level,
        )

        def write(one: MemberReport) -> None:
            peer, client = encode_text(one.peer_address), encode_text(one.client_address)
            flags = (
                one.is_connected,
                one.matched is not None,
                one.applied is not None,
                one.ahead_ms is not None,
                one.same_state is not None,
                bool(one.same_state),
            )
            marks = sum(1 << bit for bit, is_set in enumerate(flags) if is_set)
            w.pack(
                self._MEMBER,
                one.node,
                one.role,
                marks,
                one.matched or 0,
                one.applied or 0,
                one.ahead_ms or 0,
                one.audited,
                len(peer),
                len(client),
            )
            w.raw(peer)
            w.raw(client)

        w.items(self._MEMBER, self.members, write)

    @classmethod
    def read(cls, r: Reader) -> ClusterReport:
        def read(fields: tuple[int, ...], _rest: bytes) -> MemberReport:
            node, role, marks, matched, applied, ahead_ms, audited, peer, client = fields
            return MemberReport(
                node,
                known(MemberRole, role),
                r.text(peer, "peer_address"),
                r.text(client, "client_address"),
                bool(marks & 1),
                matched if marks & 2 else None,
                applied if marks & 4 else None,
                ahead_ms if marks & 8 else None,
                audited,
                bool(marks & 32) if marks & 16 else None,
            )

        fixed = r.unpack(cls._FIXED, "CLUSTER_REPORT")
        known_fields: list[Any] = [*fixed, r.items(cls._MEMBER, "members", read)]
        return cls(*known_fields)


@_response(0xFF, "ERROR")
@dataclass(frozen=True, slots=True)
class Error(Response):
    code: ErrorCode | int
    retryable: bool
    applied: int
    """0: nothing was changed. 1: it may have been applied, or may still be."""
    retry_after_ms: int = 0
    leader: str = ""
    message: str = ""

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<HBBI")

    def write(self, w: Writer) -> None:
        w.pack(self._FIXED, self.code, int(self.retryable), self.applied, self.retry_after_ms)
        w.text8(self.leader)
        w.text16(self.message)

    @classmethod
    def read(cls, r: Reader) -> Error:
        code, marks, applied, retry_after_ms = r.unpack(cls._FIXED, "ERROR")
        return cls(
            known(ErrorCode, code),
            bool(marks & 1),
            int(applied != 0),
            retry_after_ms,
            r.text8("leader"),
            r.text16("message"),
        )
