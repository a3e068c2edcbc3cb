"""The worker: takes jobs from a subscription, runs a handler for each, and stops in time."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from .. import times
from ..errors import UsageError
from ..queue import Job, Queue
from ..session.leases import LostReason
from ..subscription import Subscription
from ..times import Duration
from ..tracing import GuardedTracing
from .failures import FailureLog
from .handlers import Handler, LoopRunner, Middleware, Runner, RunsIn, ThreadRunner, WrapperRunner, is_async, wraps_async
from .processes import ProcessRunner
from .run import Run

log = logging.getLogger("adjourn")

_CANCEL_MAX = 1.0
_RUN_TIME_MAX = 3600.0
_STOP_MAX = 30.0
_CREDIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a worker consumes: it is true only if the server sends it jobs and it can start their handlers."""

    consuming: bool
    why_not: str
    running: int
    """Handlers at work."""
    waiting: int
    """Jobs in memory that no handler has started."""

    def __bool__(self) -> bool:
        return self.consuming


class Worker:
    """Runs a handler for each job of some topics.

    | the handler | the job |
    |---|---|
    | returns | is finished |
    | raises | is released, to be attempted again as its backoff says; the error is its last reason |
    | raises `Retry` or `Bury` | is released with that delay, or buried |
    | takes long | keeps its lease, up to `run_time_max` |
    | has lost its lease | belongs to another consumer: the handler is stopped, and settles nothing |

    An `async def` runs on the event loop and is cancelled with the reason as message. A plain function runs in a thread; it may
    block, and asks `job.cancellation`. With `RunsIn.PROCESS` a handler may also hold the interpreter: its process is killed.
    """

    def __init__(
        self,
        queue: Queue,
        *topics: str,
        handler: Handler,
        concurrency: int = 8,
        prefetch: int = 0,
        weights: Sequence[int] = (),
        runs_in: RunsIn | None = None,
        run_time_max: Duration = _RUN_TIME_MAX,
        stop_timeout: Duration = _STOP_MAX,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        """`prefetch` is how many jobs wait in memory beside those at work: it saves a round trip for each short job.

        Its price: their leases run, nobody else gets them meanwhile, and if this process dies, each of them has used up an attempt.
        A job that no handler has started at half of its lease is given back, without an attempt.
        """
        _check_count("concurrency", concurrency, 1)
        _check_count("prefetch", prefetch, 0)
        self._run_time_max = times.to_seconds(run_time_max, "run_time_max")
        if self._run_time_max == 0:
            raise UsageError("run_time_max is how long a handler may run, more than 0 seconds: leave it out for an hour")
        self._stop_timeout = times.to_seconds(stop_timeout, "stop_timeout")
        if not isinstance(middleware, Sequence) or not all(callable(wrap) for wrap in middleware):
            raise UsageError("middleware is a list of functions: write middleware=[traced]")
        self._queue = queue
        self._concurrency = concurrency
        self._subscription: Subscription[Job] = queue.subscribe(
            *topics, credit=concurrency + prefetch, credit_bytes=_CREDIT_BYTES, weights=weights
        )
        self._runner = _runner(handler, runs_in, queue.tracing)
        self._middleware = (queue.tracing.process, *middleware)
        self._failures = FailureLog(queue.session.now)
        self._runs: dict[asyncio.Task[None], Run] = {}
        self._slots = asyncio.Semaphore(concurrency)
        self._dispatcher: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._asked_to_stop = asyncio.Event()

    async def start(self) -> None:
        """Subscribes, and starts to work."""
        if self._dispatcher is None:
            self._queue.before_close(self.stop)
            self._queue.session.on_loss(self._all_lost)
            await self._subscription.start()
            self._dispatcher = asyncio.create_task(self._dispatch(), name="adjourn-worker")

    async def run(self, *, handle_signals: bool = False) -> None:
        """Works until `stop`; with `handle_signals` also until SIGTERM or SIGINT, of which a second one does not wait.

        Raises what ended the subscription, if the server or the client did.
        """
        await self.start()
        assert self._dispatcher is not None
        restore = self._catch_signals() if handle_signals else []
        asked = asyncio.create_task(self._asked_to_stop.wait())
        try:
            await asyncio.wait({asked, self._dispatcher}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
            await self.stop()
            for number in restore:
                asyncio.get_running_loop().remove_signal_handler(number)
        if self._dispatcher.done() and not self._dispatcher.cancelled():
            self._dispatcher.result()

    async def stop(self, timeout: Duration | None = None) -> None:
        """Takes no new job, gives back those that wait in memory, and waits for the handlers.

        Always ends within `timeout` (by default `stop_timeout`): in its last second, or its last quarter if that is shorter, the
        handlers that still run are stopped. The queue stays open. `Queue.close` stops its workers first.
        """
        self._asked_to_stop.set()
        if self._stopping is None:
            seconds = self._stop_timeout if timeout is None else times.to_seconds(timeout, "timeout")
            self._stopping = asyncio.create_task(self._stop(seconds))
        await asyncio.shield(self._stopping)

    def health(self) -> Health:
        """Whether jobs flow: the subscription is active, and not all places are taken by handlers that do not stop."""
        why_not = ""
        stuck = sum(run.stopped is not None for run in self._runs.values())
        if self._asked_to_stop.is_set():
            why_not = "the worker stops"
        elif self._dispatcher is None or self._dispatcher.done():
            why_not = "the worker does not run"
        elif not self._queue.is_connected:
            why_not = "the server is not connected"
        elif not self._subscription.is_active:
            why_not = "the subscription is not active"
        elif stuck >= self._concurrency:
            why_not = "every handler was told to stop and has not ended"
        return Health(not why_not, why_not, len(self._runs), self._subscription.waiting)

    async def __aenter__(self) -> Worker:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _dispatch(self) -> None:
        while True:
            await self._slots.acquire()
            try:
                job = await self._subscription.__anext__()
            except StopAsyncIteration:
                return
            run = Run(self._queue, job, self._runner, self._middleware, self._run_time_max, self._failures)
            task = asyncio.create_task(run.work())
            self._runs[task] = run
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._runs.pop(task, None)
        self._slots.release()
        if not task.cancelled() and task.exception() is not None:
            log.error("the worker has a bug", exc_info=task.exception())

    def _all_lost(self, reason: LostReason) -> None:
        for run in list(self._runs.values()):
            run.stop(reason)

    async def _stop(self, seconds: float) -> None:
        self._subscription.close()
        last = min(_CANCEL_MAX, seconds / 4)
        await self._wait_for_runs(seconds - last)
        if self._runs:
            for run in list(self._runs.values()):
                run.stop(LostReason.STOPPING)
            await self._wait_for_runs(last)
        if self._runs:
            log.error("%d handlers do not stop: their leases end by themselves", len(self._runs))
            self._queue.leave_leases()
            for task, run in list(self._runs.items()):
                run.abandon()
                task.cancel()
        if self._dispatcher is not None and not self._dispatcher.done():
            self._dispatcher.cancel()
        self._queue.session.forget_listener(self._all_lost)
        self._queue.forget_stop(self.stop)
        await self._runner.close()

    async def _wait_for_runs(self, seconds: float) -> None:
        if self._runs:
            await asyncio.wait(set(self._runs), timeout=seconds)

    def _catch_signals(self) -> list[int]:
        loop = asyncio.get_running_loop()
        caught: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._signalled)
                caught.append(number)
            except (NotImplementedError, RuntimeError, ValueError):
                log.debug("signal %s cannot be caught here", number)
        return caught

    def _signalled(self) -> None:
        if self._asked_to_stop.is_set():
            for run in list(self._runs.values()):
                run.stop(LostReason.STOPPING)
        self._asked_to_stop.set()


def _check_count(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name} is a whole number from {least} on, not {value!r}: write {name}={max(least, 1)}, for example")


def _runner(handler: Handler, runs_in: RunsIn | None, tracing: GuardedTracing) -> Runner:
    if not callable(handler):
        raise UsageError(f"a handler is a function, not {handler!r}")
    if runs_in is not None and not isinstance(runs_in, RunsIn):
        places = ", ".join(f"RunsIn.{place.name}" for place in RunsIn)
        raise UsageError(f"runs_in cannot be {runs_in!r}: write {places}")
    if runs_in is RunsIn.PROCESS:
        return ProcessRunner(handler, tracing)
    if is_async(handler):
        if runs_in is RunsIn.THREAD:
            raise UsageError("an `async def` runs on the event loop: leave runs_in out, or write RunsIn.LOOP")
        return LoopRunner(handler)
    if runs_in is RunsIn.LOOP:
        return LoopRunner(handler)
    return WrapperRunner(handler) if runs_in is None and wraps_async(handler) else ThreadRunner(handler)
