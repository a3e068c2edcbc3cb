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

from typing import Any

from ..protocol.numbers import RETRYABLE, ErrorCode
from ..protocol.responses import Error
from .base import *  # noqa: F403
from .base import Applied, ServerError
from .refusals import *  # noqa: F403
from .refusals import BY_CODE


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
        retryable=code in RETRYABLE,
        applied=Applied.UNKNOWN if unknown else Applied.NO,
        job_id=job_id,
    )


def _make(code: ErrorCode | int, message: str, **marks: Any) -> ServerError:
    return BY_CODE.get(int(code), ServerError)(code, message, **marks)
