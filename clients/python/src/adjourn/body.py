"""Bodies: bytes travel as they are, text as UTF-8, everything else as JSON. The header `content-type` says which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from .errors import UsageError

CONTENT_TYPE = "content-type"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Codec(Protocol):
    """Turns values into bytes and back. `connect(codec=...)` takes one for values that are neither bytes nor text."""

    content_type: str

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""

    def decode(self, body: bytes) -> Any:
        """The value of bytes whose content type is this codec's."""


class JsonCodec:
    """JSON in UTF-8, without spaces. NaN and infinities are refused, which other languages cannot read."""

    content_type = JSON

    def encode(self, value: Any) -> bytes:
        try:
            return _JSON.encode(value).encode()
        except (TypeError, ValueError) as error:
            raise UsageError(f"the body cannot be written as JSON: {error}") from error

    def decode(self, body: bytes) -> Any:
        return json.loads(body)


DEFAULT_CODEC = JsonCodec()


def encode_body(value: Any, codec: Codec) -> tuple[bytes, str | None]:
    """The bytes of a body, and its content type."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), None
    if isinstance(value, str):
        try:
            return value.encode(), TEXT
        except UnicodeEncodeError as error:
            raise UsageError(f"the body is a text that UTF-8 cannot encode: {error}") from error
    return codec.encode(value), codec.content_type


def decode_body(body: bytes, headers: Mapping[str, str], codec: Codec) -> Any:
    """The value of a body, as its content type says; bytes without a content type, or with one that is not known."""
    kind = headers.get(CONTENT_TYPE, "").strip().lower()
    name = kind.partition(";")[0].strip()
    if name == codec.content_type.partition(";")[0].strip().lower():
        return codec.decode(body)
    if name == JSON:
        return DEFAULT_CODEC.decode(body)
    if name.startswith("text/") and ("charset" not in kind or "utf-8" in kind):
        return body.decode()
    return body
