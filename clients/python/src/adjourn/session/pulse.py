"""When to send a heartbeat, and when to treat the server as gone or stuck."""

from __future__ import annotations

from enum import Enum

HELLO_ID = 0xFFFF_FFFF
"""The request id of HELLO."""
MEMBERS_ID = HELLO_ID - 1
"""The request id of the question who the members are."""
PING_ID_MIN = 1 << 31
"""The first request id of a heartbeat: those of calls are below it."""
ANSWER_MAX = 5.0
"""A request that does not wait on purpose is answered in this time, or the connection is stuck."""
_MEMBERS_FIRST = 1.0
_MEMBERS_EVERY = 15.0


class Loss(Enum):
    """Why the clock ends a connection."""

    SILENT = "nothing came for two heartbeats"
    STUCK = "a request had no answer for too long"


class Pulse:
    """What was heard and said on the present connection."""

    def __init__(self, now: float, every: float | None) -> None:
        self._every = every
        self._heard = self._spoken = self._pinged = self._moved = now
        self._pings: dict[int, float] = {}
        self._next_id = PING_ID_MIN
        self._has_consumed = False
        self._members_due: float | None = now + _MEMBERS_FIRST
        """`None` while the question has no answer, and if the server does not know it."""

    def heard(self, now: float) -> None:
        """Bytes came."""
        self._heard = now

    def spoken(self, now: float) -> None:
        """Bytes were sent."""
        self._spoken = now

    def moved(self, now: float) -> None:
        """An answer came, or the server took bytes: it is not stuck."""
        self._moved = now

    def answered(self, request_id: int) -> float | None:
        """When the PING was sent that is answered now."""
        return self._pings.pop(request_id, None)

    def ping_due(self, now: float, proven: float) -> int | None:
        """The id of a PING to send now, which counts as sent."""
        if self._every is None or now < self._ping_at(self._every, proven):
            return None
        return self._ping(now)

    def consumes(self, now: float) -> int | None:
        """The id of a PING to send before the first jobs are asked for, which counts as sent. Its answer shows the server's clock
        better than WELCOME, which may have waited for a disk."""
        is_first, self._has_consumed = not self._has_consumed, True
        return self._ping(now) if is_first else None

    def members_due(self, now: float) -> bool:
        """Whether to ask for the members now, which counts as asked."""
        if self._members_due is None or now < self._members_due:
            return False
        self._members_due = None
        return True

    def members_told(self, now: float) -> None:
        """The question was answered, and is asked again later."""
        self._members_due = now + _MEMBERS_EVERY

    def loss(self, now: float, oldest: float | None) -> Loss | None:
        """Whether the connection is no good. `oldest` is since when the oldest request waits."""
        if self._every is not None and now >= self._heard + 2 * self._every:
            return Loss.SILENT
        if oldest is not None and now >= max(oldest, self._moved) + self._answer_max():
            return Loss.STUCK
        return None

    def next_look(self, now: float, proven: float, oldest: float | None) -> float:
        """When one of these may be due."""
        times = [now + 1.0]
        if self._every is not None:
            times += [self._heard + 2 * self._every, self._ping_at(self._every, proven)]
        if oldest is not None:
            times.append(max(oldest, self._moved) + self._answer_max())
        if self._members_due is not None:
            times.append(self._members_due)
        return min(times)

    def _ping(self, now: float) -> int:
        found = self._next_id
        self._next_id = found + 1 if found + 1 < MEMBERS_ID else PING_ID_MIN
        self._pings[found] = self._pinged = now
        return found

    def _ping_at(self, every: float, proven: float) -> float:
        return max(min(self._heard, self._spoken, proven), self._pinged) + every

    def _answer_max(self) -> float:
        return ANSWER_MAX if self._every is None else max(ANSWER_MAX, 2 * self._every)
