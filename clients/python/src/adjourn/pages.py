"""The answers of calls about many jobs, which come in parts."""

from __future__ import annotations

from dataclasses import dataclass

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
