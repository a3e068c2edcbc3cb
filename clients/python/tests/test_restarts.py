"""Real servers that die, stop, freeze and come back."""

from __future__ import annotations

import asyncio

import pytest

import adjourn
from conftest import state_of, until, until_true
from nodes import Node
from scripted import Proxy


@pytest.mark.parametrize("without_session", [False, True])
async def test_no_push_is_lost_or_doubled_when_the_server_is_killed(server: Node, without_session: bool) -> None:
    async with adjourn.connect(server.url, reconnect_wait_max=0.05, without_session=without_session) as q:
        ids: list[int] = []

        async def produce(name: int) -> None:
            for number in range(60):
                ids.append((await q.push("t", f"{name}-{number}", key=f"{name}-{number}")).id)

        producers = [asyncio.create_task(produce(name)) for name in range(8)]
        for _ in range(3):
            before = len(ids)
            await until(lambda before=before: len(ids) > before + 30)  # type: ignore[misc]
            server.kill()
            server.start()
        await asyncio.gather(*producers)
        assert len(set(ids)) == 480
        assert await q.count(topic="t") == 480
        assert {job.id async for job in q.list_jobs(topic="t")} == set(ids)


async def test_work_goes_on_after_a_restart_and_leases_are_kept(server: Node) -> None:
    async with adjourn.connect(server.url, reconnect_wait_max=0.05) as q:
        await q.push_many("t", list(range(4)))
        async with q.subscribe("t", credit=2) as jobs:
            first = await jobs.__anext__()
            server.terminate()
            server.start()
            await until(lambda: jobs.is_active)
            assert first.lost is None
            await first.finish()
            values = []
            while len(values) < 3:
                job = await jobs.__anext__()
                values.append(job.value)
                assert job.attempts == 1
                await job.finish()
        assert sorted([first.value, *values]) == [0, 1, 2, 3]
        assert (await q.stats()).totals.finished == 4


async def test_a_waiting_reserve_survives_a_restart(server: Node) -> None:
    async with adjourn.connect(server.url, reconnect_wait_max=0.05) as q:
        waiting = asyncio.create_task(q.reserve("t", wait=30))
        await until_true(lambda: _reserves(q))
        server.kill()
        server.start()
        pushed = await q.push("t")
        (job,) = await waiting
        assert job.id == pushed.id


async def _reserves(q: adjourn.Queue) -> bool:
    return any([one.reserves async for one in q.connections()])


async def test_jobs_that_never_arrived_are_given_back_at_once(server: Node) -> None:
    async with adjourn.connect(server.url) as other, Proxy(server.port) as proxy:
        async with adjourn.connect(proxy.url, reconnect_wait_max=0.02, heartbeat=0.3) as q:
            async with q.subscribe("t", credit=4) as jobs:
                proxy.stall()
                pushed = await other.push("t", ttr=600)
                await until_true(lambda: _is_reserved(other, pushed.id))
                proxy.cut()
                proxy.flow()
                job = await jobs.__anext__()
                assert (job.id, job.attempts) == (pushed.id, 1)
                await job.finish()


async def _is_reserved(q: adjourn.Queue, job: int) -> bool:
    return await state_of(q, job) == "reserved"


async def test_a_frozen_server_ends_the_leases_for_the_client_in_time(quick_server: Node) -> None:
    server = quick_server
    async with adjourn.connect(server.url, reconnect_wait_max=0.05) as q:
        await q.push("t", ttr=600)
        (job,) = await q.reserve("t", wait=5)
        server.freeze()
        try:
            await until(lambda: job.lost)
        finally:
            server.thaw()
        assert job.lost is adjourn.LostReason.CONNECTION
        # It reconnects, and jobs that come from then on are its own again.
        pushed = await q.push("t2")
        (new,) = await q.reserve("t2", wait=5)
        assert new.id == pushed.id and new.lost is None


async def test_connections_that_are_cut_all_the_time(server: Node) -> None:
    async with Proxy(server.port) as proxy:
        proxy.piece_bytes = 7
        async with adjourn.connect(proxy.url, reconnect_wait_max=0.02) as q:
            done: set[int] = set()

            async def consume() -> None:
                async for job in q.subscribe("t", credit=8):
                    try:
                        await job.finish()
                        done.add(job.id)
                    except adjourn.StaleLeaseError:
                        continue

            consumer = asyncio.create_task(consume())
            pushed: set[int] = set()
            for number in range(120):
                pushed.add((await q.push("t", b"x" * 50)).id)
                if number % 20 == 19:
                    proxy.cut()
            await until_true(lambda: _is_empty(q))
            consumer.cancel()
            assert len(pushed) == 120
            assert (await q.stats()).totals.pushed == 120
            assert proxy.connections >= 6


async def _is_empty(q: adjourn.Queue) -> bool:
    return await q.count(topic="t") == 0


async def test_a_client_that_starts_before_the_server_of_its_list(server: Node) -> None:
    async with adjourn.connect(f"adjourn://127.0.0.1:1,{server.address}") as q:
        assert (await q.push("t")).id > 0
