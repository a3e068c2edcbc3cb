"""What this client raises by itself, and what all refusals of the server have."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from ..protocol.numbers import ErrorCode

if TYPE_CHECKING:
    from ..jobs import PushResult


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


__all__ = [
    "AdjournError",
    "Applied",
    "BackupLostError",
    "BatchError",
    "CannotConnectError",
    "ClientClosedError",
    "ClientError",
    "ForkedError",
    "OutcomeUnknownError",
    "ProtocolError",
    "RequestTimeoutError",
    "ServerError",
    "SessionTakenOverError",
    "UsageError",
    "WrongClusterError",
]
