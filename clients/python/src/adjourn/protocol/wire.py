"""The pieces of a payload: numbers of fixed width, texts and bytes behind their lengths, lists, tagged elements.

Numbers are little-endian. A list is the length of its items' fixed part, their number, then the items. A reader takes the fields
that it knows and skips the rest. Functions whose names end in `_at` read at a place and say where what they read ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
LIST_HEAD = struct.Struct("<HI")
TAG = struct.Struct("<HH")
ELEMENT_U8 = struct.Struct("<HHB")
ELEMENT_U32 = struct.Struct("<HHI")
ELEMENT_U64 = struct.Struct("<HHQ")

_CRITICAL = 0x8000


class MalformedFrame(ValueError):
    """Bytes that are no frame of this protocol."""


class Unencodable(ValueError):
    """A value that does not fit its field."""


def cut_off(name: str) -> MalformedFrame:
    """Less is there than a length says."""
    return MalformedFrame(f"{name} is cut off")


def unfitting(error: Exception) -> Unencodable:
    """A number that its field cannot hold."""
    return Unencodable(f"a number does not fit its field: {error}")


# ---- writing


def text(value: str) -> bytes:
    """A text as UTF-8."""
    if not isinstance(value, str):
        raise Unencodable(f"{value!r} is no text")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise Unencodable("a text has a character that UTF-8 cannot encode") from None


def element(tag: int, value: bytes) -> bytes:
    """A tagged element."""
    return TAG.pack(tag, len(value)) + value


def in_order(elements: Iterable[bytes]) -> list[bytes]:
    """Elements in rising order of their tags, whether they are critical or not."""
    return sorted(elements, key=lambda one: int.from_bytes(one[:2], "little") & ~_CRITICAL)


# ---- reading


def bytes_at(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    """So many bytes."""
    end = at + length
    if end > len(data):
        raise cut_off("a value")
    return data[at:end], end


def text_at(data: bytes, at: int, length: int) -> tuple[str, int]:
    """A text of so many bytes."""
    end = at + length
    if end > len(data):
        raise cut_off("a text")
    return data[at:end].decode(), end


def texts_at(data: bytes, at: int, count: int) -> tuple[tuple[str, ...], int]:
    """So many texts, each behind its length."""
    found = []
    for _ in range(count):
        (length,) = U8.unpack_from(data, at)
        one, at = text_at(data, at + 1, length)
        found.append(one)
    return tuple(found), at


def late(number: struct.Struct, data: bytes, at: int) -> tuple[int, int]:
    """A number that older peers do not send: 0 if it is absent."""
    if at >= len(data):
        return 0, at
    return number.unpack_from(data, at)[0], at + number.size


def late_text(length: struct.Struct, data: bytes, at: int) -> tuple[str, int]:
    """A text that older peers do not send: empty if it is absent."""
    if at >= len(data):
        return "", at
    return text_at(data, at + length.size, length.unpack_from(data, at)[0])


def list_at(data: bytes, at: int, least: int) -> tuple[int, int, int]:
    """The head of a list whose items have fixed parts of at least so many bytes: how many they have, how many items, where they are."""
    fixed, count = LIST_HEAD.unpack_from(data, at)
    at += LIST_HEAD.size
    if fixed < least:
        raise MalformedFrame(f"an item of a list has {fixed} fixed bytes, fewer than {least}")
    if count * fixed > len(data) - at:
        raise cut_off("a list")
    return fixed, count, at


def unpacker(known: struct.Struct, fixed: int, shorter: tuple[int, ...]) -> Callable[[bytes, int], tuple[Any, ...]]:
    """What takes the known fields out of a fixed part. An older peer may send one that ends before a field that may be absent."""
    if fixed >= known.size:
        return known.unpack_from
    if fixed not in shorter:
        raise MalformedFrame(f"an item of a list has {fixed} fixed bytes, and a part of a field")
    absent = bytes(known.size - fixed)
    return lambda data, at: known.unpack(data[at : at + fixed] + absent)


def records(known: struct.Struct, data: bytes, at: int) -> tuple[Iterable[tuple[Any, ...]], int]:
    """A list whose items have no pieces: the known fields of each."""
    fixed, count, at = list_at(data, at, known.size)
    end = at + count * fixed
    if fixed == known.size:
        return known.iter_unpack(memoryview(data)[at:end]), end
    return (known.unpack_from(data, place) for place in range(at, end, fixed)), end


def exactly(number: struct.Struct, value: bytes) -> int:
    """A value that is one number."""
    if len(value) != number.size:
        raise MalformedFrame(f"a value has {len(value)} bytes instead of {number.size}")
    found: int = number.unpack(value)[0]
    return found


def rest_of_numbers(data: bytes, at: int, least: int) -> tuple[int, ...]:
    """Numbers of four bytes up to the end, at least so many."""
    if (len(data) - at) % U32.size or len(data) - at < least * U32.size:
        raise cut_off("a list of numbers")
    return tuple([number for (number,) in U32.iter_unpack(memoryview(data)[at:])])
