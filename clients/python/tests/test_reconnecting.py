"""How a client finds a server again, and whether it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

import adjourn
from adjourn.protocol.numbers import GoingAwayReason
from adjourn.protocol.requests import Push
from adjourn.protocol.responses import GoingAway
from scripted import RESUMED, WELCOME, Peer, Script, pushed, quick, script


async def lose_a_hello(stage: Script) -> None:
    """The client sends HELLO, and the connection ends before the answer."""
    peer = await stage.peer()
    await peer.next()
    peer.cut()


def take_over(peer: Peer) -> None:
    """The server says that another connection speaks for the session, and closes."""
    peer.answer(0, GoingAway("taken over", GoingAwayReason.SESSION_TAKEN_OVER))
    peer.writer.close()


async def push_on(stage: Script, seen: list[int], welcome: object = RESUMED) -> tuple[Peer, int, Push]:
    """The next connection, and the push on it."""
    peer = await stage.peer()
    await peer.greet(welcome)  # type: ignore[arg-type]
    request_id, push = await peer.next()
    assert isinstance(push, Push)
    seen.append(push.sequence)
    return peer, request_id, push


async def test_a_late_hello_of_its_own_does_not_end_a_client_and_each_counts_once() -> None:
    seen: list[int] = []

    async def play(stage: Script) -> None:
        peer, _, _ = await push_on(stage, seen, WELCOME)
        peer.cut()
        await lose_a_hello(stage)
        await lose_a_hello(stage)
        for _ in range(2):
            peer, _, _ = await push_on(stage, seen)
            take_over(peer)
        peer, request_id, push = await push_on(stage, seen)
        peer.answer(request_id, pushed(push, 42))
        await peer.next()
        take_over(peer)

    async with script(play) as stage, quick(stage) as q:
        assert (await q.push("t")).id == 42
        with pytest.raises(adjourn.SessionTakenOverError):
            await q.get(1)
        assert stage.connections == 6
    assert seen == [1, 1, 1, 1]


async def test_a_new_session_cannot_be_taken_over_by_an_old_hello() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.next()
        peer.cut()
        await lose_a_hello(stage)
        peer = await stage.peer()
        await peer.greet(replace(WELCOME, session=10))
        await peer.next()
        take_over(peer)

    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.SessionTakenOverError):
            await q.get(1)
        assert stage.connections == 3


async def test_other_programs_at_the_addresses_do_not_end_a_client() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.next()
        peer.cut()
        peer = await stage.peer()
        peer.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer, request_id, push = await push_on(stage, [])
        peer.answer(request_id, pushed(push, 42))
        await peer.serve()

    async with script(play) as stage:
        async with adjourn.connect(f"{stage.url},127.0.0.1:1", reconnect_wait_max=0.02) as q:
            assert (await q.push("t")).id == 42
