"""What every response has, and which opcode is which."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from .wire import Reader, Writer


class Response:
    """A frame that the server sends."""

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]

    def write(self, w: Writer) -> None:
        """Writes the payload."""

    @classmethod
    def read(cls, r: Reader) -> Response:
        """Reads the payload."""
        return cls()


RESPONSES: dict[int, type[Response]] = {}
R = TypeVar("R", bound=type[Response])


def response(opcode: int, name: str) -> Callable[[R], R]:
    def register(cls: R) -> R:
        cls.OPCODE, cls.NAME = opcode, name
        RESPONSES[opcode] = cls
        return cls

    return register
