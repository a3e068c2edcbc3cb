"""Responses: what a server sends.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from .elements import NO_ATTRIBUTES, Attributes, TopicPolicy
from .numbers import (
    BURIED_REASONS,
    EFFECTS,
    ERROR_CODES,
    FIRING_OUTCOMES,
    GOING_AWAY_REASONS,
    HOLD_REASONS,
    JOB_STATES,
    MEMBER_ROLES,
    PAUSED_REASONS,
    PUSH_OUTCOMES,
    BuriedReason,
    Dst,
    Effect,
    ErrorCode,
    FiringOutcome,
    GoingAwayReason,
    HoldReason,
    JobState,
    MemberRole,
    Missed,
    Overlap,
    PausedReason,
    PushOutcome,
)
from .requests import JobTemplate, LeaseRef, ScheduleRules
from .wire import (
    U8,
    U16,
    U32,
    U64,
    bytes_at,
    cut_off,
    late,
    late_text,
    list_at,
    records,
    text_at,
    texts_at,
    unpacker,
)

_BACKUP_READY = struct.Struct("<QQ16sQ")
_BULKED = struct.Struct("<IH")
_CHANGED = struct.Struct("<QQB")
_CLUSTER_REPORT = struct.Struct("<Q16sQQQQI")
_CONNECTION = struct.Struct("<QQQIIIQQQBBBB")
_DELIVERED = struct.Struct("<QQQIIIBHHIQ")
_DUE_BAR = struct.Struct("<QQ")
_ERROR = struct.Struct("<HBBIB")
_FIRING = struct.Struct("<QQQQQB")
_GROUP_STATE = struct.Struct("<QQQQIBBB")
_JOB = struct.Struct("<QQBBIIIIBHHI")
_LISTED = struct.Struct("<QQBBIIIIBHHIIQQQQBH")
_LISTED_SCHEDULE = struct.Struct("<QQQIIIBBQQQQQIIIBBBHBHHBBH")
_LOCAL_INSTANT = struct.Struct("<QB")
_MEMBER = struct.Struct("<QBB")
_NODE = struct.Struct("<QBBQQqQBB")
_PUSH_RESULT = struct.Struct("<BHQ")
_QUEUE_STATS = struct.Struct("<QQIIIQQ16s")
_REASON = struct.Struct("<BQQQH")
_SCHEDULE = struct.Struct("<QQQQQIIIBBBHBHH")
_SCHEDULED = struct.Struct("<QIQ")
_SCHEDULE_2 = struct.Struct("<IIHI")
_SCHEDULE_FILLED = struct.Struct("<QQIIII")
_SCHEDULE_STATE = struct.Struct("<QQQIIIBB")
_STAGE = struct.Struct("<BQQQQQ")
_TOPIC_COUNT = struct.Struct("<BIQBQQQQQQQQQ")
_TOPIC_SETTINGS = struct.Struct("<QQQBH")
_TOTALS = struct.Struct("<QQQQQQQQQ")
_WELCOME = struct.Struct("<HB16sQ16sIIIIIIIIB")


class Response:
    """A frame that the server sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]
    IS_PROOF: ClassVar[bool]
    """It proves that the session was connected to the leader after the request was sent; a frame of jobs, if it has one."""


@dataclass(slots=True)
class PushedJob:
    """What became of one pushed job."""

    outcome: PushOutcome = PushOutcome.PUSHED
    """What became of it."""
    code: ErrorCode | int = 0
    """Why it was refused: an error code; else 0."""
    job: int = 0
    """The id that the table of outcomes says, or 0."""


