"""Every number of the protocol that has a name: limits, choices, error codes.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

MAGIC = b"ADJ1"
"""What HELLO begins with."""
HEADER_BYTES = 12
"""The length of a frame, its opcode, its request id: what stands before its payload."""
PROTOCOL_VERSION = 1
"""The version of the protocol that this schema describes."""
PORT_DEFAULT = 7_440
"""The port of a server, unless it is configured."""
SEQUENCE_NONE = 0
"""A PUSH without protection against repeats."""
RELEASE_BY_BACKOFF = 0xFFFFFFFFFFFFFFFF
"""`delay_ms` of a RELEASE: the attempt failed, and the job waits for its backoff."""
RELEASE_NOT_STARTED = 0xFFFFFFFFFFFFFFFE
"""`delay_ms` of a RELEASE: the work was not begun; no attempt is counted, and the job is ready at once."""
RELEASE_PARKED = 0x8000000000000000
"""Added to `delay_ms` of a RELEASE: the work was not begun and is not to begin before this delay; no attempt is
counted.
"""
TOPIC_BYTES_MAX = 200
"""Longest topic name."""
KEY_BYTES_MAX = 256
"""Longest key."""
HEADERS_BYTES_MAX = 1_024
"""All header names and values of a job."""
ATTRIBUTES_BYTES_MAX = 4_096
"""All attributes of a job."""
BODY_BYTES_MAX_DEFAULT = 1_048_576
"""Largest body, unless configured."""
BODY_BYTES_CEILING = 8_388_608
"""Highest value of that setting."""
FRAME_OVERHEAD_BYTES_MAX = 65_536
"""`frame_bytes_max` is `body_bytes_max` plus this."""
FRAME_BYTES_MAX_BEFORE_HELLO = 4_096
"""Largest length of a frame before HELLO is accepted."""
RESPONSE_BYTES_MAX = 33_554_432
"""Largest length of a frame from the server."""
KICK_JOBS_MAX = 4_096
"""Jobs in one KICK_MANY."""
PUSH_JOBS_MAX = 4_096
"""Jobs in one PUSH."""
BULK_JOBS_MAX = 1_024
"""Jobs that one BULK changes."""
LIST_JOBS_MAX = 1_024
"""Jobs on one page of a LIST."""
LIST_BYTES_MAX = 8_388_608
"""Bytes of jobs on one page; the last job may exceed it."""
LIST_LOOKS_MAX = 4_194_304
"""Jobs that the server scans for a page by due time."""
LIST_BY_KEY_JOBS_MAX = 100_000
"""Jobs of a topic, or of the queue, for a LIST by key."""
CURSOR_BYTES_MAX = 512
"""Longest cursor."""
FILTER_BYTES_MAX = 1_024
"""Longest filter."""
FILTER_REASON_BYTES_MAX = 256
"""Longest text of a filter's condition on reasons."""
DUE_BARS_MAX = 1_024
"""Most bars by which a COUNT counts jobs."""
REASON_BYTES_MAX = 1_024
"""Longest reason of a RELEASE or BURY."""
LEASES_MAX = 4_096
"""Leases in one FINISH, RELEASE, TOUCH, BURY."""
INPUT_BYTES_MAX = 16_777_216
"""Unprocessed bytes of requests of all connections; less with little memory."""
INPUT_BYTES_PER_CONNECTION_MAX = 1_048_576
"""The same for one connection; bytes that were already read may exceed it."""
RESERVE_TOPICS_MAX = 64
"""Topics in one RESERVE or SUBSCRIBE."""
RESERVE_JOBS_MAX = 1_024
"""Jobs in one RESERVED."""
RESERVE_BYTES_MAX = 8_388_608
"""One RESERVED or DELIVER takes no further job once its bodies have reached this."""
CONNECTIONS_LISTED_MAX = 256
"""Connections in one CONNECTION_LIST."""
CONNECTION_TOPICS_MAX = 16
"""Topics listed for one connection."""
CREDIT_JOBS_MAX = 65_536
"""Credit in jobs that one frame gives."""
CREDIT_BYTES_MAX = 268_435_456
"""Credit in bytes that one frame gives."""
SUBSCRIPTIONS_MAX = 1_024
"""Subscriptions of one connection."""
WAIT_MS_MAX = 3_600_000
"""Longest wait of a RESERVE: an hour."""
DELAY_MS_MAX = 315_360_000_000
"""Longest delay: ten years of 365 days."""
TTR_MS_MIN = 100
"""Shortest ttr."""
TTR_MS_DEFAULT = 60_000
"""Ttr of a job pushed with 0, unless its topic has a default."""
TTR_MS_MAX = 604_800_000
"""Longest ttr: seven days."""
TTR_LEFT_MS_MIN = 20
"""A job is not sent with less than this left of its lease."""
PRIORITY_DEFAULT = 1_024
"""Priority of a job pushed without one, unless its topic has a default."""
PRIORITY_UNSAID = 4_294_967_295
"""Priority of a PUSH that sets none."""
RATE_PER_SECOND_MAX = 1_000_000
"""Highest rate of a topic's policy."""
POLICY_BYTES_MAX = 8_192
"""Settings in one TOPIC_SET."""
CALL_BACK_URL_BYTES_MAX = 1_024
"""The URL of a call-back."""
CALL_BACK_HEADERS_BYTES_MAX = 1_024
"""The headers of a call-back."""
CALL_BACK_BODY_BYTES_MAX = 2_048
"""What a call-back sends in place of the job's body."""
CALL_BACK_CONDITION_BYTES_MAX = 512
"""The condition on the reply to a call-back."""
CALL_BACK_SECRETS_BYTES_MAX = 64
"""The name of the secrets that sign call-backs."""
CALL_BACK_TIMEOUT_MS_MIN = 100
"""The shortest time that a call-back may take."""
CALL_BACK_TIMEOUT_MS_MAX = 300_000
"""The longest."""
CALL_BACK_CALLS_MAX = 1_024
"""Calls of one destination at the same time."""
CALL_BACK_LOG_MS_MAX = 7_776_000_000
"""How long an attempt of a call-back can be looked up."""
TOPICS_MAX = 65_536
"""Topics of one queue."""
TOPIC_RETENTION_MS = 600_000
"""How long a topic without jobs stays listed."""
SESSIONS_MAX = 65_536
"""Sessions of one queue, except those of the next row."""
LAPSED_PRODUCERS_MAX = 262_144
"""Lapsed sessions of one queue that pushed under numbers."""
SESSION_GRACE_MS_DEFAULT = 10_000
"""How long the leases of a lost connection are kept."""
HEARTBEAT_MS_MIN = 100
"""Shortest heartbeat that HELLO can get."""
HEARTBEAT_MS_MAX = 60_000
"""Longest heartbeat that HELLO can get, unless the server's own is longer."""
SESSION_RETENTION_MS = 600_000
"""How long a lapsed session and its pushes are remembered."""
PRODUCER_WINDOW_MAX = 16_384
"""Pushed jobs of one session whose outcome is remembered."""
OUTCOMES_MAX = 4_194_304
"""Pushed jobs of all sessions whose outcome is remembered."""
IDEMPOTENT_PUSHES_MAX = 65_536
"""Jobs pushed under idempotency keys that are remembered."""
IDEMPOTENT_LIST_JOBS_MAX = 8_192
"""Jobs of a list under one idempotency key."""
IDEMPOTENT_PUSH_MS = 86_400_000
"""How long they are remembered: a day."""
FINISHED_WINDOW_MAX = 65_536
"""Finished leases that are remembered; the topic with the most forgets its oldest."""
FINISHED_WINDOW_MS = 60_000
"""How long they are remembered."""
DEDUPE_RETENTION_MS_MAX = 2_592_000_000
"""Longest time that a job is remembered after FINISH: 30 days."""
LAPSE_LEASES_MAX = 4_096
"""Leases of an ending session that are given back in one step."""
DUE_PER_ENTRY_MAX = 4_096
"""Due jobs that one step of the queue moves."""
DUE_BYTES_PER_ENTRY_MAX = 8_388_608
"""Bytes of their bodies; the last job may exceed it."""
ENTRY_BYTES_TARGET = 65_536
"""Size of a log entry while the disk keeps up."""
ENTRY_BYTES_MAX = 9_437_184
"""Largest log entry."""
BACKUP_READ_BYTES_MAX = 1_048_576
"""Bytes in one BACKUP_DATA."""
BACKUP_IDLE_MS_MAX = 600_000
"""How long an unread backup is held."""
CLIENT_NAME_BYTES_MAX = 64
"""Client_name in HELLO."""
CLIENT_BYTES_MAX = 255
"""Held_by: what is known of who a client is."""
TOKEN_BYTES_MAX = 256
"""Token in HELLO."""
PEER_ADDRESS_BYTES_MAX = 255
"""Address of a node in CLUSTER_ADD."""
BACKOFF_LIST_MAX = 32
"""Waits in a backoff list."""
GROUP_BYTES_MAX = 255
"""Longest name of a group."""
GROUP_WEIGHT_MAX = 1_000
"""Greatest weight of a group."""
GROUPS_SET_MAX = 65_536
"""Groups of one topic that have settings."""
GROUPS_LISTED_MAX = 1_000
"""Groups on one page of a list."""
SCHEDULE_NAME_BYTES_MAX = 255
"""Longest name of a schedule."""
SCHEDULE_WHEN_BYTES_MAX = 2_048
"""Longest text that says when a schedule fires."""
SCHEDULE_ZONE_BYTES_MAX = 64
"""Longest name of a time zone."""
SCHEDULE_NOTE_BYTES_MAX = 256
"""Longest note on a schedule."""
INSTANTS_SHOWN_MAX = 1_000
"""Most instants of SCHEDULE_PREVIEW."""
SCHEDULE_MISSED_MAX = 1_000
"""Instants of a schedule that are fired late."""
SCHEDULE_JITTER_MS_MAX = 86_400_000
"""Longest jitter of a schedule."""
SCHEDULES_LISTED_MAX = 256
"""Schedules on one page of a list."""
LEVEL_KICK_MANY = 1
"""KICK_MANY needs this feature level of all members."""


