"""Which jobs a list, a count or a bulk change means."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from . import times
from .errors import UsageError
from .groups import checked_group
from .protocol.elements import Filter
from .protocol.numbers import BuriedReason, States


class Where(TypedDict, total=False):
    """Conditions on jobs; a job matches if it meets all of them."""

    topic: str | None
    states: States | None
    due_from: datetime | None
    due_before: datetime | None
    key_prefix: str | None
    attempts_min: int | None
    attempts_max: int | None
    buried: BuriedReason | None
    reason: str | None
    """The last reason contains this text."""
    group: str | None
    """It belongs to this group."""


def where(conditions: Where) -> Filter:
    """The filter of the protocol. An unknown condition is refused: without it, the others would choose more jobs."""
    unknown = conditions.keys() - Where.__annotations__.keys()
    if unknown:
        raise TypeError(f"jobs have no condition {', '.join(sorted(unknown))}: there are {', '.join(Where.__annotations__)}")
    due_from, due_before = conditions.get("due_from"), conditions.get("due_before")
    prefix, group = conditions.get("key_prefix"), conditions.get("group")
    if not isinstance(prefix, str | None):
        raise UsageError(f"key_prefix is a text, not {prefix!r}")
    return Filter(
        topic=conditions.get("topic"),
        states=conditions.get("states"),
        due_from_ms=None if due_from is None else times.to_epoch_ms(due_from, "due_from"),
        due_before_ms=None if due_before is None else times.to_epoch_ms(due_before, "due_before"),
        key_prefix=None if prefix is None else prefix.encode(),
        attempts_min=conditions.get("attempts_min"),
        attempts_max=conditions.get("attempts_max"),
        buried=conditions.get("buried"),
        reason=conditions.get("reason"),
        group=None if group is None else checked_group(group),
    )
