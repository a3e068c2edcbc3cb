"""Traces of pushes and handlers. `adjourn.opentelemetry` makes them; this is what runs without it."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from .jobs import PushResult

if TYPE_CHECKING:
    from .queue import Job

log = logging.getLogger("adjourn")

_NAME_BYTES_MAX = 255
Result = TypeVar("Result")
Send = Callable[[Mapping[str, str]], Awaitable[list[PushResult]]]
"""Pushes, and gives the jobs those of these headers that fit. Those that a job has already win; one with a `traceparent` gets none."""


class Faults:
    """Keeps the faults of one step of tracing from what is traced: `with faults: span.end()`. Logs the first."""

    def __init__(self) -> None:
        self._is_logged = False

    def happened(self, fault: object) -> None:
        if not self._is_logged:
            self._is_logged = True
            error = fault if isinstance(fault, Exception) else None
            log.warning("tracing failed, what is traced goes on; later faults are not logged: %r", fault, exc_info=error)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.happened(error)
        return True


class Tracing:
    """What surrounds each push and each handler of a client. This one leaves no trace: override what you need.

    What it raises or returns changes no outcome: that of a push or a handler is its own.
    """

    async def push(self, topic: str, jobs: int, send: Send) -> list[PushResult]:
        """Surrounds a push of some jobs, all repeats and requests of it included."""
        return await send({})

    async def process(self, job: Job, call: Callable[[], Awaitable[None]]) -> None:
        """Surrounds each handler, outside of all middleware."""
        await call()

    def carry(self) -> AbstractContextManager[object]:
        """The context of a handler that is to run in another process. It is sent there and entered, so it can be pickled."""
        return nullcontext()

    @cached_property
    def _faults(self) -> Faults:
        return Faults()


class GuardedTracing:
    """The tracing of a client, if it has one, whose faults change no outcome."""

    def __init__(self, tracing: Tracing | None) -> None:
        self._tracing = tracing
        self.faults = tracing._faults if tracing else Faults()

    async def push(self, topic: str, jobs: int, send: Send) -> list[PushResult]:
        tracing = self._tracing
        if tracing is None:
            return await send({})
        return await self._around(lambda once: tracing.push(topic, jobs, once), lambda headers: send(self._texts(headers)))

    async def process(self, job: Job, call: Callable[[], Awaitable[None]]) -> None:
        tracing = self._tracing
        if tracing is None:
            return await call()
        await self._around(lambda once: tracing.process(job, lambda: once({})), lambda _: call())

    def carry(self) -> bytes | None:
        """The pickled context of a handler that is to run in another process."""
        if self._tracing is not None:
            with self.faults:
                return pickle.dumps(self._tracing.carry())
        return None

    async def _around(
        self,
        surround: Callable[[Callable[[Mapping[str, str]], Awaitable[Result]]], Awaitable[object]],
        act: Callable[[Mapping[str, str]], Awaitable[Result]],
    ) -> Result:
        """Acts once, whatever surrounds it does, and ends as the act does."""
        acted: asyncio.Future[Result] | None = None

        async def once(headers: Mapping[str, str]) -> Result:
            nonlocal acted
            if acted is not None:
                return await asyncio.shield(acted)
            acted = asyncio.get_running_loop().create_future()
            try:
                result = await act(headers)
            except asyncio.CancelledError:
                acted.cancel()
                raise
            except BaseException as error:
                acted.set_exception(error)
                acted.exception()  # It was seen.
                raise
            acted.set_result(result)
            return result

        try:
            await surround(once)
        except Exception as error:
            is_cancelled = acted is not None and acted.cancelled()
            task = asyncio.current_task()
            if is_cancelled and task is not None and not task.cancelling():
                raise  # Tracing stopped the act, which has no other outcome.
            if acted is None or not acted.done() or is_cancelled or acted.exception() is not error:
                self.faults.happened(error)
        if acted is None:
            return await act({})
        return acted.result() if acted.done() else await asyncio.shield(acted)

    def _texts(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Headers that can be written, or none."""
        with self.faults:
            for name, value in headers.items():
                if not 0 < len(name.encode()) <= _NAME_BYTES_MAX:
                    raise ValueError(f"a header cannot be named {name!r}")
                value.encode()
            return headers
        return {}