class DueKind(IntEnum):
    """How a due time counts."""

    AFTER = 0
    """Milliseconds after the queue accepts the request."""
    AT = 1
    """On the wall clock."""


class IfExists(IntEnum):
    """What happens if the topic has a job with the key."""

    REJECT = 0
    """The push of this job is refused."""
    KEEP = 1
    """The job that is there stays; its id is the answer."""
    REPLACE = 2
    """The new job takes its place, unless it is reserved."""
    REPLACE_ANY = 3
    """The new job takes its place, even if it is reserved."""
    POSTPONE = 4
    """The job that is there waits for the new due time."""


class Step(IntEnum):
    """How far the clock of a server for tests moves."""

    BY = 0
    """By a duration."""
    TO_NEXT = 1
    """To the time at which the next delayed job is due, of all topics."""


class JobKind(IntEnum):
    """How a job reference names a job."""

    ID = 0
    """By its id."""
    KEY = 1
    """By its topic and key."""


class ListOrder(IntEnum):
    """In which order jobs are listed."""

    DUE = 0
    """By due time, then id."""
    ID = 1
    """By id, which is the order in which they were pushed."""
    KEY = 2
    """By key, then id, without the jobs that have no key."""


class BulkChange(IntEnum):
    """What a bulk change does to each job."""

    DELETE = 0
    """Removes it."""
    KICK = 1
    """Makes it ready if it is buried."""
    RUN_NOW = 2
    """Makes it ready if it is delayed."""
    RESCHEDULE = 3
    """Gives it a new due time."""
    MOVE = 4
    """Moves it to another topic."""


