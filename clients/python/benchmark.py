"""The same work for this client and for others: see `bench` and benches/clients --help.

Each system is a module-level class with three works, each of which returns the seconds that it took. All answers are
awaited, and all servers answer after a sync. A producer job has 64 bytes and a delay of an hour.

`bench codec JOBS` measures the codecs alone, without a server.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import struct
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

import adjourn
from adjourn.protocol import framing, requests, responses

BODY = b"x" * 64
HOUR = 3600
BATCH = 64
BATCHES_IN_FLIGHT = 16
HANDLERS = 8


class System(Protocol):
    """What is measured, at a server of its own."""

    def push_one(self, jobs: int) -> float:
        """One job after the other over one connection."""

    def push_many(self, jobs: int) -> float:
        """The quickest way that the library offers to one process."""

    def work(self, jobs: int) -> float:
        """Eight handlers that do nothing, until the last job is finished at the server."""


def batches(jobs: int) -> Iterator[int]:
    """The sizes of the batches of so many jobs."""
    for start in range(0, jobs, BATCH):
        yield min(BATCH, jobs - start)


class Adjourn:
    """This client, on an event loop."""

    def __init__(self, host: str, port: int) -> None:
        self._url = f"adjourn://{host}:{port}"
        self._topic = f"bench-{uuid.uuid4()}"

    def push_one(self, jobs: int) -> float:
        async def measured(q: adjourn.Queue) -> float:
            begun = time.perf_counter()
            for _ in range(jobs):
                await q.push(self._topic, BODY, delay=HOUR)
            return time.perf_counter() - begun

        return self._run(measured)

    def push_many(self, jobs: int) -> float:
        async def measured(q: adjourn.Queue) -> float:
            begun = time.perf_counter()
            await self._push_batches(q, jobs, HOUR)
            return time.perf_counter() - begun

        return self._run(measured)

    def work(self, jobs: int) -> float:
        async def measured(q: adjourn.Queue) -> float:
            await self._push_batches(q, jobs, 0)
            handled, all_handled = 0, asyncio.Event()

            async def handle(job: adjourn.Job) -> None:
                nonlocal handled
                handled += 1
                if handled == jobs:
                    all_handled.set()

            begun = time.perf_counter()
            async with adjourn.Worker(q, self._topic, handler=handle, concurrency=HANDLERS):
                await all_handled.wait()
            took = time.perf_counter() - begun
            assert await q.count(topic=self._topic) == 0
            return took

        return self._run(measured)

    async def _push_batches(self, q: adjourn.Queue, jobs: int, delay: int) -> None:
        sizes = batches(jobs)

        async def push() -> None:
            for size in sizes:
                await q.push_many(self._topic, [adjourn.NewJob(BODY, delay=delay) for _ in range(size)])

        await asyncio.gather(*(push() for _ in range(BATCHES_IN_FLIGHT)))

    def _run(self, measured: Callable[[adjourn.Queue], Awaitable[float]]) -> float:
        async def run() -> float:
            async with adjourn.connect(self._url) as q:
                return await measured(q)

        return asyncio.run(run())


class RedisPy:
    """A sorted set by due time, a hash of bodies, and scripts, as many programs have them. `redis.Redis` with hiredis."""

    # KEYS: due, bodies. ARGV: when it is due, then an id and a body for each job.
    PUSH = """
        for at = 2, #ARGV, 2 do
            redis.call('ZADD', KEYS[1], ARGV[1], ARGV[at])
            redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
        end
    """
    # KEYS: due, reserved, bodies. ARGV: now, reserved until. Returns an id and a body.
    TAKE = """
        local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
        if #ids == 0 then return nil end
        redis.call('ZREM', KEYS[1], ids[1])
        redis.call('ZADD', KEYS[2], ARGV[2], ids[1])
        return {ids[1], redis.call('HGET', KEYS[3], ids[1])}
    """
    # KEYS: reserved, bodies. ARGV: an id.
    FINISH = """
        if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('HDEL', KEYS[2], ARGV[1]) end
    """

    def __init__(self, host: str, port: int) -> None:
        import redis

        self._connect = lambda: redis.Redis(host, port)
        name = f"bench-{uuid.uuid4()}"
        self._due, self._reserved, self._bodies = f"{name}:due", f"{name}:reserved", f"{name}:bodies"
        client = self._connect()
        self._push, self._take, self._finish = (client.script_load(text) for text in (self.PUSH, self.TAKE, self.FINISH))

    def push_one(self, jobs: int) -> float:
        client = self._connect()
        client.ping()
        begun = time.perf_counter()
        for number in range(jobs):
            client.evalsha(self._push, 2, self._due, self._bodies, time.time() + HOUR, number, BODY)
        return time.perf_counter() - begun

    def push_many(self, jobs: int) -> float:
        client = self._connect()
        client.ping()
        begun = time.perf_counter()
        self._push_batches(client, jobs, HOUR)
        return time.perf_counter() - begun

    def work(self, jobs: int) -> float:
        self._push_batches(self._connect(), jobs, 0)

        def handle_until_none_is_left(client: Any) -> None:
            while True:
                now = time.time()
                taken = client.evalsha(self._take, 3, self._due, self._reserved, self._bodies, now, now + 60)
                if taken is None:
                    return
                client.evalsha(self._finish, 2, self._reserved, self._bodies, taken[0])

        took = in_threads([self._connect() for _ in range(HANDLERS)], handle_until_none_is_left)
        assert self._connect().hlen(self._bodies) == 0
        return took

    def _push_batches(self, client: Any, jobs: int, delay: int) -> None:
        number, sizes = 0, list(batches(jobs))
        for start in range(0, len(sizes), BATCHES_IN_FLIGHT):
            pipeline = client.pipeline(transaction=False)
            for size in sizes[start : start + BATCHES_IN_FLIGHT]:
                arguments = [part for one in range(number, number + size) for part in (one, BODY)]
                pipeline.evalsha(self._push, 2, self._due, self._bodies, time.time() + delay, *arguments)
                number += size
            pipeline.execute()


class Greenstalk:
    """A client of beanstalkd. It has neither batches nor a pipeline, so it pushes many jobs over several connections."""

    def __init__(self, host: str, port: int) -> None:
        import greenstalk

        tube = f"bench-{uuid.uuid4()}"
        self._connect = lambda: greenstalk.Client((host, port), encoding=None, use=tube, watch=tube)
        self._none_is_left = greenstalk.TimedOutError

    def push_one(self, jobs: int) -> float:
        client = self._connect()
        begun = time.perf_counter()
        for _ in range(jobs):
            client.put(BODY, delay=HOUR)
        return time.perf_counter() - begun

    def push_many(self, jobs: int) -> float:
        return self._push(jobs, HOUR)

    def work(self, jobs: int) -> float:
        self._push(jobs, 0)

        def handle_until_none_is_left(client: Any) -> None:
            while True:
                try:
                    job = client.reserve(timeout=0)
                except self._none_is_left:
                    return
                client.delete(job)

        return in_threads([self._connect() for _ in range(HANDLERS)], handle_until_none_is_left)

    def _push(self, jobs: int, delay: int) -> float:
        numbers = iter(range(jobs))

        def push(client: Any) -> None:
            for _ in numbers:
                client.put(BODY, delay=delay)

        return in_threads([self._connect() for _ in range(BATCHES_IN_FLIGHT)], push)


def in_threads(clients: Sequence[Any], call: Callable[[Any], None]) -> float:
    """Calls it for each client in a thread of its own. Returns the seconds until the last one has returned."""
    failures: list[BaseException] = []

    def run(client: Any) -> None:
        try:
            call(client)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[client]) for client in clients]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    if failures:
        raise failures[0]
    return took


def encode_adjourn(jobs: int) -> float:
    """Pushes of jobs as `push_many` makes them, in batches: from the arguments of the caller to the bytes of the frame."""
    begun = time.perf_counter()
    for size in batches(jobs):
        batch = tuple([adjourn.NewJob(BODY, delay=HOUR).encode() for _ in range(size)])
        framing.encode(1, requests.Push(0, "bench", batch))
    return time.perf_counter() - begun


def encode_redis(jobs: int) -> float:
    """The same batches as `RedisPy` sends them, packed as redis-py packs a pipeline: by hiredis, which is C, if that is there."""
    import redis

    return pack_redis(redis.Connection(), jobs)


def encode_redis_in_python(jobs: int) -> float:
    """The same in Python."""
    import redis
    from redis.connection import PythonRespSerializer

    connection = redis.Connection()
    packer = PythonRespSerializer(connection._buffer_cutoff, connection.encoder.encode)
    return pack_redis(redis.Connection(command_packer=packer), jobs)


def pack_redis(connection: Any, jobs: int) -> float:
    script, number = "0" * 40, 0
    begun = time.perf_counter()
    for size in batches(jobs):
        arguments = [part for one in range(number, number + size) for part in (one, BODY)]
        connection.pack_commands([("EVALSHA", script, 2, "bench:due", "bench:bodies", time.time() + HOUR, *arguments)])
        number += size
    return time.perf_counter() - begun


def decode_adjourn(jobs: int) -> float:
    """Deliveries of a batch each, from the bytes off the socket to the jobs."""
    frame, decoded = delivery(BATCH), 0  # a last batch is as large as the others
    decoder = framing.FrameDecoder()
    begun = time.perf_counter()
    for _ in batches(jobs):
        for one in decoder.feed(frame):
            deliver = framing.decode_response(one)
            assert isinstance(deliver, responses.Deliver)
            decoded += sum(job.body == BODY for job in deliver.jobs)
    took = time.perf_counter() - begun
    assert decoded >= jobs
    return took


def delivery(jobs: int) -> bytes:
    """A DELIVER of so many jobs as a server sends it."""
    topic, head = b"bench", struct.Struct("<QQQIIIBHHIQ")
    items = [head.pack(job, 1, 0, 1024, 1, 60_000, len(topic), 0, 0, len(BODY), 0) + topic + BODY for job in range(jobs)]
    payload = struct.pack("<HI", head.size, jobs) + b"".join(items)
    return struct.pack("<IBBBBI", 8 + len(payload), responses.Deliver.OPCODE, 0, 0, 0, 1) + payload


CODECS: list[tuple[str, str, Callable[[int], float], str]] = [
    ("adjourn", "encode-pushes", encode_adjourn, "adjourn"),
    ("redis-py", "encode-pushes", encode_redis, "redis"),
    ("redis-py without hiredis", "encode-pushes", encode_redis_in_python, "redis"),
    ("adjourn", "decode-deliveries", decode_adjourn, "adjourn"),
]
"""The system, the work, what measures it, and the package that it needs."""
CODEC_ROUNDS = 5


def measure_codecs(jobs: int) -> None:
    """Prints the best of some rounds of each codec."""
    for system, work, measured, package in CODECS:
        if importlib.util.find_spec(package) is None:
            continue
        seconds = min(measured(jobs) for _ in range(CODEC_ROUNDS))
        of = {"system": system, "work": work, "jobs": jobs, "seconds": round(seconds, 6)}
        print(json.dumps(of | {"jobs_per_second": round(jobs / seconds)}))


SYSTEMS: dict[str, tuple[Callable[[str, int], System], str, str]] = {
    "adjourn": (Adjourn, "adjourn", "adjourn"),
    "redis-py": (RedisPy, "redis", "redis"),
    "greenstalk": (Greenstalk, "beanstalkd", "greenstalk"),
}
"""What it is called, its server, and the package that it needs."""


def main(arguments: list[str]) -> None:
    match arguments:
        case ["systems"]:
            for name, (_, server, package) in SYSTEMS.items():
                if importlib.util.find_spec(package) is not None:
                    print(name, server)
        case ["run", name, ("push-one" | "push-many" | "work") as work, address, jobs] if name in SYSTEMS:
            host, _, port = address.rpartition(":")
            measured = getattr(SYSTEMS[name][0](host, int(port)), work.replace("-", "_"))
            seconds = measured(int(jobs))
            print(json.dumps({"system": name, "work": work, "jobs": int(jobs), "seconds": round(seconds, 6)}))
        case ["codec", jobs]:
            measure_codecs(int(jobs))
        case _:
            sys.exit("bench systems | bench run NAME push-one|push-many|work HOST:PORT JOBS | bench codec JOBS")


if __name__ == "__main__":
    main(sys.argv[1:])
