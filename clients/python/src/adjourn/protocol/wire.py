"""The fields of a payload: checked reading, direct writing.

Numbers have a fixed width and are little-endian. Texts and bytes follow their length. A list is the length of its items'
fixed part, their number, then the items. A reader takes the fields that it knows and skips the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
I64 = struct.Struct("<q")
LIST_HEAD = struct.Struct("<HI")
_TAG = struct.Struct("<HH")

U8_MAX, U16_MAX, U32_MAX, U64_MAX = (1 << 8) - 1, (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


class MalformedFrame(ValueError):
    """Bytes that are no frame of this protocol."""


class Unencodable(ValueError):
    """A value that does not fit its field."""


class Reader:
    """Reads a payload from its start to its end, and never beyond."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left: fields that older peers do not send are absent."""
        return self._at >= len(self._data)

    def unpack(self, fields: struct.Struct, name: str) -> tuple[Any, ...]:
        """The numbers of a fixed part."""
        end = self._at + fields.size
        if end > len(self._data):
            raise MalformedFrame(f"{name} is cut off")
        values = fields.unpack_from(self._data, self._at)
        self._at = end
        return values

    def number(self, field: struct.Struct, name: str) -> int:
        value: int = self.unpack(field, name)[0]
        return value

    def u8(self, name: str) -> int:
        return self.number(U8, name)

    def u16(self, name: str) -> int:
        return self.number(U16, name)

    def u32(self, name: str) -> int:
        return self.number(U32, name)

    def u64(self, name: str) -> int:
        return self.number(U64, name)

    def positive(self, name: str) -> int:
        """A `u32` that is not 0."""
        value = self.u32(name)
        if value == 0:
            raise MalformedFrame(f"{name} is 0")
        return value

    def late(self, field: struct.Struct, name: str) -> int:
        """A number that older peers do not send: 0 if it is absent."""
        return 0 if self.at_end else self.number(field, name)

    def u128(self, name: str) -> int:
        return int.from_bytes(self.raw(16, name), "little")

    def raw(self, length: int, name: str) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise MalformedFrame(f"{name} is cut off")
        piece = self._data[self._at : end]
        self._at = end
        return piece

    def bytes16(self, name: str) -> bytes:
        return self.raw(self.u16(name), name)

    def text(self, length: int, name: str) -> str:
        try:
            return self.raw(length, name).decode("utf-8")
        except UnicodeDecodeError:
            raise MalformedFrame(f"{name} is not UTF-8") from None

    def text8(self, name: str) -> str:
        return self.text(self.u8(name), name)

    def text16(self, name: str) -> str:
        return self.text(self.u16(name), name)

    def late_text16(self, name: str) -> str:
        """A text that older peers do not send: empty if it is absent."""
        return "" if self.at_end else self.text16(name)

    def items(
        self, known: struct.Struct, name: str, read: Callable[[tuple[Any, ...], bytes], T]
    ) -> tuple[T, ...]:
        """A list. `read` gets the known fields of each item, and the rest of its fixed part; it reads the pieces itself."""
        fixed, count = self._list_head(known, name)
        return tuple(self._item(known, fixed, name, read) for _ in range(count))

    def records(self, known: struct.Struct, name: str) -> Iterator[tuple[Any, ...]]:
        """A list whose items have no pieces: the known fields of each."""
        fixed, count = self._list_head(known, name)
        whole = self.raw(count * fixed, name)
        return (known.unpack_from(whole, at) for at in range(0, len(whole), fixed))

    def _list_head(self, known: struct.Struct, name: str) -> tuple[int, int]:
        fixed, count = self.unpack(LIST_HEAD, name)
        if fixed < known.size:
            raise MalformedFrame(f"an item of {name} has {fixed} fixed bytes, fewer than {known.size}")
        if count * fixed > len(self._data) - self._at:
            raise MalformedFrame(f"{name} is cut off")
        return fixed, count

    def _item(
        self, known: struct.Struct, fixed: int, name: str, read: Callable[[tuple[Any, ...], bytes], T]
    ) -> T:
        whole = self.raw(fixed, name)
        return read(known.unpack_from(whole), whole[known.size :])


class Writer:
    """Writes a payload. A value that does not fit its field is refused, never cut off."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def getvalue(self) -> bytes:
        return b"".join(self._parts)

    def pack(self, fields: struct.Struct, *values: int | bytes) -> None:
        self._parts.append(pack(fields, *values))

    def u8(self, value: int) -> None:
        self.pack(U8, value)

    def u16(self, value: int) -> None:
        self.pack(U16, value)

    def u32(self, value: int) -> None:
        self.pack(U32, value)

    def u64(self, value: int) -> None:
        self.pack(U64, value)

    def u128(self, value: int) -> None:
        self.raw(value.to_bytes(16, "little"))

    def raw(self, value: bytes) -> None:
        self._parts.append(value)

    def bytes16(self, value: bytes) -> None:
        self.u16(len(value))
        self.raw(value)

    def text8(self, value: str) -> None:
        encoded = encode_text(value)
        self.u8(len(encoded))
        self.raw(encoded)

    def text16(self, value: str) -> None:
        self.bytes16(encode_text(value))

    def late_text16(self, value: str) -> None:
        """A text that is left out when it is empty."""
        if value:
            self.text16(value)

    def items(self, fixed: struct.Struct, values: Sequence[T], write: Callable[[T], None]) -> None:
        """A list: `write` writes each item, its fixed part and its pieces."""
        self.pack(LIST_HEAD, fixed.size, len(values))
        for value in values:
            write(value)


def pack(fields: struct.Struct, *values: int | bytes) -> bytes:
    """The numbers of a fixed part."""
    try:
        return fields.pack(*values)
    except struct.error as error:
        raise Unencodable(f"a number does not fit its field: {error}") from None


def encode_text(value: str) -> bytes:
    """A text as UTF-8."""
    if not isinstance(value, str):
        raise Unencodable(f"{value!r} is no text")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise Unencodable("a text has a character that UTF-8 cannot encode") from None


def tagged(values: Iterable[tuple[int, bytes]]) -> bytes:
    """Elements of a tag, a length and a value, as in attributes, filters and settings."""
    return b"".join(pack(_TAG, tag, len(value)) + value for tag, value in values)


def read_tagged(data: bytes, name: str) -> list[tuple[int, bytes]]:
    """The elements of attributes, filters and settings, in the order in which they stand."""
    r = Reader(data)
    found = []
    while not r.at_end:
        tag = r.u16(name)
        found.append((tag, r.bytes16(name)))
    return found
