"""Backups: their facts, their bytes, and how they end."""

from __future__ import annotations

from contextlib import aclosing

import pytest

import adjourn
from adjourn import sync
from adjourn.protocol.requests import BackupBegin, BackupEnd, BackupRead, Goodbye
from adjourn.protocol.responses import BackupData, BackupReady, Done
from nodes import Node
from scripted import RESUMED, Proxy, Script, quick, script

MAGIC = b"ADJBCKUP"
PIECE = 256 * 1024


async def test_a_backup_is_read_whole_and_in_order(server: Node) -> None:
    async with adjourn.connect(server.url) as q:
        await q.push_many("t", [bytes([n % 256]) * 1_000 for n in range(2_000)])
        async with await q.backup() as backup:
            assert backup.jobs == 2_000 and backup.index > 0 and backup.state_hash
            assert backup.size > 4 * PIECE
            pieces = [piece async for piece in backup.pieces()]
            whole = b"".join(pieces)
            assert len(whole) == backup.size and whole[:8] == MAGIC
            assert await backup.read(0, 8) == MAGIC
            assert await backup.read(PIECE - 4, 8) == whole[PIECE - 4 : PIECE + 4]
            assert await backup.read(backup.size - 3) == whole[-3:]
            assert await backup.read(backup.size, 8) == b""
            with pytest.raises(adjourn.InvalidError):
                await backup.read(0, 2 << 20)
        with pytest.raises(adjourn.BackupLostError):
            await backup.read(0, 8)
        await backup.end()


async def test_a_backup_ends_with_the_next_one(server: Node) -> None:
    async with adjourn.connect(server.url) as q:
        first = await q.backup()
        second = await q.backup()
        with pytest.raises(adjourn.BackupLostError):
            await first.read(0, 8)
        await first.end()
        assert await second.read(0, 8) == MAGIC


async def test_a_backup_ends_with_its_connection(server: Node) -> None:
    async with Proxy(server.port) as proxy, adjourn.connect(proxy.url, reconnect_wait_max=0.02) as q:
        backup = await q.backup()
        proxy.cut()
        await q.ping()
        with pytest.raises(adjourn.BackupLostError) as lost:
            await backup.read(0, 8)
        assert isinstance(lost.value.__cause__, (adjourn.NotFoundError, adjourn.OutcomeUnknownError))
        await backup.end()
        assert await (await q.backup()).read(0, 8) == MAGIC


async def test_a_read_without_an_answer_is_not_sent_to_another_connection() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, begin = await peer.next()
        assert begin == BackupBegin()
        peer.answer(request_id, BackupReady(1, 0, 0, 8))
        assert (await peer.next())[1] == BackupRead(0, 8)
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)
        request_id, ended = await peer.next()
        after.append(ended)
        peer.answer(request_id, Done())
        await peer.serve()

    after: list[object] = []
    async with script(play) as stage, quick(stage) as q:
        backup = await q.backup()
        with pytest.raises(adjourn.BackupLostError):
            await backup.read(0, 8)
        await backup.end()
    assert after == [BackupEnd()]


@pytest.mark.parametrize("missing", [0, 1])
async def test_a_few_reads_are_in_flight_and_a_short_answer_is_noticed(missing: int) -> None:
    size = 5 * PIECE + 3

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        peer.answer(request_id, BackupReady(1, 0, 0, size))
        reads = [await peer.next() for _ in range(4)]
        for number, read in reversed(reads):
            assert isinstance(read, BackupRead)
            peer.answer(number, BackupData(bytes([read.offset // PIECE]) * read.bytes))

        def answer(request: object) -> object:
            if isinstance(request, BackupRead):
                return BackupData(bytes([request.offset // PIECE]) * (request.bytes - missing))
            return None if isinstance(request, Goodbye) else Done()

        await peer.serve(answer)  # type: ignore[arg-type]

    async with script(play) as stage, quick(stage) as q:
        came: list[bytes] = []
        backup = await q.backup()
        async with aclosing(backup.pieces()) as pieces:
            try:
                async for piece in pieces:
                    came.append(piece)
            except adjourn.ProtocolError:
                assert missing and len(came) == 4
            else:
                assert not missing
                assert b"".join(came) == b"".join(bytes([n]) * PIECE for n in range(5)) + bytes([5]) * 3


def test_a_backup_without_async(server: Node) -> None:
    with sync.connect(server.url) as q:
        q.push_many("t", [bytes(1_000)] * 1_500)
        with q.backup() as backup:
            assert (backup.jobs, backup.index > 0, backup.state_hash > 0) == (1_500, True, True)
            assert len(b"".join(backup.pieces())) == backup.size
            assert backup.read(0, 8) == MAGIC
            for piece in backup.pieces():
                assert piece[:8] == MAGIC
                break
        with pytest.raises(adjourn.BackupLostError):
            backup.read(0, 8)
    with pytest.raises(adjourn.ClientClosedError):
        backup.read(0, 8)
