"""Requests: what a client sends.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .elements import NO_ATTRIBUTES, Attributes, Filter, TopicPolicy
from .numbers import (
    MAGIC,
    PRIORITY_UNSAID,
    BulkChange,
    Dst,
    DueKind,
    IfExists,
    ListOrder,
    Missed,
    Overlap,
    PauseChange,
    Step,
    WhichPaused,
)
from .values import JobRef
from .wire import LIST_HEAD, U8, U16, U32, U64, text, unfitting

_ADVANCE = struct.Struct("<BQ")
_BACKUP_READ = struct.Struct("<QI")
_BULK = struct.Struct("<IBQH")
_CONNECTIONS = struct.Struct("<QI")
_CREDIT = struct.Struct("<IIQ")
_DISCONNECT = struct.Struct("<QB")
_EDIT = struct.Struct("<QIIHB")
_GROUP_LIST = struct.Struct("<IB")
_GROUP_SET = struct.Struct("<IBB")
_HELLO = struct.Struct("<4sHHIIQ16sB")
_KICK_MANY = struct.Struct("<IB")
_LEASE = struct.Struct("<QQ")
_LEASES = struct.Struct("<QI")
_LIST = struct.Struct("<IBBH")
_NEW_JOB = struct.Struct("<QIIBBHHI")
_PUSH = struct.Struct("<QB")
_PUSH_2 = struct.Struct("<16s")
_RELEASE = struct.Struct("<QHI")
_RESCHEDULE = struct.Struct("<QB")
_RESERVE = struct.Struct("<QIHI")
_SCHEDULE_FILL = struct.Struct("<QQBB")
_SCHEDULE_LIST = struct.Struct("<IQBB")
_SCHEDULE_PREVIEW = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULE_PREVIEW_2 = struct.Struct("<QI")
_SCHEDULE_SET = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULE_SET_2 = struct.Struct("<IIHI")
_SUBSCRIBE = struct.Struct("<IQHI")
_TOUCH = struct.Struct("<IHI")


class Request:
    """A frame that the client sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]
    IS_REPEATABLE: ClassVar[bool]
    """It may be sent again when nobody knows whether the server got it. DELETE: only by id."""


@dataclass(slots=True)
class PushJob:
    """One job to push. Do not change it: its bytes are kept."""

    due_ms: int = 0
    """With due_kind: the due point."""
    priority: int = PRIORITY_UNSAID
    """Lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024."""
    ttr_ms: int = 0
    """How long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000."""
    due_kind: DueKind | int = DueKind.AFTER
    """How due_ms counts."""
    if_exists: IfExists | int = IfExists.REJECT
    """What happens if a job with this key exists."""
    key: str | None = None
    """The user's own id; empty for none."""
    attributes: Attributes = NO_ATTRIBUTES
    """Its attributes; empty for none."""
    body: bytes = b""
    """What the consumer gets; at most `body_bytes_max` bytes."""
    _head: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def head(self) -> bytes:
        """All of it but the body, as it travels: encoded once, to check it, to measure it and to send it."""
        if self._head is None:
            try:
                self._head = _head_of(self)
            except struct.error as error:
                raise unfitting(error) from None
        return self._head

    @property
    def frame_bytes(self) -> int:
        """Bytes that this job takes in a PUSH."""
        return len(self.head) + len(self.body)


@dataclass(frozen=True, slots=True)
class LeaseRef:
    """A lease on a job."""

    job: int
    """The job's id."""
    fence: int
    """The lease's number, larger for each lease of a job."""


@dataclass(frozen=True, slots=True)
class ScheduleRules:
    """When a schedule fires, and what it does then."""

    origin_ms: int = 0
    """From when `@every` counts; 0: from when the schedule is set first."""
    start_ms: int = 0
    """It does not fire before this time; 0 for no such time."""
    end_ms: int = 0
    """It does not fire after this time; 0 for no such time."""
    count: int = 0
    """It ends when it has pushed a job at so many instants; 0: it does not."""
    window_ms: int = 0
    """With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for
    any.
    """
    missed_max: int = 0
    """With *missed* `all`: at most so many instants, the last ones; 0 means 100."""
    jitter_ms: int = 0
    """A job is due up to this long after its instant, in milliseconds: how long follows from the name and the
    instant.
    """
    failures_max: int = 0
    """It is paused after so many failures one after another; 0: it is not."""
    dst: Dst | int = Dst.VIXIE
    """What happens when the clocks of its zone are changed."""
    missed: Missed | int = Missed.LAST
    """Which of the instants that passed unnoticed are fired late."""
    overlap: Overlap | int = Overlap.SKIP
    """What it does while an earlier job of it has not ended."""
    when: str = ""
    """A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times."""
    zone: str = ""
    """The IANA name of the time zone of a cron expression; empty means UTC."""
    key: str | None = None
    """The key of its jobs; empty: the name, `@`, and the instant in milliseconds."""
    note: str = ""
    """For people."""


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """What the jobs of a schedule have in common."""

    priority: int = 0
    """As in PUSH."""
    ttr_ms: int = 0
    """As in PUSH."""
    attributes: Attributes = NO_ATTRIBUTES
    """As in PUSH. An expiry after a duration counts from when each job is pushed."""
    body: bytes = b""
    """What the consumer gets; at most `body_bytes_max` bytes."""

    @property
    def headers(self) -> dict[str, str]:
        """Its headers. Of headers with the same name, the last one."""
        return dict(self.attributes.headers)


