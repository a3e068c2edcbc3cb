"""Values of frames that are more than their fields: a way to name a job, a backoff, an expiry, lateness, and no value at all."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from .numbers import BACKOFF_LIST_MAX, BackoffKind, LateAction
from .wire import Unencodable, text

_BY_ID = struct.Struct("<BQ")
_BY_KEY_TOPIC = struct.Struct("<BB")
_BY_KEY_KEY = struct.Struct("<H")
BACKOFF_NAMES = {one.name.lower(): one for one in BackoffKind}
_WAITS = {"fixed": (1, 1), "linear": (2, 2), "exponential": (2, 2), "list": (1, BACKOFF_LIST_MAX)}


@dataclass(frozen=True, slots=True)
class JobRef:
    """Names a job: by its id, or by topic and key."""

    job: int | None = None
    topic: str = ""
    key: str = ""

    def encode(self) -> bytes:
        """The bytes of the reference."""
        if self.job is not None:
            return _BY_ID.pack(0, self.job)
        topic, key = text(self.topic), text(self.key)
        return _BY_KEY_TOPIC.pack(1, len(topic)) + topic + _BY_KEY_KEY.pack(len(key)) + key


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a job waits after a failed attempt: `adjourn.backoff` makes one."""

    kind: str
    values_ms: tuple[int, ...]
    jitter_percent: int = 0

    def wait_ms(self, attempt: int) -> int:
        """The wait after this failed attempt (the first is 1), without the jitter."""
        first, last = self.values_ms[0], self.values_ms[-1]
        if self.kind == "linear":
            return min(first * attempt, last)
        if self.kind == "exponential":
            return min(first << min(attempt - 1, 64), last)
        return self.values_ms[min(attempt, len(self.values_ms)) - 1]

    def check(self) -> None:
        """Refuses what a server would refuse."""
        if self.kind not in _WAITS:
            raise Unencodable(f"a backoff of the kind {self.kind!r}")
        least, most = _WAITS[self.kind]
        if not least <= len(self.values_ms) <= most:
            raise Unencodable(f"a backoff {self.kind!r} with {len(self.values_ms)} values")
        if not 0 <= self.jitter_percent <= 100:
            raise Unencodable("the jitter of a backoff is 0 to 100 percent")


@dataclass(frozen=True, slots=True)
class Expiry:
    """When a job is dropped: after a time, or at a time."""

    is_at: bool
    ms: int


@dataclass(frozen=True, slots=True)
class Late:
    """A job is late when it was due longer ago than `after_ms`."""

    after_ms: int
    action: LateAction
    value: int = 0
    """Jobs per second for `RATE`, milliseconds for `SPREAD`, else 0."""


class Unset(Enum):
    """Takes a setting of a topic away."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset.UNSET