class PushOutcome(IntEnum):
    """What became of a pushed job."""

    PUSHED = 0
    """It is in the queue, and durable; `job` is its id."""
    KEPT = 1
    """A job with this key exists; `job` is the id of that one."""
    REPLACED = 2
    """It took the place of the job with its key; `job` is its own, new id."""
    REFUSED = 3
    """`code` is an error code; `job` is the existing job for `KEY_EXISTS` and `RESERVED`, else 0."""
    POSTPONED = 4
    """The job with its key waits for the new due time; `job` is the id of that one."""


class JobState(IntEnum):
    """Where a job stands."""

    DELAYED = 0
    """Its due time lies ahead."""
    READY = 1
    """It waits for a consumer."""
    RESERVED = 2
    """A consumer holds it under a lease."""
    BURIED = 3
    """It is set aside until somebody kicks it."""
    FINISHED = 4
    """It was finished, and is still remembered."""


class BuriedReason(IntEnum):
    """Why a job is buried."""

    NOT_BURIED = 0
    """The job is not buried."""
    BY_CONSUMER = 1
    """A consumer buried it, or its push."""
    ATTEMPTS_USED_UP = 2
    """Its attempts are used up."""
    TOO_LATE = 3
    """It was too late."""


class Dst(IntEnum):
    """What a schedule does when the clocks of its zone are changed."""

    VIXIE = 0
    """As cron: a time that is skipped fires at once after the gap, a repeated one fires once."""
    LITERAL = 1
    """A time that is skipped does not fire, a repeated one fires twice."""


