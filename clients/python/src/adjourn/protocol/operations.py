"""The requests about jobs that are not leased, topics, connections, backups and the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from .numbers import BulkChange, ListOrder
from .request import Due, JobRef, Request, check_topic, choice, request
from .selection import Filter, TopicPolicy
from .wire import U64, Reader, Unencodable, Writer


@dataclass(frozen=True, slots=True)
class _OfJob(Request):
    job: JobRef

    def write(self, w: Writer) -> None:
        self.job.write(w)

    @classmethod
    def read(cls, r: Reader) -> _OfJob:
        return cls(JobRef.read(r))


@request(0x40, "GET")
@dataclass(frozen=True, slots=True)
class Get(_OfJob):
    pass


@request(0x41, "DELETE")
@dataclass(frozen=True, slots=True)
class Delete(_OfJob):
    #: Whether its caller wants no job of this key to be there, so that a repeat does no harm. Not sent.
    may_repeat: bool = False


@request(0x42, "RESCHEDULE")
@dataclass(frozen=True, slots=True)
class Reschedule(Request):
    job: JobRef
    due: Due
    #: The version that the job must still have; 0 for any.
    if_version: int = 0

    def write(self, w: Writer) -> None:
        self.due.write(w)
        self.job.write(w)
        if self.if_version:
            w.u64(self.if_version)

    @classmethod
    def read(cls, r: Reader) -> Reschedule:
        due = Due.read(r)
        return cls(JobRef.read(r), due, r.late(U64, "if_version"))


@request(0x43, "RUN_NOW")
@dataclass(frozen=True, slots=True)
class RunNow(_OfJob):
    pass


@request(0x44, "KICK")
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
        return cls(check_topic(r.text8("topic")))


@request(0x45, "PEEK")
@dataclass(frozen=True, slots=True)
class Peek(_OfTopic):
    pass


@request(0x46, "KICK_MANY")
@dataclass(frozen=True, slots=True)
class KickMany(Request):
    topic: str
    jobs_max: int

    def write(self, w: Writer) -> None:
        w.u32(self.jobs_max)
        w.text8(self.topic)

    @classmethod
    def read(cls, r: Reader) -> KickMany:
        jobs_max = r.positive("jobs_max")
        return cls(check_topic(r.text8("topic")), jobs_max)


@request(0x47, "LIST")
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
        jobs_max, order, marks = r.positive("jobs_max"), r.u8("order"), r.u8("marks")
        cursor = r.bytes16("cursor")
        chosen = Filter.decode(r.bytes16("filter"))
        return cls(chosen, choice(ListOrder, order, "order"), jobs_max, bool(marks & 1), cursor)


@request(0x48, "COUNT")
@dataclass(frozen=True, slots=True)
class Count(Request):
    filter: Filter = Filter()

    def write(self, w: Writer) -> None:
        w.bytes16(self.filter.encode())

    @classmethod
    def read(cls, r: Reader) -> Count:
        return cls(Filter.decode(r.bytes16("filter")))


@request(0x49, "BULK")
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
        jobs_max, change, due_ms = r.positive("jobs_max"), r.u8("change"), r.u64("due_ms")
        cursor = r.bytes16("cursor")
        chosen = Filter.decode(r.bytes16("filter"))
        to = check_topic(r.text8("to")) if change == BulkChange.MOVE else ""
        return cls(choice(BulkChange, change, "change"), chosen, jobs_max, due_ms, cursor, to)


@request(0x50, "PAUSE")
@dataclass(frozen=True, slots=True)
class Pause(_OfTopic):
    pass


@request(0x51, "RESUME")
@dataclass(frozen=True, slots=True)
class Resume(_OfTopic):
    pass


@request(0x52, "TOPICS")
@dataclass(frozen=True, slots=True)
class Topics(Request):
    pass


@request(0x53, "STATS")
@dataclass(frozen=True, slots=True)
class Stats(Request):
    pass


@request(0x54, "CONNECTIONS")
@dataclass(frozen=True, slots=True)
class Connections(Request):
    after: int = 0
    connections_max: int = 256

    def write(self, w: Writer) -> None:
        w.u64(self.after)
        w.u32(self.connections_max)

    @classmethod
    def read(cls, r: Reader) -> Connections:
        return cls(r.u64("after"), r.positive("connections_max"))


@request(0x55, "DISCONNECT")
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


@request(0x56, "TOPIC_SET")
@dataclass(frozen=True, slots=True)
class TopicSet(Request):
    topic: str
    policy: TopicPolicy

    def write(self, w: Writer) -> None:
        w.text8(self.topic)
        w.bytes16(self.policy.encode())

    @classmethod
    def read(cls, r: Reader) -> TopicSet:
        return cls(check_topic(r.text8("topic")), TopicPolicy.decode(r.bytes16("settings")))


@request(0x57, "TOPIC_DELETE")
@dataclass(frozen=True, slots=True)
class TopicDelete(_OfTopic):
    pass


@request(0x58, "TOPIC_SHOW")
@dataclass(frozen=True, slots=True)
class TopicShow(_OfTopic):
    pass


@request(0x60, "BACKUP_BEGIN")
@dataclass(frozen=True, slots=True)
class BackupBegin(Request):
    pass


@request(0x61, "BACKUP_READ")
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


@request(0x62, "BACKUP_END")
@dataclass(frozen=True, slots=True)
class BackupEnd(Request):
    pass


@request(0x70, "CLUSTER_STATUS")
@dataclass(frozen=True, slots=True)
class ClusterStatus(Request):
    pass


@request(0x71, "CLUSTER_ADD")
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


@request(0x72, "CLUSTER_REMOVE")
@dataclass(frozen=True, slots=True)
class ClusterRemove(_OfNode):
    pass


@request(0x73, "CLUSTER_TRANSFER")
@dataclass(frozen=True, slots=True)
class ClusterTransfer(_OfNode):
    pass
