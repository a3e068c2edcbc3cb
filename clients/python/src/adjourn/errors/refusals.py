"""What the server refuses: an exception for each error code.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

from ..protocol.numbers import ErrorCode
from .base import OutcomeUnknownError, ServerError


class MalformedError(ServerError):
    """The frame or a field in it cannot be decoded. What to do: fix the client."""


class UnsupportedError(ServerError):
    """The opcode, version, group, choice or critical attribute is not supported by this server, or not by every
    member. What to do: use only features of this version, or a newer server.
    """


class TooLargeError(ServerError):
    """A frame, body, batch or text exceeds its limit. What to do: send less at once; see WELCOME and limits."""


class UnauthenticatedError(ServerError):
    """HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. What to do: send
    HELLO first, with a valid token.
    """


class InvalidError(ServerError):
    """A value is out of range. What to do: correct the value; the message names it."""


class ForbiddenError(ServerError):
    """The token lacks the right that this request needs. What to do: use a token with that right, or add the right
    to this one; the message names it.
    """


class NotLeaderError(ServerError):
    """This node does not lead. What to do: connect to `leader`, or to each of `members` in turn: clusters."""


class NoLeaderError(ServerError):
    """No leader is elected yet. What to do: try again after `retry_after_ms`, here or at another member."""


class BusyError(ServerError):
    """Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so.
    What to do: wait `retry_after_ms`, then send less at once; finishing or deleting jobs frees memory.
    """


class DiskFullError(ServerError):
    """The disk is nearly full: pushes are refused. What to do: free space on the server; settling and deleting still
    work.
    """


class StoppingError(ServerError):
    """The server is stopping. What to do: connect again, here or to another member."""


class UnreadableError(ServerError):
    """The server's disk cannot read the requested data. What to do: tell the operator; the message names the file."""


class PausedError(ServerError):
    """Every requested topic is paused. What to do: RESUME one, or wait."""


class QuotaError(ServerError):
    """Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. What
    to do: finish or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark
    *retryable*: wait `retry_after_ms`.
    """


class StaleLeaseError(ServerError):
    """The lease has ended. What to do: drop the work; another consumer may have the job."""


class KeyExistsError(ServerError):
    """The topic has a job with this key, alive or remembered. What to do: use the id in the result, or push with
    keep or replace.
    """


class NotFoundError(ServerError):
    """There is no such job, topic or subscription. What to do: treat it as finished, or as never there."""


class ReservedError(ServerError):
    """The job is reserved, and the request needs a job that is not. What to do: wait until it is settled."""


class WrongStateError(ServerError):
    """The job is not in the required state. What to do: check with GET."""


class SessionUnknownError(ServerError):
    """The session is no longer known. What to do: connect again; HELLO resumes the session or opens a new one."""


class ForgottenOutcomeError(ServerError, OutcomeUnknownError):
    """The queue has forgotten the outcome of this push. What to do: look for the job by its key."""


class ExpiresBeforeDueError(ServerError):
    """The job would expire before it is due. What to do: set a later expiry or an earlier due time."""


class SequenceReusedError(ServerError):
    """The sequence number, or the idempotency key, of the job was used for another job. What to do: fix the client:
    each job needs its own number. Push the job under a new one.
    """


class ChangedError(ServerError):
    """The job is no longer of the version that the request names. What to do: look at the job again, and decide
    anew.
    """


BY_CODE: dict[int, type[ServerError]] = {
    ErrorCode.MALFORMED: MalformedError,
    ErrorCode.UNSUPPORTED: UnsupportedError,
    ErrorCode.TOO_LARGE: TooLargeError,
    ErrorCode.UNAUTHENTICATED: UnauthenticatedError,
    ErrorCode.INVALID: InvalidError,
    ErrorCode.FORBIDDEN: ForbiddenError,
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
__all__ = [
    "MalformedError",
    "UnsupportedError",
    "TooLargeError",
    "UnauthenticatedError",
    "InvalidError",
    "ForbiddenError",
    "NotLeaderError",
    "NoLeaderError",
    "BusyError",
    "DiskFullError",
    "StoppingError",
    "UnreadableError",
    "PausedError",
    "QuotaError",
    "StaleLeaseError",
    "KeyExistsError",
    "NotFoundError",
    "ReservedError",
    "WrongStateError",
    "SessionUnknownError",
    "ForgottenOutcomeError",
    "ExpiresBeforeDueError",
    "SequenceReusedError",
    "ChangedError",
]
