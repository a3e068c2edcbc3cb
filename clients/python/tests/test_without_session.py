"""A client without a session: its pushes have keys, and it cannot reserve."""

from __future__ import annotations

import asyncio

import pytest

import adjourn
from adjourn import sync
from adjourn.protocol.requests import Hello, Push
from nodes import Node
from scripted import WITHOUT_SESSION, Peer, Script, pushed, quick, script


async def test_pushes_are_sent_again_under_their_keys() -> None:
    hellos: list[Hello] = []
    seen: list[tuple[int, int, bytes]] = []

    async def two_pushes(peer: Peer) -> list[tuple[int, Push]]:
        found = []
        for _ in range(2):
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            seen.append((push.sequence, push.idempotency, push.jobs[0].body))
            found.append((request_id, push))
        return found

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        hellos.append(await peer.greet(WITHOUT_SESSION))
        await two_pushes(peer)
        peer.cut()
        # A HELLO without an answer, and another program at the address for now, end nothing.
        peer = await stage.peer()
        hellos.append((await peer.next())[1])  # type: ignore[arg-type]
        peer.cut()
        (await stage.peer()).writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer = await stage.peer()
        hellos.append(await peer.greet(WITHOUT_SESSION))
        for request_id, push in await two_pushes(peer):
            peer.answer(request_id, pushed(push, 10 if push.jobs[0].body == b"a" else 20))
        await peer.serve()

    async with script(play) as stage, quick(stage, without_session=True) as q:
        first, second = await asyncio.gather(q.push("t", b"a"), q.push("t", b"b"))
        assert (first.id, second.id) == (10, 20)
    options = {(hello.without_session, hello.leases_outlive, hello.session, hello.secret) for hello in hellos}
    assert (len(hellos), options) == (3, {(True, False, 0, bytes(16))})
    assert seen[:2] == seen[2:] and [(sequence, body) for sequence, _, body in seen[:2]] == [(0, b"a"), (0, b"b")]
    assert len({0, *(key for _, key, _ in seen)}) == 3, "two keys, and neither is 0"


async def test_each_client_draws_its_keys() -> None:
    keys = []

    async def play(stage: Script) -> None:
        for _ in range(2):
            peer = await stage.peer()
            await peer.greet(WITHOUT_SESSION)
            request_id, push = await peer.next()
            keys.append(push.idempotency)  # type: ignore[attr-defined]
            peer.answer(request_id, pushed(push))  # type: ignore[arg-type]
            await peer.serve()

    async with script(play) as stage:
        for _ in range(2):
            async with quick(stage, without_session=True) as q:
                await q.push("t")
    assert len(set(keys)) == 2


async def test_it_pushes_and_looks_but_cannot_reserve(server: Node) -> None:
    async with adjourn.connect(server.url, without_session=True) as q:
        await q.push("t", "one", delay=60)
        await q.push_many("t", [f"{number}" for number in range(5_000)])
        assert await q.count(topic="t") == 5_001
        stats = await q.stats()
        assert (stats.connections, stats.sessions) == (1, 0)
        with pytest.raises(adjourn.UsageError, match="leave out without_session to reserve jobs"):
            await q.reserve("t")
        with pytest.raises(adjourn.UsageError, match="no session"):
            q.subscribe("t")
        with pytest.raises(adjourn.UsageError, match="no session"):
            await anext(q.leases())
        with pytest.raises(adjourn.UsageError, match="no session"):
            adjourn.Worker(q, "t", handler=print)
        assert await q.count(topic="t", states=adjourn.States.RESERVED) == 0


def test_the_option_is_there_without_async(server: Node) -> None:
    with sync.connect(server.url, without_session=True) as q:
        q.push("t")
        assert (q.count(topic="t"), q.stats().sessions) == (1, 0)
        with pytest.raises(adjourn.UsageError, match="no session"):
            q.reserve("t")
