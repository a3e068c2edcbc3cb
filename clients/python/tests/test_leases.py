"""When leases end, and what becomes of their jobs, against a server that follows a script."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

import adjourn
from adjourn.protocol.numbers import RELEASE_NOT_STARTED
from adjourn.protocol.requests import Leases, LeaseRef, Release, Reserve, Subscribe
from adjourn.protocol.responses import Deliver, Done, Leased, Pong, Reserved, Settled, Subscribed
from adjourn.session.leases import LeaseClock
from conftest import until
from scripted import RESUMED, WELCOME, Script, delivered, quick, script


async def test_subscriptions_are_made_anew_and_jobs_that_never_came_are_given_back() -> None:
    given_back: list[Release] = []
    order: list[str] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, first = await peer.next()
        assert isinstance(first, Subscribe)
        peer.answer(request_id, Subscribed())
        peer.answer(request_id, Deliver((delivered(1, 5),)))
        await peer.writer.drain()
        await until(lambda: got)
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)

        def answer(request: object) -> object:
            order.append(type(request).__name__)
            if isinstance(request, Leases):
                return Leased(False, (delivered(1, 5), delivered(2, 6)))
            if isinstance(request, Subscribe):
                assert request == first
                return Subscribed()
            if isinstance(request, Release):
                given_back.append(request)
                return Settled((0,) * len(request.leases))
            return None

        await peer.serve(answer)  # type: ignore[arg-type]

    got: list[int] = []
    async with script(play) as stage, quick(stage) as q:
        async with q.subscribe("t", credit=4) as jobs:
            job = await jobs.__anext__()
            got.append(job.id)
            await until(lambda: given_back and jobs.is_active)
            assert job.lost is None
    assert got == [1] and order[0] == "Leases"
    assert given_back[0].leases == (LeaseRef(2, 6),) and given_back[0].delay_ms == RELEASE_NOT_STARTED


async def test_leases_are_lost_when_the_session_did_not_keep_them() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        peer.answer(request_id, Reserved((delivered(1, 5),)))
        await until(lambda: held)
        peer.cut()
        peer = await stage.peer()
        await peer.greet(replace(RESUMED, leases_kept=False))
        await peer.serve()

    held: list[adjourn.Job] = []
    async with script(play) as stage, quick(stage) as q:
        held += await q.reserve("t", wait=5)
        assert held[0].lost is None
        await until(lambda: held[0].lost)
        assert held[0].lost is adjourn.LostReason.SESSION
        with pytest.raises(adjourn.StaleLeaseError):
            await held[0].finish()


async def test_leases_are_presumed_lost_when_nothing_proves_them() -> None:
    """The server sends something all the time, but no proof: a deposed leader that does not know it."""

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        peer.answers_pings = False
        await peer.greet(replace(WELCOME, session_grace_ms=1_000, heartbeat_ms=5_000))
        request_id, _ = await peer.next()
        peer.answer(request_id, Reserved((delivered(1, 5),)))
        while True:
            peer.answer(4_000, Done())
            await asyncio.sleep(0.05)

    async with script(play) as stage, quick(stage) as q:
        (job,) = await q.reserve("t", wait=5)
        started = asyncio.get_running_loop().time()
        await until(lambda: job.lost)
        assert job.lost is adjourn.LostReason.CONNECTION
        assert 0.5 < asyncio.get_running_loop().time() - started < 10
        await q.close(timeout=0.1)


async def test_jobs_whose_lease_was_presumed_lost_are_given_back_when_the_work_has_ended() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        peer.answers_pings = False
        await peer.greet(replace(WELCOME, session_grace_ms=1_000, heartbeat_ms=5_000))
        for _ in range(2):
            request_id, request = await peer.next()
            if isinstance(request, Reserve):
                peer.answer(request_id, Reserved((delivered(1, 5), delivered(2, 6))))
            else:
                peer.answer(request_id, Subscribed())
                peer.answer(request_id, Deliver((delivered(3, 7),)))

        def answer(request: object) -> object:
            if isinstance(request, Release):
                given_back.append((request.leases[0].job, request.delay_ms))
                return Settled((0,))
            return None

        async def prove_nothing() -> None:
            while True:
                peer.answer(4_000, Done())
                await asyncio.sleep(0.05)

        await asyncio.gather(prove_nothing(), peer.serve(answer))  # type: ignore[arg-type]

    given_back: list[tuple[int, int]] = []
    async with script(play) as stage, quick(stage) as q:
        reserving = asyncio.ensure_future(q.reserve("t", jobs_max=2, wait=5))
        waiting = q.subscribe("t")
        await waiting.start()
        held, other = await reserving
        await until(lambda: held.lost)
        await until(lambda: given_back)
        # The job that nobody took was not started. The others may be at work.
        assert given_back == [(3, RELEASE_NOT_STARTED)]
        with pytest.raises(adjourn.StaleLeaseError):
            await held.touch()
        with pytest.raises(adjourn.StaleLeaseError):
            await held.finish()
        await other.release(delay=9)
        await until(lambda: len(given_back) == 3)
        assert given_back[1:] == [(1, 0), (2, 9_000)]
        await q.close(timeout=0.1)


def test_the_best_of_the_last_pairs_of_clocks_counts() -> None:
    clock = LeaseClock(100.0, replace(WELCOME, clock_ms=50_000), False)
    job = replace(delivered(1, 5), deadline_ms=70_000)

    def left(now: float) -> float:
        return round(clock.left(now, job) / 0.999, 6)

    assert left(101.0) == 19.0
    # This answer took two seconds: the deadline is not later than another pair says, but the pair knows less.
    clock.answered(102.0, Pong(1, 54_000))
    assert left(102.0) == 18.0
    clock.answered(103.0, Pong(1, 52_500))
    assert left(103.0) == 17.5
    # Long ago: the two clocks may have gone apart since.
    clock.answered(120.0, Pong(1, 69_900))
    assert left(120.0) == 0.1


async def test_a_welcome_does_not_prove_that_leases_are_held() -> None:
    """A deposed leader that does not know it resumes the session again and again."""

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet(replace(WELCOME, session_grace_ms=1_500))
        request_id, _ = await peer.next()
        peer.answer(request_id, Reserved((delivered(1, 5),)))
        await peer.writer.drain()
        await until(lambda: held)
        while True:
            peer.cut()
            peer = await stage.peer()
            await peer.greet(replace(RESUMED, session_grace_ms=1_500))
            await asyncio.sleep(0.2)

    held: list[adjourn.Job] = []
    async with script(play) as stage, quick(stage) as q:
        held += await q.reserve("t", wait=5)
        await until(lambda: held[0].lost, 20)
        assert held[0].lost is adjourn.LostReason.CONNECTION and stage.connections > 2
        await q.close(timeout=0.1)


async def test_a_deadline_is_counted_from_the_servers_clock_not_from_the_arrival() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet(replace(WELCOME, clock_ms=10_000))
        request_id, _ = await peer.next()
        late = replace(delivered(1, 5), deadline_ms=69_000)
        over = replace(delivered(2, 6), deadline_ms=10_001)
        await asyncio.sleep(0.2)
        peer.answer(request_id, Reserved((late, over)))
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        jobs = await q.reserve("t", jobs_max=2, wait=5)
        assert [job.id for job in jobs] == [1]
        assert 30 < jobs[0].seconds_left <= 58.8


async def test_jobs_for_a_call_that_was_cancelled_are_given_back() -> None:
    given_back: list[Release] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, reserve = await peer.next()
        assert isinstance(reserve, Reserve)
        waiting.set()
        await cancelled.wait()
        peer.answer(request_id, Reserved((delivered(1, 5),)))

        def answer(request: object) -> object:
            if isinstance(request, Release):
                given_back.append(request)
                return Settled((0,))
            return None

        await peer.serve(answer)  # type: ignore[arg-type]

    waiting, cancelled = asyncio.Event(), asyncio.Event()
    async with script(play) as stage, quick(stage) as q:
        call = asyncio.create_task(q.reserve("t", wait=60))
        await waiting.wait()
        call.cancel()
        cancelled.set()
        await until(lambda: given_back)
    assert given_back[0].leases == (LeaseRef(1, 5),) and given_back[0].delay_ms == RELEASE_NOT_STARTED
