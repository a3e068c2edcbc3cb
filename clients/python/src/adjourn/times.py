"""Durations and points in time, as callers write them and as the protocol has them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

from .errors import UsageError
from .protocol.numbers import DueKind

Duration = float | timedelta
"""Seconds, or a `timedelta`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(value: Duration, name: str) -> int:
    """Milliseconds, rounded up."""
    if type(value) is int and value >= 0:
        return value * 1000
    seconds = to_seconds(value, name)
    return math.ceil(round(seconds * 1000, 3))


def to_seconds(value: Duration, name: str) -> float:
    """Seconds."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    else:
        raise UsageError(f"{name} is seconds or a timedelta, not {value!r}")
    if not math.isfinite(seconds) or seconds < 0:
        raise UsageError(f"{name} cannot be {value!r}")
    return seconds


def to_epoch_ms(value: datetime, name: str, *, down: bool = False) -> int:
    """Milliseconds since the epoch, rounded up, or down. A time without a zone is refused."""
    if not isinstance(value, datetime):
        raise UsageError(f"{name} is a datetime with a time zone, not {value!r}")
    if value.utcoffset() is None:
        raise UsageError(f"{name} is a datetime without a time zone: write datetime.now(timezone.utc), for example")
    return max(0, (value - _EPOCH) // _MILLISECOND if down else -((_EPOCH - value) // _MILLISECOND))


def to_due(delay: Duration | None, at: datetime | None) -> tuple[int, DueKind]:
    """The fields of the due point that a caller names: after a delay, at a time, or at once."""
    if at is None:
        return 0 if delay is None else to_ms(delay, "delay"), DueKind.AFTER
    if delay is not None:
        raise UsageError("a job is due after a delay or at a time, not both")
    return to_epoch_ms(at, "at"), DueKind.AT


def moment(ms: int) -> datetime | None:
    """The point in time; `None` for 0, which means that it did not happen or is not known."""
    return None if ms == 0 else point(ms)


def point(ms: int) -> datetime:
    """The point in time, or the last one that a datetime can be."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)
