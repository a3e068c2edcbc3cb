"""Runs greenstalk or aiostalk, unchanged, against a server: `python_clients.py greenstalk|aiostalk HOST PORT`.

The methods of both have the same names. Those of greenstalk block, so they run in threads.

aiostalk 1.3.1 never sends `kick-job`: its method does not await what it calls. That check is greenstalk's alone.
"""

import asyncio
import functools
import importlib.metadata
import itertools
import math
import os
import random
import sys
import time
import traceback

import aiostalk
import greenstalk

# What must happen soon has happened by then, however busy the machine is.
PATIENCE_S = 30
# It does not pass during a check.
LONG_S = 3600
CHECK_MAX_S = 60
SHARED_JOBS = 100
BODY_BYTES = 60_000
# Fields of a server's log and history, which another server may lack.
OPTIONAL = {"file", "timeouts", "releases", "buries", "kicks"}


class Threaded:
    """greenstalk's client with methods that can be awaited, as those of aiostalk."""

    def __init__(self, *arguments, **options):
        self.make = functools.partial(greenstalk.Client, *arguments, **options)

    async def connect(self):
        self.client = await asyncio.to_thread(self.make)

    def __getattr__(self, name):
        return functools.partial(asyncio.to_thread, getattr(self.client, name))


class Rig:
    """What a check gets: a tube of its own, and connections to the server."""

    def __init__(self, client, address, check):
        self.client, self.address = client, address
        self.tube = f"{client}-{random.randbytes(4).hex()}-{check}"
        self.opened = []

    async def connect(self, **options):
        """A client that uses and watches the check's tube."""
        options = {"encoding": None, "use": self.tube, "watch": self.tube, **options}
        queue = (Threaded if self.client == "greenstalk" else aiostalk.Client)(self.address, **options)
        await queue.connect()
        self.opened.append(queue)
        return queue

    async def close(self, queue):
        self.opened.remove(queue)
        await queue.close()

    async def close_all(self):
        for queue in list(self.opened):
            await self.close(queue)


def equal(found, expected):
    assert found == expected, f"found {found!r} instead of {expected!r}"


async def raises(error, call):
    """The server's answer to `call` is raised as `error`."""
    try:
        found = await call
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised, but {found!r} returned")


async def until(condition):
    """Waits for a condition that only the server can tell."""
    for _ in range(PATIENCE_S * 100):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the condition did not become true")


async def state(queue, number):
    return (await queue.stats_job(number))["state"]


async def put_and_reserve(rig):
    queue = await rig.connect()
    later = await queue.put(b"later", priority=20, ttr=90)
    first = await queue.put(b"first", priority=10, ttr=60)
    delayed = await queue.put(b"delayed", priority=0, delay=LONG_S, ttr=30)
    stats = await queue.stats_job(later)
    equal([stats[name] for name in ("id", "tube", "state", "pri", "delay", "ttr")], [later, rig.tube, "ready", 20, 0, 90])
    stats = await queue.stats_job(delayed)
    equal([stats[name] for name in ("state", "pri", "delay", "ttr")], ["delayed", 0, LONG_S, 30])
    for number, body in ((first, b"first"), (later, b"later")):
        job = await queue.reserve(timeout=PATIENCE_S)
        equal((job.id, job.body), (number, body))
        stats = await queue.stats_job(job)
        equal((stats["state"], stats["reserves"]), ("reserved", 1))
        await queue.delete(job)
        await raises(greenstalk.NotFoundError, queue.delete(job))
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    await queue.delete(delayed)


async def tubes(rig):
    other = f"{rig.tube}-other"
    queue = await rig.connect(use="default", watch="default")
    equal((await queue.using(), await queue.watching()), ("default", ["default"]))
    await queue.use(rig.tube)
    equal(await queue.using(), rig.tube)
    equal([await queue.watch(rig.tube), await queue.watch(other), await queue.watch(other)], [2, 3, 3])
    equal(sorted(await queue.watching()), sorted(["default", rig.tube, other]))
    equal([await queue.ignore("default"), await queue.ignore(other)], [2, 1])
    equal(await queue.watching(), [rig.tube])
    await raises(greenstalk.NotIgnoredError, queue.ignore(rig.tube))
    number = await queue.put(b"x")
    names = await queue.tubes()
    assert rig.tube in names and "default" in names, names
    # Jobs of other tubes are not reserved.
    stranger = await rig.connect(use=other, watch=[other, f"{rig.tube}-third"])
    await raises(greenstalk.TimedOutError, stranger.reserve(timeout=0))
    await queue.delete(number)


