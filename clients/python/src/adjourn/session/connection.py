"""One connection: frames in, bytes out. TLS would be a second `connect` that returns the same `Connection`."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from ..protocol.framing import Frame, FrameDecoder
from ..protocol.wire import MalformedFrame
from .search import Address

_UNSENT_BYTES_MAX = 256 * 1024


class Connection(Protocol):
    """What a session needs of a connection."""

    on_frame: Callable[[Frame], None] | None
    """Called for each frame. Frames wait until it is set with `attach`."""
    on_event: Callable[[], None] | None
    """Called when the connection is lost, and when it takes bytes again."""
    is_lost: bool
    is_full: bool
    """Too many bytes are unsent: send nothing more until `on_event`."""
    failure: Exception | None
    heard: bool
    """Bytes came since this was set to false."""

    @property
    def is_mid_frame(self) -> bool:
        """Whether a part of a frame has come."""

    def attach(self, on_frame: Callable[[Frame], None], on_event: Callable[[], None]) -> None:
        """Hands over the frames that came and those that come."""

    async def frame(self) -> Frame | None:
        """Before `attach`: the next frame, or `None` at the end of the stream."""

    def send(self, data: bytes) -> None:
        """Sends bytes, now or a little later."""

    def unsent_bytes(self) -> int:
        """Bytes that the system has not taken yet."""

    def close(self) -> None:
        """Closes at once."""

    def abandon(self) -> None:
        """In a forked child: lets go of the socket without a word to the server."""


Connect = Callable[[Address], Awaitable[Connection]]


class TcpConnection(asyncio.Protocol):
    """A connection over TCP."""

    def __init__(self, sock: socket.socket) -> None:
        self.on_frame: Callable[[Frame], None] | None = None
        self.on_event: Callable[[], None] | None = None
        self.is_lost = False
        self.is_full = False
        self.failure: Exception | None = None
        self.heard = False
        self._socket = sock
        self._transport: asyncio.Transport | None = None
        self._decoder = FrameDecoder()
        self._waiting: list[Frame] = []
        self._came = asyncio.Event()

    def attach(self, on_frame: Callable[[Frame], None], on_event: Callable[[], None]) -> None:
        self.on_frame, self.on_event = on_frame, on_event
        waiting, self._waiting = self._waiting, []
        for frame in waiting:
            on_frame(frame)

    async def frame(self) -> Frame | None:
        while not self._waiting:
            if self.is_lost:
                if isinstance(self.failure, (MalformedFrame, ssl.SSLError)):
                    raise self.failure
                return None
            self._came.clear()
            await self._came.wait()
        return self._waiting.pop(0)

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self.is_lost:
            self._transport.write(data)

    def unsent_bytes(self) -> int:
        return 0 if self._transport is None or self.is_lost else self._transport.get_write_buffer_size()

    @property
    def is_mid_frame(self) -> bool:
        return self._decoder.is_mid_frame

    def close(self) -> None:
        self.on_frame = self.on_event = None
        if self._transport is not None:
            self._transport.abort()

    def abandon(self) -> None:
        self.is_lost = True
        self._transport = None
        fd = self._socket.detach()
        if fd >= 0:
            os.close(fd)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=_UNSENT_BYTES_MAX)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard = True
        try:
            for frame in self._decoder.feed(data):
                if self.on_frame is None:
                    self._waiting.append(frame)
                else:
                    self.on_frame(frame)
        except MalformedFrame as error:
            self._lose(error)
            if self._transport is not None:
                self._transport.abort()
        self._came.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(error)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self.on_event is not None:
            self.on_event()

    def _lose(self, error: Exception | None) -> None:
        self.failure = self.failure or error
        self.is_lost = True
        self._came.set()
        if self.on_event is not None:
            self.on_event()


async def connect_tcp(address: Address, tls: ssl.SSLContext | None = None) -> Connection:
    """Opens a connection over TCP to the first address of the host that answers, and speaks TLS over it."""
    loop = asyncio.get_running_loop()
    host, port = address
    failure: OSError | None = None
    for family, kind, proto, _name, target in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, proto)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, target)
            if sock.getsockname() == sock.getpeername():
                # Where nothing listens on a port of the dynamic range, TCP can connect a socket to itself.
                raise ConnectionRefusedError(f"nothing listens on {host}:{port}")
            _, connection = await loop.create_connection(
                partial(TcpConnection, sock), sock=sock, ssl=tls, server_hostname=host if tls else None
            )
            return connection
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
    raise failure or OSError(f"{host} has no address")
