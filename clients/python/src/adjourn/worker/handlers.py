"""How handlers are called: on the event loop, in a thread, in a process."""

from __future__ import annotations

import asyncio
import contextvars
import functools
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

_LAYERS_MAX = 32

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
        refuse_not_run(await self._returned(job))

    async def _returned(self, job: HeldJob) -> Any:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def call() -> None:
            result: Any = None
            failure: BaseException | None = None
            try:
                result = context.run(self._handler, job)
            except BaseException as error:
                failure = error
            try:
                loop.call_soon_threadsafe(_tell, ended, failure, result)
            except RuntimeError:
                return  # The loop has ended before the handler.

        threading.Thread(target=call, name=f"adjourn-job-{job.id}", daemon=True).start()
        return await asyncio.shield(ended)

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        """The handler has to ask `job.cancellation`. Until it ends, it has its place in the worker."""

    async def close(self) -> None:
        return


class WrapperRunner(ThreadRunner):
    """Calls a plain function that wraps an `async def` in a thread, as it may block; awaits on the event loop what it returns."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._on_loop: set[int] = set()

    async def run(self, job: HeldJob) -> None:
        result = await self._returned(job)
        if not inspect.isawaitable(result):
            refuse_not_run(result)
            return
        if job.cancellation.is_set():
            _close(result)
            job.cancellation.raise_if_set()
        self._on_loop.add(id(job))
        try:
            await result
        except SystemExit as failure:
            raise _as_error(failure) from failure
        finally:
            self._on_loop.discard(id(job))

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        if id(job) in self._on_loop:
            handling.cancel(msg=reason.value)


def _tell(ended: asyncio.Future[Any], failure: BaseException | None, result: Any = None) -> None:
    if ended.done():
        return
    if failure is None:
        ended.set_result(result)
    elif isinstance(failure, Exception) and not isinstance(failure, StopIteration):
        ended.set_exception(failure)
    else:
        # A future refuses StopIteration, and SystemExit would end the loop.
        ended.set_exception(_as_error(failure))


def _as_error(failure: BaseException) -> RuntimeError:
    error = RuntimeError(f"the handler raised {type(failure).__name__}: {reason_of(failure)}")
    error.__cause__ = failure
    return error


def refuse_not_run(result: Any) -> None:
    """Raises if a handler returned without having run: a coroutine or a generator that nothing has started."""
    if inspect.isawaitable(result):
        _close(result)
        raise UsageError(
            f"the handler returned its {type(result).__name__} and did not run: pass the `async def` itself, or runs_in=RunsIn.LOOP"
        )
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        _close(result)
        raise UsageError(f"the handler returned its {type(result).__name__} and did not run: a handler has no `yield`")


def _close(result: Any) -> None:
    # Without it, Python warns of a coroutine that was never awaited.
    if inspect.iscoroutine(result) or inspect.isgenerator(result):
        result.close()


def is_async(handler: Handler) -> bool:
    """Whether it is an `async def`: a function, a method, an object that is called, or a `functools.partial` of one of these."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(type(handler), "__call__", None))


def wraps_async(handler: Handler) -> bool:
    """Whether it is a plain function that wraps an `async def`, as `functools.wraps` says. It may return a coroutine, or run it."""
    layer: Any = handler
    for _ in range(_LAYERS_MAX):
        layer = layer.func if isinstance(layer, functools.partial) else getattr(layer, "__wrapped__", None)
        if not callable(layer):
            return False
        if is_async(layer):
            return True
    return False
