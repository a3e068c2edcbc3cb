"""A server that does what a test says, frame by frame; and a proxy that breaks connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import adjourn
from adjourn.connecting import Connecting
from adjourn.protocol.framing import Frame, FrameDecoder
from adjourn.protocol.requests import Cancel, ClusterStatus, Goodbye, Hello, LeaseRef, Leases, Ping, Push, Request
from adjourn.protocol.responses import (
    Delivered,
    Done,
    Error,
    Leased,
    Pong,
    Pushed,
    PushedJob,
    Response,
    Welcome,
)
from adjourn.protocol.numbers import ErrorCode, PushOutcome
from harness.server import decode_request, encode_response

WELCOME = Welcome(
    version=1,
    resumed=False,
    leases_kept=False,
    cluster_id=b"c" * 16,
    session=9,
    secret=b"s" * 16,
    heartbeat_ms=3_000,
    session_grace_ms=10_000,
    frame_bytes_max=1_114_112,
    body_bytes_max=1_048_576,
    push_jobs_max=4_096,
    leases_max=4_096,
    reserve_jobs_max=1_024,
    in_flight_max=1_024,
    server_name="scripted",
    members=(),
    clock_ms=0,
)
RESUMED = replace(WELCOME, resumed=True, leases_kept=True)
WITHOUT_SESSION = replace(WELCOME, session=0, secret=bytes(16))


class Peer:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.answers_pings = True
        self._decoder = FrameDecoder()
        self._frames: list[Frame] = []

    async def next(self) -> tuple[int, Request]:
        """The next request. PING, CLUSTER_STATUS and CANCEL are answered and passed over."""
        while True:
            while not self._frames:
                data = await self.reader.read(65_536)
                if not data:
                    raise ConnectionError("the client has closed")
                self._frames += self._decoder.feed(data)
            frame = self._frames.pop(0)
            request = decode_request(frame)
            if isinstance(request, Ping):
                if self.answers_pings:
                    self.answer(frame.request_id, Pong(1, 0))
            elif isinstance(request, ClusterStatus):
                self.answer(frame.request_id, Error(ErrorCode.UNSUPPORTED))
            elif isinstance(request, Cancel):
                self.answer(frame.request_id, Done())
            else:
                return frame.request_id, request

    def answer(self, request_id: int, response: Response) -> None:
        self.writer.write(encode_response(request_id, response))

    async def greet(self, welcome: Response = WELCOME) -> Hello:
        request_id, hello = await self.next()
        assert isinstance(hello, Hello)
        self.answer(request_id, welcome)
        return hello

    async def serve(self, answer: Callable[[Request], Response | None] | None = None) -> None:
        """Answers until the client leaves."""
        with contextlib.suppress(ConnectionError):
            while True:
                request_id, request = await self.next()
                found = answer(request) if answer else None
                if found is None and isinstance(request, Goodbye):
                    found = Done()
                elif found is None and isinstance(request, Leases):
                    found = Leased()
                if found is not None:
                    self.answer(request_id, found)

    def cut(self) -> None:
        """Ends the connection without a word."""
        self.writer.transport.abort()


def pushed(push: Request, first: int = 1) -> Pushed:
    assert isinstance(push, Push)
    return Pushed(tuple(PushedJob(PushOutcome.PUSHED, job=first + n) for n in range(len(push.jobs))))


def delivered(job: int, fence: int, ttr_left_ms: int = 60_000) -> Delivered:
    """A job of the topic `t`, as it comes."""
    return Delivered(
        LeaseRef(job, fence), due_ms=1, priority=1024, attempts=1, ttr_left_ms=ttr_left_ms, topic="t", body=b"x"
    )


class Script:
    """Where a scripted server listens, and the connections that came."""

    def __init__(self) -> None:
        self.peers: asyncio.Queue[Peer] = asyncio.Queue()
        self.port = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return f"adjourn://127.0.0.1:{self.port}"

    async def peer(self) -> Peer:
        return await self.peers.get()


def quick(stage: Script, **options: object) -> Connecting:
    """A client that reconnects soon."""
    return adjourn.connect(stage.url, reconnect_wait_max=0.02, **options)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def script(play: Callable[[Script], Awaitable[None]]) -> AsyncIterator[Script]:
    """Plays a script against the clients that connect. What goes wrong in it fails the test."""
    stage = Script()
    writers = []

    async def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stage.connections += 1
        writers.append(writer)
        stage.peers.put_nowait(Peer(reader, writer))

    server = await asyncio.start_server(came, "127.0.0.1", 0)
    stage.port = server.sockets[0].getsockname()[1]
    playing = asyncio.ensure_future(play(stage))
    try:
        yield stage
        if playing.done():
            playing.result()
    finally:
        if playing.done() and not playing.cancelled() and playing.exception() is not None:
            raise playing.exception()  # type: ignore[misc]
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


class Proxy:
    """Passes bytes between clients and a server, until it is told to break something."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.piece_bytes = 65_536
        self.is_open = True
        self.port = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return f"adjourn://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Ends all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def stall(self) -> None:
        """Nothing passes, and nothing ends."""
        self._flows.clear()

    def flow(self) -> None:
        self._flows.set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._came, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            if not self.is_open:
                raise ConnectionError
            there, out = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, out]
        for source, target in ((reader, out), (there, writer)):
            task = asyncio.ensure_future(self._pass(source, target))
            self._tasks.add(task)

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                for start in range(0, len(data), self.piece_bytes):
                    await self._flows.wait()
                    target.write(data[start : start + self.piece_bytes])
                    await target.drain()
        target.transport.abort()
