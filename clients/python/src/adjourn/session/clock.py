"""The client's monotonic clock. It counts the time for which the machine slept."""

from __future__ import annotations

import sys
import time


def _clock() -> int | None:
    # time.monotonic() stands still on these systems while the machine sleeps.
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.CLOCK_BOOTTIME
    if sys.platform == "darwin":
        return time.CLOCK_MONOTONIC
    return None


_CLOCK = _clock()


def now() -> float:
    """Seconds since some fixed moment."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
