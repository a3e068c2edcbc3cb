"""For tests of programs that use a queue: a queue in memory, a real server, and fixtures for pytest."""

from .server import Server, find_binary

__all__ = ["Server", "find_binary"]