@dataclass(slots=True)
class Delivered:
    """A job that is now leased to the session."""

    lease: LeaseRef = LeaseRef(0, 0)
    """A lease on a job."""
    due_ms: int = 0
    """When it was due, on the wall clock."""
    priority: int = 0
    """As pushed."""
    attempts: int = 0
    """Number of times it was reserved, including this one."""
    ttr_left_ms: int = 0
    """Remaining time of the lease when the frame is written."""
    topic: str = ""
    """Its topic."""
    key: str | None = None
    """The user's own id; empty for none."""
    attributes: Attributes = NO_ATTRIBUTES
    """Its attributes; empty for none."""
    body: bytes = b""
    """As pushed."""
    deadline_ms: int = 0
    """When the lease ends, on the clock that WELCOME and PONG of this connection show as `clock_ms`; 0: not shown."""

    @property
    def headers(self) -> dict[str, str]:
        """Its headers. Of headers with the same name, the last one."""
        return dict(self.attributes.headers)


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job as it stands. 0, an empty text or `None` means that it did not happen, or is not known."""

    id: int = 0
    """Its id."""
    due_ms: int = 0
    """When it is or was due, on the wall clock."""
    state: JobState | int = JobState.DELAYED
    """Where it stands."""
    buried: BuriedReason | int = BuriedReason.NOT_BURIED
    """Why it is buried."""
    priority: int = 0
    """As pushed."""
    attempts: int = 0
    """Number of times it was reserved."""
    ttr_ms: int = 0
    """Length of a lease on it."""
    ttr_left_ms: int = 0
    """Remaining time of its lease; 0 when it is not reserved."""
    topic: str = ""
    """Its topic."""
    key: str | None = None
    """The user's own id; empty for none."""
    attributes: Attributes = NO_ATTRIBUTES
    """Its attributes."""
    body: bytes = b""
    """As pushed; empty in a list without bodies."""
    body_bytes: int = 0
    """The length of the body, whether it is shown or not."""
    pushed_ms: int = 0
    """When it was pushed."""
    reserved_first_ms: int = 0
    """When it was first leased."""
    reserved_last_ms: int = 0
    """When it was last leased."""
    edited_ms: int = 0
    """When it was last edited."""
    held_by: str = ""
    """Who got the last lease: the address, the token and the name of the client, as of the start of its session.
    Empty for none, and where the asking token lacks the right `admin` for all topics.
    """
    reason: str = ""
    """The last reason given with a RELEASE or BURY."""
    finished_ms: int = 0
    """When it was finished."""
    version: int = 0
    """Its version; 0 for a finished job that is no longer remembered."""

    @property
    def headers(self) -> dict[str, str]:
        """Its headers. Of headers with the same name, the last one."""
        return dict(self.attributes.headers)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts, of one topic or of all."""

    delayed: int = 0
    """Jobs whose due time lies ahead."""
    ready: int = 0
    """Jobs that wait for a consumer."""
    reserved: int = 0
    """Jobs under a lease."""
    buried: int = 0
    """Jobs set aside."""
    pushed: int = 0
    """Jobs pushed or moved here so far."""
    finished: int = 0
    """Jobs finished so far."""
    deleted: int = 0
    """Jobs deleted, replaced, or moved to another topic so far."""
    expired: int = 0
    """Jobs dropped by their expiry so far."""
    oldest_ready_ms: int = 0
    """Time since the oldest ready job was due; 0 without one."""


@dataclass(frozen=True, slots=True)
class TopicReport:
    """The counts of one topic."""

    paused: bool = False
    """Reserving is stopped."""
    consumers: int = 0
    """Long polls and subscriptions that want its jobs at this moment."""
    late_ms: int = 0
    """How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was
    delivered.
    """
    topic: str = ""
    """Its name."""
    totals: Totals = Totals()
    """Counts, of one topic or of all."""


@dataclass(frozen=True, slots=True)
class StageReport:
    """How long one stage of the work on a node took, over its last minutes. Times are in microseconds."""

    stage: str = ""
    """Its name."""
    count: int = 0
    """How many durations there are."""
    p50_us: int = 0
    """The median."""
    p99_us: int = 0
    """99 % of them are at most this."""
    p999_us: int = 0
    """99.9 % of them are at most this."""
    max_us: int = 0
    """The longest."""


@dataclass(frozen=True, slots=True)
class DueBar:
    """The jobs of a COUNT that are due in a part of a time."""

    start_ms: int = 0
    """Where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first
    item: the jobs before the bars.
    """
    jobs: int = 0
    """How many."""


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """One client that is connected to the node."""

    connection: int = 0
    """Its number. It is never reused, not by another node and not after a restart."""
    session: int = 0
    """The session that it speaks for; 0 before WELCOME, and after the session has ended."""
    since_ms: int = 0
    """When it connected, on the wall clock."""
    leases: int = 0
    """Leases that the session holds, without those that outlive it."""
    subscriptions: int = 0
    """Its subscriptions."""
    reserves: int = 0
    """Its waiting RESERVEs."""
    credit_jobs: int = 0
    """Remaining credit of its subscriptions, in jobs; below 0 counts as 0."""
    credit_bytes: int = 0
    """The same in bytes."""
    unsent_bytes: int = 0
    """Bytes for it that its socket has not yet accepted, as far as known: what it accepted is reported in steps of
    up to 256 KiB, so less than that says nothing.
    """
    has_more_topics: bool = False
    """It waits for more topics than are listed."""
    address: str = ""
    """Its network address."""
    client_name: str = ""
    """The name in its HELLO."""
    topics: tuple[str, ...] = ()
    """Some of the topics that it waits for."""


@dataclass(frozen=True, slots=True)
class Member:
    """One node of the cluster, as clients see it."""

    node: int = 0
    """Its number."""
    leads: bool = False
    """It leads."""
    address: str = ""
    """Where clients connect, as `host:port`. Behind a proxy or NAT, start each node with `--client-address`, or
    clients go round.
    """


@dataclass(frozen=True, slots=True)
class MemberReport:
    """One member of the cluster, as one node sees it. `None`: not known."""

    node: int = 0
    """Its number."""
    role: MemberRole | int = MemberRole.LEARNER
    """What it is. A newer server may have more roles: show them as unknown."""
    is_connected: bool = False
    """The reporting node is connected to it, or is it."""
    same_state: bool | None = None
    """The states are the same."""
    matched: int | None = None
    """The last entry that it has, durable. Only the leader knows it of other members."""
    applied: int | None = None
    """The last entry that it reported as applied."""
    ahead_ms: int | None = None
    """How far its wall clock is ahead of the reporting node's; negative if it is behind."""
    audited: int = 0
    """Members compare the hashes of their states after certain entries: the newest of these that it reported."""
    peer_address: str = ""
    """The address for other members; empty if unknown."""
    client_address: str = ""
    """The address for clients; empty if unknown."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """Where a group stands."""

    ready: int = 0
    """Its jobs that wait for a consumer."""
    reserved: int = 0
    """Its jobs that a consumer has."""
    oldest_ms: int = 0
    """For how long the next of them has been ready; 0 if none is."""
    until_ms: int = 0
    """Until when hold lasts, on the wall clock; 0 if that is not known."""
    weight: int = 0
    """How many jobs it gives at a turn."""
    hold: HoldReason | int = HoldReason.NEXT
    """What holds it back."""
    paused: int = 0
    """1 if an operator paused it."""
    name: str = ""
    """Its name."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a job, a topic or a group gives nothing now."""

    why: HoldReason | int = HoldReason.NEXT
    """The reason."""
    since_ms: int = 0
    """When it began, on the wall clock; 0 if that is not known."""
    until_ms: int = 0
    """When it ends, on the wall clock; 0 if that is not known."""
    jobs: int = 0
    """With `behind`: how many jobs come first; with a limit of leases: how many there are; else 0."""
    text: str = ""
    """One sentence for a person. It may change between versions: decide by the reason."""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """Where a schedule stands."""

    schedule: int = 0
    """Its id."""
    next_ms: int = 0
    """Its next instant; 0 if there is none any more."""
    fired: int = 0
    """Instants at which it pushed a job."""
    version: int = 0
    """How often it was set."""
    running: int = 0
    """Its jobs that have not ended."""
    failures: int = 0
    """Jobs that failed one after another until now."""
    paused: PausedReason | int = PausedReason.NOT_PAUSED
    """Why it does not fire at present."""
    come: bool = False
    """Its next instant has come, and is about to be fired."""
    held: bool = False
    """Its next instant has come, and waits until an earlier job has ended."""


