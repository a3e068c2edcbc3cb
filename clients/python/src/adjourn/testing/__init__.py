"""For tests of programs that use a queue: a queue in memory, a real server, and fixtures for pytest."""

from .memory import MemoryQueue
from .server import Server, find_binary

__all__ = ["MemoryQueue", "Server", "find_binary"]
