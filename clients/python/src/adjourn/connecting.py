"""`connect`: how to reach a queue."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from functools import partial
from types import TracebackType
from typing import Any

from . import times
from .body import DEFAULT_CODEC, Codec
from .errors import UsageError
from .jobs import HeadersHook
from .protocol.numbers import CLIENT_NAME_BYTES_MAX, TOKEN_BYTES_MAX
from .queue import Queue
from .session.connection import connect_tcp
from .session.search import parse_servers
from .session.session import Config, open_session
from .times import Duration
from .tls import Path, make_context
from .tracing import Tracing
from .version import VERSION


class Connecting:
    """What `connect` returns: `async with` it, or `await` it and close the queue yourself."""

    def __init__(self, config: Config, codec: Codec, headers: HeadersHook | None, tracing: Tracing | None) -> None:
        self._config = config
        self._codec = codec
        self._headers = headers
        self._tracing = tracing
        self._queue: Queue | None = None

    async def _connect(self) -> Queue:
        session = await open_session(self._config)
        has_session = not self._config.without_session
        return Queue(session, codec=self._codec, headers=self._headers, tracing=self._tracing, has_session=has_session)

    def __await__(self) -> Generator[Any, None, Queue]:
        return self._connect().__await__()

    async def __aenter__(self) -> Queue:
        self._queue = await self._connect()
        return self._queue

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._queue is not None:
            await self._queue.close()


def connect(
    servers: str = "adjourn://127.0.0.1:7440",
    *,
    name: str = f"adjourn-python/{VERSION}",
    token: str | bytes = b"",
    connect_timeout: Duration = 5.0,
    request_timeout: Duration | None = 30.0,
    reconnect_wait_max: Duration = 1.0,
    heartbeat: Duration = 0,
    leases_outlive: bool = False,
    without_session: bool = False,
    codec: Codec = DEFAULT_CODEC,
    headers: HeadersHook | None = None,
    tracing: Tracing | None = None,
    tls: ssl.SSLContext | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
) -> Connecting:
    """Connects to a queue: `adjourn://host:port`, or any members of a cluster as `adjourn://host:port,host:port`.

    The first connection is made within `connect_timeout`; a client that lost its connection tries for ever. A call that has no
    answer within `request_timeout` fails, all reconnects included. `heartbeat` 0 takes the server's. With `leases_outlive`
    leases run to their deadline whatever becomes of this client. `headers` gives headers for each push. `tracing` surrounds
    each push and each handler: see `adjourn.opentelemetry`.

    With `without_session` no session is opened, which would be a commit at the start and one at the end: for programs that push,
    look and manage once and end. Such a client cannot reserve jobs, subscribe or run workers. Each of its pushes has a random key
    instead of numbers, under which it is repeated after a lost connection.

    With `adjourns://` TLS is spoken, and the certificate must be for the host that is dialled. `tls_ca` names the CAs to believe, without
    it those of the system; `tls_cert` and `tls_key` what to show to a server that asks. `tls` takes the place of all three.
    """
    secret = token.encode() if isinstance(token, str) else token
    if len(secret) > TOKEN_BYTES_MAX:
        raise UsageError(f"a token has at most {TOKEN_BYTES_MAX} bytes")
    if len(name.encode()) > CLIENT_NAME_BYTES_MAX:
        raise UsageError(f"the name of a client has at most {CLIENT_NAME_BYTES_MAX} bytes")
    if tracing is not None and not isinstance(tracing, Tracing):
        raise UsageError(f"tracing is an object, not {tracing!r}: write tracing=OpenTelemetry()")
    addresses, is_secure = parse_servers(servers)
    if is_secure:
        connect_to = partial(connect_tcp, tls=make_context(tls, tls_ca, tls_cert, tls_key))
    elif tls or tls_ca or tls_cert or tls_key:
        raise UsageError("options of TLS need an address with adjourns://")
    else:
        connect_to = partial(connect_tcp)
    config = Config(
        servers=addresses,
        connect=connect_to,
        name=name,
        token=secret,
        leases_outlive=leases_outlive,
        without_session=without_session,
        heartbeat=times.to_seconds(heartbeat, "heartbeat"),
        connect_timeout=times.to_seconds(connect_timeout, "connect_timeout"),
        request_timeout=None if request_timeout is None else times.to_seconds(request_timeout, "request_timeout"),
        reconnect_wait_max=times.to_seconds(reconnect_wait_max, "reconnect_wait_max"),
    )
    return Connecting(config, codec, headers, tracing)
