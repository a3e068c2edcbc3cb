"""Frames in a stream of bytes: 4 bytes of length, 8 bytes of header, a payload."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .numbers import HEADER_BYTES, RESPONSE_BYTES_MAX
from .requests import REQUESTS, Request
from .responses import RESPONSES, Response
from .wire import MalformedFrame, Reader, Unencodable, Writer

_HEADER = struct.Struct("<IBBBBI")
_UNCOUNTED_BYTES = 4
_LENGTH_MIN = HEADER_BYTES - _UNCOUNTED_BYTES


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose payload is not read yet."""

    opcode: int
    group: int
    request_id: int
    payload: bytes


def encode(request_id: int, message: Request | Response) -> bytes:
    """A whole frame."""
    w = Writer()
    message.write(w)
    payload = w.getvalue()
    try:
        return _HEADER.pack(_LENGTH_MIN + len(payload), message.OPCODE, 0, 0, 0, request_id) + payload
    except struct.error:
        raise Unencodable(f"{message.NAME} does not fit a frame") from None


def decode_response(frame: Frame) -> Response | None:
    """The response in a frame; `None` if its opcode is one of a newer server, to be ignored."""
    kind = RESPONSES.get(frame.opcode)
    if kind is None or frame.group != 0:
        return None
    return kind.read(Reader(frame.payload))


def decode_request(frame: Frame) -> Request:
    """The request in a frame."""
    if frame.request_id == 0:
        raise MalformedFrame("a request has an id other than 0")
    kind = REQUESTS.get(frame.opcode)
    if kind is None or frame.group != 0:
        raise MalformedFrame(f"no request has the opcode 0x{frame.opcode:02x} of group {frame.group}")
    return kind.read(Reader(frame.payload))


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
