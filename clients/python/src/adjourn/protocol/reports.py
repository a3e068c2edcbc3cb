"""The responses that show jobs, topics, connections, backups and the cluster."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from .attributes import Attributes
from .numbers import BuriedReason, JobState, MemberRole, known
from .response import Response, response
from .selection import TopicPolicy
from .wire import U64, Reader, Writer, encode_text

_JOB = struct.Struct("<QQBBIIIIBHHI")
_LISTED = struct.Struct("<QQBBIIIIBHHIIQQQQH")
_TOTALS = struct.Struct("<9Q")
_TOPIC = struct.Struct("<BB9Q")
_STAGE = struct.Struct("<B5Q")


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
    #: Another number after each change of the job; 0 if it is not known.
    version: int = 0

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


@response(0xC0, "JOB")
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
        w.u64(job.version)

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
                version=r.late(U64, "version"),
            )
        )


@response(0xC1, "CHANGED")
@dataclass(frozen=True, slots=True)
class Changed(Response):
    job: int
    due_ms: int
    state: JobState | int
    #: Another number after each change of the job; 0 if it is not known.
    version: int = 0

    def write(self, w: Writer) -> None:
        w.u64(self.job)
        w.u64(self.due_ms)
        w.u8(self.state)
        w.u64(self.version)

    @classmethod
    def read(cls, r: Reader) -> Changed:
        state = (r.u64("job"), r.u64("due_ms"), known(JobState, r.u8("state")))
        return cls(*state, r.late(U64, "version"))


@response(0xC2, "KICKED")
@dataclass(frozen=True, slots=True)
class Kicked(Response):
    jobs: int

    def write(self, w: Writer) -> None:
        w.u32(self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Kicked:
        return cls(r.u32("jobs"))


@response(0xC3, "JOBS")
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


@response(0xC4, "COUNTED")
@dataclass(frozen=True, slots=True)
class Counted(Response):
    jobs: int

    def write(self, w: Writer) -> None:
        w.u64(self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Counted:
        return cls(r.u64("jobs"))


@response(0xC5, "BULKED")
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


@response(0xD0, "TOPIC_COUNTS")
@dataclass(frozen=True, slots=True)
class TopicCounts(Response):
    topics: tuple[TopicReport, ...]

    def write(self, w: Writer) -> None:
        _write_topics(w, self.topics)

    @classmethod
    def read(cls, r: Reader) -> TopicCounts:
        return cls(_read_topics(r))


@dataclass(frozen=True, slots=True)
class StageReport:
    """The durations of one stage of the work on a node, in microseconds: over its last one to two minutes, and at most 1 % too high.

    All are 0 if `count` is.
    """

    stage: str
    """wait, commit, apply, lateness. A newer server may have others."""
    count: int
    p50_us: int
    p99_us: int
    p999_us: int
    max_us: int


def _write_stages(w: Writer, stages: tuple[StageReport, ...]) -> None:
    def write(one: StageReport) -> None:
        name = encode_text(one.stage)
        w.pack(_STAGE, len(name), one.count, one.p50_us, one.p99_us, one.p999_us, one.max_us)
        w.raw(name)

    w.items(_STAGE, stages, write)


def _read_stages(r: Reader) -> tuple[StageReport, ...]:
    if r.at_end:
        return ()
    return r.items(_STAGE, "stages", lambda fields, _rest: StageReport(r.text(fields[0], "stage"), *fields[1:]))


@response(0xD1, "QUEUE_STATS")
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
    stages: tuple[StageReport, ...] = ()
    """Where the time of the answering node goes. Empty from a server that does not know them."""

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
        _write_stages(w, self.stages)

    @classmethod
    def read(cls, r: Reader) -> QueueStats:
        fixed = r.unpack(cls._FIXED, "QUEUE_STATS")
        state_hash = r.u128("state_hash")
        totals = Totals(*r.unpack(_TOTALS, "totals"))
        known_fields: list[Any] = [*fixed, state_hash, totals, _read_topics(r), _read_stages(r)]
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


@response(0xD2, "CONNECTION_LIST")
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


@response(0xD3, "TOPIC_SETTINGS")
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


@response(0xE0, "BACKUP_READY")
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


@response(0xE1, "BACKUP_DATA")
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


@response(0xF0, "CLUSTER_REPORT")
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