@dataclass(frozen=True, slots=True)
class Hello(Request):
    """Opens the conversation; the first frame on every connection."""

    OPCODE = 0x01
    NAME = "HELLO"
    IS_REPEATABLE = False
    version_min: int
    """The oldest protocol version that the client speaks."""
    version_max: int
    """The newest one."""
    leases_outlive: bool
    """Leases run to their deadline whatever happens to the session, see sessions. It takes effect only when a
    session is opened; a resumed session keeps what it was opened with.
    """
    without_session: bool
    """None is opened if `session` is 0, see connections without a session."""
    heartbeat_ms: int
    """The heartbeat that the client asks for, see heartbeats; 0 takes the server's."""
    session: int
    """The session to resume; 0 opens a new one."""
    secret: bytes = field(repr=False)
    """The secret of that session; zeros without one."""
    client_name: str
    """At most 64 bytes, for the server's logs."""
    token: bytes = field(repr=False)
    """Authentication token, at most 256 bytes; empty for none."""


@dataclass(frozen=True, slots=True)
class Ping(Request):
    """Asks for a PONG."""

    OPCODE = 0x02
    NAME = "PING"
    IS_REPEATABLE = True


@dataclass(frozen=True, slots=True)
class Goodbye(Request):
    """Ends the session: its leases are given back at once (unless they outlive it)."""

    OPCODE = 0x03
    NAME = "GOODBYE"
    IS_REPEATABLE = True


@dataclass(frozen=True, slots=True)
class Push(Request):
    """Adds jobs to one topic."""

    OPCODE = 0x10
    NAME = "PUSH"
    IS_REPEATABLE = True
    sequence: int
    """Number of the first job, see exactly-once push; 0 for no protection against repeats."""
    topic: str
    """The topic of all jobs."""
    jobs: tuple[PushJob, ...]
    """1 to `push_jobs_max` jobs."""
    idempotency: int = 0
    """Instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for none."""
    list_jobs: int = 0
    """How many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH is
    the whole list.
    """


@dataclass(frozen=True, slots=True)
class Reserve(Request):
    """Long-poll: waits for jobs of some topics."""

    OPCODE = 0x20
    NAME = "RESERVE"
    IS_REPEATABLE = True
    wait_ms: int
    """Answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a
    change.
    """
    jobs_max: int
    """1 to `reserve_jobs_max`."""
    topics: tuple[str, ...]
    """1 to 64 topics."""
    weights: tuple[int, ...] = ()
    """One per topic, in the same order, each at least 1; empty or absent for no weights."""


@dataclass(frozen=True, slots=True)
class Subscribe(Request):
    """Asks for jobs to be sent as they become ready."""

    OPCODE = 0x21
    NAME = "SUBSCRIBE"
    IS_REPEATABLE = True
    credit_jobs: int
    """Most jobs held at once, at most 65,536."""
    credit_bytes: int
    """Most bytes of bodies held at once, at most 268,435,456."""
    topics: tuple[str, ...]
    """As in RESERVE."""
    weights: tuple[int, ...] = ()
    """As in RESERVE."""


@dataclass(frozen=True, slots=True)
class Credit(Request):
    """Adds credit to a subscription."""

    OPCODE = 0x22
    NAME = "CREDIT"
    IS_REPEATABLE = False
    subscription: int
    """The request id of SUBSCRIBE."""
    credit_jobs: int
    """More jobs, at most 65,536."""
    credit_bytes: int
    """More bytes, at most 268,435,456."""


@dataclass(frozen=True, slots=True)
class Unsubscribe(Request):
    """Ends a subscription; jobs already sent stay leased."""

    OPCODE = 0x23
    NAME = "UNSUBSCRIBE"
    IS_REPEATABLE = False
    subscription: int
    """The request id of SUBSCRIBE."""


@dataclass(frozen=True, slots=True)
class Cancel(Request):
    """Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly
    none.
    """

    OPCODE = 0x24
    NAME = "CANCEL"
    IS_REPEATABLE = False
    request: int
    """The request id of RESERVE."""


@dataclass(frozen=True, slots=True)
class Leases(Request):
    """Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are
    not among them.
    """

    OPCODE = 0x25
    NAME = "LEASES"
    IS_REPEATABLE = True
    after: int
    """A job id: list only later ones. 0 for the first page."""
    jobs_max: int
    """1 to `reserve_jobs_max`."""


