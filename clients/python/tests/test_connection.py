"""What a client does when its connection breaks, against a server that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

import adjourn
from adjourn.protocol.numbers import Effect, ErrorCode, GoingAwayReason, PushOutcome
from adjourn.protocol.requests import Delete, Finish, Get, Goodbye, Kick, LeaseRef, Push, Reserve, Subscribe
from adjourn.protocol.responses import (
    Changed,
    Done,
    Error,
    GoingAway,
    Job,
    JobReport,
    Pong,
    Pushed,
    PushedJob,
    Reserved,
    Response,
    Settled,
    Subscribed,
)
from adjourn.session.pulse import Pulse
from conftest import until
from harness.server import encode_response
from scripted import RESUMED, WELCOME, Script, delivered, pushed, quick, script


async def test_an_unanswered_push_is_sent_again_under_its_number_when_the_session_resumes() -> None:
    seen: list[tuple[int, bytes]] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        for _ in range(3):
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            seen.append((push.sequence, push.jobs[0].body))
            if push.sequence == 2:
                peer.answer(request_id, pushed(push, 20))
        await peer.writer.drain()
        await asyncio.sleep(0)
        peer.writer.close()
        peer = await stage.peer()
        hello = await peer.greet(RESUMED)
        assert (hello.session, hello.secret) == (9, b"s" * 16)
        for _ in range(3):
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            seen.append((push.sequence, push.jobs[0].body))
            peer.answer(request_id, pushed(push, 10 * push.sequence))
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        first, second, third = (asyncio.create_task(q.push("t", body)) for body in (b"a", b"b", b"c"))
        assert (await second).id == 20
        assert ((await first).id, (await third).id) == (10, 30)
        assert (await q.push("t", b"d")).id == 40
    assert seen == [(1, b"a"), (2, b"b"), (3, b"c"), (1, b"a"), (3, b"c"), (4, b"d")]


async def test_a_push_that_may_have_been_applied_is_unknown_when_the_session_is_new() -> None:
    seen: list[tuple[int, bytes]] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet(replace(WELCOME, in_flight_max=3))
        _, push = await peer.next()
        peer.cut()
        peer = await stage.peer()
        await peer.greet(replace(WELCOME, session=10))
        for _ in range(2):
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            seen.append((push.sequence, push.jobs[0].body))
            peer.answer(request_id, pushed(push, 7))
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        # The limit lets one request out: the second was never sent, and gets a new number.
        sent, waits = asyncio.create_task(q.push("t", b"a")), asyncio.create_task(q.push("t", b"b"))
        with pytest.raises(adjourn.OutcomeUnknownError) as unknown:
            await sent
        assert unknown.value.applied is adjourn.Applied.UNKNOWN
        assert (await waits).id == 7
        await q.push("t", b"c")
    assert seen == [(1, b"b"), (2, b"c")]


async def test_what_is_safe_is_repeated_and_the_rest_is_unknown() -> None:
    asked: list[str] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        for _ in range(5):
            await peer.next()
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)

        def answer(request: object) -> object:
            asked.append(type(request).__name__)
            if isinstance(request, Get):
                return Job(JobReport(id=1, state=adjourn.JobState.READY, topic="t"))
            if isinstance(request, Delete):
                return Changed(1, 1, 1)
            return Settled((0,)) if isinstance(request, Finish) else None

        await peer.serve(answer)  # type: ignore[arg-type]

    async with script(play) as stage, quick(stage) as q:
        results = await asyncio.gather(
            q.get(1),
            q.delete(1),
            q.finish(LeaseRef(1, 2)),
            q.delete(topic="t", key="k"),
            q.kick(1),
            return_exceptions=True,
        )
        assert [type(result).__name__ for result in results] == [
            "JobReport",
            "Changed",
            "NoneType",
            "OutcomeUnknownError",
            "OutcomeUnknownError",
        ]
    assert asked[:3] == ["Get", "Delete", "Finish"] and set(asked[3:]) <= {"Goodbye"}


async def test_the_leader_is_followed() -> None:
    async def leads(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.serve(lambda request: pushed(request, 5) if isinstance(request, Push) else None)

    async with script(leads) as leader:

        async def follows(stage: Script) -> None:
            peer = await stage.peer()
            await peer.greet(Error(ErrorCode.NOT_LEADER, True, leader=f"127.0.0.1:{leader.port}"))
            await peer.serve()

        async with script(follows) as follower, quick(follower) as q:
            assert (await q.push("t")).id == 5


async def test_a_request_that_was_refused_for_another_leader_is_sent_there() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, push = await peer.next()
        kick_id, _ = await peer.next()
        peer.answer(request_id, Error(ErrorCode.NOT_LEADER, True, Effect.UNKNOWN))
        peer.answer(kick_id, Error(ErrorCode.NOT_LEADER, True))
        peer.answer(0, GoingAway("leadership moved", GoingAwayReason.NOT_LEADER))
        peer = await stage.peer()
        await peer.greet(RESUMED)
        await peer.serve(
            lambda request: pushed(request, 5) if isinstance(request, Push) else Changed(3, 1, 1) if isinstance(request, Kick) else None
        )

    async with script(play) as stage, quick(stage) as q:
        push, kick = await asyncio.gather(q.push("t"), q.kick(3))
        assert (push.id, kick.job) == (5, 3)


async def test_busy_is_tried_again_with_the_same_numbers() -> None:
    numbers: list[int] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()

        def answer(request: object) -> object:
            if not isinstance(request, Push):
                return None
            numbers.append(request.sequence)
            return Error(ErrorCode.BUSY, True, retry_after_ms=20) if len(numbers) < 3 else pushed(request)

        await peer.serve(answer)  # type: ignore[arg-type]

    async with script(play) as stage, quick(stage) as q:
        await q.push("t")
    assert numbers == [1, 1, 1]


async def test_what_is_sent_again_wakes_the_task_that_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "next_look", lambda self, now, *_: now + 3_600)

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        peer.answer(request_id, Error(ErrorCode.BUSY, True, retry_after_ms=20))
        await peer.serve(lambda request: pushed(request, 5) if isinstance(request, Push) else None)

    async with script(play) as stage, quick(stage) as q:
        assert (await q.push("t")).id == 5


@pytest.mark.parametrize("reason", [GoingAwayReason.STOPPING, GoingAwayReason.UNKNOWN, 99])
async def test_a_server_that_goes_away_is_left_and_the_session_resumed(reason: int) -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, push = await peer.next()
        peer.answer(0, GoingAway("the server stops", reason))
        peer.answer(request_id, pushed(push, 1))
        peer = await stage.peer()
        hello = await peer.greet(RESUMED)
        assert hello.session == 9
        await peer.serve(lambda request: pushed(request, 2) if isinstance(request, Push) else None)

    async with script(play) as stage, quick(stage) as q:
        assert (await q.push("t")).id == 1
        assert (await q.push("t")).id == 2


async def test_a_session_that_was_taken_over_is_not_taken_back() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        peer.answer(request_id, Error(ErrorCode.SESSION_UNKNOWN))
        peer.answer(0, GoingAway("taken over", GoingAwayReason.SESSION_TAKEN_OVER))
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.SessionTakenOverError):
            await q.get(1)
        with pytest.raises(adjourn.SessionTakenOverError):
            await q.get(1)
        assert stage.connections == 1


async def test_another_queue_at_the_address_ends_the_client() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.next()
        peer.cut()
        await (await stage.peer()).greet(replace(RESUMED, cluster_id=b"d" * 16))

    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.WrongClusterError):
            await q.get(1)


async def test_a_wrong_token_is_said_at_once() -> None:
    async def play(stage: Script) -> None:
        hello = await (await stage.peer()).greet(Error(ErrorCode.UNAUTHENTICATED, message="no"))
        assert hello.token == b"sesame"

    async with script(play) as stage:
        with pytest.raises(adjourn.UnauthenticatedError):
            await quick(stage, token="sesame")


async def test_what_does_not_speak_the_protocol_is_refused() -> None:
    async def play(stage: Script) -> None:
        (await stage.peer()).writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with script(play) as stage:
        with pytest.raises(adjourn.ProtocolError):
            await quick(stage)


async def test_garbage_on_a_connection_is_a_lost_connection() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.next()
        peer.writer.write(b"\xff" * 40)
        peer = await stage.peer()
        await peer.greet(RESUMED)
        await peer.serve(lambda request: pushed(request, 3) if isinstance(request, Push) else None)

    async with script(play) as stage, quick(stage) as q:
        assert (await q.push("t")).id == 3


async def test_an_answer_that_cannot_be_read_fails_its_call_alone() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        broken = bytearray(encode_response(request_id, Settled((0,))))
        broken[4] = 0x90
        peer.writer.write(bytes(broken))
        await peer.serve(lambda request: pushed(request, 3) if isinstance(request, Push) else None)

    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.ProtocolError) as broken:
            await q.push("t")
        assert broken.value.applied is adjourn.Applied.UNKNOWN
        assert (await q.push("t")).id == 3
        assert stage.connections == 1


async def test_frames_in_single_bytes_and_of_newer_servers_are_read() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, push = await peer.next()
        unknown = bytearray(encode_response(request_id, Done()))
        unknown[4] = 0x9F
        stream = bytes(unknown) + encode_response(777, Done()) + encode_response(request_id, pushed(push, 8))
        for byte in stream:
            peer.writer.write(bytes([byte]))
            await peer.writer.drain()
        await peer.serve()

    async with script(play) as stage, quick(stage) as q:
        assert (await q.push("t")).id == 8


async def test_a_silent_server_is_left_after_two_heartbeats() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        peer.answers_pings = False
        await peer.greet(replace(WELCOME, heartbeat_ms=400))
        silent = asyncio.ensure_future(peer.serve())
        peer = await stage.peer()
        await peer.greet(RESUMED)
        await peer.serve(lambda request: Reserved((delivered(4, 9),)) if isinstance(request, Reserve) else None)
        await silent

    async with script(play) as stage, quick(stage) as q:
        # A request that waits on purpose is no sign of a server that is stuck.
        (job,) = await q.reserve("t", wait=600)
        assert job.id == 4 and stage.connections == 2


async def test_a_call_without_an_answer_times_out() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.serve()

    async with script(play) as stage, quick(stage, request_timeout=0.1) as q:
        with pytest.raises(adjourn.OutcomeUnknownError):
            await q.push("t")
        with pytest.raises(adjourn.RequestTimeoutError) as late:
            await q.get(1)
        assert isinstance(late.value, TimeoutError) and late.value.applied is adjourn.Applied.UNKNOWN
        await q.close(timeout=0.1)


async def test_a_worker_is_healthy_only_while_it_is_subscribed() -> None:
    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        request_id, _ = await peer.next()
        peer.answer(request_id, Subscribed())
        await until(lambda: was_healthy)
        peer.cut()
        peer = await stage.peer()
        await peer.greet(RESUMED)
        subscribes = []

        def answer(request: object) -> None:
            if isinstance(request, Subscribe):
                subscribes.append(request)
                resubscribed.set()

        await peer.serve(answer)

    was_healthy: list[bool] = []
    resubscribed = asyncio.Event()
    async with script(play) as stage, quick(stage) as q:
        worker = adjourn.Worker(q, "t", handler=print)
        await worker.start()
        assert worker.health()
        was_healthy.append(True)
        await resubscribed.wait()
        assert q.is_connected
        assert worker.health().why_not == "the subscription is not active"
        await worker.stop(1)
        await q.close(timeout=0.1)


async def test_the_window_of_numbers_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjourn.session.core.PRODUCER_WINDOW_MAX", 16)
    numbers: list[int] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        first_id, first = await peer.next()
        held: list[tuple[int, Push]] = []
        for _ in range(3):
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            numbers.append(push.sequence)
            held.append((request_id, push))
        # Three more batches fit behind the first job; the fourth waits for the answer to it.
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(peer.next(), 0.2)
        peer.answer(first_id, pushed(first))
        for request_id, push in held:
            peer.answer(request_id, pushed(push))
        await peer.serve(lambda request: pushed(request) if isinstance(request, Push) else None)

    async with script(play) as stage, quick(stage) as q:
        one = asyncio.create_task(q.push("t"))
        batches = [asyncio.create_task(q.push_many("t", [b""] * 5)) for _ in range(4)]
        await asyncio.gather(one, *batches)
    assert numbers == [2, 7, 12]


async def test_close_says_goodbye_and_does_not_wait_for_ever() -> None:
    said: list[str] = []

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        _, request = await peer.next()
        said.append(type(request).__name__)
        await peer.serve(lambda _: Pong(1))

    async with script(play) as stage:
        q = await quick(stage)
        started = asyncio.get_running_loop().time()
        await q.close(timeout=0.2)
        assert asyncio.get_running_loop().time() - started < 10
        await until(lambda: said)
    assert said == [Goodbye.__name__]


def reused(push: Push) -> Response:
    """One job of the part belongs to another list. The last one does not."""
    jobs = pushed(push).results
    return Pushed((PushedJob(PushOutcome.REFUSED, ErrorCode.SEQUENCE_REUSED), *jobs[1:]))


def over_quota(push: Push) -> Response:
    return Error(ErrorCode.QUOTA, message="the topic is full")


@pytest.mark.parametrize(
    ("answer", "key", "error", "refused_jobs", "sent"),
    [
        (reused, 70, adjourn.SequenceReusedError, 1 + 904, 1),
        (over_quota, 70, adjourn.QuotaError, 5_000, 1),
        (over_quota, 0, adjourn.QuotaError, 5_000, 2),
    ],
)
async def test_the_rest_of_a_list_under_a_key_is_not_sent_when_a_part_fails(
    answer: Callable[[Push], Response], key: int, error: type[adjourn.AdjournError], refused_jobs: int, sent: int
) -> None:
    pushes: list[Push] = []

    def refuse(request: object) -> Response | None:
        if not isinstance(request, Push):
            return None
        pushes.append(request)
        return answer(request)

    async def play(stage: Script) -> None:
        peer = await stage.peer()
        await peer.greet()
        await peer.serve(refuse)  # type: ignore[arg-type]

    async with script(play) as stage, quick(stage) as q:
        with pytest.raises(adjourn.BatchError) as refused:
            await q.push_many("t", [b"x"] * 5_000, idempotency_key=key)
    errors = [result.error for result in refused.value.results]
    assert len(errors) == 5_000 and isinstance(errors[-1], error)
    assert sum(isinstance(one, error) for one in errors) == refused_jobs
    assert len(pushes) == sent
    if key:
        (push,) = pushes
        assert (push.sequence, push.idempotency, len(push.jobs), push.list_jobs) == (0, 70, 4_096, 5_000)