@dataclass(frozen=True, slots=True)
class Firing:
    """What a schedule did at an instant, or at several ones."""

    instant_ms: int = 0
    """The instant; the first of several that it skipped together."""
    last_ms: int = 0
    """The last of them."""
    instants: int = 0
    """How many they are; 10,000 means that or more."""
    at_ms: int = 0
    """When the schedule fired or skipped it."""
    job: int = 0
    """The job that it pushed, or 0."""
    fired: FiringOutcome | int = FiringOutcome.PUSHED
    """What became of it."""


@dataclass(frozen=True, slots=True)
class LocalInstant:
    """An instant, and what the clocks of its zone show."""

    instant_ms: int = 0
    """The instant."""
    local: str = ""
    """Date, time, offset and abbreviation in the zone, for example `2027-03-28 03:00:00 +02:00 CEST`."""


@dataclass(frozen=True, slots=True)
class ListedSchedule:
    """A schedule on a page of a list."""

    state: ScheduleState = ScheduleState()
    """Where a schedule stands."""
    rules: ScheduleRules = ScheduleRules()
    """When a schedule fires, and what it does then."""
    topic: str = ""
    """The topic of its jobs."""
    name: str = ""
    """Its name."""
    pause_note: str = ""
    """What the user who paused it noted; empty for nothing."""


@dataclass(frozen=True, slots=True)
class Welcome(Response):
    """The answer to HELLO."""

    OPCODE = 0x81
    NAME = "WELCOME"
    IS_PROOF = False
    version: int = 0
    """The version in use from now on: the newest that both sides speak."""
    resumed: bool = False
    """The session was resumed."""
    leases_kept: bool = False
    """Its leases were kept."""
    cluster_id: bytes = bytes(16)
    """Id of the cluster. A different id after a reconnect means a different queue."""
    session: int = 0
    """The session, resumed or new; 0 without one."""
    secret: bytes = field(default=bytes(16), repr=False)
    """Needed to resume the session; zeros without one. Keep it as safe as a password: it gives access to the
    session's leases.
    """
    heartbeat_ms: int = 0
    """See heartbeats."""
    session_grace_ms: int = 0
    """How long the queue keeps the leases of a lost connection, see how long a lease is the client's own."""
    frame_bytes_max: int = 0
    """Largest length field of a request."""
    body_bytes_max: int = 0
    """Largest body of a job."""
    push_jobs_max: int = 0
    """Most jobs in one PUSH."""
    leases_max: int = 0
    """Most leases in one FINISH, RELEASE, TOUCH or BURY."""
    reserve_jobs_max: int = 0
    """Most jobs that one RESERVE may ask for."""
    in_flight_max: int = 0
    """Most unanswered requests on the connection."""
    server_name: str = ""
    """For the client's logs."""
    members: tuple[Member, ...] = ()
    """The nodes of the cluster."""
    clock_ms: int = 0
    """Value of the server's monotonic clock; 0 or absent: not shown."""


@dataclass(frozen=True, slots=True)
class Pong(Response):
    """The answer to PING: at some moment after it was sent this node led, and the session was connected to it."""

    OPCODE = 0x82
    NAME = "PONG"
    IS_PROOF = True
    now_ms: int = 0
    """The server's wall clock, in milliseconds."""
    clock_ms: int = 0
    """The server's monotonic clock; 0 or absent: not shown."""


@dataclass(frozen=True, slots=True)
class Done(Response):
    """It is done."""

    OPCODE = 0x83
    NAME = "DONE"
    IS_PROOF = False


@dataclass(frozen=True, slots=True)
class GoingAway(Response):
    """Unasked, under request id 0: the server is about to close the connection."""

    OPCODE = 0x84
    NAME = "GOING_AWAY"
    IS_PROOF = False
    message: str = ""
    """Why, for a person."""
    reason: GoingAwayReason | int = GoingAwayReason.UNKNOWN
    """Why, for the client."""


@dataclass(frozen=True, slots=True)
class Pushed(Response):
    """The outcomes of a PUSH: one per job, in order."""

    OPCODE = 0x90
    NAME = "PUSHED"
    IS_PROOF = True
    results: tuple[PushedJob, ...] = ()
    """One result per job, in order."""


@dataclass(frozen=True, slots=True)
class Reserved(Response):
    """The jobs of a RESERVE; none when the wait was over first."""

    OPCODE = 0xA0
    NAME = "RESERVED"
    IS_PROOF = True
    jobs: tuple[Delivered, ...] = ()
    """The jobs."""


@dataclass(frozen=True, slots=True)
class Subscribed(Response):
    """The answer to SUBSCRIBE. Jobs follow as DELIVER."""

    OPCODE = 0xA1
    NAME = "SUBSCRIBED"
    IS_PROOF = False


@dataclass(frozen=True, slots=True)
class Deliver(Response):
    """Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session."""

    OPCODE = 0xA2
    NAME = "DELIVER"
    IS_PROOF = True
    jobs: tuple[Delivered, ...] = ()
    """The jobs."""


@dataclass(frozen=True, slots=True)
class Leased(Response):
    """A page of the leases that the session holds."""

    OPCODE = 0xA3
    NAME = "LEASED"
    IS_PROOF = True
    has_more: bool = False
    """There are more."""
    jobs: tuple[Delivered, ...] = ()
    """The jobs, by id."""


@dataclass(frozen=True, slots=True)
class Settled(Response):
    """The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order."""

    OPCODE = 0xB0
    NAME = "SETTLED"
    IS_PROOF = True
    results: tuple[ErrorCode | int, ...] = ()
    """One result per lease, in order."""


