"""The queue in memory: it says what a real server says, and its clock is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import adjourn
from adjourn import BulkChange, IfExists, JobState, LostReason, NewJob, States, TopicPolicy, Worker
from adjourn.testing import MemoryQueue

Story = list[Any]


async def said(story: Story, call: Awaitable[Any]) -> Any:
    """Writes down what a call says."""
    try:
        answer = await call
    except adjourn.AdjournError as error:
        story.append((type(error).__name__, error.code, error.retryable, error.applied))
        return None
    if isinstance(answer, adjourn.PushResult):
        story.append(answer.outcome)
    elif isinstance(answer, adjourn.JobReport):
        story.append((answer.state, answer.attempts, answer.reason, answer.key, answer.body, answer.buried))
    elif isinstance(answer, adjourn.Changed):
        story.append(answer.state)
    elif isinstance(answer, list):
        story.append([(job.value, job.attempts, job.priority) for job in answer])
    else:
        story.append(answer)
    return answer


async def keys(q: adjourn.Queue, topic: str, story: Story) -> None:
    first = await said(story, q.push(topic, "a", key="k", delay=60))
    for mode in IfExists:
        await said(story, q.push(topic, mode.name, key="k", delay=60, if_exists=mode))
        await said(story, q.get(topic=topic, key="k"))
    await said(story, q.get(first.id))
    await said(story, q.run_now(topic=topic, key="k"))
    await said(story, q.reserve(topic))
    for mode in IfExists:
        await said(story, q.push(topic, mode.name, key="k", delay=60, if_exists=mode))
    await said(story, q.push(topic, expires_after=1, delay=2))


async def settling(q: adjourn.Queue, topic: str, story: Story) -> None:
    new = [
        NewJob(n, priority=9 - n, attempts_max=2, backoff=adjourn.backoff.fixed(3600), key=f"k{n}") for n in range(5)
    ]
    await q.push_many(topic, new)
    jobs = await said(story, q.reserve(topic, jobs_max=9))
    await said(story, jobs[0].finish())
    await said(story, jobs[0].finish())
    await said(story, jobs[1].release(reason="no"))
    await said(story, jobs[2].give_back())
    await said(story, jobs[3].bury("never"))
    await said(story, jobs[4].release(delay=60))
    await said(story, jobs[4].touch())
    for job in jobs:
        await said(story, q.get(job.id))
    again = await said(story, q.reserve(topic, jobs_max=9))
    for job in again:
        await said(story, job.release(reason="again"))
        await said(story, q.get(job.id))
    await said(story, q.kick_many(topic, 10))
    await said(story, q.kick(jobs[0].id))
    await said(story, q.reschedule(jobs[3].id, delay=60))
    await said(story, q.delete(jobs[3].id))
    await said(story, q.delete(jobs[3].id))
    await said(story, q.peek(topic))
    await said(story, q.peek(topic + "-none"))


async def policies(q: adjourn.Queue, topic: str, story: Story) -> None:
    dead = f"{topic}-dead"
    await said(story, q.topic_show(topic))
    await q.topic_set(topic, TopicPolicy(attempts_max=1, dead_letters=dead, jobs_max=2, leases_max=1, priority=3))
    await said(story, q.push(topic, "a"))
    await said(story, q.push(topic, "b"))
    await said(story, q.push(topic, "c"))
    (job,) = await said(story, q.reserve(topic, jobs_max=2))
    await job.release(reason="broken")
    (letter,) = await said(story, q.reserve(dead))
    await said(story, q.get(letter.id))
    await said(story, q.pause(topic))
    await said(story, q.reserve(topic))
    await said(story, q.resume(topic))
    await said(story, q.topic_delete(topic))
    steps = [step async for step in q.bulk(BulkChange.DELETE, topic=topic)]
    story.append([step.jobs for step in steps])
    await said(story, q.topic_delete(topic))
    await said(story, q.pause(topic))


async def many(q: adjourn.Queue, topic: str, story: Story) -> None:
    now = datetime.now(timezone.utc)
    await q.push_many(topic, [NewJob(n, at=now + timedelta(hours=n + 1), key=f"{n % 3}-{n}") for n in range(9)])
    for order in adjourn.ListOrder:
        listed = [job async for job in q.list_jobs(topic=topic, order=order, with_bodies=True)]
        story.append([job.body for job in listed])
    await said(story, q.count(topic=topic, key_prefix="1-"))
    await said(story, q.count(topic=topic, due_before=now + timedelta(hours=3, minutes=1)))
    await said(story, q.count(topic=topic, states=States.READY))
    story.append([step.jobs async for step in q.bulk(BulkChange.RUN_NOW, topic=topic, key_prefix="2-")])
    await said(story, q.count(topic=topic, states=States.READY))
    story.append([step.jobs async for step in q.bulk(BulkChange.MOVE, topic=topic, to=f"{topic}-2", key_prefix="0-")])
    await said(story, q.count(topic=f"{topic}-2"))


@pytest.mark.parametrize("tell", [keys, settling, policies, many], ids=lambda tell: tell.__name__)
async def test_it_says_what_a_server_says(
    tell: Callable[[adjourn.Queue, str, Story], Awaitable[None]], url: str, topic: str
) -> None:
    real: Story = []
    fake: Story = []
    async with adjourn.connect(url) as q:
        await tell(q, topic, real)
    async with MemoryQueue(datetime.now(timezone.utc)) as memory, memory.client() as q:
        await tell(q, topic, fake)
    assert len(real) > 5
    assert fake == real


async def test_time_passes_when_the_test_says_so(adjourn_memory: MemoryQueue) -> None:
    async with adjourn_memory as memory, memory.client() as q:
        await q.push("t", "later", delay=timedelta(days=30), attempts_max=2, backoff=adjourn.backoff.each(10, 20))
        assert await q.reserve("t") == []
        waiting = asyncio.create_task(q.reserve("t", wait=3600))
        await memory.advance(timedelta(minutes=61))
        assert waiting.done() and await waiting == []
        await memory.advance(timedelta(days=30))
        (job,) = await q.reserve("t")
        assert job.seconds_left == 60
        await job.release()
        await memory.advance(9.9)
        assert await q.reserve("t") == []
        await memory.advance(0.1)
        (job,) = await q.reserve("t")
        await memory.advance(60)
        assert job.lost is LostReason.DEADLINE
        assert [job.state for job in memory.jobs] == [JobState.BURIED]


async def test_remembered_jobs_are_forgotten_in_time(adjourn_memory: MemoryQueue) -> None:
    async with adjourn_memory as memory, memory.client() as q:
        await q.push("t", key="k", remember=3600)
        (job,) = await q.reserve("t")
        await job.finish()
        await memory.advance(3599)
        with pytest.raises(adjourn.KeyExistsError):
            await q.push("t", key="k")
        await memory.advance(1)
        await q.push("t", key="k", expires_after=5)
        await memory.advance(5)
        assert memory.jobs == []


async def test_a_worker_works_on_it_and_keeps_its_lease(adjourn_memory: MemoryQueue) -> None:
    async with adjourn_memory as memory, memory.client() as q, memory.client() as other:
        let_go = asyncio.Event()
        stopped: list[str] = []

        async def handle(job: adjourn.Job) -> None:
            try:
                await let_go.wait()
            except asyncio.CancelledError as error:
                stopped.append(str(error))
                raise

        async with Worker(q, "t", handler=handle, concurrency=1) as worker:
            pushed = await q.push("t", delay=60)
            await memory.advance(60)
            assert worker.health().running == 1
            await memory.advance(600)
            assert (await other.get(pushed.id)).attempts == 1, "the worker has touched it"
            memory.lose_leases()
            await memory.settle()
            assert stopped == ["connection"]
            let_go.set()
            await memory.settle()
            assert (await other.get(pushed.id)).state is JobState.FINISHED


async def test_a_subscription_has_credit(adjourn_memory: MemoryQueue) -> None:
    async with adjourn_memory as memory, memory.client() as q:
        await q.push_many("t", list(range(5)))
        async with q.subscribe("t", credit=2) as jobs:
            assert jobs.waiting == 2
            first = await jobs.__anext__()
            await first.finish()
            assert jobs.waiting == 2
        assert [job.attempts for job in memory.jobs] == [0, 0, 0, 0]
