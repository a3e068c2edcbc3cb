"""The real server for tests: in memory, with a clock that stands still until the test moves it.

    def test_a_reminder_waits():
        with Server() as server:
            remind(server.url, "ann")
            server.assert_pushed("reminders", {"to": "ann"}, delay=timedelta(days=30))
            server.advance(timedelta(days=30))

The code under test connects to `url` as to any server. The methods here block, for about a millisecond, so that they serve tests with and
without `async`, and no assertion can be forgotten for want of an `await`.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import sync, times
from ..errors import NotFoundError
from ..protocol.numbers import States
from ..times import Duration
from .process import ServerProcess, find_binary
from .seen import ANYTHING, Predicate, SeenJob, Wanted, shown

_LEFT = States.DELAYED | States.READY | States.RESERVED | States.BURIED
_LOOK_AGAIN = 0.005
_HANDLED_MAX = 10.0


class Server:
    """A server of its own for a test: nothing is in it, and it is gone with the test.

    `options` are further ones of `adjourn serve`. Use it in a `with`, or call `stop`.
    """

    def __init__(self, *options: str, binary: str | os.PathLike[str] | None = None) -> None:
        self._process = ServerProcess(find_binary() if binary is None else Path(binary), options)
        self._client: sync.Queue | None = None

    # ---- the server

    @property
    def address(self) -> str:
        """Host and port."""
        return self._process.address

    @property
    def url(self) -> str:
        """What to pass to `adjourn.connect`, or to set in the program's configuration."""
        return f"adjourn://{self.address}"

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def log(self) -> str:
        """What the server has logged."""
        return self._process.log()

    def stop(self) -> None:
        """Ends the server. May be called twice."""
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=1)
        self._process.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- time

    @property
    def now(self) -> datetime:
        """The time of the queue. It starts as that of the machine, and stands still."""
        now = self._queue.ping()
        assert now is not None
        return now

    def advance(self, duration: Duration) -> datetime:
        """Lets time pass in the queue: seconds, or a `timedelta`. Returns its new time.

        When it returns, jobs that are due by then are ready, and leases that end by then have ended. Consumers that wait get their jobs.
        """
        return self._queue.advance(duration)

    def advance_to_next(self) -> datetime:
        """Lets time pass until the next delayed job is due, of any topic. Fails if no job is delayed."""
        try:
            return self._queue.advance_to_next()
        except NotFoundError:
            raise AssertionError("no job is delayed, so there is no time to advance to") from None

    # ---- what is in the queue

    def jobs(self, topic: str | None = None) -> list[SeenJob]:
        """The jobs that are in a topic, or in all of them, by their due times. Finished jobs are not there any more."""
        return self._seen(topic, _LEFT)

    def pending(self, topic: str | None = None) -> list[SeenJob]:
        """The jobs that wait, for their due time or for a consumer, by their due times."""
        return self._seen(topic, States.DELAYED | States.READY)

    def assert_pushed(
        self,
        topic: str,
        body: Any = ANYTHING,
        *,
        key: str | None = None,
        delay: Duration | None = None,
        where: Predicate | None = None,
    ) -> SeenJob:
        """A job of this topic is in the queue. Returns it, or the one of several that is due first.

        `body` is what was pushed: a text, bytes, or an object of JSON. `delay` is how far ahead it is due, on the clock of the queue.
        `where` is a function of a `SeenJob`. A job that a consumer has finished is seen only if it was pushed with `remember`.
        """
        wanted = Wanted(body, key, delay, where)
        jobs = self._seen(topic, _LEFT | States.FINISHED)
        for job in jobs:
            if wanted.matches(job):
                return job
        gone = self._pushed(topic) - len(jobs)
        more = f"\nand {gone} that were pushed have left it, as finished jobs do" if gone > 0 else ""
        raise AssertionError(f"no job in {topic!r}{wanted}; what is in it:\n{shown(jobs)}{more}")

    def assert_not_pushed(
        self,
        topic: str,
        body: Any = ANYTHING,
        *,
        key: str | None = None,
        delay: Duration | None = None,
        where: Predicate | None = None,
    ) -> None:
        """No such job was pushed. The conditions are those of `assert_pushed`.

        Jobs that have left the topic were pushed, too: they count if there is no condition, and with conditions this fails, as nothing
        can be said of them. The queue forgets how many there were when a topic has been empty for 10 minutes of its time.
        """
        wanted = Wanted(body, key, delay, where)
        jobs = self._seen(topic, _LEFT | States.FINISHED)
        found = [job for job in jobs if wanted.matches(job)]
        if found:
            raise AssertionError(f"there are jobs in {topic!r}{wanted}:\n{shown(found)}")
        gone = self._pushed(topic) - len(jobs)
        if gone > 0:
            raise AssertionError(f"{gone} jobs were pushed to {topic!r} and have left it, as finished jobs do; they cannot be compared")

    def assert_nothing_left(self, *topics: str) -> None:
        """No job is in these topics, or in any: none that waits, is at work, or is buried."""
        left = [job for topic in topics or (None,) for job in self.jobs(topic)]
        if left:
            raise AssertionError(f"there are jobs left:\n{shown(left)}")

    # ---- waiting for workers

    def wait_until_handled(self, *topics: str, timeout: Duration = _HANDLED_MAX) -> None:
        """Waits until workers have handled all jobs of these topics, or of all, that are due: none is ready or at work.

        For workers in other threads and processes. `timeout` is time of the machine.
        """
        until = time.monotonic() + times.to_seconds(timeout, "timeout")
        while self._has_work(topics, until):
            time.sleep(_LOOK_AGAIN)

    async def until_handled(self, *topics: str, timeout: Duration = _HANDLED_MAX) -> None:
        """The same for workers on the event loop of the test."""
        until = time.monotonic() + times.to_seconds(timeout, "timeout")
        while self._has_work(topics, until):
            await asyncio.sleep(_LOOK_AGAIN)

    # ---- below

    @property
    def _queue(self) -> sync.Queue:
        """The client of the assertions."""
        if self._client is None:
            self._client = sync.connect(self.url, without_session=True)
        return self._client

    def _seen(self, topic: str | None, states: States) -> list[SeenJob]:
        now = self.now
        found = self._queue.list_jobs(with_bodies=True, states=states, topic=topic)
        return [SeenJob(job, max(timedelta(), times.point(job.due_ms) - now)) for job in found]

    def _pushed(self, topic: str) -> int:
        """How many jobs came into a topic."""
        return sum(one.totals.pushed for one in self._queue.topics() if one.topic == topic)

    def _has_work(self, topics: tuple[str, ...], until: float) -> bool:
        states = States.READY | States.RESERVED
        if not any(self._queue.count(states=states, topic=topic) for topic in topics or (None,)):
            return False
        if time.monotonic() > until:
            left = [job for topic in topics or (None,) for job in self._seen(topic, states)]
            raise AssertionError(f"there are jobs that no worker has handled in time:\n{shown(left)}")
        return True
