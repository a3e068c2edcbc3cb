"""Fixtures for pytest: `adjourn_memory` is a queue in memory, `adjourn_server` a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .memory import MemoryQueue
from .server import Server, find_binary


@pytest.fixture
def adjourn_memory() -> MemoryQueue:
    """A queue in memory, with a clock that the test sets. `adjourn_memory.client()` is a client of it."""
    return MemoryQueue()


@pytest.fixture(scope="session")
def adjourn_server() -> Iterator[Server]:
    """A real server for the session: `ADJOURN_BIN` names the binary. Tests use topics of their own."""
    binary = find_binary()
    if binary is None:
        pytest.fail("no server: set ADJOURN_BIN to the path of the adjourn binary")
    with Server(binary) as server:
        yield server
