"""How a client finds a server again, and whether it may."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

import adjourn
from adjourn.protocol.numbers import ErrorCode, GoingAwayReason
from adjourn.protocol.requests import Delete, Push
from adjourn.protocol.responses import Changed, Error, GoingAway
from adjourn.protocol.values import JobRef
from adjourn.session.search import Address, Search
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


def tried(search: Search) -> list[Address]:
    return list(iter(search.next, None))


def test_patience_grows_from_round_to_round_and_one_address_gets_all_of_it() -> None:
    search = Search([("a", 1), ("b", 1)])

    def patience(found: Search) -> float:
        found.begin("", ())
        found.next()
        return found.patience(4.0)

    assert [patience(search) for _ in range(4)] == [1, 2, 4, 4]
    search.found(resumed=True)
    assert patience(search) == 1
    assert patience(Search([("a", 1)])) == 4


def test_who_was_silent_is_tried_last_until_it_answers() -> None:
    a, b, c = ("a", 1), ("b", 1), ("c", 1)
    search = Search([a, b])
    search.begin("", ())
    search.silent(a)
    search.begin("a:1", ["c:1"])
    assert search.next() == b
    search.redirect("a:1")
    assert tried(search) == [c, a], "a stale hint does not bring it forward"
    search.answered(a)
    search.begin("a:1", ())
    assert tried(search) == [a, b]


async def test_silent_members_do_not_prolong_the_first_connection() -> None:
    async def play(stage: Script) -> None:
        await (await stage.peer()).next()

    async with AsyncExitStack() as stages:
        silent = [await stages.enter_async_context(script(play)) for _ in range(12)]
        # Each gets a quarter of the time, so at most four can be asked to the end.
        with pytest.raises(adjourn.CannotConnectError, match="no answer in time"):
            await adjourn.connect(",".join(f"127.0.0.1:{stage.port}" for stage in silent), connect_timeout=0.4)
        assert 1 <= sum(stage.connections for stage in silent) <= 5


async def test_a_silent_member_leaves_time_for_the_others() -> None:
    async def is_silent(stage: Script) -> None:
        await (await stage.peer()).next()

    async def leads(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.serve(lambda request: pushed(request, 5) if isinstance(request, Push) else None)

    async with script(is_silent) as silent, script(leads) as leader:
        async with adjourn.connect(f"{silent.url},127.0.0.1:{leader.port}", connect_timeout=1) as q:
            assert (await q.push("t")).id == 5
        assert silent.connections == 1


@pytest.mark.parametrize("code", [0, ErrorCode.NOT_FOUND])
async def test_a_cancel_is_sent_again_and_has_an_answer(code: int) -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        assert await peer.next() == (1, Delete(JobRef(topic="t", key="k")))
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)
        request_id, repeat = await peer.next()
        assert repeat == Delete(JobRef(topic="t", key="k"))
        peer.answer(request_id, Error(code) if code else Changed(7, 1))
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        assert await q.cancel("t", "k") is (code == 0)
        assert stage.connections == 2


async def test_what_was_there_is_cancelled(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed_job = await q.push(topic, key="k", delay=60)
        assert await q.cancel(topic, "k") is True
        assert await q.cancel(topic, "k") is False
        with pytest.raises(adjourn.NotFoundError):
            await q.get(pushed_job.id)
