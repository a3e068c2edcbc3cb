"""The leases of a worker: it takes what it can begin, gives back what it cannot, and keeps them when the client is closed."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import adjourn
from adjourn import JobState, NewJob, Worker
from conftest import state_of, until, until_true


async def test_a_worker_takes_only_the_jobs_that_it_can_begin(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        let_go = asyncio.Event()
        results = await q.push_many(topic, list(range(6)))
        async with Worker(q, topic, handler=lambda job: let_go.wait(), runs_in=adjourn.RunsIn.LOOP, concurrency=2) as worker:
            await until(lambda: worker.health().running == 2)
            shown = [await q.get(result.id) for result in results]
            assert [(job.state, job.attempts) for job in shown[2:]] == [(JobState.READY, 0)] * 4
            let_go.set()
            await until_true(lambda: _all_finished(q, results))


async def _all_finished(q: adjourn.Queue, results: list[adjourn.PushResult]) -> bool:
    return all([await state_of(q, result.id) == "finished" for result in results])


async def test_a_job_that_waits_for_a_handler_goes_to_others_without_an_attempt(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q, adjourn.connect(url) as other:
        let_go = asyncio.Event()
        worker = Worker(q, topic, handler=lambda job: let_go.wait(), runs_in=adjourn.RunsIn.LOOP, concurrency=1, prefetch=1)
        await q.push_many(topic, [NewJob("slow", ttr=60), NewJob("waits", ttr=1, attempts_max=1)])
        await worker.start()
        await until(lambda: worker.health().waiting == 1)
        (job,) = await other.reserve(topic, wait=20)
        assert (job.value, job.attempts) == ("waits", 1)
        await job.finish()
        let_go.set()
        await worker.stop()


async def test_jobs_are_given_back_at_half_of_their_leases(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other, adjourn.connect(url) as q:
        let_go = asyncio.Event()
        worker = Worker(q, topic, handler=lambda job: let_go.wait(), runs_in=adjourn.RunsIn.LOOP, concurrency=1, prefetch=2)
        await q.push(topic, "slow", ttr=3600)
        await worker.start()
        await until(lambda: worker.health().running == 1)
        # The one that arrives last has to go first.
        began = time.monotonic()
        for name, ttr in (("long", 4), ("short", 1)):
            await q.push(topic, name, ttr=ttr)
        await until(lambda: worker.health().waiting == 2)
        taken = []
        for _ in range(2):
            (job,) = await other.reserve(topic, wait=20)
            taken.append((job.value, job.attempts, time.monotonic() - began))
            await job.finish()
        # No lease ended, or its job would have another attempt.
        assert [(value, attempts) for value, attempts, _ in taken] == [("short", 1), ("long", 1)]
        assert taken[0][2] > 0.4 and taken[1][2] > 1.9
        let_go.set()
        await worker.stop()


async def test_a_subscription_gives_back_what_its_loop_does_not_take(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other, adjourn.connect(url) as q:
        await q.push_many(topic, [NewJob(n, ttr=2) for n in range(2)])
        async with q.subscribe(topic, credit=2) as jobs:
            first = await anext(jobs)
            (second,) = await other.reserve(topic, wait=20)
            assert (first.value, second.value, second.attempts) == (0, 1, 1)


async def test_closing_a_queue_lets_the_handlers_of_its_workers_end(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other:
        q = await adjourn.connect(url)
        let_go, at_work = asyncio.Event(), asyncio.Event()

        async def handle(job: adjourn.Job) -> None:
            at_work.set()
            await let_go.wait()

        worker = Worker(q, topic, handler=handle)
        await worker.start()
        pushed = await q.push(topic)
        await at_work.wait()
        closing = asyncio.create_task(q.close())
        await until(lambda: not worker.health())
        assert await state_of(other, pushed.id) == "reserved"
        let_go.set()
        await closing
        assert (await other.get(pushed.id)).state is JobState.FINISHED


async def test_closing_a_queue_says_no_goodbye_for_handlers_that_do_not_stop(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other:
        q = await adjourn.connect(url)
        at_work, let_go = threading.Event(), threading.Event()

        def handle(job: adjourn.Job) -> None:
            at_work.set()
            let_go.wait(30)

        await Worker(q, topic, handler=handle, stop_timeout=0.2).start()
        pushed = await q.push(topic)
        await until(at_work.is_set)
        await q.close()
        assert await state_of(other, pushed.id) == "reserved"
        let_go.set()


async def test_no_worker_starts_while_a_queue_is_being_closed(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other:
        q = await adjourn.connect(url)
        at_work, let_go = asyncio.Event(), asyncio.Event()
        runs: list[int] = []

        async def handle(job: adjourn.Job) -> None:
            at_work.set()
            await let_go.wait()

        async def handle_late(job: adjourn.Job) -> None:
            runs.append(job.attempts)
            await asyncio.sleep(0.5)

        worker, late, jobs = Worker(q, topic, handler=handle), Worker(q, f"{topic}-2", handler=handle_late), q.subscribe(f"{topic}-2")
        await worker.start()
        await q.push(topic)
        await at_work.wait()
        closing = asyncio.create_task(q.close())
        await until(lambda: not worker.health())
        with pytest.raises(adjourn.ClientClosedError):
            await late.start()
        with pytest.raises(adjourn.ClientClosedError):
            Worker(q, f"{topic}-2", handler=handle_late)
        with pytest.raises(adjourn.ClientClosedError):
            q.subscribe(f"{topic}-2")
        with pytest.raises(adjourn.ClientClosedError):
            await jobs.start()
        pushed = await other.push(f"{topic}-2")
        await q.push(f"{topic}-3", "a handler may push until the end")
        let_go.set()
        await closing
        shown = await other.get(pushed.id)
        assert (shown.state, shown.attempts, runs) == (JobState.READY, 0, [])


async def test_a_worker_that_is_stopped_while_it_starts_takes_no_job(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q, adjourn.connect(url) as other:
        runs: list[int] = []
        await q.push_many(topic, list(range(20)))
        worker = Worker(q, topic, handler=lambda job: runs.append(job.id))
        starting = asyncio.create_task(worker.start())
        await asyncio.sleep(0)
        await worker.stop()
        await starting
        await asyncio.sleep(0.2)
        await until_true(lambda: _all_ready(other, topic))
        assert [job.attempts async for job in other.list_jobs(topic=topic)] == [0] * 20
        assert runs == []


async def _all_ready(q: adjourn.Queue, topic: str) -> bool:
    return await q.count(topic=topic, states=adjourn.States.READY) == 20