class Missed(IntEnum):
    """Which of the instants that passed unnoticed are fired late."""

    LAST = 0
    """The last one."""
    NONE = 1
    """None of them."""
    ALL = 2
    """All of them, up to a number."""


class Overlap(IntEnum):
    """What a schedule does at an instant while an earlier job of it has not ended."""

    SKIP = 0
    """Pushes no job."""
    ALLOW = 1
    """Pushes another job."""
    QUEUE_ONE = 2
    """Pushes the job as soon as the earlier one has ended; further instants until then are skipped."""
    REPLACE = 3
    """Deletes the earlier job, also a reserved one, and pushes another."""


class PausedReason(IntEnum):
    """Why a schedule does not fire at present."""

    NOT_PAUSED = 0
    """It fires."""
    USER = 1
    """A user paused it."""
    FAILURES = 2
    """Too many of its jobs failed one after another."""


class WhichPaused(IntEnum):
    """Which schedules, by whether they are paused."""

    ANY = 0
    """All."""
    PAUSED = 1
    """Those that are paused."""
    ACTIVE = 2
    """Those that are not."""


class PauseChange(IntEnum):
    """Whether something is paused or resumed."""

    KEEP = 0
    """It stays as it is."""
    PAUSE = 1
    """It is paused."""
    RESUME = 2
    """It is resumed."""


class HoldReason(IntEnum):
    """Why a job, a topic or a group gives nothing to a consumer now."""

    NEXT = 0
    """Nothing holds it back."""
    DELAYED = 1
    """Its due time has not come."""
    TOPIC_PAUSED = 2
    """The topic is paused."""
    TOPIC_LEASES = 3
    """The topic has as many leases as it may."""
    TOPIC_RATE = 4
    """The topic has used up its rate."""
    GROUP_PAUSED = 5
    """Its group is paused."""
    GROUP_LEASES = 6
    """Its group has as many leases as it may."""
    GROUP_RATE = 7
    """Its group has used up its rate."""
    GROUP_RESERVED = 8
    """A job of its group is reserved, and they go one at a time."""
    GROUP_RETRY = 9
    """A job of its group waits for its next attempt, and they go one at a time."""
    GROUP_BURIED = 10
    """A job of its group is buried, and they go one at a time."""
    BEHIND = 11
    """Jobs of its topic, or of its group, come first."""
    NO_CONSUMER = 12
    """No consumer waits on the topic."""
    CALL_BACK_PAUSED = 13
    """The calls of the topic are paused."""
    RESERVED = 14
    """A consumer has it."""
    BURIED = 15
    """It is buried."""
    FINISHED = 16
    """It is finished, and remembered."""
    EMPTY = 17
    """No job is ready."""
    CALL_BACK_SUSPENDED = 18
    """The destination of the topic's calls failed: calls are suspended."""


