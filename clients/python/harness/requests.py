"""What only requests have, and what a server refuses of them: for servers that tests play."""

from __future__ import annotations

import re
from collections.abc import Iterable

from adjourn.protocol.numbers import (
    DELAY_MS_MAX,
    MAGIC,
    RELEASE_BY_BACKOFF,
    RELEASE_NOT_STARTED,
    RELEASE_PARKED,
    RESERVE_TOPICS_MAX,
    TTR_MS_MAX,
    TTR_MS_MIN,
    DueKind,
)
from adjourn.protocol.values import JobRef
from adjourn.protocol.wire import U8, U16, U64, MalformedFrame, bytes_at, list_at, records, text_at

_TOPIC = re.compile(r"(?!-)[A-Za-z0-9._:/+;$()-]{1,200}")


def ref_at(data: bytes, at: int) -> tuple[JobRef, int]:
    """A job reference."""
    (kind,) = U8.unpack_from(data, at)
    at += 1
    if kind == 0:
        return JobRef(job=U64.unpack_from(data, at)[0]), at + 8
    if kind != 1:
        raise MalformedFrame(f"a job reference of the kind {kind}")
    topic, at = text_at(data, at + 1, U8.unpack_from(data, at)[0])
    check_topic(topic)
    key, at = text_at(data, at + 2, U16.unpack_from(data, at)[0])
    return JobRef(topic=topic, key=key), at


def late_wide(data: bytes, at: int) -> tuple[int, int]:
    """A number of 16 bytes that older peers do not send: 0 if it is absent."""
    if at >= len(data):
        return 0, at
    found, end = bytes_at(data, at, 16)
    return int.from_bytes(found, "little"), end


def text_list_at(data: bytes, at: int) -> tuple[tuple[str, ...], int]:
    """A list of texts."""
    fixed, count, at = list_at(data, at, 1)
    found = []
    for _ in range(count):
        (length,) = U8.unpack_from(data, at)
        one, at = text_at(data, at + fixed, length)
        found.append(one)
    return tuple(found), at


def number_list_at(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """A list of numbers of two bytes."""
    found, at = records(U16, data, at)
    return tuple([number for (number,) in found]), at


def check_magic(magic: bytes) -> None:
    """HELLO begins with it."""
    if magic != MAGIC:
        raise MalformedFrame("HELLO without the magic")


def check_range(name: str, value: int, least: int, most: int) -> None:
    """A number or a length is in its range."""
    if not least <= value <= most:
        raise MalformedFrame(f"{name} is {least} to {most}, not {value}")


def check_topic(name: str, *, may_be_empty: bool = False) -> None:
    """A name may be one of a topic."""
    if _TOPIC.fullmatch(name) is None and not (may_be_empty and not name):
        raise MalformedFrame(f"{name!r} is no name of a topic")


def check_topics(names: Iterable[str]) -> None:
    """The topics of a RESERVE or SUBSCRIBE."""
    found = list(names)
    check_range("topics", len(found), 1, RESERVE_TOPICS_MAX)
    for name in found:
        check_topic(name)


def check_due(due_ms: int, due_kind: int) -> None:
    """A delay is not too long."""
    if due_kind == DueKind.AFTER:
        check_range("due_ms", due_ms, 0, DELAY_MS_MAX)


def check_ttr(ttr_ms: int) -> None:
    """A time to run is in its range; 0 is the default."""
    if ttr_ms:
        check_range("ttr_ms", ttr_ms, TTR_MS_MIN, TTR_MS_MAX)


def check_release(delay_ms: int) -> None:
    """A RELEASE says a delay, with or without an attempt, or one of two words."""
    if delay_ms not in (RELEASE_BY_BACKOFF, RELEASE_NOT_STARTED):
        check_range("delay_ms", delay_ms & ~RELEASE_PARKED, 0, DELAY_MS_MAX)