@dataclass(frozen=True, slots=True)
class Job(Response):
    """One job as it stands."""

    OPCODE = 0xC0
    NAME = "JOB"
    IS_PROOF = True
    job: JobReport = JobReport()
    """The job."""


@dataclass(frozen=True, slots=True)
class Changed(Response):
    """One job was changed."""

    OPCODE = 0xC1
    NAME = "CHANGED"
    IS_PROOF = True
    job: int = 0
    """Its id."""
    due_ms: int = 0
    """When it is due."""
    state: JobState | int = JobState.DELAYED
    """The state in which it is now; for DELETE, the one in which it was."""
    version: int = 0
    """Its version: after the change, and of a deleted job before it."""


@dataclass(frozen=True, slots=True)
class Kicked(Response):
    """Jobs were kicked."""

    OPCODE = 0xC2
    NAME = "KICKED"
    IS_PROOF = True
    jobs: int = 0
    """How many jobs are ready now that were buried."""


@dataclass(frozen=True, slots=True)
class Jobs(Response):
    """A page of jobs."""

    OPCODE = 0xC3
    NAME = "JOBS"
    IS_PROOF = False
    cursor: bytes = b""
    """Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor."""
    jobs: tuple[JobReport, ...] = ()
    """The jobs, in the order that was asked for."""


@dataclass(frozen=True, slots=True)
class Counted(Response):
    """How many jobs match."""

    OPCODE = 0xC4
    NAME = "COUNTED"
    IS_PROOF = False
    jobs: int = 0
    """How many."""
    by_due: tuple[DueBar, ...] = ()
    """If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them."""


@dataclass(frozen=True, slots=True)
class Bulked(Response):
    """How many jobs were changed."""

    OPCODE = 0xC5
    NAME = "BULKED"
    IS_PROOF = False
    jobs: int = 0
    """How many jobs were changed."""
    cursor: bytes = b""
    """Where the next step goes on; empty if this was the last one."""
    skipped: int = 0
    """How many met the conditions and were left as they are: their state does not allow the change, or the topic to
    which they were to go has their key.
    """


@dataclass(frozen=True, slots=True)
class TopicCounts(Response):
    """Counts by topic."""

    OPCODE = 0xD0
    NAME = "TOPIC_COUNTS"
    IS_PROOF = True
    topics: tuple[TopicReport, ...] = ()
    """Each topic, by name."""


@dataclass(frozen=True, slots=True)
class QueueStats(Response):
    """Counts of the queue."""

    OPCODE = 0xD1
    NAME = "QUEUE_STATS"
    IS_PROOF = True
    now_ms: int = 0
    """The server's wall clock, in milliseconds."""
    uptime_ms: int = 0
    """How long the server has been up."""
    connections: int = 0
    """Open connections."""
    sessions: int = 0
    """Sessions that the queue knows."""
    waiting: int = 0
    """Consumers that wait for jobs."""
    applied_index: int = 0
    """The last index that was applied."""
    term: int = 0
    """The Raft term."""
    state_hash: int = 0
    """The hash of the state at that index."""
    totals: Totals = Totals()
    """The sums over all topics."""
    topics: tuple[TopicReport, ...] = ()
    """Each topic, by name."""
    stages: tuple[StageReport, ...] = ()
    """Where the time of the answering node goes."""


@dataclass(frozen=True, slots=True)
class ConnectionList(Response):
    """Clients' connections."""

    OPCODE = 0xD2
    NAME = "CONNECTION_LIST"
    IS_PROOF = True
    has_more: bool = False
    """There are more."""
    connections: tuple[ConnectionReport, ...] = ()
    """The connections, by number."""


@dataclass(frozen=True, slots=True)
class TopicSettings(Response):
    """A topic's policy."""

    OPCODE = 0xD3
    NAME = "TOPIC_SETTINGS"
    IS_PROOF = False
    jobs: int = 0
    """The topic's jobs that are delayed, ready, reserved or buried."""
    bytes: int = 0
    """Bytes of their bodies. Jobs that are remembered count for neither, nor for the limits."""
    pause_left_ms: int = 0
    """How long its pause lasts; 0 if it is not paused, or until RESUME."""
    paused: bool = False
    """Reserving is stopped."""
    attempts_of_server: bool = False
    """*attempts* is the server's default, and not set here."""
    backoff_of_server: bool = False
    """The same of *backoff*."""
    policy: TopicPolicy = TopicPolicy()
    """The settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them."""


@dataclass(frozen=True, slots=True)
class BackupReady(Response):
    """A backup can be read."""

    OPCODE = 0xE0
    NAME = "BACKUP_READY"
    IS_PROOF = False
    index: int = 0
    """The last entry of the log that it contains."""
    jobs: int = 0
    """How many jobs are in it."""
    state_hash: int = 0
    """Hash of the state, as in QUEUE_STATS at that index."""
    bytes: int = 0
    """How many bytes there are to be read: all of the backup but its footer."""


@dataclass(frozen=True, slots=True)
class BackupData(Response):
    """A part of a backup."""

    OPCODE = 0xE1
    NAME = "BACKUP_DATA"
    IS_PROOF = False
    data: bytes = b""
    """The bytes at that offset; fewer than were asked for only at the end."""


@dataclass(frozen=True, slots=True)
class Instants(Response):
    """When a schedule would fire."""

    OPCODE = 0xEF
    NAME = "INSTANTS"
    IS_PROOF = True
    zone_data: str = ""
    """The version and the origin of the zone data, for example `2026f, bundled`."""
    instants: tuple[LocalInstant, ...] = ()
    """The next instants, in order: fewer than were asked for if it fires no more."""


