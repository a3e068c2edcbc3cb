"""How handlers are called: on the event loop, in a thread, in a process."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Protocol

from .. import times
from ..errors import UsageError
from ..jobs import HeldJob
from ..queue import Job
from ..session.leases import LostReason
from ..times import Duration
from .failures import reason_of

Handler = Callable[[Any], Any]
"""Called with a job: an `async def`, or a function that may block."""

Middleware = Callable[[Job, Callable[[], Awaitable[None]]], Awaitable[None]]
"""Called around each handler, on the event loop, with the job and what runs the handler."""


class RunsIn(Enum):
    """Where handlers run."""

    LOOP = "loop"
    """On the event loop: for `async def`. It must not block."""
    THREAD = "thread"
    """In a thread for each job. A thread cannot be stopped: the handler asks `job.cancellation`."""
    PROCESS = "process"
    """In processes. One whose job is lost is killed. The handler is a function of a module, and gets a copy of the job."""


class Retry(Exception):
    """Raised by a handler: release the job, to be attempted again after `delay`; without one, after its backoff."""

    def __init__(self, reason: str = "", *, delay: Duration | None = None) -> None:
        super().__init__(reason, delay)
        self.reason = _checked_reason(reason)
        self.delay = delay
        if delay is not None:
            times.to_ms(delay, "delay")

    def __str__(self) -> str:
        return self.reason


class Bury(Exception):
    """Raised by a handler: set the job aside, it is not to be attempted again."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = _checked_reason(reason)


def _checked_reason(reason: str) -> str:
    if not isinstance(reason, str):
        raise UsageError(f"a reason is a text, not {reason!r}: write Retry('busy', delay=60)")
    return reason


class Runner(Protocol):
    """Runs handlers."""

    async def run(self, job: HeldJob) -> None:
        """Calls the handler; raises what it raises."""

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        """Ends the handler of a job, or at least tells it to end."""

    async def close(self) -> None:
        """No more handlers run."""


class LoopRunner:
    """Awaits handlers on the event loop."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def run(self, job: HeldJob) -> None:
        try:
            await self._handler(job)
        except SystemExit as failure:
            raise _as_error(failure) from failure

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        handling.cancel(msg=reason.value)

    async def close(self) -> None:
        return


class ThreadRunner:
    """Calls each handler in a daemon thread of its own, which does not keep the process from ending."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def run(self, job: HeldJob) -> None:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        context = contextvars.copy_context()

        def call() -> None:
            failure: BaseException | None = None
            try:
                context.run(self._handler, job)
            except BaseException as error:
                failure = error
            try:
                loop.call_soon_threadsafe(_tell, ended, failure)
            except RuntimeError:
                return  # The loop has ended before the handler.

        threading.Thread(target=call, name=f"adjourn-job-{job.id}", daemon=True).start()
        await asyncio.shield(ended)

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        """The handler has to ask `job.cancellation`. Until it ends, it has its place in the worker."""

    async def close(self) -> None:
        return


def _tell(ended: asyncio.Future[None], failure: BaseException | None) -> None:
    if ended.done():
        return
    if failure is None:
        ended.set_result(None)
    elif isinstance(failure, Exception) and not isinstance(failure, StopIteration):
        ended.set_exception(failure)
    else:
        # A future refuses StopIteration, and SystemExit would end the loop.
        ended.set_exception(_as_error(failure))


def _as_error(failure: BaseException) -> RuntimeError:
    error = RuntimeError(f"the handler raised {type(failure).__name__}: {reason_of(failure)}")
    error.__cause__ = failure
    return error


def place_of(handler: Handler) -> RunsIn:
    """Where a handler runs unless the worker is told."""
    called = handler if inspect.isroutine(handler) else getattr(handler, "__call__", handler)  # noqa: B004
    return RunsIn.LOOP if inspect.iscoroutinefunction(called) else RunsIn.THREAD
