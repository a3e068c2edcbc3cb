"""The requests of a session, without a socket and without a clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from adjourn.protocol.framing import FrameDecoder
from adjourn.protocol.numbers import PRODUCER_WINDOW_MAX, ErrorCode, GoingAwayReason
from adjourn.protocol.requests import BackupBegin, ClusterStatus, Get, Ping, Push, PushJob, Request, Reserve, Stats
from adjourn.protocol.responses import BackupReady, Error, GoingAway, Pong, Reserved, Response, Welcome
from adjourn.protocol.values import JobRef
from adjourn.session import answers
from adjourn.session.calls import Arrived
from adjourn.session.core import Core
from adjourn.session.pulse import MEMBERS_ID, PING_ID_MIN
from harness.server import decode_request, encode_response
from scripted import RESUMED, WELCOME, WITHOUT_SESSION, delivered, pushed

QUIET = replace(WELCOME, heartbeat_ms=0)
NOTHING = Reserved(())


class Client:
    """A session and the time."""

    def __init__(self, welcome: Welcome = WELCOME, key: int | None = None) -> None:
        self.now = 0.0
        self.core = Core(0.0, 0.0, welcome, timeout=None, outlive=False, key=key)

    def sent(self) -> list[tuple[int, Request]]:
        """What was sent since the last call."""
        frames = list(FrameDecoder().feed(bytes(self.core.out)))
        self.core.out.clear()
        return [(frame.request_id, decode_request(frame)) for frame in frames]

    def answer(self, request_id: int, response: Response) -> None:
        (frame,) = FrameDecoder().feed(encode_response(request_id, response))
        self.core.pulse.heard(self.now)
        answers.received(self.core, self.now, frame)

    def reserve(self, wait_ms: int) -> tuple[int, asyncio.Future[Response]]:
        """A waiting RESERVE, sent."""
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        request_id = self.core.submit(self.now, Reserve(wait_ms, 1, ("t",)), future)
        self.core.pump(self.now)
        assert self.reserves() == [(request_id, wait_ms)]
        return request_id, future

    def reserves(self) -> list[tuple[int, int]]:
        """The RESERVEs that were sent since the last call, and their waits."""
        return [(number, request.wait_ms) for number, request in self.sent() if isinstance(request, Reserve)]

    def beat(self, now: float) -> list[tuple[int, Request]]:
        self.now = now
        assert self.core.tick(now) is None
        return self.sent()


def test_each_heartbeat_proves_from_its_own_time_in_any_order_of_answers() -> None:
    client = Client(replace(WELCOME, heartbeat_ms=4_000, session_grace_ms=16_000))
    assert client.beat(1.0) == [(MEMBERS_ID, ClusterStatus())]
    ((first, ping),) = client.beat(4.0)
    client.core.pulse.heard(7.0)
    ((second, other),) = client.beat(8.0)
    assert ping == other == Ping() and first != second
    client.answer(second, Pong(1, 0))
    assert client.core.leases.proven == 8.0
    client.answer(first, Pong(1, 0))
    client.answer(first, Pong(1, 0))
    assert client.core.leases.proven == 8.0


def test_the_members_are_asked_again_only_after_an_answer() -> None:
    client = Client(QUIET)
    assert client.beat(1.0) == [(MEMBERS_ID, ClusterStatus())]
    assert client.beat(60.0) == []
    client.answer(MEMBERS_ID, Error(ErrorCode.NO_LEADER, True))
    assert client.beat(70.0) == []
    assert client.beat(75.0) == [(MEMBERS_ID, ClusterStatus())]
    client.answer(MEMBERS_ID, Error(ErrorCode.UNSUPPORTED))
    assert client.beat(99.0) == []


def test_heartbeats_and_calls_never_share_an_id() -> None:
    client = Client()
    client.core._next_id, client.core.pulse._next_id = PING_ID_MIN - 2, MEMBERS_ID - 1
    ids = [client.core.submit(0.0, Get(JobRef(job=1))) for _ in range(3)]
    assert ids == [PING_ID_MIN - 2, PING_ID_MIN - 1, 1]
    client.core._next_id = PING_ID_MIN - 2
    assert client.core.submit(0.0, Stats()) == 2
    assert [client.core.pulse.consumes(0.0), client.core.pulse.ping_due(9.0, 0.0)] == [MEMBERS_ID - 1, PING_ID_MIN]


def test_without_a_session_only_silence_is_a_reason_for_a_heartbeat() -> None:
    def beats(client: Client) -> int:
        found = 0
        for second in range(1, 13):
            client.core.pulse.heard(second)
            client.core.pulse.spoken(second)
            found += (PING_ID_MIN, Ping()) in client.beat(second)
        return found

    client = Client(WITHOUT_SESSION, key=7)
    assert beats(client) == 0 and client.core.leases.losses == 0
    assert client.beat(15.0) == [(PING_ID_MIN, Ping())], "nothing came for a heartbeat"
    assert beats(Client()) > 0


def test_keys_go_on_behind_the_jobs_of_each_push_and_are_never_0() -> None:
    client = Client(WITHOUT_SESSION, key=(1 << 128) - 3)
    many = 1_000
    for jobs in (1, 2, many, many, many, many, many):
        client.core.submit(0.0, Push(0, "t", (PushJob(),) * jobs))
    client.core.pump(0.0)
    sent = [push for _, push in client.sent() if isinstance(push, Push)]
    keys = [(1 << 128) - 3, (1 << 128) - 2, *(1 + many * n for n in range(5))]
    assert [push.idempotency for push in sent] == keys
    assert {push.sequence for push in sent} == {0}


def test_a_push_under_a_key_takes_no_number_and_no_room_in_the_window() -> None:
    client, job = Client(QUIET), (PushJob(),)
    for push in (Push(0, "t", job, idempotency=7), Push(0, "t", job * PRODUCER_WINDOW_MAX), Push(0, "t", job, idempotency=8), Push(0, "t", job)):
        client.core.submit(0.0, push)
    client.core.pump(0.0)
    sent = [(push.sequence, push.idempotency) for _, push in client.sent() if isinstance(push, Push)]
    assert sent == [(0, 7), (1, 0), (0, 8)], "the last one waits for room"


async def test_of_pushes_under_keys_8192_jobs_are_under_way_at_most() -> None:
    client, many, one = Client(WITHOUT_SESSION, key=1), Push(0, "t", (PushJob(),) * 4_096), Push(0, "t", (PushJob(),))

    def pushes() -> list[int]:
        return [request_id for request_id, request in client.sent() if isinstance(request, Push)]

    future = asyncio.get_running_loop().create_future
    first, second, third, last = (client.core.submit(0.0, push, future()) for push in (many, many, many, one))
    client.core.pump(0.0)
    assert pushes() == [first, second], "the others wait, in their order"
    client.core.down()
    client.core.up(0.0, 0.0, WITHOUT_SESSION)
    assert pushes() == [first, second], "the repeats are let through, and count"
    client.answer(first, Error(ErrorCode.BUSY, True))
    assert pushes() == [], "it is still to be repeated"
    client.now = 1.5
    client.core.tick(client.now)
    assert pushes() == [first]
    client.answer(first, pushed(many))
    assert pushes() == [third]
    client.answer(second, pushed(many))
    assert pushes() == [last]


async def test_a_reserve_that_was_answered_too_early_asks_for_the_rest_of_its_wait() -> None:
    client = Client(QUIET)
    request_id, call = client.reserve(10_000)
    at_once_id, at_once = client.reserve(0)
    client.answer(at_once_id, NOTHING)
    assert at_once.result() == Arrived(()), "it was not to wait"
    client.now = 4.0
    client.answer(request_id, NOTHING)
    assert client.reserves() == [], "a server that always answers at once is not asked all the time"
    client.now = 5.0
    client.core.tick(client.now)
    assert client.reserves() == [(request_id, 5_000)]
    # The connection is about to be closed: the next one takes it.
    client.answer(0, GoingAway("", GoingAwayReason.STOPPING))
    client.answer(request_id, NOTHING)
    assert client.core.is_drained and client.reserves() == []
    client.core.down()
    client.core.up(client.now, client.now, replace(RESUMED, heartbeat_ms=0))
    assert client.reserves() == [(request_id, 5_000)]
    client.now = 10.0
    client.answer(request_id, NOTHING)
    assert call.result() == Arrived(()), "its wait is over"


async def test_a_server_that_always_answers_at_once_is_asked_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    client = Client(QUIET)
    request_id, call = client.reserve(4_000)
    asked = [0]
    client.answer(request_id, NOTHING)
    while not call.done():
        client.now = client.core.next_tick(client.now)
        client.core.tick(client.now)
        for _ in client.reserves():
            asked.append(round(client.now * 1000))
            client.answer(request_id, NOTHING)
    assert asked == [0, 50, 150, 350, 750, 1_550, 2_550, 3_550, 4_000]
    assert call.result() == Arrived(())


async def test_a_reserve_that_was_refused_here_still_waits_elsewhere() -> None:
    client = Client(QUIET)
    request_id, _ = client.reserve(1_000)
    client.answer(request_id, Error(ErrorCode.NOT_LEADER, True))
    client.core.down()
    client.core.up(2.0, 2.0, replace(RESUMED, heartbeat_ms=0))
    assert client.reserves() == [(request_id, 1)], "without a wait it would be refused if its topic is paused"


async def test_a_reserve_whose_jobs_are_all_over_is_sent_again() -> None:
    client = Client(replace(QUIET, clock_ms=1_000))
    request_id, call = client.reserve(10_000)
    client.now = 3.0
    over = replace(delivered(1, 5), deadline_ms=2_000)
    client.answer(request_id, Reserved((over,)))
    client.now = 4.0
    client.core.tick(client.now)
    assert client.reserves() == [(request_id, 6_000)]
    client.answer(request_id, Reserved((replace(over, deadline_ms=60_000),)))
    assert isinstance(call.result(), Arrived)


async def test_a_reserve_that_was_answered_too_early_is_not_sent_for_nobody() -> None:
    client = Client(QUIET)
    (early_id, early), (late_id, late) = client.reserve(10_000), client.reserve(10_000)
    client.answer(early_id, NOTHING)
    for request_id, call in ((early_id, early), (late_id, late)):
        call.cancel()
        client.core.abandon(client.now, request_id)
    client.answer(late_id, NOTHING)
    client.now = 2.0
    client.core.tick(client.now)
    assert client.reserves() == [] and early_id not in client.core.open


async def test_a_backup_may_take_minutes() -> None:
    client = Client(QUIET)
    client.core._timeout = 30.0
    call: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    request_id = client.core.submit(0.0, BackupBegin(), call)
    client.core.pump(0.0)
    client.now = 1_800.0
    assert client.core.tick(client.now) is None
    client.core.expire(client.now, request_id)
    client.answer(request_id, BackupReady(1, 2, 3, 4))
    assert call.result() == BackupReady(1, 2, 3, 4)
