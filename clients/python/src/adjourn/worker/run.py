"""One job at work: keeps its lease while the handler runs, and settles it as that ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from ..errors import AdjournError, InvalidError, StaleLeaseError, UnsupportedError, UsageError
from ..protocol.numbers import RELEASE_NOT_STARTED
from ..queue import Job, Queue
from ..session.leases import LostReason
from ..times import Duration
from .failures import FailureLog, cut, reason_of
from .handlers import Bury, Middleware, Retry, Runner

log = logging.getLogger("adjourn")

_TOUCH_AGAIN_MIN = 0.05


class Run:
    """The handling of one job."""

    def __init__(
        self,
        queue: Queue,
        job: Job,
        runner: Runner,
        middleware: Sequence[Middleware],
        run_time_max: float,
        failures: FailureLog,
    ) -> None:
        self.job = job
        self.stopped: LostReason | None = None
        """Why the handler was told to stop."""
        self._queue = queue
        self._session = queue.session
        self._runner = runner
        self._middleware = middleware
        self._failures = failures
        self._ends_at = self._session.now() + run_time_max
        self._wake = asyncio.Event()
        self._touch_at = job.hold.half_at
        self._touching: asyncio.Task[None] | None = None
        self._handling: asyncio.Task[None] | None = None

    async def work(self) -> None:
        """Runs the handler to its end, and settles the job."""
        if self.stopped is not None:
            self._session.give_back([self.job.hold.ref], RELEASE_NOT_STARTED)
            return
        handling = self._handling = asyncio.create_task(self._call(), name=f"adjourn-job-{self.job.id}")
        handling.add_done_callback(lambda _: self._wake.set())
        try:
            await self._keep(handling)
        finally:
            if self._touching is not None:
                self._touching.cancel()
        await self._settle(handling)

    def stop(self, reason: LostReason) -> None:
        """Tells the handler to stop. The first reason stays."""
        if self.stopped is not None or (self._handling is not None and self._handling.done()):
            return
        self.stopped = reason
        if self._handling is None:
            return
        log.warning("the handler of job %d is stopped: %s", self.job.id, reason.value)
        if reason.ends_lease:
            self.job.hold.lose(reason)
        self.job.cancellation.set(reason)
        self._runner.stop(self.job, self._handling, reason)
        self._wake.set()

    def abandon(self) -> None:
        """The worker does not wait for it any longer."""
        if self._handling is not None:
            self._handling.cancel()

    async def _call(self) -> None:
        call: Callable[[], Awaitable[None]] = lambda: self._runner.run(self.job)  # noqa: E731
        for wrap in reversed(self._middleware):
            call = _wrapped(wrap, self.job, call)
        await call()

    async def _keep(self, handling: asyncio.Task[None]) -> None:
        """Touches the lease at half of its time, again and again, until the handler ends."""
        while not handling.done():
            self._wake.clear()
            now = self._session.now()
            reason = self.job.lost
            if reason is not None:
                self.stop(reason)
            elif now >= self._ends_at:
                self.stop(LostReason.RUN_TIME)
            elif now >= self._touch_at and self._touching is None and self.stopped is None:
                self._touching = asyncio.create_task(self._touch())
            timer = self._session.call_later(max(0.001, self._next_look(now)), self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    def _next_look(self, now: float) -> float:
        if self.job.hold.lost() is not None:
            return 3600.0
        times = [self.job.hold.deadline]
        if self.stopped is None:
            times.append(self._ends_at)
            if self._touching is None:
                times.append(self._touch_at)
        return min(times) - now

    async def _touch(self) -> None:
        hold = self.job.hold
        try:
            await self._queue.touch(self.job)
            self._touch_at = hold.half_at
        except StaleLeaseError:
            log.info("job %d: the server says that the lease has ended", self.job.id)
        except AdjournError as error:
            log.warning("job %d: the lease could not be touched: %s", self.job.id, error)
            self._touch_at = self._session.now() + max(_TOUCH_AGAIN_MIN, hold.left() / 4)
        finally:
            self._touching = None
            self._wake.set()

    async def _settle(self, handling: asyncio.Task[None]) -> None:
        job = self.job
        error = _failure(handling)
        if job.settled:
            return
        # The process may have stood still since anything looked at the clock.
        reason = self.stopped if self.stopped is not None else job.lost
        if reason is not None and reason.ends_lease:
            if reason.is_a_guess:
                # If the server no longer holds the lease, this does nothing.
                self._session.give_back([job.hold.ref], 0)
            return
        try:
            if error is None:
                await self._queue.finish(job)
            elif self.stopped is LostReason.RUN_TIME:
                await self._release(None, "the handler ran for longer than it may")
            elif self.stopped is LostReason.STOPPING:
                await self._release(0, "the worker stopped before the handler had ended")
            else:
                await self._fail(error)
        except StaleLeaseError:
            log.warning("job %d: the lease had ended before the job was settled", job.id)
        except AdjournError as failure:
            log.error("job %d could not be settled: %s", job.id, failure)

    async def _fail(self, error: BaseException) -> None:
        is_wish = isinstance(error, (Bury, Retry))
        reason = cut(error.reason) if isinstance(error, (Bury, Retry)) else reason_of(error)
        self._failures.failed(self.job.id, self.job.attempts, reason, None if is_wish else error)
        try:
            if isinstance(error, Bury):
                await self._queue.bury(self.job, reason)
            else:
                await self._release(error.delay if isinstance(error, Retry) else None, reason)
        except (UsageError, InvalidError) as wrong:
            # What the handler wishes cannot be: then it failed as any other.
            await self._release(None, reason_of(wrong))

    async def _release(self, delay: Duration | None, reason: str) -> None:
        try:
            await self._queue.release(self.job, delay=delay, reason=cut(reason))
        except UnsupportedError:
            # Not every member of the cluster knows reasons yet.
            await self._queue.release(self.job, delay=delay)


def _failure(handling: asyncio.Task[None]) -> BaseException | None:
    if handling.cancelled():
        return asyncio.CancelledError("the handler was cancelled")
    return handling.exception()


def _wrapped(wrap: Middleware, job: Job, inner: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    return lambda: wrap(job, inner)
