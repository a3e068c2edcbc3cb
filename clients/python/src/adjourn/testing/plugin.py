"""A fixture for pytest: `adjourn_server` is the real server, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .server import Server


@pytest.fixture
def adjourn_server() -> Iterator[Server]:
    """A server of its own for each test, in memory. Its clock stands still until `adjourn_server.advance` moves it."""
    try:
        server = Server()
    except (FileNotFoundError, RuntimeError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with server:
        yield server