async def reserve_of_nothing(rig):
    queue = await rig.connect()
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=1))


async def reserve_waits(rig):
    consumer, producer = await rig.connect(), await rig.connect()
    waiting = asyncio.create_task(consumer.reserve())

    async def is_waiting():
        return (await producer.stats_tube(rig.tube))["current-waiting"] == 1

    await until(is_waiting)
    number = await producer.put(b"wakes")
    job = await waiting
    equal((job.id, job.body), (number, b"wakes"))
    await consumer.delete(job)


async def delay(rig):
    queue = await rig.connect()
    number = await queue.put(b"soon", delay=1)
    job = await queue.reserve(timeout=PATIENCE_S)
    equal(job.id, number)
    await queue.release(job, delay=1)
    equal((await queue.reserve(timeout=PATIENCE_S)).id, number)
    equal((await queue.stats_job(number))["reserves"], 2)
    await queue.release(job, priority=7, delay=LONG_S)
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    stats = await queue.stats_job(number)
    equal((stats["state"], stats["pri"]), ("delayed", 7))
    assert LONG_S - PATIENCE_S < stats["time-left"] <= LONG_S, stats
    await queue.delete(number)


async def release_with_priority(rig):
    queue = await rig.connect()
    first = await queue.put(b"first", priority=10)
    second = await queue.put(b"second", priority=20)
    job = await queue.reserve(timeout=PATIENCE_S)
    equal(job.id, first)
    await queue.release(job, priority=30)
    equal((await queue.reserve(timeout=PATIENCE_S)).id, second)
    equal((await queue.reserve(timeout=PATIENCE_S)).id, first)
    equal((await queue.stats_job(first))["pri"], 30)
    await queue.delete(first)
    await queue.delete(second)


async def bury_and_kick(rig):
    queue = await rig.connect()
    equal(await queue.kick(10), 0)
    numbers = [await queue.put(b"%d" % priority, priority=priority) for priority in (1, 2, 3)]
    for number in numbers:
        job = await queue.reserve(timeout=PATIENCE_S)
        equal(job.id, number)
        await queue.bury(job, priority=5)
    delayed = await queue.put(b"delayed", delay=LONG_S)
    equal((await queue.peek_buried()).id, numbers[0])
    stats = await queue.stats_job(numbers[0])
    equal((stats["state"], stats["pri"]), ("buried", 5))
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    # Only buried jobs, as long as there are any.
    equal([await queue.kick(2), await queue.kick(10)], [2, 1])
    equal(await state(queue, delayed), "delayed")
    equal(await queue.kick(10), 1)
    equal([await state(queue, number) for number in (*numbers, delayed)], ["ready"] * 4)
    for number in (*numbers, delayed):
        await queue.delete(number)


async def kick_job(rig):
    queue = await rig.connect()
    number = await queue.put(b"x", delay=LONG_S)
    await queue.kick_job(number)
    job = await queue.reserve(timeout=PATIENCE_S)
    await raises(greenstalk.NotFoundError, queue.kick_job(job))
    await queue.bury(job)
    await queue.kick_job(job)
    await raises(greenstalk.NotFoundError, queue.kick_job(job))
    equal((await queue.reserve(timeout=PATIENCE_S)).id, number)
    await queue.delete(job)
    await raises(greenstalk.NotFoundError, queue.kick_job(job))


async def peek(rig):
    queue = await rig.connect()
    for call in (queue.peek_ready, queue.peek_delayed, queue.peek_buried):
        await raises(greenstalk.NotFoundError, call())
    ready = await queue.put(b"ready", priority=2)
    most_urgent = await queue.put(b"most urgent", priority=1)
    last = await queue.put(b"last", delay=2 * LONG_S)
    delayed = await queue.put(b"delayed", delay=LONG_S)
    found = await queue.peek_ready()
    equal((found.id, found.body), (most_urgent, b"most urgent"))
    found = await queue.peek_delayed()
    equal((found.id, found.body), (delayed, b"delayed"))
    found = await queue.peek(ready)
    equal((found.id, found.body), (ready, b"ready"))
    for number in (ready, most_urgent, last, delayed):
        await queue.delete(number)
        await raises(greenstalk.NotFoundError, queue.peek(number))


