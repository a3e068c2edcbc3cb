"""Jobs as they become due."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from .errors import ClientClosedError
from .protocol.numbers import RELEASE_NOT_STARTED
from .protocol.requests import Subscribe
from .session.calls import Feed
from .session.hold import Arrival
from .session.session import Session

J = TypeVar("J")


class Subscription(Generic[J]):
    """An asynchronous iterator of jobs. It lives through reconnects, and ends with `close` or when the server refuses it.

    Jobs that nobody has taken are given back when it is closed, and each of them at half of its lease: no lease ends here, where it
    would count as an attempt.
    """

    def __init__(
        self, session: Session, request: Subscribe, make: Callable[[Arrival], J], check_open: Callable[[], None]
    ) -> None:
        self._session = session
        self._request = request
        self._make = make
        self._check_open = check_open
        self._came = asyncio.Event()
        self._patience = _Patience(session, self._came)
        self._feed = self._patience.feed
        self._number: int | None = None
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_active(self) -> bool:
        """Whether the server sends jobs now: connected, subscribed and not closed."""
        return (
            self._number is not None
            and not self._is_closed
            and not self._feed.has_ended
            and self._session.is_subscribed(self._number)
        )

    @property
    def waiting(self) -> int:
        """Jobs that came and were not taken. Their leases run."""
        return len(self._feed.jobs)

    async def start(self) -> None:
        """Subscribes. The iterator does it by itself."""
        if self._number is None and not self._is_closed:
            self._check_open()
            self._loop = asyncio.get_running_loop()
            self._number = self._patience.number = await self._session.subscribe(self._request, self._feed)
            if self._is_closed:
                self._end(self._number)

    def add_credit(self, jobs: int, size: int = 0) -> None:
        """Lets the server send more jobs at once; `size` is bytes of bodies."""
        if self._number is not None:
            self._session.add_credit(self._number, jobs, size)

    def take(self) -> J | None:
        """A job that is here, without waiting."""
        arrival = self._feed.take()
        if self._number is not None:
            self._session.taken(self._number)
        return None if arrival is None else self._make(arrival)

    def close(self) -> None:
        """Takes no more jobs; gives back those that wait here, and those that still come."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._number is not None:
            self._end(self._number)
        self._came.set()

    def _end(self, number: int) -> None:
        self._patience.end()
        left = [arrival.hold.ref for arrival in self._feed.jobs]
        self._feed.jobs.clear()
        self._session.unsubscribe(number)
        if left:
            self._session.give_back(left, RELEASE_NOT_STARTED)

    def __aiter__(self) -> Subscription[J]:
        return self

    async def __anext__(self) -> J:
        await self.start()
        while True:
            job = self.take()
            if job is not None:
                return job
            if self._is_closed:
                raise StopAsyncIteration
            if self._feed.has_ended:
                if self._feed.failure is None or isinstance(self._feed.failure, ClientClosedError):
                    raise StopAsyncIteration
                raise self._feed.failure
            self._came.clear()
            await self._came.wait()

    async def __aenter__(self) -> Subscription[J]:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A loop that was left with `break` must not keep jobs.
        if self._number is not None and not self._is_closed and self._loop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._session.unsubscribe, self._number)
            except RuntimeError:
                return


class _Patience:
    """Gives jobs back that nobody takes. It does not know the subscription, which has to go when its caller leaves it."""

    def __init__(self, session: Session, came: asyncio.Event) -> None:
        self.feed = Feed(self._arrived)
        self.number: int | None = None
        self._session = session
        self._came = came
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = math.inf

    def end(self) -> None:
        """There is nothing more to look after."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arrived(self) -> None:
        self._came.set()
        half_at = self.feed.half_at
        if half_at < self._looks_at:
            self.end()
            self._looks_at = half_at
            self._timer = self._session.call_later(max(0.001, half_at - self._session.now()), self._look)

    def _look(self) -> None:
        self._timer, self._looks_at = None, math.inf
        leases = self.feed.take_half_over(self._session.now())
        if leases:
            self._session.give_back(leases, RELEASE_NOT_STARTED)
            if self.number is not None:
                self._session.taken(self.number)
        if self.feed.jobs:
            self._arrived()
