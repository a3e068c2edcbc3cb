"""The clock of a server for tests: it stands still until a call moves it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import adjourn
from adjourn import sync
from adjourn.protocol.requests import Advance, Request
from adjourn.testing import Server
from scripted import RESUMED, Script, quick, script


@pytest.fixture
def manual(adjourn_server: Server) -> str:
    """The URL of a server whose clock stands still."""
    return adjourn_server.url


async def test_a_job_is_reserved_when_the_clock_says_that_it_is_due(manual: str) -> None:
    async with adjourn.connect(manual) as q:
        start = await q.ping()
        assert start is not None
        await q.push("t", "tea", delay=timedelta(minutes=15))
        assert await q.advance(timedelta(minutes=14, seconds=59)) == start + timedelta(seconds=899)
        assert await q.reserve("t") == []
        assert await q.advance(1) == start + timedelta(minutes=15) == await q.ping()
        (job,) = await q.reserve("t")
        assert (job.value, job.attempts) == ("tea", 1)


async def test_the_clock_moves_to_the_next_job_that_is_due(manual: str) -> None:
    async with adjourn.connect(manual) as q:
        start = await q.ping()
        assert start is not None
        with pytest.raises(adjourn.NotFoundError):
            await q.advance_to_next()
        assert await q.ping() == start
        await q.push("a", delay=timedelta(days=2))
        await q.push("b", delay=0.25)
        assert await q.advance_to_next() == start + timedelta(seconds=0.25)
        (job,) = await q.reserve("a", "b", jobs_max=2)
        await job.finish()
        assert await q.advance_to_next() == start + timedelta(days=2)
        (late,) = await q.reserve("a", "b", jobs_max=2)
        assert (job.topic, late.topic) == ("b", "a")


async def test_calls_and_subscriptions_that_wait_get_the_jobs(manual: str) -> None:
    async with adjourn.connect(manual) as q, adjourn.connect(manual) as other:
        await q.push("a", delay=3600)
        await q.push("b", delay=3600)
        waiting = asyncio.ensure_future(q.reserve("a", wait=30))
        async with q.subscribe("b") as jobs:
            await q.ping()
            await other.advance_to_next()
            assert [job.topic for job in await asyncio.wait_for(waiting, 10)] == ["a"]
            assert (await asyncio.wait_for(anext(jobs), 10)).topic == "b"


async def test_another_server_refuses(url: str) -> None:
    async with adjourn.connect(url) as q:
        for call in (q.advance(1), q.advance_to_next()):
            with pytest.raises(adjourn.UnsupportedError):
                await call


@pytest.mark.parametrize("wrong", [-1, "15m", float("nan"), None])
async def test_what_is_no_duration_is_not_sent(manual: str, wrong: object) -> None:
    async with adjourn.connect(manual) as q:
        start = await q.ping()
        with pytest.raises(adjourn.UsageError):
            await q.advance(wrong)  # type: ignore[arg-type]
        assert await q.ping() == start


async def test_it_is_not_repeated_by_itself() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        came.append((await peer.next())[1])
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)

        def note(request: Request) -> None:
            came.append(request)

        await peer.serve(note)

    came: list[Request] = []
    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.OutcomeUnknownError):
            await q.advance(60)
        await q.close()
    assert [one for one in came if isinstance(one, Advance)] == [Advance(0, 60_000)]


def test_the_clock_without_async(manual: str) -> None:
    with sync.connect(manual) as q:
        q.push("t", delay=timedelta(minutes=15))
        assert q.reserve("t") == []
        assert q.advance_to_next() + timedelta(minutes=1) == q.advance(60) == q.ping()
        assert len(q.reserve("t")) == 1
