"""Handlers that fail, in any way; and what a worker logs of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import adjourn
import handlers
from adjourn import NewJob, RunsIn, Worker
from adjourn.testing import Server
from adjourn.worker.failures import FailureLog
from conftest import state_of, until_true


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("there is no text")


def _raises(error: BaseException) -> Callable[[Any], None]:
    def handle(job: adjourn.Job) -> None:
        if job.value == "fail":
            raise error

    return handle


def _raises_on_loop(error: BaseException) -> Callable[[Any], Awaitable[None]]:
    async def handle(job: adjourn.Job) -> None:
        _raises(error)(job)

    return handle


def _wishes(make: Callable[[], BaseException]) -> Callable[[Any], None]:
    return lambda job: _raises(make())(job) if job.value == "fail" else None


CASES = [
    (_raises(StopIteration("no more")), "the handler raised StopIteration: no more"),
    (_raises_on_loop(StopIteration("no more")), "coroutine raised StopIteration"),
    (_raises(SystemExit(3)), "the handler raised SystemExit: 3"),
    (_raises_on_loop(SystemExit(3)), "the handler raised SystemExit: 3"),
    (_raises(Unprintable()), "Unprintable"),
    (_raises_on_loop(Unprintable()), "Unprintable"),
    (_raises_on_loop(asyncio.CancelledError()), "the handler was cancelled"),
    (_wishes(lambda: adjourn.Retry(delay=-0.5)), "delay cannot be -0.5"),
    (_wishes(lambda: adjourn.Retry("soon", delay=1e15)), "a delay is at most"),
    (_wishes(lambda: adjourn.Retry(60)), "a reason is a text, not 60"),  # type: ignore[arg-type]
    (_wishes(lambda: adjourn.Bury(None)), "a reason is a text, not None"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("handler", "reason"), CASES, ids=[str(at) for at in range(len(CASES))])
async def test_whatever_a_handler_raises_settles_its_job_and_frees_its_place(
    url: str, topic: str, handler: Any, reason: str
) -> None:
    async with adjourn.connect(url) as q:
        failed, next_one = await q.push_many(topic, [NewJob(kind, backoff=adjourn.backoff.fixed(60)) for kind in ("fail", "go")])
        async with Worker(q, topic, handler=handler, concurrency=1):
            await until_true(lambda: _is(q, next_one.id, "finished"))
        shown = await q.get(failed.id)
        assert (shown.state, shown.attempts) == (adjourn.JobState.DELAYED, 1)
        assert shown.reason.startswith(reason)


async def test_a_process_survives_an_error_without_a_text(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        job = await q.push(topic, "unprintable", backoff=adjourn.backoff.fixed(60))
        async with Worker(q, topic, handler=handlers.in_process, runs_in=RunsIn.PROCESS, concurrency=1):
            await until_true(lambda: _is(q, job.id, "delayed"))
        assert (await q.get(job.id)).reason == "Unprintable"


async def _is(q: adjourn.Queue, job: int, state: str) -> bool:
    return await state_of(q, job) == state


async def test_a_failure_is_logged_once_for_each_job_and_reason(
    adjourn_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with adjourn.connect(adjourn_server.url) as q:

        async def handle(job: adjourn.Job) -> None:
            raise ValueError("odd" if job.attempts == 3 else "no luck")

        async with Worker(q, "t", handler=handle):
            job = await q.push("t", attempts_max=5, backoff=adjourn.backoff.fixed(1))
            await adjourn_server.until_handled()
            for _ in range(4):
                adjourn_server.advance_to_next()
                await adjourn_server.until_handled()
            shown = await q.get(job.id)
            assert (shown.attempts, shown.state) == (5, adjourn.JobState.BURIED)
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert lines == [
        f"the handler of job {job.id} failed at attempt 1: no luck",
        f"the handler of job {job.id} failed at attempt 3: odd",
    ]


def test_the_log_of_failures_has_a_rate(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    failures = FailureLog(lambda: now)
    for job in range(25):
        failures.failed(job, 1, "no luck", None)
    assert len(caplog.records) == 10
    now = 1.0
    failures.failed(99, 2, "no luck", None)
    failures.failed(100, 1, "no luck", None)
    assert [record.getMessage() for record in caplog.records[10:]] == [
        "the handler of job 99 failed at attempt 2: no luck (failures that were not logged: 15)"
    ]


def test_a_failure_that_was_left_out_is_logged_the_next_time(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    failures = FailureLog(lambda: now)
    for job in range(11):
        failures.failed(job, 1, "no luck", None)
    now = 5.0
    failures.failed(10, 2, "no luck", None)
    failures.failed(10, 3, "no luck", None)
    assert [record.getMessage() for record in caplog.records[10:]] == [
        "the handler of job 10 failed at attempt 2: no luck (failures that were not logged: 1)"
    ]
