"""Why a call failed, and what to do about it.

Every error has `code`, `retryable`, `applied` and `retry_after`. Decide by them or by the type, never by the text.

    AdjournError
    ├── UsageError               the call itself is wrong; nothing was sent
    │   └── ForkedError          the client belongs to another process
    ├── OutcomeUnknownError      the request may or may not have been carried out
    ├── RequestTimeoutError      no answer in time
    ├── BatchError               some jobs of a batch were not pushed
    ├── BackupLostError          the server does not hold the backup any more
    ├── ClientError              this client cannot go on
    │   ├── CannotConnectError
    │   ├── ClientClosedError
    │   ├── WrongClusterError
    │   ├── SessionTakenOverError
    │   └── ProtocolError
    └── ServerError              the server refused; a subclass for each code
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from .protocol.numbers import ErrorCode
from .protocol.responses import Error

if TYPE_CHECKING:
    from .jobs import PushResult


class Applied(Enum):
    """Whether a request that failed had an effect all the same."""

    NO = "no"
    """Nothing was changed: a repeat is safe."""
    UNKNOWN = "unknown"
    """It may have been applied, or may still be."""


class AdjournError(Exception):
    """Anything that this library raises."""

    code: ErrorCode | int | None = None
    """The server's code, if the server refused."""
    retryable: bool = False
    """Whether the same call may succeed later, as it is."""
    applied: Applied = Applied.NO
    """Whether the request may have had an effect."""
    retry_after: float | None = None
    """Seconds to wait before the next try, if the server said so."""


class UsageError(AdjournError, ValueError):
    """The call itself is wrong. Nothing was sent."""


class ForkedError(UsageError):
    """The client belongs to the process that forked this one: connect a new one."""

    def __init__(self) -> None:
        super().__init__("this client belongs to the parent process: connect a new one after the fork")


class OutcomeUnknownError(AdjournError):
    """The request was sent, but its answer is lost: it may or may not have been carried out."""

    applied = Applied.UNKNOWN

    def __init__(self, message: str = "the answer was lost: the request may or may not have been carried out") -> None:
        super().__init__(message)


class RequestTimeoutError(AdjournError, builtins.TimeoutError):
    """No answer came in time. `applied` says whether the request may have been carried out."""

    retryable = True

    def __init__(self, seconds: float, applied: Applied) -> None:
        super().__init__(f"no answer within {seconds:g} s: the server cannot be reached or is overloaded")
        self.applied = applied


class BatchError(AdjournError):
    """Some jobs of a batch were not pushed. `results` has one result per job, in order."""

    def __init__(self, results: Sequence[PushResult]) -> None:
        failed = [result for result in results if result.error is not None]
        super().__init__(f"{len(failed)} of {len(results)} jobs were not pushed; the first: {failed[0].error}")
        self.results = list(results)
        self.failed = failed
        errors = [result.error for result in failed if result.error is not None]
        self.retryable = all(error.retryable for error in errors)
        if any(error.applied is Applied.UNKNOWN for error in errors):
            self.applied = Applied.UNKNOWN


class BackupLostError(AdjournError):
    """The server does not hold this backup any more: take another one."""

    def __init__(self) -> None:
        super().__init__("the backup is gone: its connection ended, another one was begun, or it was not read for long")


class ClientError(AdjournError):
    """This client cannot go on."""


class CannotConnectError(ClientError, builtins.ConnectionError):
    """No connection could be made. Nothing was sent."""

    retryable = True


class ClientClosedError(ClientError):
    """The client was closed: connect a new one."""

    def __init__(self) -> None:
        super().__init__("the client is closed: connect a new one")


class WrongClusterError(ClientError):
    """After a reconnect another queue answered at the address. The client is closed."""

    def __init__(self, expected: bytes, found: bytes) -> None:
        super().__init__(f"another queue answers at this address: {found.hex()} instead of {expected.hex()}")


class SessionTakenOverError(ClientError):
    """Another connection speaks for this client's session. The client is closed."""

    def __init__(self) -> None:
        super().__init__("another connection took over the session of this client")


class ProtocolError(ClientError):
    """The server does not keep to the protocol. A request that was sent may have been carried out."""

    applied = Applied.UNKNOWN


class ServerError(AdjournError):
    """The server refused a request, a job or a lease. Each code has a subclass; a code of a newer server has none."""

    def __init__(
        self,
        code: ErrorCode | int,
        message: str = "",
        *,
        retryable: bool = False,
        applied: Applied = Applied.NO,
        retry_after: float | None = None,
        job_id: int | None = None,
    ) -> None:
        name = code.name if isinstance(code, ErrorCode) else f"error {code}"
        super().__init__(": ".join(part for part in (name, message) if part))
        self.code = code
        self.retryable = retryable
        self.applied = applied
        self.retry_after = retry_after
        self.job_id = job_id
        """For `KEY_EXISTS` and `RESERVED` in a push: the job that exists. For `OUTCOME_UNKNOWN`: the job to look at, if one is named."""