@dataclass(frozen=True, slots=True)
class ReserveJob(Request):
    """Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back."""

    OPCODE = 0x26
    NAME = "RESERVE_JOB"
    IS_REPEATABLE = False
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class Finish(Request):
    """Says that jobs are done: they are removed."""

    OPCODE = 0x30
    NAME = "FINISH"
    IS_REPEATABLE = True
    leases: tuple[LeaseRef, ...]
    """1 to `leases_max` leases."""


@dataclass(frozen=True, slots=True)
class Release(Request):
    """Gives jobs back, to be attempted again."""

    OPCODE = 0x31
    NAME = "RELEASE"
    IS_REPEATABLE = True
    delay_ms: int
    """Whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that `RELEASE_`
    begins.
    """
    leases: tuple[LeaseRef, ...]
    """1 to `leases_max` leases."""
    reason: str = ""
    """What each job shows as its last reason from now on, at most 1,024 bytes; empty for none."""


@dataclass(frozen=True, slots=True)
class Touch(Request):
    """Starts the time to run anew."""

    OPCODE = 0x32
    NAME = "TOUCH"
    IS_REPEATABLE = True
    ttr_ms: int
    """The leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own."""
    leases: tuple[LeaseRef, ...]
    """1 to `leases_max` leases."""


@dataclass(frozen=True, slots=True)
class Bury(Request):
    """Sets jobs aside until somebody kicks them."""

    OPCODE = 0x33
    NAME = "BURY"
    IS_REPEATABLE = True
    leases: tuple[LeaseRef, ...]
    """1 to `leases_max` leases."""
    reason: str = ""
    """As in RELEASE."""


@dataclass(frozen=True, slots=True)
class Get(Request):
    """Reads one job."""

    OPCODE = 0x40
    NAME = "GET"
    IS_REPEATABLE = True
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class Delete(Request):
    """Removes one job, whatever its state."""

    OPCODE = 0x41
    NAME = "DELETE"
    IS_REPEATABLE = False
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class Reschedule(Request):
    """Gives one delayed or ready job a new due time; a buried one is kicked first."""

    OPCODE = 0x42
    NAME = "RESCHEDULE"
    IS_REPEATABLE = False
    due_ms: int
    """With due_kind: the due point."""
    due_kind: DueKind | int
    """How due_ms counts."""
    job: JobRef
    """The job."""
    if_version: int = 0
    """Only if the job is still of this version; absent or 0: in any case."""


@dataclass(frozen=True, slots=True)
class RunNow(Request):
    """Makes one delayed job ready at once."""

    OPCODE = 0x43
    NAME = "RUN_NOW"
    IS_REPEATABLE = False
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class Kick(Request):
    """Makes one buried job ready."""

    OPCODE = 0x44
    NAME = "KICK"
    IS_REPEATABLE = False
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class Peek(Request):
    """Reads the next job of a topic without reserving it: the first ready one, else the first delayed."""

    OPCODE = 0x45
    NAME = "PEEK"
    IS_REPEATABLE = True
    topic: str
    """The topic to look at."""


@dataclass(frozen=True, slots=True)
class KickMany(Request):
    """Makes buried jobs of a topic ready: by priority, then by when they were due, then by id."""

    OPCODE = 0x46
    NAME = "KICK_MANY"
    IS_REPEATABLE = False
    jobs_max: int
    """Most jobs to kick: 1 to `KICK_JOBS_MAX`."""
    topic: str
    """The topic of the buried jobs."""


@dataclass(frozen=True, slots=True)
class List(Request):
    """Shows jobs, a page at a time."""

    OPCODE = 0x47
    NAME = "LIST"
    IS_REPEATABLE = True
    jobs_max: int
    """Most jobs on the page: 1 to `LIST_JOBS_MAX`."""
    order: ListOrder | int
    """In which order."""
    with_bodies: bool
    """Show bodies."""
    cursor: bytes
    """The cursor of the previous page; empty for the first page."""
    filter: Filter
    """The conditions that the jobs meet."""


@dataclass(frozen=True, slots=True)
class Count(Request):
    """Counts the jobs that match, all together or by when they are due."""

    OPCODE = 0x48
    NAME = "COUNT"
    IS_REPEATABLE = True
    filter: Filter
    """The conditions that the jobs meet, as in LIST."""
    bars: int = 0
    """Counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together."""
    bars_from_ms: int = 0
    """Where the first bar begins, on the wall clock, in milliseconds."""
    bar_ms: int = 0
    """The width of a bar in milliseconds, at least 1 if there are bars."""


@dataclass(frozen=True, slots=True)
class Bulk(Request):
    """Does the same to many jobs, a bounded number with each request."""

    OPCODE = 0x49
    NAME = "BULK"
    IS_REPEATABLE = False
    jobs_max: int
    """Most jobs to change in this step: 1 to `BULK_JOBS_MAX`."""
    change: BulkChange | int
    """What to do to each: the same effect as the request for one job."""
    due_ms: int
    """For 3: the new due time, on the wall clock. Else 0, which is not looked at."""
    cursor: bytes
    """The cursor of the previous step; empty for the first step."""
    filter: Filter
    """The conditions that the jobs meet, as in LIST."""
    to: str = ""
    """With 4: the topic to which the jobs go. Else absent or empty."""