@dataclass(frozen=True, slots=True)
class ClusterReport(Response):
    """The members of the cluster, as one node sees them."""

    OPCODE = 0xF0
    NAME = "CLUSTER_REPORT"
    IS_PROOF = False
    node: int = 0
    """The node that reports."""
    cluster_id: bytes = bytes(16)
    """As in WELCOME."""
    leader: int = 0
    """The leader, as far as it knows; 0 for none."""
    term: int = 0
    """The Raft term, which grows with each election."""
    last: int = 0
    """The last entry in its log."""
    commit: int = 0
    """The last entry that it knows to be committed."""
    feature_level: int = 0
    """What all members support; it rises when all are upgraded."""
    members: tuple[MemberReport, ...] = ()
    """The voters, then the learners. Empty on a node that waits to be added."""


@dataclass(frozen=True, slots=True)
class Groups(Response):
    """A page of groups."""

    OPCODE = 0xF5
    NAME = "GROUPS"
    IS_PROOF = True
    after: str = ""
    """Where the next page begins; empty on the last one."""
    groups: tuple[GroupState, ...] = ()
    """The groups, by name."""


@dataclass(frozen=True, slots=True)
class Reasons(Response):
    """Why a job, a topic or a group gives nothing to a consumer."""

    OPCODE = 0xF6
    NAME = "REASONS"
    IS_PROOF = True
    reasons: tuple[Reason, ...] = ()
    """The reasons, the most important one first; never empty."""


@dataclass(frozen=True, slots=True)
class Scheduled(Response):
    """A schedule is set."""

    OPCODE = 0xF8
    NAME = "SCHEDULED"
    IS_PROOF = True
    schedule: int = 0
    """Its id."""
    version: int = 0
    """How often it was set."""
    next_ms: int = 0
    """Its next instant; 0 if there is none."""


@dataclass(frozen=True, slots=True)
class Schedule(Response):
    """One schedule as it stands."""

    OPCODE = 0xF9
    NAME = "SCHEDULE"
    IS_PROOF = True
    state: ScheduleState = ScheduleState()
    """Where it stands."""
    pause_note: str = ""
    """What the user who paused it noted; empty for nothing."""
    rules: ScheduleRules = ScheduleRules()
    """When it fires."""
    template: JobTemplate = JobTemplate()
    """Its jobs."""
    history: tuple[Firing, ...] = ()
    """What it did of late, the oldest first; at most 20."""


@dataclass(frozen=True, slots=True)
class Schedules(Response):
    """A page of schedules."""

    OPCODE = 0xFA
    NAME = "SCHEDULES"
    IS_PROOF = True
    schedules: tuple[ListedSchedule, ...] = ()
    """The schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it."""
    cursor: bytes = b""
    """Where the next page goes on; empty on the last one."""


@dataclass(frozen=True, slots=True)
class ScheduleRan(Response):
    """A schedule pushed a job."""

    OPCODE = 0xFB
    NAME = "SCHEDULE_RAN"
    IS_PROOF = True
    job: int = 0
    """Its id."""


@dataclass(frozen=True, slots=True)
class ScheduleFilled(Response):
    """A part of a time that has passed is filled, or counted."""

    OPCODE = 0xFC
    NAME = "SCHEDULE_FILLED"
    IS_PROOF = True
    next_ms: int = 0
    """From when the next part goes on; 0 if this was the last one."""
    bytes: int = 0
    """Bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for
    the rates of the token; 0 after a dry run.
    """
    instants: int = 0
    """Instants of the schedule in this part."""
    pushed: int = 0
    """Jobs that were pushed."""
    kept: int = 0
    """Instants whose job is in the topic already, by its key."""
    refused: int = 0
    """Jobs that the topic's policy, or a limit of the queue, does not allow."""


@dataclass(frozen=True, slots=True)
class Error(Response):
    """The request failed as a whole."""

    OPCODE = 0xFF
    NAME = "ERROR"
    IS_PROOF = False
    code: ErrorCode | int = 0
    """Why: an error code."""
    retryable: bool = False
    """The same request may succeed later, as it is."""
    applied: Effect = Effect.NO
    """Its known effect. Read any other number as 1."""
    retry_after_ms: int = 0
    """Do not try again before this time, whatever the code; the mark *retryable* is then set. 0: no hint."""
    leader: str = ""
    """The client address of the leader, for `NOT_LEADER`; empty if unknown."""
    message: str = ""
    """One sentence for a person. It may change between versions: decide by the code."""


def _push_result_list(data: bytes, at: int) -> tuple[tuple[PushedJob, ...], int]:
    found, at = records(_PUSH_RESULT, data, at)
    made = [
        PushedJob(
            PUSH_OUTCOMES.get(outcome, PushOutcome.REFUSED),
            ERROR_CODES.get(code, code) if outcome in PUSH_OUTCOMES else ErrorCode.OUTCOME_UNKNOWN,
            job,
        )
        for outcome, code, job in found
    ]
    return tuple(made), at


def _settle_result_list(data: bytes, at: int) -> tuple[tuple[ErrorCode | int, ...], int]:
    found, at = records(U16, data, at)
    return tuple([ERROR_CODES.get(code, code) for (code,) in found]), at


def _delivered_list(data: bytes, at: int) -> tuple[tuple[Delivered, ...], int]:
    fixed, items, at = list_at(data, at, 45)
    fields = unpacker(_DELIVERED, fixed, (45,))
    found: list[Delivered] = []
    for _ in range(items):
        (
            job,
            fence,
            due_ms,
            priority,
            attempts,
            ttr_left_ms,
            topic_length,
            key_length,
            attributes_length,
            body_length,
            deadline_ms,
        ) = fields(data, at)
        at += fixed
        end = at + topic_length
        topic = data[at:end].decode()
        at = end + key_length
        key = data[end:at].decode()
        end = at + attributes_length
        attributes = Attributes.decode(data[at:end]) if attributes_length else NO_ATTRIBUTES
        at = end + body_length
        body = data[end:at]
        if at > len(data):
            raise cut_off("delivered")
        lease = LeaseRef(job, fence)
        found.append(
            Delivered(lease, due_ms, priority, attempts, ttr_left_ms, topic, key or None, attributes, body, deadline_ms)
        )
    return tuple(found), at