class FiringOutcome(IntEnum):
    """What became of an instant of a schedule."""

    PUSHED = 0
    """It pushed the job, which has not ended."""
    FINISHED = 1
    """It pushed the job, and a consumer finished that."""
    FAILED = 2
    """It pushed the job, and that was buried, or moved to the dead letters."""
    DELETED = 3
    """It pushed the job, and that was deleted or replaced."""
    EXPIRED = 4
    """It pushed the job, and that expired, or was dropped because it was late."""
    MISSED = 5
    """It was skipped: it had passed when the schedule was looked at."""
    OVERLAP = 6
    """It was skipped: an earlier job had not ended."""
    REFUSED = 7
    """It was skipped: the topic's policy, or a limit of the queue, did not allow the job."""
    KEY_TAKEN = 8
    """It was skipped: the topic has a job with the key, which may be buried or remembered."""


class GoingAwayReason(IntEnum):
    """Why a server closes a connection."""

    UNKNOWN = 0
    """Not said."""
    STOPPING = 1
    """The server stops; new requests are answered with `STOPPING`."""
    NOT_LEADER = 2
    """This node no longer leads."""
    SESSION_TAKEN_OVER = 3
    """Another connection took the session over."""
    DISCONNECTED = 4
    """An operator closed the connection."""


class Effect(IntEnum):
    """The known effect of a request that failed."""

    NO = 0
    """Nothing was changed."""
    UNKNOWN = 1
    """It may have been applied, or may still be."""


class MemberRole(IntEnum):
    """What a member of the cluster is."""

    LEARNER = 0
    """It receives the log and does not vote."""
    VOTER = 1
    """It votes, and its disk counts."""
    LEADER = 2
    """A voter that leads."""


class BackoffKind(IntEnum):
    """How the wait grows with the attempts."""

    FIXED = 0
    """One wait, always the same."""
    LINEAR = 1
    """Step, maximum: a step more after each attempt."""
    EXPONENTIAL = 2
    """First, maximum: twice as long after each attempt."""
    LIST = 3
    """1 to 32 waits, one after the other; the last one repeats."""


class LateAction(IntEnum):
    """What happens to a late job."""

    RATE = 0
    """Late jobs come due no faster than this many per second."""
    SPREAD = 1
    """It becomes due anew within this many milliseconds."""
    BURY = 2
    """It is buried; the value is 0."""
    DROP = 3
    """It is dropped, and counted as expired; the value is 0."""


class States(IntFlag):
    """A set of states of jobs."""

    DELAYED = 1
    """Delayed."""
    READY = 2
    """Ready."""
    RESERVED = 4
    """Reserved."""
    BURIED = 8
    """Buried."""
    FINISHED = 16
    """Finished and remembered."""


