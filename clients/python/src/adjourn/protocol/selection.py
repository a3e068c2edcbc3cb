"""Conditions that jobs meet, for LIST, COUNT and BULK; and the settings of a topic."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from .attributes import Backoff
from .numbers import BuriedReason, States
from .wire import U8, U32, U64, MalformedFrame, Reader, Unencodable, Writer, encode_text, read_tagged, tagged

_LATE = struct.Struct("<QBQ")


@dataclass(frozen=True, slots=True)
class Filter:
    """A job matches if it meets every condition that is given."""

    topic: str | None = None
    states: States | None = None
    """Without it: delayed, ready, reserved and buried."""
    due_from_ms: int | None = None
    due_before_ms: int | None = None
    key_prefix: bytes | None = None
    attempts_min: int | None = None
    attempts_max: int | None = None
    buried: BuriedReason | None = None
    reason: str | None = None
    """The job's last reason contains this text."""

    def encode(self) -> bytes:
        conditions: list[tuple[int, bytes]] = []
        if self.topic is not None:
            conditions.append((1, encode_text(self.topic)))
        for tag, field, value in (
            (2, U8, self.states),
            (3, U64, self.due_from_ms),
            (4, U64, self.due_before_ms),
        ):
            if value is not None:
                conditions.append((tag, _packed(field, value)))
        if self.key_prefix is not None:
            conditions.append((5, self.key_prefix))
        for tag, field, value in (
            (6, U32, self.attempts_min),
            (7, U32, self.attempts_max),
            (8, U8, self.buried),
        ):
            if value is not None:
                conditions.append((tag, _packed(field, value)))
        if self.reason is not None:
            conditions.append((9, encode_text(self.reason)))
        return tagged(conditions)

    @classmethod
    def decode(cls, data: bytes) -> Filter:
        found: dict[str, Any] = {}
        before = 0
        for tag, value in read_tagged(data, "filter"):
            if tag <= before:
                raise MalformedFrame("the conditions of a filter are out of order")
            before = tag
            if tag in _TEXT_CONDITIONS:
                found[_TEXT_CONDITIONS[tag]] = Reader(value).text(len(value), "filter")
            elif tag == 5:
                found["key_prefix"] = value
            elif tag in _NUMBER_CONDITIONS:
                name, field = _NUMBER_CONDITIONS[tag]
                found[name] = _exactly(field, value)
            else:
                raise MalformedFrame(f"a filter has the unknown condition {tag}")
        if "states" in found:
            found["states"] = States(found["states"])
        if "buried" in found:
            if found["buried"] > max(BuriedReason):
                raise MalformedFrame("a filter has an unknown reason for burying")
            found["buried"] = BuriedReason(found["buried"])
        return cls(**found)


_TEXT_CONDITIONS = {1: "topic", 9: "reason"}
_NUMBER_CONDITIONS = {
    2: ("states", U8),
    3: ("due_from_ms", U64),
    4: ("due_before_ms", U64),
    6: ("attempts_min", U32),
    7: ("attempts_max", U32),
    8: ("buried", U8),
}


class LateAction(Enum):
    """What happens to a job that is late."""

    RATE = 0
    SPREAD = 1
    BURY = 2
    DROP = 3


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


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The settings of a topic. `None` leaves a setting as it is, `UNSET` takes it away."""

    ttr_ms: int | Unset | None = None
    priority: int | Unset | None = None
    attempts_max: int | Unset | None = None
    backoff: Backoff | Unset | None = None
    expires_after_ms: int | Unset | None = None
    jobs_max: int | Unset | None = None
    bytes_max: int | Unset | None = None
    body_bytes_max: int | Unset | None = None
    leases_max: int | Unset | None = None
    per_second_max: int | Unset | None = None
    late: Late | Unset | None = None
    dead_letters: str | Unset | None = None
    remember_ms: int | Unset | None = None

    def encode(self) -> bytes:
        settings: list[tuple[int, bytes]] = []
        for tag, field in enumerate(fields(self), 1):
            value = getattr(self, field.name)
            if value is not None:
                settings.append((tag, b"" if value is UNSET else _setting(tag, value)))
        return tagged(settings)

    @classmethod
    def decode(cls, data: bytes) -> TopicPolicy:
        """Reads settings; those that this client does not know are skipped."""
        names = [field.name for field in fields(cls)]
        found: dict[str, Any] = {}
        before = 0
        for tag, value in read_tagged(data, "settings"):
            if tag <= before:
                raise MalformedFrame("the settings of a topic are out of order")
            before = tag
            if 1 <= tag <= len(names):
                found[names[tag - 1]] = UNSET if value == b"" else _read_setting(tag, value)
        return cls(**found)


_SETTING_WIDTHS = {1: U32, 2: U32, 3: U32, 5: U64, 6: U64, 7: U64, 8: U32, 9: U32, 10: U32, 13: U64}
_BACKOFF_SETTING, _LATE_SETTING, _DEAD_LETTERS_SETTING = 4, 11, 12


def _setting(tag: int, value: Any) -> bytes:
    if tag == _BACKOFF_SETTING and isinstance(value, Backoff):
        return value.encode()
    if tag == _LATE_SETTING and isinstance(value, Late):
        return _packed(_LATE, value.after_ms, value.action.value, value.value)
    if tag == _DEAD_LETTERS_SETTING and isinstance(value, str):
        return encode_text(value)
    if tag in _SETTING_WIDTHS and isinstance(value, int):
        return _packed(_SETTING_WIDTHS[tag], value)
    raise Unencodable(f"setting {tag} of a topic cannot be {value!r}")


def _read_setting(tag: int, value: bytes) -> Any:
    if tag == _BACKOFF_SETTING:
        return Backoff.decode(value)
    if tag == _LATE_SETTING:
        after_ms, action, number = Reader(value).unpack(_LATE, "late")
        try:
            return Late(after_ms, LateAction(action), number)
        except ValueError:
            return None
    if tag == _DEAD_LETTERS_SETTING:
        return Reader(value).text(len(value), "dead-letters")
    return _exactly(_SETTING_WIDTHS[tag], value)


def _packed(field: struct.Struct, *values: int) -> bytes:
    w = Writer()
    w.pack(field, *values)
    return w.getvalue()


def _exactly(field: struct.Struct, value: bytes) -> int:
    if len(value) != field.size:
        raise MalformedFrame(f"a value has {len(value)} bytes instead of {field.size}")
    return Reader(value).number(field, "value")
