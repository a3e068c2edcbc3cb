"""The client library of Adjourn, a persistent, replicated delay queue.

    async with adjourn.connect("adjourn://127.0.0.1:7440") as q:
        await q.push("emails", {"to": "ann@example.com"}, delay=60)

        async def send(job: adjourn.Job) -> None:
            print(job.value)

        await adjourn.Worker(q, "emails", handler=send).run(handle_signals=True)

`adjourn.sync` is the same without `async`; `adjourn.testing` has the server for tests, with a clock that they move.
"""

from . import backoff, sync
from .backup import Backup
from .body import Codec, JsonCodec
from .conditions import Where
from .connecting import connect
from .edit import EditParts
from .errors import (
    AdjournError,
    Applied,
    BackupLostError,
    BatchError,
    BusyError,
    ChangedError,
    CannotConnectError,
    ClientClosedError,
    ClientError,
    DiskFullError,
    ExpiresBeforeDueError,
    ForbiddenError,
    ForgottenOutcomeError,
    ForkedError,
    InvalidError,
    KeyExistsError,
    MalformedError,
    NoLeaderError,
    NotFoundError,
    NotLeaderError,
    OutcomeUnknownError,
    PausedError,
    ProtocolError,
    QuotaError,
    RequestTimeoutError,
    ReservedError,
    SequenceReusedError,
    ServerError,
    SessionTakenOverError,
    SessionUnknownError,
    StaleLeaseError,
    StoppingError,
    TooLargeError,
    UnauthenticatedError,
    UnreadableError,
    UnsupportedError,
    UsageError,
    WrongClusterError,
    WrongStateError,
)
from .jobs import Cancellation, JobCancelled, JobData, NewJob, PushOptions, PushResult
from .protocol import numbers as limits
from .protocol.elements import Attributes, TopicPolicy
from .protocol.numbers import (
    BulkChange,
    BuriedReason,
    ErrorCode,
    IfExists,
    JobState,
    LateAction,
    ListOrder,
    MemberRole,
    PushOutcome,
    States,
)
from .protocol.requests import LeaseRef
from .protocol.responses import (
    Changed,
    ClusterReport,
    ConnectionReport,
    JobReport,
    MemberReport,
    QueueStats,
    StageReport,
    TopicReport,
    TopicSettings,
    Totals,
)
from .protocol.values import UNSET, Backoff, Expiry, Late
from .pages import BulkStep, Page
from .queue import Job, Queue
from .session.leases import LostReason
from .subscription import Subscription
from .tracing import Tracing
from .version import VERSION as __version__
from .worker import Bury, Handler, Health, Middleware, Retry, RunsIn, Worker

__all__ = [
    "__version__",
    "AdjournError",
    "Applied",
    "Attributes",
    "Backoff",
    "Backup",
    "BackupLostError",
    "BatchError",
    "BulkChange",
    "BulkStep",
    "BuriedReason",
    "Bury",
    "BusyError",
    "ChangedError",
    "Cancellation",
    "CannotConnectError",
    "Changed",
    "ClientClosedError",
    "ClientError",
    "ClusterReport",
    "Codec",
    "ConnectionReport",
    "DiskFullError",
    "EditParts",
    "ErrorCode",
    "ExpiresBeforeDueError",
    "Expiry",
    "ForbiddenError",
    "ForgottenOutcomeError",
    "ForkedError",
    "Handler",
    "Health",
    "IfExists",
    "InvalidError",
    "Job",
    "JobCancelled",
    "JobData",
    "JobReport",
    "JobState",
    "JsonCodec",
    "KeyExistsError",
    "Late",
    "LateAction",
    "LeaseRef",
    "ListOrder",
    "LostReason",
    "MalformedError",
    "MemberReport",
    "MemberRole",
    "Middleware",
    "NewJob",
    "NoLeaderError",
    "NotFoundError",
    "NotLeaderError",
    "OutcomeUnknownError",
    "Page",
    "PausedError",
    "ProtocolError",
    "PushOptions",
    "PushOutcome",
    "PushResult",
    "Queue",
    "QueueStats",
    "QuotaError",
    "RequestTimeoutError",
    "ReservedError",
    "Retry",
    "RunsIn",
    "SequenceReusedError",
    "ServerError",
    "SessionTakenOverError",
    "SessionUnknownError",
    "StageReport",
    "StaleLeaseError",
    "States",
    "StoppingError",
    "Subscription",
    "TooLargeError",
    "TopicPolicy",
    "TopicReport",
    "TopicSettings",
    "Totals",
    "Tracing",
    "UNSET",
    "UnauthenticatedError",
    "UnreadableError",
    "UnsupportedError",
    "UsageError",
    "Where",
    "Worker",
    "WrongClusterError",
    "WrongStateError",
    "backoff",
    "connect",
    "limits",
    "sync",
]
