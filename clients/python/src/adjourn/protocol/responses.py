"""Every response: its fields, how they are read, and how they are written (by test servers)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from .attributes import Attributes
from .numbers import ErrorCode, GoingAwayReason, PushOutcome, known
from .reports import (
    BackupData,
    BackupReady,
    Bulked,
    Changed,
    ClusterReport,
    ConnectionList,
    ConnectionReport,
    Counted,
    Job,
    JobReport,
    Jobs,
    Kicked,
    MemberReport,
    QueueStats,
    StageReport,
    TopicCounts,
    TopicReport,
    TopicSettings,
    Totals,
)
from .requests import LeaseRef
from .response import RESPONSES, Response, response
from .wire import U8, U16, U64, Reader, Writer, encode_text

_DELIVERED = struct.Struct("<QQQIIIBHHI")
_DELIVERED_NOW = struct.Struct("<QQQIIIBHHIQ")

__all__ = [
    "BackupData",
    "BackupReady",
    "Bulked",
    "Changed",
    "ClusterReport",
    "ConnectionList",
    "ConnectionReport",
    "Counted",
    "Deliver",
    "Delivered",
    "Done",
    "Error",
    "GoingAway",
    "Job",
    "JobReport",
    "Jobs",
    "Kicked",
    "Leased",
    "Member",
    "MemberReport",
    "Pong",
    "Pushed",
    "PushedJob",
    "QueueStats",
    "RESPONSES",
    "Reserved",
    "Response",
    "Settled",
    "StageReport",
    "Subscribed",
    "TopicCounts",
    "TopicReport",
    "TopicSettings",
    "Totals",
    "Welcome",
]


@dataclass(frozen=True, slots=True)
class Member:
    """A node of the cluster, as WELCOME names it."""

    node: int
    address: str
    leader: bool


@response(0x81, "WELCOME")
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


@response(0x82, "PONG")
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


@response(0x83, "DONE")
@dataclass(frozen=True, slots=True)
class Done(Response):
    pass


@response(0x84, "GOING_AWAY")
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

    @classmethod
    def of(cls, number: int, code: int, job: int) -> PushedJob:
        """The result with these fields."""
        outcome = known(PushOutcome, number)
        if not isinstance(outcome, PushOutcome):
            # Of a newer server: what became of this job is not known here.
            return cls(PushOutcome.REFUSED, job, ErrorCode.OUTCOME_UNKNOWN)
        return cls(outcome, job, known(ErrorCode, code))


@response(0x90, "PUSHED")
@dataclass(frozen=True, slots=True)
class Pushed(Response):
    results: tuple[PushedJob, ...]

    _FIXED: ClassVar[struct.Struct] = struct.Struct("<BHQ")

    def write(self, w: Writer) -> None:
        w.items(self._FIXED, self.results, lambda one: w.pack(self._FIXED, one.outcome, one.code, one.job))

    @classmethod
    def read(cls, r: Reader) -> Pushed:
        return cls(tuple(PushedJob.of(*fields) for fields in r.records(cls._FIXED, "results")))


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


@response(0xA0, "RESERVED")
@dataclass(frozen=True, slots=True)
class Reserved(Response):
    jobs: tuple[Delivered, ...]

    def write(self, w: Writer) -> None:
        _write_delivered(w, self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Reserved:
        return cls(_read_delivered(r))


@response(0xA1, "SUBSCRIBED")
@dataclass(frozen=True, slots=True)
class Subscribed(Response):
    pass


@response(0xA2, "DELIVER")
@dataclass(frozen=True, slots=True)
class Deliver(Response):
    jobs: tuple[Delivered, ...]

    def write(self, w: Writer) -> None:
        _write_delivered(w, self.jobs)

    @classmethod
    def read(cls, r: Reader) -> Deliver:
        return cls(_read_delivered(r))


@response(0xA3, "LEASED")
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


@response(0xB0, "SETTLED")
@dataclass(frozen=True, slots=True)
class Settled(Response):
    codes: tuple[ErrorCode | int, ...]
    """One per lease: 0 means done."""

    def write(self, w: Writer) -> None:
        w.items(U16, self.codes, w.u16)

    @classmethod
    def read(cls, r: Reader) -> Settled:
        return cls(tuple(known(ErrorCode, code) for (code,) in r.records(U16, "results")))


@response(0xFF, "ERROR")
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