@dataclass(frozen=True, slots=True)
class Edit(Request):
    """Changes parts of one delayed, ready or buried job."""

    OPCODE = 0x4A
    NAME = "EDIT"
    IS_REPEATABLE = False
    due_ms: int
    """With due_kind: the new due point."""
    priority: int
    """The new priority, as in PUSH."""
    ttr_ms: int
    """The new time of a lease, as in PUSH."""
    edits_due: bool
    """When it is due."""
    edits_priority: bool
    """Its priority."""
    edits_ttr: bool
    """How long a lease lasts."""
    edits_body: bool
    """Its body, and with it the header `content-type`."""
    edits_headers: bool
    """Its other headers, and `content-type` if it is given."""
    edits_expires: bool
    """When it expires."""
    edits_attempts_max: bool
    """How many attempts it has."""
    edits_backoff: bool
    """The wait between attempts."""
    edits_dedupe_retention: bool
    """How long it is remembered."""
    edits_group: bool
    """The group that it belongs to."""
    due_kind: DueKind | int
    """How due_ms counts."""
    job: JobRef
    """The job."""
    attributes: Attributes
    """The new attributes of the parts that change. One that is missing here is taken away: the topic's default then
    counts, if there is one.
    """
    body: bytes
    """The new body; at most `body_bytes_max` bytes."""
    if_version: int = 0
    """Only if the job is still of this version; absent or 0: in any case."""


@dataclass(frozen=True, slots=True)
class Pause(Request):
    """Stops the reserving of a topic's jobs."""

    OPCODE = 0x50
    NAME = "PAUSE"
    IS_REPEATABLE = True
    topic: str
    """The topic to pause."""
    for_ms: int = 0
    """The pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until
    RESUME.
    """


@dataclass(frozen=True, slots=True)
class Resume(Request):
    """Starts it again."""

    OPCODE = 0x51
    NAME = "RESUME"
    IS_REPEATABLE = True
    topic: str
    """The topic to resume."""


@dataclass(frozen=True, slots=True)
class Topics(Request):
    """Counts by topic."""

    OPCODE = 0x52
    NAME = "TOPICS"
    IS_REPEATABLE = True


@dataclass(frozen=True, slots=True)
class Stats(Request):
    """Counts of the whole queue, and by topic."""

    OPCODE = 0x53
    NAME = "STATS"
    IS_REPEATABLE = True


@dataclass(frozen=True, slots=True)
class Connections(Request):
    """Lists the clients that are connected to this node, by number."""

    OPCODE = 0x54
    NAME = "CONNECTIONS"
    IS_REPEATABLE = True
    after: int
    """Only higher numbers; 0 for the first page."""
    connections_max: int
    """1 to `CONNECTIONS_LISTED_MAX`."""


@dataclass(frozen=True, slots=True)
class Disconnect(Request):
    """Closes the connection of another client to this node."""

    OPCODE = 0x55
    NAME = "DISCONNECT"
    IS_REPEATABLE = False
    connection: int
    """Its number, as CONNECTION_LIST shows it."""
    ends_session: bool
    """Also end its session."""


@dataclass(frozen=True, slots=True)
class TopicSet(Request):
    """Changes what a topic decides for its jobs. The topic is made if it is new."""

    OPCODE = 0x56
    NAME = "TOPIC_SET"
    IS_REPEATABLE = True
    topic: str
    """The topic whose policy changes."""
    policy: TopicPolicy
    """The settings to change, in rising order of their tags. An empty value takes a setting away."""


@dataclass(frozen=True, slots=True)
class TopicDelete(Request):
    """Forgets a topic that has no jobs, with its settings."""

    OPCODE = 0x57
    NAME = "TOPIC_DELETE"
    IS_REPEATABLE = False
    topic: str
    """The topic to forget."""


@dataclass(frozen=True, slots=True)
class TopicShow(Request):
    """Reads what a topic decides for its jobs."""

    OPCODE = 0x58
    NAME = "TOPIC_SHOW"
    IS_REPEATABLE = True
    topic: str
    """The topic that is asked for."""


@dataclass(frozen=True, slots=True)
class Advance(Request):
    """Moves the clock of a server for tests. Answered when everything that is due by then is carried out."""

    OPCODE = 0x59
    NAME = "ADVANCE"
    IS_REPEATABLE = False
    step: Step | int
    """How far the clock moves."""
    by_ms: int
    """With 0: the duration; else 0, which is not looked at."""


@dataclass(frozen=True, slots=True)
class BackupBegin(Request):
    """Asks for a backup of the state as it is now, to be read over this connection."""

    OPCODE = 0x60
    NAME = "BACKUP_BEGIN"
    IS_REPEATABLE = False


