"""Runs `async def` tests, and gives them a server."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import adjourn
from adjourn.testing import find_binary
from nodes import Node

pytest_plugins = ["adjourn.testing.plugin"]
TEST_MAX = 60.0


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    asyncio.run(asyncio.wait_for(test, TEST_MAX))
    return True


def pytest_sessionstart(session: pytest.Session) -> None:
    built = (folder / "target" / kind / "adjourn" for folder in Path(__file__).parents for kind in ("release", "debug"))
    if found := next((binary for binary in built if binary.is_file()), None):
        os.environ.setdefault("ADJOURN_BIN", str(found))
    try:
        find_binary()
    except FileNotFoundError as missing:
        raise pytest.UsageError(str(missing)) from None


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Node]:
    with Node() as server:
        yield server


@pytest.fixture
def url(shared_server: Node) -> str:
    """A server that tests share: each uses topics of its own."""
    return shared_server.url


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", ".").replace("]", "")[:100]


@pytest.fixture
def server() -> Iterator[Node]:
    """A server of its own: it may be killed."""
    with Node() as server:
        yield server


@pytest.fixture
def quick_server() -> Iterator[Node]:
    """A server of its own, whose heartbeats and grace are short."""
    with Node(None, "--session-grace-ms", "3000", "--heartbeat-ms", "700") as server:
        yield server


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.005)


async def until_true(condition: Callable[[], Awaitable[object]], seconds: float = 30.0) -> None:
    """Waits for a condition that has to ask."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)


async def state_of(q: adjourn.Queue, job: int) -> str:
    """The state of a job, or `gone`."""
    try:
        state = (await q.get(job)).state
        return state.name.lower() if isinstance(state, adjourn.JobState) else str(state)
    except adjourn.NotFoundError:
        return "gone"