async def touch(rig):
    ttr = 60
    queue, stranger = await rig.connect(), await rig.connect()
    number = await queue.put(b"x", ttr=ttr)
    job = await queue.reserve(timeout=PATIENCE_S)

    async def has_less_left():
        return (await queue.stats_job(number))["time-left"] <= ttr - 2

    await until(has_less_left)
    begin = time.monotonic()
    await queue.touch(job)
    left = (await queue.stats_job(number))["time-left"]
    took = math.ceil(time.monotonic() - begin)
    assert ttr - took <= left <= ttr, left
    await raises(greenstalk.NotFoundError, stranger.touch(job))
    await queue.delete(number)
    await raises(greenstalk.NotFoundError, queue.touch(job))


async def jobs_of_others(rig):
    queue, stranger = await rig.connect(), await rig.connect()
    number = await queue.put(b"x")
    job = await queue.reserve(timeout=PATIENCE_S)
    for call in (stranger.release, stranger.bury, stranger.delete):
        await raises(greenstalk.NotFoundError, call(job))
    equal(await state(stranger, number), "reserved")
    await queue.delete(number)
    for call in (queue.release, queue.bury, queue.delete, queue.stats_job):
        await raises(greenstalk.NotFoundError, call(job))


async def reserve_job(rig):
    queue, stranger = await rig.connect(), await rig.connect()
    ready, delayed = await queue.put(b"ready"), await queue.put(b"delayed", delay=LONG_S)
    for number, body in ((ready, b"ready"), (delayed, b"delayed")):
        job = await queue.reserve_job(number)
        equal((job.id, job.body), (number, body))
        await raises(greenstalk.NotFoundError, stranger.reserve_job(number))
        await queue.delete(job)
        await raises(greenstalk.NotFoundError, queue.reserve_job(number))


def has_fields(stats, described):
    """Every field that the client's types name is there, and what should be a number is one."""
    for name, kind in described.__annotations__.items():
        if name in OPTIONAL or name.startswith("binlog-"):
            continue
        assert name in stats, f"{name} is missing in {stats}"
        assert kind is not int or isinstance(stats[name], int), f"{name} is {stats[name]!r}"


async def stats(rig):
    queue = await rig.connect()
    before = await queue.stats()
    has_fields(before, greenstalk.Stats)
    number = await queue.put(b"x", priority=5)
    has_fields(await queue.stats_job(number), greenstalk.StatsJob)
    after = await queue.stats()
    for name in ("cmd-put", "total-jobs"):
        assert after[name] > before[name], (name, before[name], after[name])
    for name in ("current-jobs-ready", "current-connections", "current-producers", "current-tubes", "max-job-size"):
        assert after[name] > 0, (name, after)
    equal(after["draining"], "false")
    await queue.delete(number)


async def stats_of_a_tube(rig):
    queue = await rig.connect()
    await raises(greenstalk.NotFoundError, queue.stats_tube(f"{rig.tube}-unknown"))
    numbers = [await queue.put(b"x", priority=priority) for priority in (1, 2, 3, 2000)]
    numbers += [await queue.put(b"x", delay=LONG_S), await queue.put(b"x", delay=LONG_S)]
    await queue.reserve(timeout=PATIENCE_S)
    await queue.bury(await queue.reserve(timeout=PATIENCE_S))
    found = await queue.stats_tube(rig.tube)
    has_fields(found, greenstalk.StatsTube)
    counts = {"ready": 2, "reserved": 1, "delayed": 2, "buried": 1}
    equal({name: found[f"current-jobs-{name}"] for name in counts}, counts)
    counts = {"name": rig.tube, "total-jobs": 6, "current-using": 1, "current-watching": 1, "current-waiting": 0, "pause": 0}
    equal({name: found[name] for name in counts}, counts)
    for number in numbers:
        await queue.delete(number)


async def pause_tube(rig):
    queue = await rig.connect()
    await raises(greenstalk.NotFoundError, queue.pause_tube(f"{rig.tube}-unknown", 1))
    number = await queue.put(b"x")
    await queue.pause_tube(rig.tube, LONG_S)
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    found = await queue.stats_tube(rig.tube)
    equal((found["pause"], found["current-jobs-ready"]), (LONG_S, 1))
    assert 0 < found["pause-time-left"] <= LONG_S, found
    await queue.pause_tube(rig.tube, 1)
    job = await queue.reserve(timeout=PATIENCE_S)
    equal(job.id, number)
    await queue.delete(job)


