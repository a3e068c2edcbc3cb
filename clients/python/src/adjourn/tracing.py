"""Traces of pushes and handlers. `adjourn.opentelemetry` makes them; this is what runs without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from .jobs import PushResult

if TYPE_CHECKING:
    from .queue import Job

Send = Callable[[Mapping[str, str]], Awaitable[list[PushResult]]]
"""Pushes, and gives the jobs those of these headers that fit. Those that a job names itself win; one with a `traceparent` gets none."""


class Tracing:
    """What surrounds each push and each handler of a client. This one leaves no trace: override what you need."""

    async def push(self, topic: str, jobs: int, send: Send) -> list[PushResult]:
        """Surrounds a push of some jobs, all repeats and requests of it included."""
        return await send({})

    async def process(self, job: Job, call: Callable[[], Awaitable[None]]) -> None:
        """Surrounds each handler, outside of all middleware."""
        await call()

    def carry(self) -> AbstractContextManager[object]:
        """The context of a handler that is to run in another process. It is sent there and entered, so it can be pickled."""
        return nullcontext()