@dataclass(frozen=True, slots=True)
class BackupRead(Request):
    """Reads a part of that backup."""

    OPCODE = 0x61
    NAME = "BACKUP_READ"
    IS_REPEATABLE = False
    offset: int
    """Where the part begins."""
    bytes: int
    """Most bytes of it: 1 to `BACKUP_READ_BYTES_MAX`."""


@dataclass(frozen=True, slots=True)
class BackupEnd(Request):
    """Lets go of it. The end of the connection does the same."""

    OPCODE = 0x62
    NAME = "BACKUP_END"
    IS_REPEATABLE = False


@dataclass(frozen=True, slots=True)
class SchedulePreview(Request):
    """Says when a schedule with these rules would fire, without setting it."""

    OPCODE = 0x6F
    NAME = "SCHEDULE_PREVIEW"
    IS_REPEATABLE = True
    rules: ScheduleRules
    """When it fires. Without an origin, `@every` counts from *start_ms*, or else from *from_ms*."""
    from_ms: int
    """Only instants after this time; 0 for now."""
    instants_max: int
    """1 to `INSTANTS_SHOWN_MAX`."""


@dataclass(frozen=True, slots=True)
class ClusterStatus(Request):
    """Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for
    anything else.
    """

    OPCODE = 0x70
    NAME = "CLUSTER_STATUS"
    IS_REPEATABLE = True


@dataclass(frozen=True, slots=True)
class ClusterAdd(Request):
    """Adds the node that listens for its peers at an address; it votes when it has caught up."""

    OPCODE = 0x71
    NAME = "CLUSTER_ADD"
    IS_REPEATABLE = False
    address: str
    """Where it listens for its peers, as `host:port`."""


@dataclass(frozen=True, slots=True)
class ClusterRemove(Request):
    """Removes a member. It cannot come back under its number."""

    OPCODE = 0x72
    NAME = "CLUSTER_REMOVE"
    IS_REPEATABLE = False
    node: int
    """The member's number."""


@dataclass(frozen=True, slots=True)
class ClusterTransfer(Request):
    """Hands leadership to another member."""

    OPCODE = 0x73
    NAME = "CLUSTER_TRANSFER"
    IS_REPEATABLE = False
    node: int
    """To which; 0 leaves it to the leader."""


@dataclass(frozen=True, slots=True)
class GroupSet(Request):
    """Changes the settings of one group. With weight 1 and not paused it has none."""

    OPCODE = 0x74
    NAME = "GROUP_SET"
    IS_REPEATABLE = True
    weight: int
    """How many jobs it gives at a turn, 1 to `GROUP_WEIGHT_MAX`; 0: as before."""
    pause: PauseChange | int
    """Whether it is paused or resumed."""
    topic: str
    """Its topic."""
    group: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class GroupList(Request):
    """Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name."""

    OPCODE = 0x75
    NAME = "GROUP_LIST"
    IS_REPEATABLE = True
    groups_max: int
    """1 to `GROUPS_LISTED_MAX`."""
    topic: str
    """Their topic."""
    after: str
    """Only those with names after this one; empty for the first page, and then what the page before says."""
    prefix: str
    """Only those whose names begin like this."""


@dataclass(frozen=True, slots=True)
class Why(Request):
    """Says why a job is not running."""

    OPCODE = 0x76
    NAME = "WHY"
    IS_REPEATABLE = True
    job: JobRef
    """The job."""


@dataclass(frozen=True, slots=True)
class TopicWhy(Request):
    """Says why a topic, or one of its groups, gives no job."""

    OPCODE = 0x77
    NAME = "TOPIC_WHY"
    IS_REPEATABLE = True
    topic: str
    """The topic."""
    group: str
    """The group; empty for the whole topic."""


@dataclass(frozen=True, slots=True)
class ScheduleSet(Request):
    """Creates a schedule, or gives the one of this name another content. The topic is made if it is new."""

    OPCODE = 0x78
    NAME = "SCHEDULE_SET"
    IS_REPEATABLE = False
    topic: str
    """The topic of its jobs. The token needs the right to push there, too."""
    name: str
    """Its name, unique in the topic."""
    rules: ScheduleRules
    """When it fires."""
    template: JobTemplate
    """Its jobs."""
    if_version: int = 0
    """Only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case."""


@dataclass(frozen=True, slots=True)
class ScheduleShow(Request):
    """Reads one schedule, and what it did of late."""

    OPCODE = 0x79
    NAME = "SCHEDULE_SHOW"
    IS_REPEATABLE = True
    topic: str
    """The topic of its jobs."""
    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class ScheduleList(Request):
    """Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in
    the order in which they were made.
    """

    OPCODE = 0x7A
    NAME = "SCHEDULE_LIST"
    IS_REPEATABLE = True
    schedules_max: int
    """1 to `SCHEDULES_LISTED_MAX`."""
    next_before_ms: int
    """Only those with a next instant before this one; 0 for all."""
    paused: WhichPaused | int
    """Only those that are paused, or those that are not."""
    topic: str
    """The topic of their jobs; empty for all topics."""
    prefix: str
    """Only those whose names begin like this."""
    cursor: bytes
    """The cursor of the previous page; empty for the first page."""