async def two_consumers(rig):
    producer, *consumers = [await rig.connect() for _ in range(3)]
    numbers = [await producer.put(b"%d" % each) for each in range(SHARED_JOBS)]
    # Each gets at least one.
    first = [(await consumer.reserve(timeout=PATIENCE_S)).id for consumer in consumers]

    async def consume(consumer, taken):
        try:
            while True:
                await consumer.delete(taken[-1])
                taken.append((await consumer.reserve(timeout=0)).id)
        except greenstalk.TimedOutError:
            return taken

    taken = await asyncio.gather(*(consume(consumer, [number]) for consumer, number in zip(consumers, first)))
    equal(sorted(itertools.chain(*taken)), sorted(numbers))


async def closed_connection(rig):
    dying, queue = await rig.connect(), await rig.connect()
    number = await queue.put(b"x", ttr=LONG_S)
    await dying.reserve(timeout=PATIENCE_S)
    await raises(greenstalk.TimedOutError, queue.reserve(timeout=0))
    await rig.close(dying)
    job = await queue.reserve(timeout=PATIENCE_S)
    equal(job.id, number)
    await queue.delete(job)


async def large_body(rig):
    body = (b"\r\nRESERVED 1 2\r\n" + bytes(range(256)) + random.randbytes(BODY_BYTES))[:BODY_BYTES]
    queue = await rig.connect()
    number = await queue.put(body)
    empty = await queue.put(b"", priority=0)
    job = await queue.reserve(timeout=PATIENCE_S)
    equal((job.id, job.body), (empty, b""))
    assert (await queue.peek(number)).body == body, "another body is peeked at"
    job = await queue.reserve(timeout=PATIENCE_S)
    assert job.body == body, "another body is reserved"
    await queue.delete(number)
    await queue.delete(empty)


async def text_body(rig):
    queue = await rig.connect(encoding="utf-8")
    await queue.put("Grüße, 世界")
    job = await queue.reserve(timeout=PATIENCE_S)
    equal(job.body, "Grüße, 世界")
    await queue.delete(job)


async def job_too_big(rig):
    queue = await rig.connect()
    most = (await queue.stats())["max-job-size"]
    await raises(greenstalk.JobTooBigError, queue.put(b"x" * (most + 1)))
    # The connection is as good as before.
    equal(await queue.using(), rig.tube)
    number = await queue.put(b"x" * most)
    equal(len((await queue.peek(number)).body), most)
    await queue.delete(number)


async def deadline_soon(rig):
    queue = await rig.connect()
    number = await queue.put(b"x", ttr=1)
    await queue.reserve(timeout=PATIENCE_S)
    warnings = []

    async def has_expired():
        # beanstalkd looks at the jobs of a connection when it sends something.
        try:
            job = await queue.reserve(timeout=PATIENCE_S)
        except greenstalk.DeadlineSoonError as warning:
            warnings.append(warning)
            return False
        equal(job.id, number)
        # Without a warning, this program paused for longer than the job's ttr.
        return warnings != []

    await until(has_expired)
    await queue.delete(number)


CHECKS = [put_and_reserve, tubes, reserve_of_nothing, reserve_waits, delay, release_with_priority, bury_and_kick, kick_job, peek]
CHECKS += [touch, jobs_of_others, reserve_job, stats, stats_of_a_tube, pause_tube, two_consumers, closed_connection]
CHECKS += [large_body, text_body, job_too_big, deadline_soon]


async def main(client, address):
    failed = False
    checks = [check for check in CHECKS if client == "greenstalk" or check is not kick_job]
    for check in checks:
        print(check.__name__, file=sys.stderr, flush=True)
        rig = Rig(client, address, check.__name__.replace("_", "-"))
        try:
            await asyncio.wait_for(check(rig), CHECK_MAX_S)
            await rig.close_all()
        except Exception:
            failed = True
            print(f"{client}: {check.__name__} FAILED", file=sys.stderr)
            traceback.print_exc()
    if failed:
        # Threads may still wait for the server.
        sys.stderr.flush()
        os._exit(1)
    print(f"{client} {importlib.metadata.version(client)}: {len(checks)} checks passed")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], (sys.argv[2], int(sys.argv[3]))))
