"""The requests of a session, without a socket and without a clock."""

from __future__ import annotations

from dataclasses import replace

from adjourn.protocol.framing import FrameDecoder, decode_request, encode
from adjourn.protocol.requests import ClusterStatus, Get, JobRef, Ping, Request, Stats
from adjourn.protocol.responses import Error, Pong, Response, Welcome
from adjourn.protocol.numbers import ErrorCode
from adjourn.session import answers
from adjourn.session.core import Core
from adjourn.session.pulse import MEMBERS_ID, PING_ID_MIN
from scripted import WELCOME


class Client:
    """A session and the time."""

    def __init__(self, welcome: Welcome = WELCOME) -> None:
        self.now = 0.0
        self.core = Core(0.0, 0.0, welcome, timeout=None, outlive=False)

    def sent(self) -> list[tuple[int, Request]]:
        """What was sent since the last call."""
        frames = list(FrameDecoder().feed(bytes(self.core.out)))
        self.core.out.clear()
        return [(frame.request_id, decode_request(frame)) for frame in frames]

    def answer(self, request_id: int, response: Response) -> None:
        (frame,) = FrameDecoder().feed(encode(request_id, response))
        self.core.pulse.heard(self.now)
        answers.received(self.core, self.now, frame)

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
    client = Client(replace(WELCOME, heartbeat_ms=0))
    assert client.beat(1.0) == [(MEMBERS_ID, ClusterStatus())]
    assert client.beat(60.0) == []
    client.answer(MEMBERS_ID, Error(ErrorCode.NO_LEADER, True, 0))
    assert client.beat(70.0) == []
    assert client.beat(75.0) == [(MEMBERS_ID, ClusterStatus())]
    client.answer(MEMBERS_ID, Error(ErrorCode.UNSUPPORTED, False, 0))
    assert client.beat(99.0) == []


def test_heartbeats_and_calls_never_share_an_id() -> None:
    client = Client()
    client.core._next_id, client.core.pulse._next_id = PING_ID_MIN - 2, MEMBERS_ID - 1
    ids = [client.core.submit(0.0, Get(JobRef(job=1))) for _ in range(3)]
    assert ids == [PING_ID_MIN - 2, PING_ID_MIN - 1, 1]
    client.core._next_id = PING_ID_MIN - 2
    assert client.core.submit(0.0, Stats()) == 2
    assert [client.core.pulse.consumes(0.0), client.core.pulse.ping_due(9.0, 0.0)] == [MEMBERS_ID - 1, PING_ID_MIN]
