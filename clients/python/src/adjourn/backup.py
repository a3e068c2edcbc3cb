"""A backup of the whole queue, read part by part."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, TypeVar

from .errors import BackupLostError, ClientError, NotFoundError, OutcomeUnknownError, ProtocolError
from .protocol import requests as rq
from .protocol import responses as rs
from .protocol.numbers import BACKUP_READ_BYTES_MAX

R = TypeVar("R", bound=rs.Response)
_PIECE_BYTES = 256 * 1024
_READS_IN_FLIGHT = 4


class Ask(Protocol):
    """Carries a request out, and checks the kind of the answer."""

    async def __call__(self, request: rq.Request, expected: type[R], /) -> R: ...


class BackupFacts:
    """What a backup is."""

    def __init__(self, ready: rs.BackupReady) -> None:
        self._ready = ready

    @property
    def index(self) -> int:
        """The last log entry in it."""
        return self._ready.index

    @property
    def jobs(self) -> int:
        """How many jobs it has."""
        return self._ready.jobs

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return self._ready.bytes

    @property
    def state_hash(self) -> int:
        """The hash of the queue's state, as `stats` shows it at that entry."""
        return self._ready.state_hash


class Backup(BackupFacts):
    """A backup that the server holds ready: the bytes of a backup file up to its footer. Made by `Queue.backup`.

        async with await q.backup() as backup:
            async for piece in backup.pieces():
                ...

    To make backup files, use the command `adjourn backup create`. A backup ends with its connection, with the next backup of
    this client, and when it was not read for ten minutes: then `read` and `pieces` raise `BackupLostError`.
    """

    def __init__(self, ask: Ask, ready: rs.BackupReady, is_current: Callable[[], bool]) -> None:
        super().__init__(ready)
        self._ask = ask
        self._is_current = is_current
        self._has_ended = False

    async def read(self, offset: int, size: int = BACKUP_READ_BYTES_MAX) -> bytes:
        """Up to `size` bytes from `offset` on, 1 MiB at most. Fewer only at the end, and none after it."""
        if self._has_ended or not self._is_current():
            raise BackupLostError
        try:
            return (await self._ask(rq.BackupRead(offset, size), rs.BackupData)).data
        except (NotFoundError, OutcomeUnknownError) as error:
            raise BackupLostError from error

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """All of it in order, with a few reads in flight."""
        offsets = iter(range(0, self.size, _PIECE_BYTES))
        reads: deque[asyncio.Task[bytes]] = deque()
        try:
            while True:
                for offset in itertools.islice(offsets, _READS_IN_FLIGHT - len(reads)):
                    reads.append(asyncio.create_task(self._piece(offset)))
                if not reads:
                    return
                yield await reads.popleft()
        finally:
            for read in reads:
                read.cancel()
            await asyncio.gather(*reads, return_exceptions=True)

    async def end(self) -> None:
        """Lets the server release it. May be called twice."""
        if self._has_ended or not self._is_current():
            return
        self._has_ended = True
        # It ends with its connection, too.
        with suppress(NotFoundError, OutcomeUnknownError, ClientError):
            await self._ask(rq.BackupEnd(), rs.Done)

    async def _piece(self, offset: int) -> bytes:
        size = min(_PIECE_BYTES, self.size - offset)
        piece = await self.read(offset, size)
        if len(piece) != size:
            raise ProtocolError(f"{len(piece)} bytes of a backup instead of {size}")
        return piece

    async def __aenter__(self) -> Backup:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()
