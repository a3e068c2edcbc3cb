"""Every number of the protocol that has a name: opcodes, error codes, choices, limits."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from functools import cache
from typing import TypeVar

MAGIC = b"ADJ1"
VERSION = 1
U32_ID_MAX = 4_294_967_295

HEADER_BYTES = 12
RESPONSE_BYTES_MAX = 33_554_432
TOPIC_BYTES_MAX = 128
KEY_BYTES_MAX = 256
HEADERS_BYTES_MAX = 1_024
ATTRIBUTES_BYTES_MAX = 4_096
KICK_JOBS_MAX = 4_096
BULK_JOBS_MAX = 1_024
LIST_JOBS_MAX = 1_024
REASON_BYTES_MAX = 1_024
RESERVE_TOPICS_MAX = 64
CONNECTIONS_LISTED_MAX = 256
CREDIT_JOBS_MAX = 65_536
CREDIT_BYTES_MAX = 268_435_456
WAIT_MS_MAX = 3_600_000
DELAY_MS_MAX = 315_360_000_000
TTR_MS_MIN = 100
TTR_MS_MAX = 604_800_000
PRIORITY_UNSAID = 4_294_967_295
PRODUCER_WINDOW_MAX = 16_384
DEDUPE_RETENTION_MS_MAX = 2_592_000_000
CLIENT_NAME_BYTES_MAX = 64
TOKEN_BYTES_MAX = 256
BACKOFF_LIST_MAX = 32
BACKUP_READ_BYTES_MAX = 1_048_576

RELEASE_BACKOFF = (1 << 64) - 1
"""`delay_ms` of a RELEASE: the attempt failed, and the job waits for its backoff."""
RELEASE_NOT_STARTED = (1 << 64) - 2
"""`delay_ms` of a RELEASE: the work was not started, and no attempt is counted."""


class ErrorCode(IntEnum):
    """Why the server refused a request, a job or a lease."""

    MALFORMED = 1
    UNSUPPORTED = 2
    TOO_LARGE = 3
    UNAUTHORISED = 4
    INVALID = 5
    NOT_LEADER = 16
    NO_LEADER = 17
    BUSY = 18
    DISK_FULL = 19
    STOPPING = 20
    UNREADABLE = 21
    PAUSED = 32
    QUOTA = 33
    STALE_LEASE = 34
    KEY_EXISTS = 35
    NOT_FOUND = 36
    RESERVED = 37
    WRONG_STATE = 38
    SESSION_UNKNOWN = 39
    OUTCOME_UNKNOWN = 40
    EXPIRES_BEFORE_DUE = 41
    SEQUENCE_REUSED = 42
    CHANGED = 43


class JobState(IntEnum):
    """Where a job is in its life."""

    DELAYED = 0
    READY = 1
    RESERVED = 2
    BURIED = 3
    FINISHED = 4


class States(IntFlag):
    """A set of states, for a filter."""

    DELAYED = 1
    READY = 2
    RESERVED = 4
    BURIED = 8
    FINISHED = 16


class BuriedReason(IntEnum):
    """Why a job is buried."""

    NOT_BURIED = 0
    BY_CONSUMER = 1
    ATTEMPTS_USED_UP = 2
    TOO_LATE = 3


class IfExists(IntEnum):
    """What a push does if a job with its key exists."""

    REJECT = 0
    KEEP = 1
    REPLACE = 2
    REPLACE_ANY = 3
    POSTPONE = 4


class PushOutcome(IntEnum):
    """What became of a pushed job."""

    PUSHED = 0
    KEPT = 1
    REPLACED = 2
    REFUSED = 3
    POSTPONED = 4


class ListOrder(IntEnum):
    """The order of a list of jobs."""

    DUE = 0
    ID = 1
    KEY = 2


class BulkChange(IntEnum):
    """What a bulk change does to each job."""

    DELETE = 0
    KICK = 1
    RUN_NOW = 2
    RESCHEDULE = 3
    MOVE = 4


class GoingAwayReason(IntEnum):
    """Why the server closes a connection."""

    NOT_SAID = 0
    STOPPING = 1
    LEADERSHIP_MOVED = 2
    SESSION_TAKEN_OVER = 3
    CLOSED_BY_OPERATOR = 4


class MemberRole(IntEnum):
    """The part that a node has in its cluster."""

    LEARNER = 0
    VOTER = 1
    LEADER = 2


E = TypeVar("E", bound=IntEnum)


@cache
def _members(choice: type[E]) -> dict[int, E]:
    return {member.value: member for member in choice}


def known(choice: type[E], value: int) -> E | int:
    """The named value, or the number that a newer server sent."""
    found: E | int = _members(choice).get(value, value)
    return found
