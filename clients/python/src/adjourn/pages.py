"""The answers of calls about many jobs, which come in parts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .protocol.responses import JobReport


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list. An empty cursor: it is the last one."""

    jobs: tuple[JobReport, ...]
    cursor: bytes


@dataclass(frozen=True, slots=True)
class BulkStep:
    """What a step of a bulk change did. Go on from `cursor`; empty: it was the last one."""

    jobs: int
    skipped: int
    cursor: bytes


@dataclass(frozen=True, slots=True)
class FilledPart:
    """What became of the instants of a schedule in a part of a time that has passed. Go on from `next`; `None`: it was the last part."""

    instants: int
    """Instants in this part."""
    pushed: int
    """Jobs that were pushed. A dry run pushes none."""
    kept: int
    """Instants whose job is in the topic already, by its key."""
    refused: int
    """Jobs that the topic's policy, or a limit of the queue, does not allow."""
    next: datetime | None
