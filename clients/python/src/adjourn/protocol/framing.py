"""Frames in a stream of bytes: 4 bytes of length, 8 bytes of header, a payload."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from . import requests, responses
from .numbers import HEADER_BYTES, RESPONSE_BYTES_MAX
from .requests import Request
from .responses import Response
from .wire import MalformedFrame, Unencodable, unfitting

T = TypeVar("T")
_HEADER = struct.Struct("<IBBBBI")
_UNCOUNTED_BYTES = 4
_LENGTH_MIN = HEADER_BYTES - _UNCOUNTED_BYTES
_NO_HEADER = bytes(HEADER_BYTES)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose payload is not read yet."""

    opcode: int
    group: int
    request_id: int
    payload: bytes


def encode(request_id: int, request: Request) -> bytearray:
    """A whole frame."""
    return framed(request_id, request.OPCODE, request.NAME, requests.WRITERS[request.OPCODE], request)


def framed(request_id: int, opcode: int, name: str, write: Callable[[T, list[bytes]], None], message: T) -> bytearray:
    """A whole frame, whose payload this function writes."""
    parts = [_NO_HEADER]
    try:
        write(message, parts)
        frame = bytearray().join(parts)
    except (struct.error, OverflowError) as error:
        raise unfitting(error) from None
    except (AttributeError, TypeError) as error:
        raise Unencodable(f"{name}: {error}") from None
    _HEADER.pack_into(frame, 0, len(frame) - _UNCOUNTED_BYTES, opcode, 0, 0, 0, request_id)
    return frame


def decode_response(frame: Frame) -> Response | None:
    """The response in a frame; `None` if its opcode is one of a newer server, to be ignored."""
    reader = responses.READERS.get(frame.opcode)
    return None if reader is None or frame.group != 0 else read(reader, frame)


def read(reader: Callable[[bytes], T], frame: Frame) -> T:
    """What this function reads of the payload of a frame."""
    try:
        return reader(frame.payload)
    except MalformedFrame:
        raise
    except (struct.error, UnicodeDecodeError, LookupError, ValueError) as error:
        raise MalformedFrame(f"the frame 0x{frame.opcode:02x} cannot be read: {error}") from None


class FrameDecoder:
    """Cuts what came off the socket into frames. Keeps at most one frame that is not complete."""

    def __init__(self, length_max: int = RESPONSE_BYTES_MAX) -> None:
        self._length_max = length_max
        self._buffer = bytearray()

    @property
    def is_mid_frame(self) -> bool:
        """Whether a part of a frame has come."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Takes bytes in, and yields the frames that are complete. A bad length ends the connection."""
        self._buffer += data
        at = 0
        try:
            while len(self._buffer) - at >= HEADER_BYTES:
                length, opcode, _flags, group, _reserved, request_id = _HEADER.unpack_from(self._buffer, at)
                if not _LENGTH_MIN <= length <= self._length_max:
                    raise MalformedFrame(f"a frame of length {length}")
                end = at + _UNCOUNTED_BYTES + length
                if len(self._buffer) < end:
                    return
                payload = bytes(memoryview(self._buffer)[at + HEADER_BYTES : end])
                at = end
                yield Frame(opcode, group, request_id, payload)
        finally:
            del self._buffer[:at]