class MalformedError(ServerError):
    """The server cannot decode the request."""


class UnsupportedError(ServerError):
    """This server, or a member of its cluster, does not support the request."""


class TooLargeError(ServerError):
    """A frame, body, batch or text exceeds its limit."""


class UnauthorisedError(ServerError):
    """The token is missing or wrong."""


class InvalidError(ServerError):
    """A value is out of range; the message names it."""


class NotLeaderError(ServerError):
    """The node does not lead."""


class NoLeaderError(ServerError):
    """No leader is elected yet."""


class BusyError(ServerError):
    """Too much work is in flight, or the server has reached its memory limit."""


class DiskFullError(ServerError):
    """The server's disk is nearly full: pushes are refused."""


class StoppingError(ServerError):
    """The server is stopping."""


class UnreadableError(ServerError):
    """The server's disk cannot read the requested data."""


class PausedError(ServerError):
    """Every requested topic is paused."""


class QuotaError(ServerError):
    """Too many topics, sessions or subscriptions; or the topic's policy allows no more jobs."""


class StaleLeaseError(ServerError):
    """The lease has ended: drop the work, another consumer may have the job."""


class KeyExistsError(ServerError):
    """The topic has a job with this key: `job_id`."""


class NotFoundError(ServerError):
    """There is no such job, topic or subscription."""


class ReservedError(ServerError):
    """The job is reserved, and the request needs a job that is not."""


class WrongStateError(ServerError):
    """The job or topic is not in the required state."""


class SessionUnknownError(ServerError):
    """The session is no longer known."""


class ForgottenOutcomeError(ServerError, OutcomeUnknownError):
    """The queue has forgotten the outcome of this push, or names one that this client does not know."""


class ExpiresBeforeDueError(ServerError):
    """The job would expire before it is due."""


class SequenceReusedError(ServerError):
    """The sequence number of the job was used for another job."""


class ChangedError(ServerError):
    """The job is no longer of the version that was named."""


_BY_CODE: dict[int, type[ServerError]] = {
    ErrorCode.MALFORMED: MalformedError,
    ErrorCode.UNSUPPORTED: UnsupportedError,
    ErrorCode.TOO_LARGE: TooLargeError,
    ErrorCode.UNAUTHORISED: UnauthorisedError,
    ErrorCode.INVALID: InvalidError,
    ErrorCode.NOT_LEADER: NotLeaderError,
    ErrorCode.NO_LEADER: NoLeaderError,
    ErrorCode.BUSY: BusyError,
    ErrorCode.DISK_FULL: DiskFullError,
    ErrorCode.STOPPING: StoppingError,
    ErrorCode.UNREADABLE: UnreadableError,
    ErrorCode.PAUSED: PausedError,
    ErrorCode.QUOTA: QuotaError,
    ErrorCode.STALE_LEASE: StaleLeaseError,
    ErrorCode.KEY_EXISTS: KeyExistsError,
    ErrorCode.NOT_FOUND: NotFoundError,
    ErrorCode.RESERVED: ReservedError,
    ErrorCode.WRONG_STATE: WrongStateError,
    ErrorCode.SESSION_UNKNOWN: SessionUnknownError,
    ErrorCode.OUTCOME_UNKNOWN: ForgottenOutcomeError,
    ErrorCode.EXPIRES_BEFORE_DUE: ExpiresBeforeDueError,
    ErrorCode.SEQUENCE_REUSED: SequenceReusedError,
    ErrorCode.CHANGED: ChangedError,
}
_RETRYABLE = {
    ErrorCode.NOT_LEADER,
    ErrorCode.NO_LEADER,
    ErrorCode.BUSY,
    ErrorCode.DISK_FULL,
    ErrorCode.STOPPING,
    ErrorCode.PAUSED,
}


def refused(reply: Error) -> ServerError:
    """The error that an ERROR frame says."""
    return _make(
        reply.code,
        reply.message,
        retryable=reply.retryable,
        applied=Applied.UNKNOWN if reply.applied else Applied.NO,
        retry_after=reply.retry_after_ms / 1000 if reply.retry_after_ms else None,
    )


def item_refused(code: ErrorCode | int, job_id: int | None = None) -> ServerError:
    """The error of one job of a push, or of one lease."""
    unknown = code == ErrorCode.OUTCOME_UNKNOWN
    message = "" if not job_id else f"job {job_id}"
    return _make(
        code,
        message,
        retryable=code in _RETRYABLE,
        applied=Applied.UNKNOWN if unknown else Applied.NO,
        job_id=job_id,
    )


def _make(code: ErrorCode | int, message: str, **marks: Any) -> ServerError:
    return _BY_CODE.get(int(code), ServerError)(code, message, **marks)
