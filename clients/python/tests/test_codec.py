"""The frames: every frame of protocol.md, cut, longer, unknown, split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjourn.errors import Applied, OutcomeUnknownError, ServerError
from adjourn.jobs import PushResult
from adjourn.protocol import requests as rq
from adjourn.protocol.elements import Attributes, Filter, TopicPolicy
from adjourn.protocol.framing import Frame, FrameDecoder, decode_response, encode
from adjourn.protocol.numbers import DELAY_MS_MAX, RELEASE_PARKED, RESPONSE_BYTES_MAX, TTR_MS_MIN, LateAction, PushOutcome
from adjourn.protocol.requests import WRITERS, LeaseRef, Ping, Push, PushJob, Reserve
from adjourn.protocol.responses import (
    READERS,
    Changed,
    Delivered,
    Done,
    Error,
    Groups,
    GroupState,
    Job,
    JobReport,
    Jobs,
    Pong,
    Pushed,
    PushedJob,
    Reason,
    Reasons,
    Reserved,
    Response,
    Welcome,
)
from adjourn.protocol.values import UNSET, Backoff, Late
from adjourn.protocol.wire import MalformedFrame, Unencodable
from harness.server import decode_filter, decode_request, encode_response

DOCUMENT = Path(__file__).parents[3] / "protocol.md"


def shown() -> Iterator[tuple[str, bytes]]:
    for found in re.finditer(r"```frame (request|response)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL):
        lines = [line.split("#")[0] for line in found[2].splitlines() if not line.startswith("=")]
        yield found[1], bytes.fromhex("".join(lines).replace(" ", ""))


FRAMES = list(shown())


def frame_of(data: bytes) -> Frame:
    (frame,) = FrameDecoder().feed(data)
    return frame


def bytes_of(response: Response) -> bytes:
    return bytes(encode_response(7, response))


def decode(side: str, frame: Frame) -> object:
    return decode_request(frame) if side == "request" else decode_response(frame)


def test_the_document_has_frames_of_every_kind() -> None:
    opcodes = {data[4] for _, data in FRAMES}
    assert len(FRAMES) > 80
    assert set(WRITERS) | set(READERS) == opcodes


@pytest.mark.parametrize(("side", "data"), FRAMES, ids=[f"{data[4]:02x}-{n}" for n, (_, data) in enumerate(FRAMES)])
def test_frames_of_the_document_are_read_and_written_again(side: str, data: bytes) -> None:
    frame = frame_of(data)
    message = decode(side, frame)
    again = encode if side == "request" else encode_response
    assert again(frame.request_id, message) == data  # type: ignore[arg-type]


def test_what_is_cut_off_is_refused_and_never_crashes() -> None:
    refused = 0
    for side, data in FRAMES:
        frame = frame_of(data)
        for length in range(len(frame.payload)):
            try:
                decode(side, Frame(frame.opcode, 0, 1, frame.payload[:length]))
            except MalformedFrame:
                refused += 1
    assert refused > 2_900


def test_any_byte_may_be_wrong_without_another_error() -> None:
    tried = 0
    for side, data in FRAMES:
        frame = frame_of(data)
        for place in range(len(frame.payload)):
            for value in (0x00, 0x7F, 0xFF):
                payload = frame.payload[:place] + bytes([value]) + frame.payload[place + 1 :]
                try:
                    decode(side, Frame(frame.opcode, 0, 1, payload))
                except MalformedFrame:
                    tried += 1
    assert tried > 500


def test_trailing_bytes_of_a_newer_peer_are_skipped() -> None:
    late = {"GOING_AWAY", "JOB", "PONG", "WELCOME"}
    for side, data in FRAMES:
        frame = frame_of(data)
        message = decode(side, frame)
        if side == "response" and message.NAME not in late:  # type: ignore[attr-defined]
            assert decode(side, Frame(frame.opcode, 0, 1, frame.payload + b"newer")) == message


def test_items_may_be_longer_than_known() -> None:
    settled = bytes.fromhex("0400" "02000000" "0000" "aaaa" "2200" "bbbb")
    assert decode_response(Frame(0xB0, 0, 1, settled)).results == (0, 34)  # type: ignore[union-attr]


def test_secrets_are_not_shown() -> None:
    hello = rq.Hello(1, 1, False, False, 0, 9, b"sixteen bytes...", "me", b"a token")
    for message in (hello, Welcome(session=9, secret=b"sixteen bytes...")):
        shown = repr(message)
        assert "9" in shown and "sixteen" not in shown and "a token" not in shown


def test_an_older_server_sends_no_deadline() -> None:
    now = bytes(encode_response(1, Reserved((Delivered(LeaseRef(1, 2), topic="t", body=b"x", deadline_ms=9),))))[12:]
    fixed, pieces = now[6 : 6 + 53], now[6 + 53 :]
    older = bytes.fromhex("2d00" "01000000") + fixed[:45] + pieces
    answer = decode_response(Frame(0xA0, 0, 1, older))
    assert isinstance(answer, Reserved) and answer.jobs[0] == Delivered(LeaseRef(1, 2), topic="t", body=b"x")
    with pytest.raises(MalformedFrame):
        decode_response(Frame(0xA0, 0, 1, bytes.fromhex("3200" "01000000") + fixed[:50] + pieces))


def test_a_backoff_of_a_newer_server_costs_nothing_else() -> None:
    newer = bytes.fromhex("04800600" "0900" "05000000")
    found = Attributes.decode(bytes.fromhex("03800400" "03000000") + newer)
    assert found == Attributes(attempts_max=3, others=((0x8004, newer[4:]),))
    assert TopicPolicy.decode(bytes.fromhex("04000600" "0900" "05000000" "06000800" "0700000000000000")) == TopicPolicy(jobs_max=7)


@pytest.mark.parametrize("payload", ["0100" "01000000" "00", "0200" "ffffffff", "0200" "02000000" "0000"])
def test_lists_that_lie_are_refused(payload: str) -> None:
    with pytest.raises(MalformedFrame):
        decode_response(Frame(0xB0, 0, 1, bytes.fromhex(payload)))


@pytest.mark.parametrize(
    "wrong",
    [
        rq.Pause("-topic"),
        rq.Push(0, "t", (rq.PushJob(due_ms=DELAY_MS_MAX + 1),)),
        rq.Push(0, "t", (rq.PushJob(if_exists=9),)),
        rq.Push(0, "t", (rq.PushJob(ttr_ms=TTR_MS_MIN - 1),)),
        rq.Reserve(0, 0, ("t",)),
        rq.Release(DELAY_MS_MAX + 1, (rq.LeaseRef(1, 1),)),
        rq.Release(RELEASE_PARKED + DELAY_MS_MAX + 1, (rq.LeaseRef(1, 1),)),
        rq.List(1, 9, False, b"", Filter()),
    ],
    ids=lambda one: one.NAME,
)
def test_a_request_with_a_value_out_of_range_is_refused_where_it_is_read(wrong: rq.Request) -> None:
    with pytest.raises(MalformedFrame):
        decode_request(frame_of(encode(1, wrong)))


def test_an_unknown_response_is_ignored_and_an_unknown_code_kept() -> None:
    assert decode_response(Frame(0x9F, 0, 1, b"")) is None
    error = decode_response(frame_of(bytes_of(Error(77, True, 2))))
    assert isinstance(error, Error)
    assert (error.code, error.retryable, error.applied) == (77, True, 1)


def test_an_unknown_outcome_of_a_push_costs_this_job_alone() -> None:
    data = bytes_of(Pushed((PushedJob(9, job=42), PushedJob(PushOutcome.KEPT, job=41))))  # type: ignore[arg-type]
    answer = decode_response(frame_of(data))
    assert isinstance(answer, Pushed)
    newer, kept = map(PushResult.of, answer.results)
    assert (newer.id, newer.outcome) == (0, PushOutcome.REFUSED)
    assert isinstance(newer.error, OutcomeUnknownError) and newer.error.applied is Applied.UNKNOWN
    assert isinstance(newer.error, ServerError) and newer.error.job_id == 42
    assert kept == PushResult(41, PushOutcome.KEPT)


def test_states_and_reasons_of_a_newer_server_are_shown_as_numbers() -> None:
    shown_job = JobReport(id=42, state=9, topic="t", buried=7)
    groups, reasons = Groups("", (GroupState(hold=200, name="ann"),)), Reasons((Reason(200, text="newer"),))
    for message in (Changed(42, 1, 9), Job(shown_job), Jobs(b"", (shown_job,)), groups, reasons):
        assert decode_response(frame_of(bytes_of(message))) == message


def test_frames_arrive_in_any_pieces() -> None:
    stream = b"".join(encode_response(number, Pong(number, 9)) for number in range(1, 6)) + encode_response(9, Done())
    for size in (1, 3, 13, len(stream)):
        decoder, found = FrameDecoder(), []
        for start in range(0, len(stream), size):
            found += list(decoder.feed(stream[start : start + size]))
        assert [frame.request_id for frame in found] == [1, 2, 3, 4, 5, 9]
        assert not decoder.is_mid_frame


@pytest.mark.parametrize("length", [0, 7, RESPONSE_BYTES_MAX + 1, 0xFFFFFFFF])
def test_a_length_out_of_bounds_ends_the_connection(length: int) -> None:
    with pytest.raises(MalformedFrame):
        list(FrameDecoder().feed(length.to_bytes(4, "little") + bytes(8)))


def test_numbers_and_texts_that_do_not_fit_are_refused() -> None:
    for message in (
        Reserve(0, 1, ("t" * 256,)),
        Reserve(1 << 64, 1, ("t",)),
        Push(0, "t", (PushJob(priority=-1),)),
        Push(0, "\udc80", (PushJob(),)),
    ):
        with pytest.raises(Unencodable):
            encode(1, message)
    assert len(encode(0xFFFFFFFF, Ping())) == 12


def test_attributes_filters_and_policies_survive() -> None:
    attributes = Attributes((("a", "b"), ("a", "ü")), attempts_max=5, backoff=Backoff("list", (1, 2), 10), others=((900, b"x"),))
    assert Attributes.decode(attributes.encode()) == attributes
    chosen = Filter("t", due_from_ms=1 << 63, key_prefix=b"\xff", reason="ü", attempts_max=0, group="ü")
    assert decode_filter(chosen.encode()) == chosen
    policy = TopicPolicy(1, late=Late(5, LateAction.BURY), dead_letters=UNSET, remember_ms=9)
    assert TopicPolicy.decode(policy.encode()) == policy


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff("fixed", (1000,)), [1000, 1000, 1000, 1000]),
        (Backoff("linear", (10, 25)), [10, 20, 25, 25]),
        (Backoff("exponential", (1000, 60000)), [1000, 2000, 4000, 8000]),
        (Backoff("list", (5, 50)), [5, 50, 50, 50]),
    ],
)
def test_backoffs_wait_as_the_document_says(backoff: Backoff, waits: list[int]) -> None:
    assert [backoff.wait_ms(attempt) for attempt in (1, 2, 3, 4)] == waits
