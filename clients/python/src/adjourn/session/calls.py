"""A request without an answer, and what becomes of it when the connection is lost."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import AdjournError
from ..protocol import requests as rq
from ..protocol.responses import Response
from .hold import Arrival
from .search import Backoff

_BROWSE_MAX = 600.0
_CHECKPOINT_MAX = 3600.0
_OF_ITS_CONNECTION = (rq.Credit, rq.Unsubscribe, rq.Cancel)
_NOT_RETRIED = (rq.ClusterAdd, rq.ClusterRemove, rq.ClusterTransfer, rq.BackupBegin)
_BUSY_WAIT_MAX = 1.0


class Cancellation(rq.Delete):
    """A deletion whose caller wants no job of this key to be there, so that a repeat does no harm."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Arrived(Response):
    """Jobs that came, under leases whose end is known."""

    arrivals: tuple[Arrival, ...]
    has_more: bool = False


class Feed:
    """What a subscription has received and nobody has taken. Its length is bounded by the subscription's credit."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.jobs: deque[Arrival] = deque()
        self.has_left = False
        """The subscriber wants no more jobs."""
        self.has_ended = False
        self.failure: AdjournError | None = None
        self.withheld = 0
        """Credit that the server gets when the jobs are taken that came over an earlier connection."""

    def deliver(self, arrivals: tuple[Arrival, ...]) -> None:
        """Jobs came. Those whose lease is lost are dropped: the server has their credit back."""
        self.jobs = deque(arrival for arrival in self.jobs if arrival.hold.lost() is None)
        self.jobs.extend(arrivals)
        self._wake()

    def take(self) -> Arrival | None:
        """The next job whose lease is held."""
        while self.jobs:
            arrival = self.jobs.popleft()
            if arrival.hold.lost() is None:
                return arrival
        return None

    @property
    def half_at(self) -> float:
        """When the first of the leases here is half over; never if there is none."""
        return min((arrival.hold.half_at for arrival in self.jobs), default=math.inf)

    def take_half_over(self, now: float) -> list[rq.LeaseRef]:
        """Takes out the jobs whose leases are half over. Returns those that are held."""
        over = [arrival.hold for arrival in self.jobs if arrival.hold.half_at <= now]
        self.jobs = deque(arrival for arrival in self.jobs if arrival.hold.half_at > now)
        return [hold.ref for hold in over if hold.lost() is None]

    def end(self, failure: AdjournError | None) -> None:
        """No more jobs come."""
        if not self.has_ended:
            self.has_ended = True
            self.failure = failure
            self._wake()


@dataclass(slots=True, eq=False)
class Call:
    """An open request."""

    request: rq.Request
    accepted: float
    future: asyncio.Future[Response] | None = None
    feed: Feed | None = None
    deadline: float | None = None
    is_own: bool = False
    """The session asks for itself."""
    on_wire: bool = False
    is_confirmed: bool = False
    """The server has answered the SUBSCRIBE on the present connection."""
    sent: float = 0.0
    doubts: int = 0
    """How many copies may have been applied."""
    busy: Backoff = field(default_factory=lambda: Backoff(_BUSY_WAIT_MAX))

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the answer."""
        return self.future is not None and not self.future.done()

    @property
    def wait(self) -> float:
        """Seconds that the server may take on purpose."""
        if isinstance(self.request, rq.Reserve):
            return self.request.wait_ms / 1000
        if isinstance(self.request, (rq.List, rq.Count, rq.Bulk, rq.Peek, rq.Advance)):
            return _BROWSE_MAX
        return _CHECKPOINT_MAX if isinstance(self.request, rq.BackupBegin) else 0.0

    def still_waits(self, now: float) -> bool:
        """Whether it is a RESERVE whose wait is not over, and somebody waits for its jobs."""
        return isinstance(self.request, rq.Reserve) and self.is_awaited and now < self.accepted + self.wait

    @property
    def is_repeatable(self) -> bool:
        """Whether carrying it out twice does no more than carrying it out once."""
        if isinstance(self.request, rq.Delete):
            return self.request.job.job is not None or isinstance(self.request, Cancellation)
        if isinstance(self.request, rq.Push):
            return self.request.sequence != 0 or self.request.idempotency != 0
        return self.request.IS_REPEATABLE

    @property
    def is_doubtful(self) -> bool:
        """Whether a copy of it may have changed the queue in a way that a repeat would do again."""
        return self.doubts > 0 and (isinstance(self.request, rq.Push) or not self.is_repeatable)

    @property
    def may_retry(self) -> bool:
        """Whether it is sent again when the server is busy."""
        if self.feed is not None:
            return not self.feed.has_left
        return self.is_awaited and not isinstance(self.request, _NOT_RETRIED)

    @property
    def nobody_wants(self) -> bool:
        """Whether it would only fetch jobs for nobody."""
        return isinstance(self.request, rq.Reserve) and not self.is_awaited

    @property
    def ends_with_connection(self) -> bool:
        """Whether it was about the connection that is lost."""
        if self.feed is not None:
            return self.feed.has_left
        if isinstance(self.request, _OF_ITS_CONNECTION) or (self.is_own and isinstance(self.request, rq.Leases)):
            return True
        # Its caller was told that the outcome is unknown, or left. What is given back is still given back.
        return self.on_wire and not self.is_awaited and not isinstance(self.request, rq.Release)

    def settle(self, outcome: Response | AdjournError) -> None:
        """Tells who waits."""
        if self.future is not None and not self.future.done():
            if isinstance(outcome, AdjournError):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)
