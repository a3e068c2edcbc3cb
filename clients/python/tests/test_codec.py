"""The frames: every frame of protocol.md, cut, longer, unknown, split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjourn.errors import Applied, OutcomeUnknownError, ServerError
from adjourn.jobs import PushResult
from adjourn.protocol.attributes import Attributes, Backoff
from adjourn.protocol.framing import Frame, FrameDecoder, decode_request, decode_response, encode
from adjourn.protocol import requests as rq
from adjourn.protocol.numbers import DELAY_MS_MAX, RESPONSE_BYTES_MAX, TTR_MS_MIN, PushOutcome
from adjourn.protocol.requests import REQUESTS, Ping, Push, PushJob, Reserve
from adjourn.protocol.responses import RESPONSES, Changed, Done, Error, Job, JobReport, Jobs, Pong, Pushed, PushedJob
from adjourn.protocol.selection import UNSET, Filter, Late, LateAction, TopicPolicy
from adjourn.protocol.wire import MalformedFrame, Unencodable

DOCUMENT = Path(__file__).parents[3] / "protocol.md"


def shown() -> Iterator[tuple[str, bytes]]:
    for found in re.finditer(r"```frame (request|response)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL):
        lines = [line.split("#")[0] for line in found[2].splitlines() if not line.startswith("=")]
        yield found[1], bytes.fromhex("".join(lines).replace(" ", ""))


FRAMES = list(shown())


def frame_of(data: bytes) -> Frame:
    (frame,) = FrameDecoder().feed(data)
    return frame


def decode(side: str, frame: Frame) -> object:
    return decode_request(frame) if side == "request" else decode_response(frame)


def test_the_document_has_frames_of_every_kind() -> None:
    opcodes = {data[4] for _, data in FRAMES}
    assert len(FRAMES) > 80
    assert set(REQUESTS) | set(RESPONSES) == opcodes


@pytest.mark.parametrize(("side", "data"), FRAMES, ids=[f"{data[4]:02x}-{n}" for n, (_, data) in enumerate(FRAMES)])
def test_frames_of_the_document_are_read_and_written_again(side: str, data: bytes) -> None:
    frame = frame_of(data)
    message = decode(side, frame)
    assert encode(frame.request_id, message) == data  # type: ignore[arg-type]


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
    assert decode_response(Frame(0xB0, 0, 1, settled)).codes == (0, 34)  # type: ignore[union-attr]


@pytest.mark.parametrize("payload", ["0100" "01000000" "00", "0200" "ffffffff", "0200" "02000000" "0000"])
def test_lists_that_lie_are_refused(payload: str) -> None:
    with pytest.raises(MalformedFrame):
        decode_response(Frame(0xB0, 0, 1, bytes.fromhex(payload)))


@pytest.mark.parametrize(
    "wrong",
    [
        rq.Pause("-topic"),
        rq.Push("t", (rq.PushJob(due=rq.Due(False, DELAY_MS_MAX + 1)),)),
        rq.Push("t", (rq.PushJob(if_exists=9),)),
        rq.Push("t", (rq.PushJob(ttr_ms=TTR_MS_MIN - 1),)),
        rq.Reserve(("t",), jobs_max=0),
        rq.Release((rq.LeaseRef(1, 1),), DELAY_MS_MAX + 1),
        rq.List(order=9),
    ],
    ids=lambda one: one.NAME,
)
def test_a_wrongwith_a_value_out_of_range_is_refused_where_it_is_read(wrong: rq.Request) -> None:
    with pytest.raises(MalformedFrame):
        decode_request(frame_of(encode(1, wrong)))


def test_an_unknown_response_is_ignored_and_an_unknown_code_kept() -> None:
    assert decode_response(Frame(0x9F, 0, 1, b"")) is None
    error = decode_response(frame_of(encode(1, Error(77, True, 2))))
    assert isinstance(error, Error)
    assert (error.code, error.retryable, error.applied) == (77, True, 1)


def test_an_unknown_outcome_of_a_push_costs_this_job_alone() -> None:
    data = encode(7, Pushed((PushedJob(9, 42), PushedJob(PushOutcome.KEPT, 41))))  # type: ignore[arg-type]
    answer = decode_response(frame_of(data))
    assert isinstance(answer, Pushed)
    newer, kept = map(PushResult.of, answer.results)
    assert (newer.id, newer.outcome) == (0, PushOutcome.REFUSED)
    assert isinstance(newer.error, OutcomeUnknownError) and newer.error.applied is Applied.UNKNOWN
    assert isinstance(newer.error, ServerError) and newer.error.job_id == 42
    assert kept == PushResult(41, PushOutcome.KEPT)


def test_states_and_reasons_of_a_newer_server_are_shown_as_numbers() -> None:
    shown_job = JobReport(42, 9, "t", buried=7)
    for message in (Changed(42, 1, 9), Job(shown_job), Jobs((shown_job,), b"")):
        assert decode_response(frame_of(encode(7, message))) == message


def test_frames_arrive_in_any_pieces() -> None:
    stream = b"".join(encode(number, Pong(number, 9)) for number in range(1, 6)) + encode(9, Done())
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
        Reserve(("t" * 256,)),
        Reserve(("t",), wait_ms=1 << 64),
        Push("t", (PushJob(priority=-1),)),
        Push("\udc80", (PushJob(),)),
    ):
        with pytest.raises(Unencodable):
            encode(1, message)
    assert len(encode(0xFFFFFFFF, Ping())) == 12


def test_attributes_filters_and_policies_survive() -> None:
    attributes = Attributes((("a", "b"), ("a", "ü")), attempts_max=5, backoff=Backoff("list", (1, 2), 10), others=((900, b"x"),))
    assert Attributes.decode(attributes.encode()) == attributes
    chosen = Filter("t", due_from_ms=1 << 63, key_prefix=b"\xff", reason="ü", attempts_max=0)
    assert Filter.decode(chosen.encode()) == chosen
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