def _listed_list(data: bytes, at: int) -> tuple[tuple[JobReport, ...], int]:
    fixed, items, at = list_at(data, at, 82)
    found: list[JobReport] = []
    for _ in range(items):
        (
            job,
            due_ms,
            state,
            buried,
            priority,
            attempts,
            ttr_ms,
            ttr_left_ms,
            topic_length,
            key_length,
            attributes_length,
            body_length,
            body_bytes,
            pushed_ms,
            reserved_first_ms,
            reserved_last_ms,
            edited_ms,
            held_by_length,
            reason_length,
        ) = _LISTED.unpack_from(data, at)
        at += fixed
        end = at + topic_length
        topic = data[at:end].decode()
        at = end + key_length
        key = data[end:at].decode()
        end = at + attributes_length
        attributes = Attributes.decode(data[at:end]) if attributes_length else NO_ATTRIBUTES
        at = end + body_length
        body = data[end:at]
        end = at + held_by_length
        held_by = data[at:end].decode()
        at = end + reason_length
        reason = data[end:at].decode()
        if at > len(data):
            raise cut_off("listed")
        found.append(
            JobReport(
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
        )
    return tuple(found), at


def _topic_count_list(data: bytes, at: int) -> tuple[tuple[TopicReport, ...], int]:
    fixed, items, at = list_at(data, at, 86)
    found: list[TopicReport] = []
    for _ in range(items):
        (
            marks,
            consumers,
            late_ms,
            topic_length,
            delayed,
            ready,
            reserved,
            buried,
            pushed,
            finished,
            deleted,
            expired,
            oldest_ready_ms,
        ) = _TOPIC_COUNT.unpack_from(data, at)
        at += fixed
        end = at + topic_length
        topic = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("topic_count")
        totals = Totals(delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms)
        found.append(TopicReport(bool(marks & 1), consumers, late_ms, topic, totals))
    return tuple(found), at


def _stage_list(data: bytes, at: int) -> tuple[tuple[StageReport, ...], int]:
    fixed, items, at = list_at(data, at, 41)
    found: list[StageReport] = []
    for _ in range(items):
        stage_length, count, p50_us, p99_us, p999_us, max_us = _STAGE.unpack_from(data, at)
        at += fixed
        end = at + stage_length
        stage = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("stage")
        found.append(StageReport(stage, count, p50_us, p99_us, p999_us, max_us))
    return tuple(found), at


def _due_bar_list(data: bytes, at: int) -> tuple[tuple[DueBar, ...], int]:
    found, at = records(_DUE_BAR, data, at)
    return tuple([DueBar(start_ms, jobs) for start_ms, jobs in found]), at


def _connection_list(data: bytes, at: int) -> tuple[tuple[ConnectionReport, ...], int]:
    fixed, items, at = list_at(data, at, 64)
    found: list[ConnectionReport] = []
    for _ in range(items):
        (
            connection,
            session,
            since_ms,
            leases,
            subscriptions,
            reserves,
            credit_jobs,
            credit_bytes,
            unsent_bytes,
            marks,
            address_length,
            client_name_length,
            topics_length,
        ) = _CONNECTION.unpack_from(data, at)
        at += fixed
        end = at + address_length
        address = data[at:end].decode()
        at = end + client_name_length
        client_name = data[end:at].decode()
        topics, end = texts_at(data, at, topics_length)
        at = end
        if at > len(data):
            raise cut_off("connection")
        found.append(
            ConnectionReport(
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
        )
    return tuple(found), at


def _member_list(data: bytes, at: int) -> tuple[tuple[Member, ...], int]:
    fixed, items, at = list_at(data, at, 10)
    found: list[Member] = []
    for _ in range(items):
        node, marks, address_length = _MEMBER.unpack_from(data, at)
        at += fixed
        end = at + address_length
        address = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("member")
        found.append(Member(node, bool(marks & 1), address))
    return tuple(found), at


def _node_list(data: bytes, at: int) -> tuple[tuple[MemberReport, ...], int]:
    fixed, items, at = list_at(data, at, 44)
    found: list[MemberReport] = []
    for _ in range(items):
        (
            node,
            role,
            marks,
            matched,
            applied,
            ahead_ms,
            audited,
            peer_address_length,
            client_address_length,
        ) = _NODE.unpack_from(data, at)
        at += fixed
        end = at + peer_address_length
        peer_address = data[at:end].decode()
        at = end + client_address_length
        client_address = data[end:at].decode()
        if at > len(data):
            raise cut_off("node")
        found.append(
            MemberReport(
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
        )
    return tuple(found), at


def _group_state_list(data: bytes, at: int) -> tuple[tuple[GroupState, ...], int]:
    fixed, items, at = list_at(data, at, 39)
    found: list[GroupState] = []
    for _ in range(items):
        ready, reserved, oldest_ms, until_ms, weight, hold, paused, name_length = _GROUP_STATE.unpack_from(data, at)
        at += fixed
        end = at + name_length
        name = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("group_state")
        found.append(
            GroupState(ready, reserved, oldest_ms, until_ms, weight, HOLD_REASONS.get(hold, hold), paused, name)
        )
    return tuple(found), at


def _reason_list(data: bytes, at: int) -> tuple[tuple[Reason, ...], int]:
    fixed, items, at = list_at(data, at, 27)
    found: list[Reason] = []
    for _ in range(items):
        why, since_ms, until_ms, jobs, text__length = _REASON.unpack_from(data, at)
        at += fixed
        end = at + text__length
        text_ = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("reason")
        found.append(Reason(HOLD_REASONS.get(why, why), since_ms, until_ms, jobs, text_))
    return tuple(found), at


def _firing_list(data: bytes, at: int) -> tuple[tuple[Firing, ...], int]:
    found, at = records(_FIRING, data, at)
    made = [
        Firing(instant_ms, last_ms, instants, at_ms, job, FIRING_OUTCOMES.get(fired, fired))
        for instant_ms, last_ms, instants, at_ms, job, fired in found
    ]
    return tuple(made), at


def _local_instant_list(data: bytes, at: int) -> tuple[tuple[LocalInstant, ...], int]:
    fixed, items, at = list_at(data, at, 9)
    found: list[LocalInstant] = []
    for _ in range(items):
        instant_ms, local_length = _LOCAL_INSTANT.unpack_from(data, at)
        at += fixed
        end = at + local_length
        local = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("local_instant")
        found.append(LocalInstant(instant_ms, local))
    return tuple(found), at


def _listed_schedule_list(data: bytes, at: int) -> tuple[tuple[ListedSchedule, ...], int]:
    fixed, items, at = list_at(data, at, 104)
    found: list[ListedSchedule] = []
    for _ in range(items):
        (
            schedule,
            next_ms,
            fired,
            version,
            running,
            failures,
            paused,
            marks,
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
            topic_length,
            name_length,
            pause_note_length,
        ) = _LISTED_SCHEDULE.unpack_from(data, at)
        at += fixed
        end = at + when_length
        when = data[at:end].decode()
        at = end + zone_length
        zone = data[end:at].decode()
        end = at + key_length
        key = data[at:end].decode()
        at = end + note_length
        note = data[end:at].decode()
        end = at + topic_length
        topic = data[at:end].decode()
        at = end + name_length
        name = data[end:at].decode()
        end = at + pause_note_length
        pause_note = data[at:end].decode()
        at = end
        if at > len(data):
            raise cut_off("listed_schedule")
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
        found.append(ListedSchedule(state, rules, topic, name, pause_note))
    return tuple(found), at


def _read_welcome(data: bytes) -> Welcome:
    (
        version,
        marks,
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
        server_name_length,
    ) = _WELCOME.unpack_from(data)
    server_name, at = text_at(data, 76, server_name_length)
    members, at = _member_list(data, at)
    clock_ms, _ = late(U64, data, at)
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


def _read_pong(data: bytes) -> Pong:
    (now,) = U64.unpack_from(data)
    clock_ms, _ = late(U64, data, 8)
    return Pong(now, clock_ms)


def _read_done(data: bytes) -> Done:
    return Done()


def _read_going_away(data: bytes) -> GoingAway:
    (message_length,) = U16.unpack_from(data)
    message, at = text_at(data, 2, message_length)
    reason, _ = late(U8, data, at)
    return GoingAway(message, GOING_AWAY_REASONS.get(reason, reason))


def _read_pushed(data: bytes) -> Pushed:
    results, _ = _push_result_list(data, 0)
    return Pushed(results)


def _read_reserved(data: bytes) -> Reserved:
    jobs, _ = _delivered_list(data, 0)
    return Reserved(jobs)


def _read_subscribed(data: bytes) -> Subscribed:
    return Subscribed()


def _read_deliver(data: bytes) -> Deliver:
    jobs, _ = _delivered_list(data, 0)
    return Deliver(jobs)


def _read_leased(data: bytes) -> Leased:
    (marks,) = U8.unpack_from(data)
    jobs, _ = _delivered_list(data, 1)
    return Leased(bool(marks & 1), jobs)


def _read_settled(data: bytes) -> Settled:
    results, _ = _settle_result_list(data, 0)
    return Settled(results)


def _read_job(data: bytes) -> Job:
    (
        job,
        due_ms,
        state,
        buried,
        priority,
        attempts,
        ttr_ms,
        ttr_left_ms,
        topic_length,
        key_length,
        attributes_length,
        body_length,
    ) = _JOB.unpack_from(data)
    topic, at = text_at(data, 43, topic_length)
    key, at = text_at(data, at, key_length)
    attributes_bytes, at = bytes_at(data, at, attributes_length)
    attributes = Attributes.decode(attributes_bytes)
    body, at = bytes_at(data, at, body_length)
    pushed_ms, at = late(U64, data, at)
    reserved_first_ms, at = late(U64, data, at)
    reserved_last_ms, at = late(U64, data, at)
    edited_ms, at = late(U64, data, at)
    held_by, at = late_text(U8, data, at)
    reason, at = late_text(U16, data, at)
    finished_ms, at = late(U64, data, at)
    version, _ = late(U64, data, at)
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


def _read_changed(data: bytes) -> Changed:
    job, due_ms, state = _CHANGED.unpack_from(data)
    version, _ = late(U64, data, 17)
    return Changed(job, due_ms, JOB_STATES.get(state, state), version)


def _read_kicked(data: bytes) -> Kicked:
    (jobs,) = U32.unpack_from(data)
    return Kicked(jobs)


def _read_jobs(data: bytes) -> Jobs:
    (cursor_length,) = U16.unpack_from(data)
    cursor, at = bytes_at(data, 2, cursor_length)
    jobs, _ = _listed_list(data, at)
    return Jobs(cursor, jobs)


def _read_counted(data: bytes) -> Counted:
    (jobs,) = U64.unpack_from(data)
    by_due, _ = _due_bar_list(data, 8) if 8 < len(data) else ((), 8)
    return Counted(jobs, by_due)


def _read_bulked(data: bytes) -> Bulked:
    jobs, cursor_length = _BULKED.unpack_from(data)
    cursor, at = bytes_at(data, 6, cursor_length)
    skipped, _ = late(U32, data, at)
    return Bulked(jobs, cursor, skipped)


def _read_topic_counts(data: bytes) -> TopicCounts:
    topics, _ = _topic_count_list(data, 0)
    return TopicCounts(topics)


def _read_queue_stats(data: bytes) -> QueueStats:
    (
        now,
        uptime_ms,
        connections,
        sessions,
        waiting,
        applied_index,
        term,
        state_hash_bytes,
    ) = _QUEUE_STATS.unpack_from(data)
    state_hash = int.from_bytes(state_hash_bytes, "little")
    totals = Totals(*_TOTALS.unpack_from(data, 60))
    topics, at = _topic_count_list(data, 132)
    stages, _ = _stage_list(data, at) if at < len(data) else ((), at)
    return QueueStats(
        now, uptime_ms, connections, sessions, waiting, applied_index, term, state_hash, totals, topics, stages
    )


def _read_connection_list(data: bytes) -> ConnectionList:
    (marks,) = U8.unpack_from(data)
    connections, _ = _connection_list(data, 1)
    return ConnectionList(bool(marks & 1), connections)


def _read_topic_settings(data: bytes) -> TopicSettings:
    jobs, bytes_, pause_left_ms, marks, settings_length = _TOPIC_SETTINGS.unpack_from(data)
    settings_bytes, _ = bytes_at(data, 27, settings_length)
    settings = TopicPolicy.decode(settings_bytes)
    return TopicSettings(jobs, bytes_, pause_left_ms, bool(marks & 1), bool(marks & 2), bool(marks & 4), settings)


def _read_backup_ready(data: bytes) -> BackupReady:
    index, jobs, state_hash_bytes, bytes_ = _BACKUP_READY.unpack_from(data)
    state_hash = int.from_bytes(state_hash_bytes, "little")
    return BackupReady(index, jobs, state_hash, bytes_)


def _read_backup_data(data: bytes) -> BackupData:
    (data__length,) = U32.unpack_from(data)
    data_, _ = bytes_at(data, 4, data__length)
    return BackupData(data_)


def _read_instants(data: bytes) -> Instants:
    (zone_data_length,) = U8.unpack_from(data)
    zone_data, at = text_at(data, 1, zone_data_length)
    instants, _ = _local_instant_list(data, at)
    return Instants(zone_data, instants)


def _read_cluster_report(data: bytes) -> ClusterReport:
    node, cluster_id, leader, term, last, commit, feature_level = _CLUSTER_REPORT.unpack_from(data)
    members, _ = _node_list(data, 60)
    return ClusterReport(node, cluster_id, leader, term, last, commit, feature_level, members)


def _read_groups(data: bytes) -> Groups:
    (after_length,) = U8.unpack_from(data)
    after, at = text_at(data, 1, after_length)
    groups, _ = _group_state_list(data, at)
    return Groups(after, groups)


def _read_reasons(data: bytes) -> Reasons:
    reasons, _ = _reason_list(data, 0)
    return Reasons(reasons)


def _read_scheduled(data: bytes) -> Scheduled:
    schedule, version, next_ms = _SCHEDULED.unpack_from(data)
    return Scheduled(schedule, version, next_ms)


def _read_schedule(data: bytes) -> Schedule:
    schedule, next_ms, fired, version, running, failures, paused, marks = _SCHEDULE_STATE.unpack_from(data, 0)
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
    (pause_note_length,) = U16.unpack_from(data, 38)
    pause_note, at = text_at(data, 40, pause_note_length)
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
    ) = _SCHEDULE.unpack_from(data, at)
    at += 62
    when, at = text_at(data, at, when_length)
    zone, at = text_at(data, at, zone_length)
    key, at = text_at(data, at, key_length)
    note, at = text_at(data, at, note_length)
    priority, ttr_ms, attributes_length, body_length = _SCHEDULE_2.unpack_from(data, at)
    at += 14
    attributes_bytes, at = bytes_at(data, at, attributes_length)
    attributes = Attributes.decode(attributes_bytes)
    body, at = bytes_at(data, at, body_length)
    history, _ = _firing_list(data, at)
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


def _read_schedules(data: bytes) -> Schedules:
    schedules, at = _listed_schedule_list(data, 0)
    (cursor_length,) = U16.unpack_from(data, at)
    at += 2
    cursor, _ = bytes_at(data, at, cursor_length)
    return Schedules(schedules, cursor)


def _read_schedule_ran(data: bytes) -> ScheduleRan:
    (job,) = U64.unpack_from(data)
    return ScheduleRan(job)


def _read_schedule_filled(data: bytes) -> ScheduleFilled:
    next_ms, bytes_, instants, pushed, kept, refused = _SCHEDULE_FILLED.unpack_from(data)
    return ScheduleFilled(next_ms, bytes_, instants, pushed, kept, refused)


def _read_error(data: bytes) -> Error:
    code, marks, applied, retry_after_ms, leader_length = _ERROR.unpack_from(data)
    leader, at = text_at(data, 9, leader_length)
    (message_length,) = U16.unpack_from(data, at)
    at += 2
    message, _ = text_at(data, at, message_length)
    return Error(
        ERROR_CODES.get(code, code),
        bool(marks & 1),
        EFFECTS.get(applied, Effect.UNKNOWN),
        retry_after_ms,
        leader,
        message,
    )


READERS: dict[int, Callable[[bytes], Response]] = {
    0x81: _read_welcome,
    0x82: _read_pong,
    0x83: _read_done,
    0x84: _read_going_away,
    0x90: _read_pushed,
    0xA0: _read_reserved,
    0xA1: _read_subscribed,
    0xA2: _read_deliver,
    0xA3: _read_leased,
    0xB0: _read_settled,
    0xC0: _read_job,
    0xC1: _read_changed,
    0xC2: _read_kicked,
    0xC3: _read_jobs,
    0xC4: _read_counted,
    0xC5: _read_bulked,
    0xD0: _read_topic_counts,
    0xD1: _read_queue_stats,
    0xD2: _read_connection_list,
    0xD3: _read_topic_settings,
    0xE0: _read_backup_ready,
    0xE1: _read_backup_data,
    0xEF: _read_instants,
    0xF0: _read_cluster_report,
    0xF5: _read_groups,
    0xF6: _read_reasons,
    0xF8: _read_scheduled,
    0xF9: _read_schedule,
    0xFA: _read_schedules,
    0xFB: _read_schedule_ran,
    0xFC: _read_schedule_filled,
    0xFF: _read_error,
}
"""What reads the payload of each response, by its opcode."""
