"""The attributes of a job: a tagged list behind its key."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .numbers import BACKOFF_LIST_MAX
from .wire import U8, U32, U64, MalformedFrame, Reader, Unencodable, Writer, encode_text, pack, read_tagged, tagged

HEADER = 0x0001
EXPIRES = 0x8002
ATTEMPTS_MAX = 0x8003
BACKOFF = 0x8004
FAIRNESS_KEY = 0x0005
DEDUPE_RETENTION = 0x0006
CREATED_AT = 0x0007
SCHEDULE_REFERENCE = 0x0008
POSTPONE_MAX = 0x0009
CRITICAL = 0x8000

_EXPIRY = struct.Struct("<BQ")
_BACKOFF_KINDS = ("fixed", "linear", "exponential", "list")


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

    def encode(self) -> bytes:
        """The value of the attribute."""
        lengths = {"fixed": (1, 1), "linear": (2, 2), "exponential": (2, 2), "list": (1, BACKOFF_LIST_MAX)}
        if self.kind not in lengths:
            raise Unencodable(f"a backoff of the kind {self.kind!r}")
        least, most = lengths[self.kind]
        if not least <= len(self.values_ms) <= most:
            raise Unencodable(f"a backoff {self.kind!r} with {len(self.values_ms)} values")
        if not 0 <= self.jitter_percent <= 100:
            raise Unencodable("the jitter of a backoff is 0 to 100 percent")
        w = Writer()
        w.u8(_BACKOFF_KINDS.index(self.kind))
        w.u8(self.jitter_percent)
        for value in self.values_ms:
            w.u32(value)
        return w.getvalue()

    @classmethod
    def decode(cls, value: bytes) -> Backoff:
        """Reads the value of the attribute."""
        r = Reader(value)
        kind, jitter = r.u8("backoff"), r.u8("backoff")
        values = []
        while not r.at_end:
            values.append(r.u32("backoff"))
        if kind >= len(_BACKOFF_KINDS) or not values:
            raise MalformedFrame(f"a backoff of the kind {kind} with {len(values)} values")
        return cls(_BACKOFF_KINDS[kind], tuple(values), jitter)


@dataclass(frozen=True, slots=True)
class Expiry:
    """When a job is dropped: after a time, or at a time."""

    is_at: bool
    ms: int


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a push says of a job beside its key, due time and body."""

    headers: tuple[tuple[str, str], ...] = ()
    expires: Expiry | None = None
    attempts_max: int | None = None
    backoff: Backoff | None = None
    dedupe_retention_ms: int | None = None
    created_at_ms: int | None = None
    schedule_reference: bytes | None = None
    postpone_max_ms: int | None = None
    others: tuple[tuple[int, bytes], ...] = ()
    """Attributes that this client does not know, as tag and value."""

    def encode(self) -> bytes:
        """The bytes that follow the key."""
        found: list[tuple[int, bytes]] = []
        for name, value in self.headers:
            encoded = encode_text(name)
            found.append((HEADER, pack(U8, len(encoded)) + encoded + encode_text(value)))
        if self.expires is not None:
            found.append((EXPIRES, pack(_EXPIRY, int(self.expires.is_at), self.expires.ms)))
        if self.attempts_max is not None:
            found.append((ATTEMPTS_MAX, pack(U32, self.attempts_max)))
        if self.backoff is not None:
            found.append((BACKOFF, self.backoff.encode()))
        if self.dedupe_retention_ms is not None:
            found.append((DEDUPE_RETENTION, pack(U64, self.dedupe_retention_ms)))
        if self.created_at_ms is not None:
            found.append((CREATED_AT, pack(U64, self.created_at_ms)))
        if self.schedule_reference is not None:
            found.append((SCHEDULE_REFERENCE, self.schedule_reference))
        if self.postpone_max_ms is not None:
            found.append((POSTPONE_MAX, pack(U64, self.postpone_max_ms)))
        found.extend(self.others)
        if not found:
            return b""
        found.sort(key=lambda element: element[0] & ~CRITICAL)
        return tagged(found)

    @classmethod
    def decode(cls, data: bytes) -> Attributes:
        """Reads the attributes of a delivered job. What this client does not know is kept in `others`."""
        if not data:
            return NO_ATTRIBUTES
        headers: list[tuple[str, str]] = []
        others: list[tuple[int, bytes]] = []
        one: dict[int, bytes] = {}
        for tag, value in read_tagged(data, "attributes"):
            if tag == HEADER:
                r = Reader(value)
                name = r.text8("header")
                headers.append((name, r.text(len(value) - 1 - value[0], "header")))
            elif tag in _SINGLE:
                one[tag] = value
            else:
                others.append((tag, value))
        expires = None
        if EXPIRES in one:
            kind, ms = Reader(one[EXPIRES]).unpack(_EXPIRY, "expires")
            expires = Expiry(kind == 1, ms)
        return cls(
            headers=tuple(headers),
            expires=expires,
            attempts_max=_number(U32, one.get(ATTEMPTS_MAX)),
            backoff=Backoff.decode(one[BACKOFF]) if BACKOFF in one else None,
            dedupe_retention_ms=_number(U64, one.get(DEDUPE_RETENTION)),
            created_at_ms=_number(U64, one.get(CREATED_AT)),
            schedule_reference=one.get(SCHEDULE_REFERENCE),
            postpone_max_ms=_number(U64, one.get(POSTPONE_MAX)),
            others=tuple(others),
        )


_SINGLE = {EXPIRES, ATTEMPTS_MAX, BACKOFF, DEDUPE_RETENTION, CREATED_AT, SCHEDULE_REFERENCE, POSTPONE_MAX}
NO_ATTRIBUTES = Attributes()


def _number(field: struct.Struct, value: bytes | None) -> int | None:
    return None if value is None else Reader(value).number(field, "attribute")
