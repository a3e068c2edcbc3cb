"""For tests of programs that use a queue: the real server in memory, with a clock that the test moves."""

from .process import find_binary
from .seen import SeenJob
from .server import Server

__all__ = ["SeenJob", "Server", "find_binary"]
