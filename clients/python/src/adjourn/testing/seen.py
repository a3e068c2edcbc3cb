"""A job as an assertion sees it, and what an assertion may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .. import times
from ..body import DEFAULT_CODEC, decode_body
from ..protocol.numbers import JobState
from ..protocol.responses import JobReport
from ..times import Duration

_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job that is in the queue."""

    report: JobReport
    """All that the server says of it."""
    delay: timedelta
    """How far ahead its due time lies, on the clock of the queue. Not negative."""

    @property
    def id(self) -> int:
        """The id that the queue gave it."""
        return self.report.id

    @property
    def topic(self) -> str:
        """The topic that it is in."""
        return self.report.topic

    @property
    def key(self) -> str | None:
        """The producer's own id."""
        return self.report.key

    @property
    def body(self) -> bytes:
        """The bytes of its body."""
        return self.report.body

    @property
    def value(self) -> Any:
        """The body as its content type says: an object of JSON, a text, or bytes."""
        return decode_body(self.report.body, self.report.headers, DEFAULT_CODEC)

    @property
    def due(self) -> datetime:
        """When it is due, on the clock of the queue."""
        return times.point(self.report.due_ms)

    def __str__(self) -> str:
        state = self.report.state.name.lower() if isinstance(self.report.state, JobState) else str(self.report.state)
        key = "" if self.key is None else f", key {self.key!r}"
        due = f", due in {self.delay}" if self.report.state == JobState.DELAYED else ""
        return f"{self.topic}: {self.value!r}{key}, {state}{due}, attempts {self.report.attempts}"


ANYTHING: Any = object()
"""No body is asked for."""
Predicate = Callable[[SeenJob], object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a test says of a job."""

    body: Any = ANYTHING
    key: str | None = None
    delay: Duration | None = None
    where: Predicate | None = None

    def matches(self, job: SeenJob) -> bool:
        """Whether this job is meant."""
        wanted = self.body
        if wanted is not ANYTHING and wanted != (job.body if isinstance(wanted, (bytes, bytearray)) else job.value):
            return False
        if self.key is not None and self.key != job.key:
            return False
        if self.delay is not None and times.to_ms(self.delay, "delay") != job.delay // timedelta(milliseconds=1):
            return False
        return self.where is None or bool(self.where(job))

    def __str__(self) -> str:
        said = [] if self.body is ANYTHING else [f"body {self.body!r}"]
        said += [] if self.key is None else [f"key {self.key!r}"]
        said += [] if self.delay is None else [f"due in {timedelta(seconds=times.to_seconds(self.delay, 'delay'))}"]
        said += [] if self.where is None else ["for which `where` is true"]
        return "".join(f", {one}" for one in said)


def shown(jobs: Iterable[SeenJob]) -> str:
    """Jobs as an assertion that fails lists them."""
    lines = [f"  {job}" for job in jobs]
    more = [f"  and {len(lines) - _SHOWN_MAX} more"] if len(lines) > _SHOWN_MAX else []
    return "\n".join(lines[:_SHOWN_MAX] + more) or "  none"