class ErrorCode(IntEnum):
    """Why the server refused a request, a job or a lease."""

    MALFORMED = 1
    """The frame or a field in it cannot be decoded."""
    UNSUPPORTED = 2
    """The opcode, version, group, choice or critical attribute is not supported by this server, or not by every
    member.
    """
    TOO_LARGE = 3
    """A frame, body, batch or text exceeds its limit."""
    UNAUTHENTICATED = 4
    """HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired."""
    INVALID = 5
    """A value is out of range."""
    FORBIDDEN = 6
    """The token lacks the right that this request needs."""
    NOT_LEADER = 16
    """This node does not lead."""
    NO_LEADER = 17
    """No leader is elected yet."""
    BUSY = 18
    """Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so."""
    DISK_FULL = 19
    """The disk is nearly full: pushes are refused."""
    STOPPING = 20
    """The server is stopping."""
    UNREADABLE = 21
    """The server's disk cannot read the requested data."""
    PAUSED = 32
    """Every requested topic is paused."""
    QUOTA = 33
    """Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes."""
    STALE_LEASE = 34
    """The lease has ended."""
    KEY_EXISTS = 35
    """The topic has a job with this key, alive or remembered."""
    NOT_FOUND = 36
    """There is no such job, topic or subscription."""
    RESERVED = 37
    """The job is reserved, and the request needs a job that is not."""
    WRONG_STATE = 38
    """The job is not in the required state."""
    SESSION_UNKNOWN = 39
    """The session is no longer known."""
    OUTCOME_UNKNOWN = 40
    """The queue has forgotten the outcome of this push."""
    EXPIRES_BEFORE_DUE = 41
    """The job would expire before it is due."""
    SEQUENCE_REUSED = 42
    """The sequence number, or the idempotency key, of the job was used for another job."""
    CHANGED = 43
    """The job is no longer of the version that the request names."""


# The choices by their numbers. A number of a newer server is in none of them.
DUE_KINDS: dict[int, DueKind | int] = {one.value: one for one in DueKind}
IF_EXISTSS: dict[int, IfExists | int] = {one.value: one for one in IfExists}
STEPS: dict[int, Step | int] = {one.value: one for one in Step}
JOB_KINDS: dict[int, JobKind | int] = {one.value: one for one in JobKind}
LIST_ORDERS: dict[int, ListOrder | int] = {one.value: one for one in ListOrder}
BULK_CHANGES: dict[int, BulkChange | int] = {one.value: one for one in BulkChange}
PUSH_OUTCOMES: dict[int, PushOutcome] = {one.value: one for one in PushOutcome}
JOB_STATES: dict[int, JobState | int] = {one.value: one for one in JobState}
BURIED_REASONS: dict[int, BuriedReason | int] = {one.value: one for one in BuriedReason}
DSTS: dict[int, Dst | int] = {one.value: one for one in Dst}
MISSEDS: dict[int, Missed | int] = {one.value: one for one in Missed}
OVERLAPS: dict[int, Overlap | int] = {one.value: one for one in Overlap}
PAUSED_REASONS: dict[int, PausedReason | int] = {one.value: one for one in PausedReason}
WHICH_PAUSEDS: dict[int, WhichPaused | int] = {one.value: one for one in WhichPaused}
PAUSE_CHANGES: dict[int, PauseChange | int] = {one.value: one for one in PauseChange}
HOLD_REASONS: dict[int, HoldReason | int] = {one.value: one for one in HoldReason}
FIRING_OUTCOMES: dict[int, FiringOutcome | int] = {one.value: one for one in FiringOutcome}
GOING_AWAY_REASONS: dict[int, GoingAwayReason | int] = {one.value: one for one in GoingAwayReason}
EFFECTS: dict[int, Effect] = {one.value: one for one in Effect}
MEMBER_ROLES: dict[int, MemberRole | int] = {one.value: one for one in MemberRole}
BACKOFF_KINDS: dict[int, BackoffKind] = {one.value: one for one in BackoffKind}
LATE_ACTIONS: dict[int, LateAction] = {one.value: one for one in LateAction}
ERROR_CODES: dict[int, ErrorCode | int] = {one.value: one for one in ErrorCode}
RETRYABLE: frozenset[int] = frozenset(
    {
        ErrorCode.NOT_LEADER,
        ErrorCode.NO_LEADER,
        ErrorCode.BUSY,
        ErrorCode.DISK_FULL,
        ErrorCode.STOPPING,
        ErrorCode.PAUSED,
    }
)
"""The same request, job or lease may succeed later, as it is."""