@dataclass(frozen=True, slots=True)
class ScheduleDelete(Request):
    """Forgets a schedule. Its jobs stay."""

    OPCODE = 0x7B
    NAME = "SCHEDULE_DELETE"
    IS_REPEATABLE = False
    topic: str
    """The topic of its jobs."""
    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class SchedulePause(Request):
    """Lets a schedule fire no more until it is resumed."""

    OPCODE = 0x7C
    NAME = "SCHEDULE_PAUSE"
    IS_REPEATABLE = True
    topic: str
    """The topic of its jobs."""
    name: str
    """Its name."""
    note: str = ""
    """Why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it."""


@dataclass(frozen=True, slots=True)
class ScheduleResume(Request):
    """Lets a paused schedule fire again. *missed* says what happens to the instants that passed."""

    OPCODE = 0x7D
    NAME = "SCHEDULE_RESUME"
    IS_REPEATABLE = True
    topic: str
    """The topic of its jobs."""
    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class ScheduleRun(Request):
    """Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays."""

    OPCODE = 0x7E
    NAME = "SCHEDULE_RUN"
    IS_REPEATABLE = False
    topic: str
    """The topic of its jobs."""
    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class ScheduleFill(Request):
    """Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the
    topic has a job with the key of the instant.
    """

    OPCODE = 0x7F
    NAME = "SCHEDULE_FILL"
    IS_REPEATABLE = False
    from_ms: int
    """The first time that counts; for the next part what the part before says."""
    to_ms: int
    """The last time that counts. It must not be ahead."""
    dry_run: int
    """1: it pushes nothing, and counts the instants."""
    topic: str
    """The topic of its jobs. The token needs the right to read there, too; for a dry run that right alone."""
    name: str
    """Its name."""


def _head_of(one: PushJob) -> bytes:
    key = text(one.key) if one.key else b""
    attributes = b"" if one.attributes is NO_ATTRIBUTES else one.attributes.encode()
    fixed = _NEW_JOB.pack(
        one.due_ms, one.priority, one.ttr_ms, one.due_kind, one.if_exists, len(key), len(attributes), len(one.body)
    )
    return fixed + key + attributes


def _write_hello(one: Hello, parts: list[bytes]) -> None:
    client_name = text(one.client_name)
    parts.append(
        _HELLO.pack(
            MAGIC,
            one.version_min,
            one.version_max,
            int(one.leases_outlive) | bool(one.without_session) << 1,
            one.heartbeat_ms,
            one.session,
            one.secret,
            len(client_name),
        )
    )
    parts.append(client_name)
    parts += (U16.pack(len(one.token)), one.token)


