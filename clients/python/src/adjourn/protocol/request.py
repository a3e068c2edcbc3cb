"""What every request has, which opcode is which, and how requests name jobs, leases, topics and times.

Writing checks only that a value fits its field: the server refuses values out of range. Reading, which is for test servers,
refuses them too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, TypeVar

from .numbers import DELAY_MS_MAX
from .wire import MalformedFrame, Reader, Writer

_TOPIC = re.compile(r"(?!-)[A-Za-z0-9._:/-]{1,128}")


class Request:
    """A frame that the client sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]

    def write(self, w: Writer) -> None:
        """Writes the payload."""

    @classmethod
    def read(cls, r: Reader) -> Request:
        """Reads the payload."""
        return cls()


REQUESTS: dict[int, type[Request]] = {}
R = TypeVar("R", bound=type[Request])
E = TypeVar("E", bound=IntEnum)


def request(opcode: int, name: str) -> Callable[[R], R]:
    def register(cls: R) -> R:
        cls.OPCODE, cls.NAME = opcode, name
        REQUESTS[opcode] = cls
        return cls

    return register


@dataclass(frozen=True, slots=True)
class LeaseRef:
    """Names a lease: send it to settle the job."""

    job: int
    fence: int


@dataclass(frozen=True, slots=True)
class JobRef:
    """Names a job: by its id, or by topic and key."""

    job: int | None = None
    topic: str = ""
    key: str = ""

    def write(self, w: Writer) -> None:
        if self.job is not None:
            w.u8(0)
            w.u64(self.job)
        else:
            w.u8(1)
            w.text8(self.topic)
            w.text16(self.key)

    @classmethod
    def read(cls, r: Reader) -> JobRef:
        kind = r.u8("job_kind")
        if kind == 0:
            return cls(job=r.u64("job"))
        if kind == 1:
            return cls(topic=check_topic(r.text8("topic")), key=r.text16("key"))
        raise MalformedFrame(f"a job reference of the kind {kind}")


@dataclass(frozen=True, slots=True)
class Due:
    """When a job is due: after a time, or at a time."""

    is_at: bool
    ms: int

    def write(self, w: Writer) -> None:
        w.u64(self.ms)
        w.u8(int(self.is_at))

    @classmethod
    def read(cls, r: Reader) -> Due:
        return cls.of(r.u64("due_ms"), r.u8("due_kind"))

    @classmethod
    def of(cls, ms: int, kind: int) -> Due:
        """The due point with these fields."""
        if kind > 1:
            raise MalformedFrame(f"a due point of the kind {kind}")
        if kind == 0:
            check_range(ms, "due_ms", 0, DELAY_MS_MAX)
        return cls(kind == 1, ms)


def check_topic(name: str) -> str:
    """A topic's name, if it may be one."""
    if _TOPIC.fullmatch(name) is None:
        raise MalformedFrame(f"{name!r} is no name of a topic")
    return name


def check_range(value: int, name: str, least: int, most: int) -> int:
    """A number, if it is in its range."""
    if not least <= value <= most:
        raise MalformedFrame(f"{name} is {least} to {most}, not {value}")
    return value


def choice(kind: type[E], value: int, name: str) -> E:
    """The choice that a number stands for."""
    try:
        return kind(value)
    except ValueError:
        raise MalformedFrame(f"{name} {value} is not known") from None
