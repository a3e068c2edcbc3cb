"""Workers."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import adjourn
import handlers
from adjourn import JobState, LostReason, NewJob, RunsIn, Worker
from conftest import state_of, until, until_true
from nodes import Node


async def gone(q: adjourn.Queue, *jobs: int) -> bool:
    return all([await state_of(q, job) in ("finished", "gone") for job in jobs])


async def test_a_job_is_finished_only_after_its_handler_returned(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        let_go, at_work = asyncio.Event(), asyncio.Event()

        async def handle(job: adjourn.Job) -> None:
            at_work.set()
            await let_go.wait()

        async with Worker(q, topic, handler=handle) as worker:
            pushed = await q.push(topic)
            await at_work.wait()
            # What this connection had sent before is applied when this is answered.
            await q.push(f"{topic}-other")
            assert await state_of(q, pushed.id) == "reserved"
            assert worker.health() and worker.health().running == 1
            let_go.set()
            await until_true(lambda: gone(q, pushed.id))
        assert not worker.health()


async def test_a_handler_that_raises_releases_its_job(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:

        async def handle(job: adjourn.Job) -> None:
            if job.value == "retry":
                raise adjourn.Retry("try later", delay=60)
            if job.value == "bury":
                raise adjourn.Bury("hopeless")
            if job.attempts == 1:
                raise ValueError("ü" * 2_000)

        async with Worker(q, topic, handler=handle):
            failed = await q.push(topic, "fail", backoff=adjourn.backoff.fixed(60))
            retried = await q.push(topic, "retry")
            buried = await q.push(topic, "bury")
            await until_true(lambda: _states(q, failed.id, retried.id, buried.id, ["delayed", "delayed", "buried"]))
        shown = await q.get(failed.id)
        assert shown.reason == "ü" * 512 and shown.attempts == 1
        assert (await q.get(retried.id)).reason == "try later"
        assert (await q.get(buried.id)).reason == "hopeless"


async def _states(q: adjourn.Queue, *what: object) -> bool:
    *jobs, states = what
    return [await state_of(q, job) for job in jobs] == states  # type: ignore[arg-type]


async def test_a_long_handler_keeps_its_lease(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        runs: list[int] = []

        async def handle(job: adjourn.Job) -> None:
            runs.append(job.attempts)
            await asyncio.sleep(4)

        async with Worker(q, topic, handler=handle):
            pushed = await q.push(topic, ttr=3)
            await until_true(lambda: gone(q, pushed.id))
        assert runs == [1]


async def test_a_handler_may_not_run_for_ever(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        ended: list[LostReason | None] = []

        async def handle(job: adjourn.Job) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(job.cancellation.reason)

        async with Worker(q, topic, handler=handle, run_time_max=0.3):
            pushed = await q.push(topic, ttr=60, backoff=adjourn.backoff.fixed(60))
            await until_true(lambda: _states(q, pushed.id, ["delayed"]))
        assert ended == [LostReason.RUN_TIME]
        assert (await q.get(pushed.id)).reason == "the handler ran for longer than it may"


async def test_a_lost_lease_stops_the_handler_with_its_reason(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q, adjourn.connect(url) as other:
        told: list[str] = []
        at_work = asyncio.Event()

        async def handle(job: adjourn.Job) -> None:
            at_work.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError as error:
                told.append(str(error))
                assert job.lost is LostReason.STALE
                raise

        async with Worker(q, topic, handler=handle):
            pushed = await q.push(topic, ttr=4)
            await at_work.wait()
            await other.delete(pushed.id)
            await until(lambda: told)
        assert told == [LostReason.STALE.value]


async def test_a_handler_stops_before_its_lease_ends_when_the_server_is_silent(quick_server: Node) -> None:
    server = quick_server
    async with adjourn.connect(server.url, reconnect_wait_max=0.05) as q:
        told: list[LostReason | None] = []
        at_work: set[int] = set()

        def handle(job: adjourn.Job) -> None:
            at_work.add(job.id)
            job.cancellation.wait(30)
            told.append(job.cancellation.reason)
            job.cancellation.raise_if_set()

        worker = Worker(q, "t", handler=handle)
        await worker.start()
        short, long = await q.push("t", ttr=0.5), await q.push("t", ttr=600)
        await until(lambda: len(at_work) == 2)
        server.freeze()
        try:
            await until(lambda: len(told) >= 2)
        finally:
            server.thaw()
        assert told[:2] == [LostReason.DEADLINE, LostReason.CONNECTION]
        await until(worker.health)
        await worker.stop(1)
        assert {short.id, long.id} == {job.id async for job in q.list_jobs(topic="t")}


async def test_stop_gives_back_what_was_not_started_without_an_attempt(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        at_work, let_go = asyncio.Event(), asyncio.Event()

        async def handle(job: adjourn.Job) -> None:
            at_work.set()
            await let_go.wait()

        worker = Worker(q, topic, handler=handle, concurrency=1, prefetch=3)
        results = await q.push_many(topic, [NewJob(n) for n in range(4)])
        await worker.start()
        await at_work.wait()
        await until(lambda: worker.health().waiting == 3)
        stopping = asyncio.create_task(worker.stop(20))
        await until_true(lambda: _states(q, *[result.id for result in results[1:]], ["ready"] * 3))
        assert not worker.health()
        let_go.set()
        await stopping
        assert await state_of(q, results[0].id) == "finished"
        assert [job.attempts async for job in q.list_jobs(topic=topic)] == [0, 0, 0]


async def test_stop_ends_in_time_whatever_the_handlers_do(url: str, topic: str) -> None:
    async with adjourn.connect(url) as other, adjourn.connect(url) as q:
        polite, stubborn = asyncio.Event(), threading.Event()
        let_go = threading.Event()

        def in_thread(job: adjourn.Job) -> None:
            stubborn.set()
            let_go.wait(30)

        async def on_loop(job: adjourn.Job) -> None:
            polite.set()
            await asyncio.sleep(60)

        first, second = Worker(q, topic, handler=in_thread), Worker(q, f"{topic}-2", handler=on_loop)
        await first.start()
        await second.start()
        stuck, cut = await q.push(topic), await q.push(f"{topic}-2")
        await until(lambda: stubborn.is_set() and polite.is_set())
        started = time.monotonic()
        await asyncio.gather(first.stop(0.4), second.stop(0.4))
        assert time.monotonic() - started < 10
        assert await state_of(q, stuck.id) == "reserved", "its handler still runs: nobody else may have it yet"
        assert await state_of(q, cut.id) == "ready"
        assert (await q.get(cut.id)).reason == "the worker stopped before the handler had ended"
        await q.close()
        assert await state_of(other, stuck.id) == "reserved", "no GOODBYE: the grace ends its lease"
        let_go.set()


async def test_run_ends_at_a_signal(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        done: list[int] = []

        async def handle(job: adjourn.Job) -> None:
            await asyncio.sleep(0.05)
            done.append(job.id)

        running = asyncio.create_task(Worker(q, topic, handler=handle).run(handle_signals=True))
        pushed = await q.push(topic)
        await until_true(lambda: _states(q, pushed.id, ["reserved"]))
        os.kill(os.getpid(), signal.SIGTERM)
        await running
        assert done == [pushed.id]


async def test_run_says_why_the_server_refused(url: str) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(adjourn.InvalidError):
            await Worker(q, "-bad", handler=print).run()


async def test_middleware_surrounds_handlers_and_threads_see_its_context(url: str, topic: str) -> None:
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="")
    seen: list[str] = []

    async def traced(job: adjourn.Job, call: Callable[[], Awaitable[None]]) -> None:
        trace.set(job.headers["traceparent"])
        seen.append("before")
        await call()
        seen.append("after")

    async with adjourn.connect(url, headers=lambda: {"traceparent": "00-abc-01"}) as q:
        async with Worker(q, topic, handler=lambda job: seen.append(trace.get()), middleware=[traced]):
            pushed = await q.push(topic)
            await until_true(lambda: gone(q, pushed.id))
    assert seen == ["before", "00-abc-01", "after"]


async def test_concurrency_is_a_bound(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        now = most = 0

        async def handle(job: adjourn.Job) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

        async with Worker(q, topic, handler=handle, concurrency=3):
            results = await q.push_many(topic, list(range(12)))
            await until_true(lambda: gone(q, *[result.id for result in results]))
        assert most == 3


async def test_a_finish_is_repeated_after_the_server_was_killed(server: Node) -> None:
    async with adjourn.connect(server.url, reconnect_wait_max=0.05) as q:
        runs: list[int] = []

        async def handle(job: adjourn.Job) -> None:
            runs.append(job.id)
            if len(runs) == 1:
                server.kill()
                server.start()

        async with Worker(q, "t", handler=handle, concurrency=1):
            results = await q.push_many("t", list(range(3)))
            await until_true(lambda: gone(q, *[result.id for result in results]))
        assert sorted(runs) == sorted(result.id for result in results)


async def test_handlers_in_processes(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        async with Worker(q, topic, handler=handlers.in_process, runs_in=RunsIn.PROCESS, concurrency=2):
            orders = ["ok", "fail", "bury", "retry", "exit"]
            wait = adjourn.backoff.fixed(60)
            results = await q.push_many(topic, [NewJob(order, backoff=wait) for order in orders])
            jobs = [result.id for result in results]
            await until_true(
                lambda: _states(q, *jobs, ["finished", "delayed", "buried", "delayed", "delayed"]), seconds=30
            )
        reasons = [(await q.get(job)).reason for job in jobs[1:]]
        assert reasons == ["ValueError: as ordered", "never again", "soon", "the process of the handler ended"]


async def test_a_process_that_holds_the_interpreter_is_killed_and_heartbeats_go_on(url: str, topic: str, tmp_path: Path) -> None:
    async with adjourn.connect(url) as q:
        worker = Worker(q, topic, handler=handlers.in_process, runs_in=RunsIn.PROCESS, concurrency=1)
        async with worker:
            pid_file = tmp_path / "pid"
            held = await q.push(topic, f"hold {pid_file}", ttr=4)
            await until(lambda: pid_file.exists() and pid_file.read_text())
            pid = int(pid_file.read_text())
            assert (await q.get(held.id)).attempts == 1
            await q.delete(held.id)
            await until(lambda: not _lives(pid))
            pushed = await q.push(topic, "ok")
            await until_true(lambda: gone(q, pushed.id))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_job_under_a_lease_is_not_sent_to_other_processes(url: str, topic: str) -> None:
    import pickle

    async with adjourn.connect(url) as q:
        await q.push(topic)
        (job,) = await q.reserve(topic)
        with pytest.raises(TypeError):
            pickle.dumps(job)
        assert (await q.get(job)).state is JobState.RESERVED