def _write_ping(one: Ping, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_goodbye(one: Goodbye, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_push(one: Push, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_PUSH.pack(one.sequence, len(topic)), topic)
    parts.append(LIST_HEAD.pack(26, len(one.jobs)))
    for job in one.jobs:
        parts += (job.head, job.body)
    if one.idempotency or one.list_jobs:
        parts.append(_PUSH_2.pack(one.idempotency.to_bytes(16, "little")))
        if one.list_jobs:
            parts.append(U32.pack(one.list_jobs))


def _write_reserve(one: Reserve, parts: list[bytes]) -> None:
    topics = [text(topic) for topic in one.topics]
    parts.append(_RESERVE.pack(one.wait_ms, one.jobs_max, 1, len(one.topics)))
    for topic in topics:
        parts += (U8.pack(len(topic)), topic)
    if one.weights:
        parts.append(LIST_HEAD.pack(2, len(one.weights)))
        parts += [U16.pack(weight) for weight in one.weights]


def _write_subscribe(one: Subscribe, parts: list[bytes]) -> None:
    topics = [text(topic) for topic in one.topics]
    parts.append(_SUBSCRIBE.pack(one.credit_jobs, one.credit_bytes, 1, len(one.topics)))
    for topic in topics:
        parts += (U8.pack(len(topic)), topic)
    if one.weights:
        parts.append(LIST_HEAD.pack(2, len(one.weights)))
        parts += [U16.pack(weight) for weight in one.weights]


def _write_credit(one: Credit, parts: list[bytes]) -> None:
    parts.append(_CREDIT.pack(one.subscription, one.credit_jobs, one.credit_bytes))


def _write_unsubscribe(one: Unsubscribe, parts: list[bytes]) -> None:
    parts.append(U32.pack(one.subscription))


def _write_cancel(one: Cancel, parts: list[bytes]) -> None:
    parts.append(U32.pack(one.request))


def _write_leases(one: Leases, parts: list[bytes]) -> None:
    parts.append(_LEASES.pack(one.after, one.jobs_max))


def _write_reserve_job(one: ReserveJob, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_finish(one: Finish, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(16, len(one.leases)))
    parts += [_LEASE.pack(lease.job, lease.fence) for lease in one.leases]


def _write_release(one: Release, parts: list[bytes]) -> None:
    parts.append(_RELEASE.pack(one.delay_ms, 16, len(one.leases)))
    parts += [_LEASE.pack(lease.job, lease.fence) for lease in one.leases]
    if one.reason:
        reason = text(one.reason)
        parts += (U16.pack(len(reason)), reason)


def _write_touch(one: Touch, parts: list[bytes]) -> None:
    parts.append(_TOUCH.pack(one.ttr_ms, 16, len(one.leases)))
    parts += [_LEASE.pack(lease.job, lease.fence) for lease in one.leases]


def _write_bury(one: Bury, parts: list[bytes]) -> None:
    parts.append(LIST_HEAD.pack(16, len(one.leases)))
    parts += [_LEASE.pack(lease.job, lease.fence) for lease in one.leases]
    if one.reason:
        reason = text(one.reason)
        parts += (U16.pack(len(reason)), reason)


def _write_get(one: Get, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_delete(one: Delete, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_reschedule(one: Reschedule, parts: list[bytes]) -> None:
    parts.append(_RESCHEDULE.pack(one.due_ms, one.due_kind))
    parts.append(one.job.encode())
    if one.if_version:
        parts.append(U64.pack(one.if_version))


def _write_run_now(one: RunNow, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_kick(one: Kick, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_peek(one: Peek, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)


def _write_kick_many(one: KickMany, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_KICK_MANY.pack(one.jobs_max, len(topic)), topic)


def _write_list(one: List, parts: list[bytes]) -> None:
    parts += (_LIST.pack(one.jobs_max, one.order, int(one.with_bodies), len(one.cursor)), one.cursor)
    filter_ = one.filter.encode()
    parts += (U16.pack(len(filter_)), filter_)


def _write_count(one: Count, parts: list[bytes]) -> None:
    filter_ = one.filter.encode()
    parts += (U16.pack(len(filter_)), filter_)
    if one.bars or one.bars_from_ms or one.bar_ms:
        parts.append(U32.pack(one.bars))
        if one.bars_from_ms or one.bar_ms:
            parts.append(U64.pack(one.bars_from_ms))
            if one.bar_ms:
                parts.append(U64.pack(one.bar_ms))


def _write_bulk(one: Bulk, parts: list[bytes]) -> None:
    parts += (_BULK.pack(one.jobs_max, one.change, one.due_ms, len(one.cursor)), one.cursor)
    filter_ = one.filter.encode()
    parts += (U16.pack(len(filter_)), filter_)
    if one.to:
        to = text(one.to)
        parts += (U8.pack(len(to)), to)


def _write_edit(one: Edit, parts: list[bytes]) -> None:
    parts.append(
        _EDIT.pack(
            one.due_ms,
            one.priority,
            one.ttr_ms,
            int(one.edits_due)
            | bool(one.edits_priority) << 1
            | bool(one.edits_ttr) << 2
            | bool(one.edits_body) << 3
            | bool(one.edits_headers) << 4
            | bool(one.edits_expires) << 5
            | bool(one.edits_attempts_max) << 6
            | bool(one.edits_backoff) << 7
            | bool(one.edits_dedupe_retention) << 8
            | bool(one.edits_group) << 9,
            one.due_kind,
        )
    )
    parts.append(one.job.encode())
    attributes = b"" if one.attributes is NO_ATTRIBUTES else one.attributes.encode()
    parts += (U16.pack(len(attributes)), attributes)
    parts += (U32.pack(len(one.body)), one.body)
    if one.if_version:
        parts.append(U64.pack(one.if_version))


def _write_pause(one: Pause, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    if one.for_ms:
        parts.append(U64.pack(one.for_ms))


def _write_resume(one: Resume, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)


def _write_topics(one: Topics, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_stats(one: Stats, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_connections(one: Connections, parts: list[bytes]) -> None:
    parts.append(_CONNECTIONS.pack(one.after, one.connections_max))


def _write_disconnect(one: Disconnect, parts: list[bytes]) -> None:
    parts.append(_DISCONNECT.pack(one.connection, int(one.ends_session)))


def _write_topic_set(one: TopicSet, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    settings = one.policy.encode()
    parts += (U16.pack(len(settings)), settings)


def _write_topic_delete(one: TopicDelete, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)


def _write_topic_show(one: TopicShow, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)


def _write_advance(one: Advance, parts: list[bytes]) -> None:
    parts.append(_ADVANCE.pack(one.step, one.by_ms))


def _write_backup_begin(one: BackupBegin, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_backup_read(one: BackupRead, parts: list[bytes]) -> None:
    parts.append(_BACKUP_READ.pack(one.offset, one.bytes))


def _write_backup_end(one: BackupEnd, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_schedule_preview(one: SchedulePreview, parts: list[bytes]) -> None:
    when = text(one.rules.when)
    zone = text(one.rules.zone)
    key = text(one.rules.key) if one.rules.key else b""
    note = text(one.rules.note)
    parts.append(
        _SCHEDULE_PREVIEW.pack(
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
    parts.append(_SCHEDULE_PREVIEW_2.pack(one.from_ms, one.instants_max))


def _write_cluster_status(one: ClusterStatus, parts: list[bytes]) -> None:
    """It has no fields."""


def _write_cluster_add(one: ClusterAdd, parts: list[bytes]) -> None:
    address = text(one.address)
    parts += (U8.pack(len(address)), address)


def _write_cluster_remove(one: ClusterRemove, parts: list[bytes]) -> None:
    parts.append(U64.pack(one.node))


def _write_cluster_transfer(one: ClusterTransfer, parts: list[bytes]) -> None:
    parts.append(U64.pack(one.node))


def _write_group_set(one: GroupSet, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_GROUP_SET.pack(one.weight, one.pause, len(topic)), topic)
    group = text(one.group)
    parts += (U8.pack(len(group)), group)


def _write_group_list(one: GroupList, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_GROUP_LIST.pack(one.groups_max, len(topic)), topic)
    after = text(one.after)
    parts += (U8.pack(len(after)), after)
    prefix = text(one.prefix)
    parts += (U8.pack(len(prefix)), prefix)


def _write_why(one: Why, parts: list[bytes]) -> None:
    parts.append(one.job.encode())


def _write_topic_why(one: TopicWhy, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    group = text(one.group)
    parts += (U8.pack(len(group)), group)


def _write_schedule_set(one: ScheduleSet, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)
    when = text(one.rules.when)
    zone = text(one.rules.zone)
    key = text(one.rules.key) if one.rules.key else b""
    note = text(one.rules.note)
    parts.append(
        _SCHEDULE_SET.pack(
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
    parts.append(
        _SCHEDULE_SET_2.pack(one.template.priority, one.template.ttr_ms, len(attributes), len(one.template.body))
    )
    parts += (attributes, one.template.body)
    if one.if_version:
        parts.append(U32.pack(one.if_version))


def _write_schedule_show(one: ScheduleShow, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)


def _write_schedule_list(one: ScheduleList, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_SCHEDULE_LIST.pack(one.schedules_max, one.next_before_ms, one.paused, len(topic)), topic)
    prefix = text(one.prefix)
    parts += (U8.pack(len(prefix)), prefix)
    parts += (U16.pack(len(one.cursor)), one.cursor)


def _write_schedule_delete(one: ScheduleDelete, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)


def _write_schedule_pause(one: SchedulePause, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)
    if one.note:
        note = text(one.note)
        parts += (U16.pack(len(note)), note)


def _write_schedule_resume(one: ScheduleResume, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)


def _write_schedule_run(one: ScheduleRun, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (U8.pack(len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)


def _write_schedule_fill(one: ScheduleFill, parts: list[bytes]) -> None:
    topic = text(one.topic)
    parts += (_SCHEDULE_FILL.pack(one.from_ms, one.to_ms, one.dry_run, len(topic)), topic)
    name = text(one.name)
    parts += (U8.pack(len(name)), name)


WRITERS: dict[int, Callable[[Any, list[bytes]], None]] = {
    0x01: _write_hello,
    0x02: _write_ping,
    0x03: _write_goodbye,
    0x10: _write_push,
    0x20: _write_reserve,
    0x21: _write_subscribe,
    0x22: _write_credit,
    0x23: _write_unsubscribe,
    0x24: _write_cancel,
    0x25: _write_leases,
    0x26: _write_reserve_job,
    0x30: _write_finish,
    0x31: _write_release,
    0x32: _write_touch,
    0x33: _write_bury,
    0x40: _write_get,
    0x41: _write_delete,
    0x42: _write_reschedule,
    0x43: _write_run_now,
    0x44: _write_kick,
    0x45: _write_peek,
    0x46: _write_kick_many,
    0x47: _write_list,
    0x48: _write_count,
    0x49: _write_bulk,
    0x4A: _write_edit,
    0x50: _write_pause,
    0x51: _write_resume,
    0x52: _write_topics,
    0x53: _write_stats,
    0x54: _write_connections,
    0x55: _write_disconnect,
    0x56: _write_topic_set,
    0x57: _write_topic_delete,
    0x58: _write_topic_show,
    0x59: _write_advance,
    0x60: _write_backup_begin,
    0x61: _write_backup_read,
    0x62: _write_backup_end,
    0x6F: _write_schedule_preview,
    0x70: _write_cluster_status,
    0x71: _write_cluster_add,
    0x72: _write_cluster_remove,
    0x73: _write_cluster_transfer,
    0x74: _write_group_set,
    0x75: _write_group_list,
    0x76: _write_why,
    0x77: _write_topic_why,
    0x78: _write_schedule_set,
    0x79: _write_schedule_show,
    0x7A: _write_schedule_list,
    0x7B: _write_schedule_delete,
    0x7C: _write_schedule_pause,
    0x7D: _write_schedule_resume,
    0x7E: _write_schedule_run,
    0x7F: _write_schedule_fill,
}
"""What writes the payload of each request, by its opcode."""
