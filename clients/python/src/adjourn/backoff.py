"""How long a job waits after a failed attempt.

    await q.push("webhooks", payload, attempts_max=8, backoff=adjourn.backoff.exponential(1, 600, jitter_percent=20))
"""

from __future__ import annotations

from .protocol.values import Backoff
from .times import Duration, to_ms


def fixed(wait: Duration, *, jitter_percent: int = 0) -> Backoff:
    """The same wait after each attempt."""
    return Backoff("fixed", (to_ms(wait, "wait"),), jitter_percent)


def linear(step: Duration, longest: Duration, *, jitter_percent: int = 0) -> Backoff:
    """The step times the number of the attempt, up to the longest wait."""
    return Backoff("linear", (to_ms(step, "step"), to_ms(longest, "longest")), jitter_percent)


def exponential(first: Duration, longest: Duration, *, jitter_percent: int = 0) -> Backoff:
    """Doubles from the first wait up to the longest."""
    return Backoff("exponential", (to_ms(first, "first"), to_ms(longest, "longest")), jitter_percent)


def each(*waits: Duration, jitter_percent: int = 0) -> Backoff:
    """One wait for each attempt, 1 to 32; the last one repeats."""
    return Backoff("list", tuple(to_ms(wait, "wait") for wait in waits), jitter_percent)


__all__ = ["Backoff", "each", "exponential", "fixed", "linear"]
