"""Where handlers run, and that none is skipped: a job is never finished although its handler did not run."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

import adjourn
import handlers
from adjourn import JobState, RunsIn, Worker
from conftest import state_of, until, until_true

ran_on: list[threading.Thread] = []


async def work(job: adjourn.Job) -> None:
    await asyncio.sleep(0)
    ran_on.append(threading.current_thread())


async def work_with(prefix: str, job: adjourn.Job) -> None:
    await work(job)


class Callee:
    async def __call__(self, job: adjourn.Job) -> None:
        await work(job)


def logged(handler: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    @functools.wraps(handler)
    def call(job: adjourn.Job) -> Awaitable[None]:
        return handler(job)

    return call


def blocking(handler: Callable[[Any], Any]) -> Callable[[Any], None]:
    @functools.wraps(handler)
    def call(job: adjourn.Job) -> None:
        asyncio.run(handler(job))

    return call


def generates(job: adjourn.Job) -> Iterator[int]:
    yield job.id


async def generates_on_loop(job: adjourn.Job) -> AsyncIterator[int]:
    yield job.id


Outcome = Callable[..., Awaitable[tuple[JobState | int, str]]]


@pytest.fixture
def outcome(url: str, topic: str) -> Outcome:
    """What becomes of a job that a handler gets: its state, and the reason of its release."""

    async def found(handler: Any, runs_in: RunsIn | None = None) -> tuple[JobState | int, str]:
        ran_on.clear()
        async with adjourn.connect(url) as q:
            job = await q.push(topic, backoff=adjourn.backoff.fixed(60))
            async with Worker(q, topic, handler=handler, runs_in=runs_in):
                await until_true(lambda: _is_handled(q, job.id))
            shown = await q.get(job.id)
        return shown.state, shown.reason

    return found


async def _is_handled(q: adjourn.Queue, job: int) -> bool:
    return await state_of(q, job) not in ("ready", "reserved")


ASYNC = [work, Callee(), Callee().__call__, functools.partial(work_with, "a"), functools.partial(Callee()), logged(work), functools.partial(logged(work))]


@pytest.mark.parametrize("handler", ASYNC, ids=[str(at) for at in range(len(ASYNC))])
async def test_an_async_handler_is_known_however_it_is_wrapped(outcome: Outcome, handler: Any) -> None:
    assert await outcome(handler) == (JobState.FINISHED, "")
    assert ran_on == [threading.current_thread()]


async def test_a_wrapper_that_runs_an_async_handler_itself_has_a_thread(outcome: Outcome) -> None:
    assert await outcome(blocking(work)) == (JobState.FINISHED, "")
    assert len(ran_on) == 1 and ran_on[0] is not threading.current_thread()


NOT_RUN: list[tuple[Any, RunsIn | None, str]] = [
    (lambda job: work(job), None, "returned its coroutine and did not run: pass the `async def` itself, or runs_in=RunsIn.LOOP"),
    (logged(work), RunsIn.THREAD, "returned its coroutine and did not run"),
    (generates, None, "returned its generator and did not run: a handler has no `yield`"),
    (generates_on_loop, None, "returned its async_generator and did not run"),
]


@pytest.mark.parametrize(("handler", "runs_in", "says"), NOT_RUN, ids=[str(at) for at in range(len(NOT_RUN))])
async def test_a_handler_that_did_not_run_fails_its_job(
    outcome: Outcome, handler: Any, runs_in: RunsIn | None, says: str
) -> None:
    state, reason = await outcome(handler, runs_in)
    assert state is JobState.DELAYED
    assert says in reason
    assert not ran_on


async def test_a_handler_in_a_process_that_did_not_run_fails_its_job(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        job = await q.push(topic, backoff=adjourn.backoff.fixed(60))
        async with Worker(q, topic, handler=handlers.generates, runs_in=RunsIn.PROCESS, concurrency=1):
            await until_true(lambda: _is_delayed(q, job.id))
        assert "did not run" in (await q.get(job.id)).reason


async def _is_delayed(q: adjourn.Queue, job: int) -> bool:
    return await state_of(q, job) == "delayed"


async def test_a_wrapped_handler_is_cancelled_when_the_worker_stops(url: str, topic: str) -> None:
    began, told = asyncio.Event(), []

    async def waits(job: adjourn.Job) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError as error:
            told.append(str(error))
            raise

    async with adjourn.connect(url) as q:
        worker = Worker(q, topic, handler=logged(waits))
        await worker.start()
        await q.push(topic)
        await asyncio.wait_for(began.wait(), 10)
        await worker.stop(0.2)
        await until(lambda: told)
        assert told == ["stopping"]


@pytest.mark.parametrize("runs_in", ["loop", "process", 1, True])
async def test_a_wrong_place_is_refused(url: str, runs_in: Any) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(adjourn.UsageError, match="write RunsIn.LOOP, RunsIn.THREAD, RunsIn.PROCESS"):
            Worker(q, "t", handler=print, runs_in=runs_in)


async def test_an_async_handler_in_a_thread_is_refused(url: str) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(adjourn.UsageError, match="leave runs_in out, or write RunsIn.LOOP"):
            Worker(q, "t", handler=work, runs_in=RunsIn.THREAD)
