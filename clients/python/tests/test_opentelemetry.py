"""Traces from a push to the handler of its job, on the real server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, context, propagate
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    Tracer,
    TraceState,
    format_span_id,
    format_trace_id,
    get_current_span,
    set_span_in_context,
)

import adjourn
import handlers
from adjourn import NewJob, RunsIn, Worker, sync
from adjourn.opentelemetry import OpenTelemetry
from adjourn.protocol.requests import Push
from adjourn.testing import Server
from adjourn.tracing import Send
from scripted import RESUMED, Script, pushed, quick, script

OF_THE_JOB = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Traces:
    """An application's provider, and the spans that have ended, by their names."""

    def __init__(self) -> None:
        provider = TracerProvider()
        self._exporter = InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.app: Tracer = provider.get_tracer("shop")
        self.of_client = OpenTelemetry(provider)

    def all(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.all(name)
        return span


@pytest.fixture
def traces() -> Traces:
    return Traces()


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    assert span.context is not None and parent.context is not None
    return span.parent is not None and (span.parent.trace_id, span.parent.span_id) == (parent.context.trace_id, parent.context.span_id)


def traceparent(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{format_trace_id(span.context.trace_id)}-{format_span_id(span.context.span_id)}-{span.context.trace_flags:02x}"


def attributes(span: ReadableSpan) -> dict[str, object]:
    return {name.removeprefix("messaging."): value for name, value in (span.attributes or {}).items()}


def failure(span: ReadableSpan) -> tuple[object, StatusCode, str | None, list[object]]:
    said = [(event.attributes or {}).get("exception.message") for event in span.events]
    return (span.attributes or {}).get("error.type"), span.status.status_code, span.status.description, said


NO_FAILURE = (None, StatusCode.UNSET, None, [])


async def test_one_trace_from_the_application_to_what_its_handler_does(adjourn_server: Server, traces: Traces) -> None:
    async def handle(job: adjourn.Job) -> None:
        with traces.app.start_as_current_span("send mail"):
            assert baggage.get_baggage("tenant") == "7"

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        with traces.app.start_as_current_span("checkout"):
            token = context.attach(baggage.set_baggage("tenant", "7"))
            job = await q.push("mails", delay=60)
            context.detach(token)
        with traces.app.start_as_current_span("the worker's own"):
            async with Worker(q, "mails", handler=handle):
                adjourn_server.advance(60)
                await adjourn_server.until_handled()
    checkout, push, process, mail = map(traces.one, ("checkout", "push mails", "process mails", "send mail"))
    assert is_child(push, checkout) and is_child(process, push) and is_child(mail, process)
    assert (push.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    about = {"system": "adjourn", "destination.name": "mails", "message.id": str(job.id)}
    assert attributes(push) == {**about, "operation.name": "push", "operation.type": "send"}
    assert attributes(process) == {**about, "operation.name": "process", "operation.type": "process", "adjourn.attempt": 1}
    assert failure(push) == failure(process) == NO_FAILURE
    assert push.instrumentation_scope is not None
    assert (push.instrumentation_scope.name, push.instrumentation_scope.version) == ("adjourn", adjourn.__version__)


async def test_a_job_without_a_trace_begins_one(adjourn_server: Server, traces: Traces) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await q.push("t")
    seen: list[object] = []
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        with traces.app.start_as_current_span("the worker's own"):
            token = context.attach(baggage.set_baggage("tenant", "7"))
            async with Worker(q, "t", handler=lambda job: seen.append(baggage.get_baggage("tenant"))):
                await adjourn_server.until_handled()
            context.detach(token)
    assert seen == [None]
    assert traces.one("process t").parent is None


async def test_what_a_handler_raises_is_in_its_span(adjourn_server: Server, traces: Traces) -> None:
    async def handle(job: adjourn.Job) -> None:
        if job.attempts > 1:
            return
        raise {"fails": ValueError("no such mail"), "unprintable": handlers.Unprintable()}[job.value]

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        async with Worker(q, "t", handler=handle, concurrency=1):
            for order in ("fails", "unprintable"):
                await q.push("t", order, backoff=adjourn.backoff.fixed(60))
            await adjourn_server.until_handled()
            assert [job.report.reason for job in adjourn_server.pending("t")] == ["no such mail", "Unprintable"]
            adjourn_server.advance(60)
            await adjourn_server.until_handled()
    first, unprintable, *again = traces.all("process t")
    assert failure(first) == ("ValueError", StatusCode.ERROR, "no such mail", ["no such mail"])
    assert failure(unprintable)[:3] == ("Unprintable", StatusCode.ERROR, "Unprintable")
    assert [(attributes(span)["adjourn.attempt"], failure(span)) for span in again] == [(2, NO_FAILURE)] * 2


async def test_a_handler_that_means_it_is_no_error(adjourn_server: Server, traces: Traces) -> None:
    async def handle(job: adjourn.Job) -> None:
        match job.value:
            case "retry":
                raise adjourn.Retry("later", delay=60)
            case "bury":
                raise adjourn.Bury("never")
            case "release":
                await job.release(delay=60)

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q, Worker(q, "t", handler=handle):
        await q.push_many("t", ["retry", "bury", "release"])
        await adjourn_server.until_handled()
    assert len(adjourn_server.jobs("t")) == 3
    assert [failure(span) for span in traces.all("process t")] == [NO_FAILURE] * 3


async def test_a_push_of_several_jobs_is_one_span(adjourn_server: Server, traces: Traces) -> None:
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        # Two requests: more than one may have.
        await q.push_many("t", [NewJob(n, delay=60) for n in range(5_000)])
        await q.push_many("single", ["one"])
        assert await q.push_many("none", []) == []
        with traces.app.start_as_current_span("another"):
            async with Worker(q, "single", handler=lambda job: None):
                await adjourn_server.until_handled()
    push, single = traces.one("push t"), traces.one("push single")
    assert {job.report.headers["traceparent"] for job in adjourn_server.jobs("t")} == {traceparent(push)}
    assert attributes(push)["batch.message_count"] == 5_000 and "message.id" not in attributes(push)
    assert "batch.message_count" not in attributes(single) and "message.id" in attributes(single)
    assert is_child(traces.one("process single"), single)
    assert traces.all("push none") == []


async def test_a_push_that_fails(adjourn_server: Server, traces: Traces) -> None:
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        await q.push("t", key="k", delay=60)
        with pytest.raises(adjourn.KeyExistsError):
            await q.push("t", key="k", delay=60)
        with pytest.raises(adjourn.BatchError):
            await q.push_many("many", [NewJob(key="k"), NewJob(key="k")])
    taken, refused = traces.all("push t")
    assert failure(taken) == NO_FAILURE and "message.id" not in attributes(refused)
    assert failure(refused)[:2] == ("KEY_EXISTS", StatusCode.ERROR)
    assert failure(traces.one("push many"))[:2] == ("BatchError", StatusCode.ERROR)


async def test_a_header_that_a_job_names_wins(adjourn_server: Server, traces: Traces) -> None:
    of_client: dict[str, str] = {"Tenant": "7"}
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client, headers=lambda: of_client) as q:
        await q.push("own", headers={"traceparent": OF_THE_JOB, "tenant": "8"})
        await q.push("t")
        async with Worker(q, "own", "t", handler=lambda job: None):
            adjourn_server.assert_pushed("own", where=lambda job: job.report.headers == {"traceparent": OF_THE_JOB, "tenant": "8"})
            adjourn_server.assert_pushed("t", where=lambda job: {*job.report.headers} == {"Tenant", "traceparent"})
            await adjourn_server.until_handled()
    parent = traces.one("process own").parent
    assert parent is not None and f"00-{format_trace_id(parent.trace_id)}-{format_span_id(parent.span_id)}-01" == OF_THE_JOB
    assert is_child(traces.one("process t"), traces.one("push t"))


async def test_what_does_not_fit_of_a_trace_is_left_out(adjourn_server: Server, traces: Traces) -> None:
    async def pushed_with(bytes_of_baggage: int, body: object = b"", **own: str) -> set[str]:
        token = context.attach(baggage.set_baggage("tenant", "7" * (bytes_of_baggage - len("tenant="))))
        try:
            job = await q.push("t", body, delay=60, headers=own)
        finally:
            context.detach(token)
        (headers,) = [one.report.headers for one in adjourn_server.jobs("t") if one.report.id == job.id]
        return {*headers}

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        room = 1_024 - len("traceparent" + OF_THE_JOB + "baggage")
        assert await pushed_with(room) == {"traceparent", "baggage"}
        assert await pushed_with(room + 1) == await pushed_with(4_000) == {"traceparent"}
        assert await pushed_with(100, own="x" * 1_021) == {"own"}
        assert await pushed_with(20, own="x" * 980) == {"own"}  # The baggage would fit, but not the trace.
        left = 1_024 - len("own" + "traceparent" + OF_THE_JOB + "content-type" + "application/json")
        assert await pushed_with(100, {}, own="x" * left) == {"own", "content-type", "traceparent"}
        assert await pushed_with(100, {}, own="x" * (left + 1)) == {"own", "content-type"}
        with pytest.raises(adjourn.UsageError, match="at most 1024 bytes"):
            await pushed_with(100, own="x" * 1_022)


async def test_a_job_of_another_trace_has_neither_state_nor_baggage_of_this_one(adjourn_server: Server, traces: Traces) -> None:
    state = TraceState([("vendor", "1")])
    parent = NonRecordingSpan(SpanContext(trace_id=1, span_id=2, is_remote=True, trace_state=state))
    of_client: dict[str, str] = {}
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client, headers=lambda: of_client) as q:
        token = context.attach(baggage.set_baggage("tenant", "7", set_span_in_context(parent)))
        try:
            await q.push("t", delay=60)
            await q.push("own", delay=60, headers={"Traceparent": OF_THE_JOB})
            of_client["TraceParent"] = OF_THE_JOB
            await q.push("hook", delay=60)
        finally:
            context.detach(token)
    adjourn_server.assert_pushed("t", where=lambda job: {*job.report.headers} == {"traceparent", "tracestate", "baggage"})
    adjourn_server.assert_pushed("own", where=lambda job: job.report.headers == {"Traceparent": OF_THE_JOB})
    adjourn_server.assert_pushed("hook", where=lambda job: job.report.headers == {"TraceParent": OF_THE_JOB})


async def test_a_worker_finds_the_trace_of_a_job_in_whatever_case(adjourn_server: Server, traces: Traces) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await q.push("t", headers={"TraceParent": OF_THE_JOB})
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q, Worker(q, "t", handler=lambda job: None):
        await adjourn_server.until_handled()
    parent = traces.one("process t").parent
    assert parent is not None and format_trace_id(parent.trace_id) == OF_THE_JOB.split("-")[1]


async def test_a_repeat_sends_the_same_headers(traces: Traces) -> None:
    seen: list[Push] = []

    async def play(stage: Script) -> None:
        for welcome in (None, RESUMED):
            peer = await stage.peer()
            await (peer.greet(welcome) if welcome else peer.greet())
            request_id, push = await peer.next()
            assert isinstance(push, Push)
            seen.append(push)
            if welcome is None:
                peer.cut()
        peer.answer(request_id, pushed(push, 42))
        await peer.serve()

    async with script(play) as stage, quick(stage, tracing=traces.of_client) as q:
        assert (await q.push("t")).id == 42
    first, second = (dict(push.jobs[0].attributes.headers) for push in seen)
    assert first == second == {"traceparent": traceparent(traces.one("push t"))}


async def test_a_push_that_is_repeated_under_another_span_stays_in_the_trace_of_the_first(adjourn_server: Server, traces: Traces) -> None:
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        first, again = [await q.push("t", "x", idempotency_key=1 << 100) for _ in range(2)]
        several, repeated = [await q.push_many("many", ["x", "y"], idempotency_key=1 << 101) for _ in range(2)]
        assert (first.id, several) == (again.id, repeated)
        async with Worker(q, "t", "many", handler=lambda job: None):
            await adjourn_server.until_handled()
    for topic, jobs in (("t", 1), ("many", 2)):
        push, _ = traces.all(f"push {topic}")
        assert [is_child(process, push) for process in traces.all(f"process {topic}")] == [True] * jobs


def test_a_client_without_async_pushes_in_the_span_of_its_caller(adjourn_server: Server, traces: Traces) -> None:
    with sync.connect(adjourn_server.url, tracing=traces.of_client) as q:
        with traces.app.start_as_current_span("checkout"):
            q.push("t")
        q.push("alone")
    assert is_child(traces.one("push t"), traces.one("checkout"))
    assert traces.one("push alone").parent is None


async def test_handlers_in_threads_run_in_their_spans(adjourn_server: Server, traces: Traces) -> None:
    def handle(job: adjourn.Job) -> None:
        traces.app.start_span("in a thread").end()

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q, Worker(q, "t", handler=handle):
        await q.push("t")
        await adjourn_server.until_handled()
    assert is_child(traces.one("in a thread"), traces.one("process t"))


async def test_handlers_in_processes_run_in_the_contexts_of_their_spans(adjourn_server: Server, traces: Traces, tmp_path: Path) -> None:
    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        async with Worker(q, "t", handler=handlers.writes_trace, runs_in=RunsIn.PROCESS, concurrency=1):
            for file in ("one", "two"):
                await q.push("t", str(tmp_path / file))
            await adjourn_server.until_handled()
    assert [(tmp_path / file).read_text() for file in ("one", "two")] == [traceparent(span) for span in traces.all("process t")]


async def test_middleware_runs_in_the_span(adjourn_server: Server, traces: Traces) -> None:
    seen: list[str] = []

    async def wrap(job: adjourn.Job, call: Callable[[], Awaitable[None]]) -> None:
        seen.append(format_span_id(get_current_span().get_span_context().span_id))
        await call()

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        async with Worker(q, "t", handler=lambda job: None, middleware=[wrap]):
            await q.push("t")
            await adjourn_server.until_handled()
    process = traces.one("process t").context
    assert process is not None and seen == [format_span_id(process.span_id)]


async def test_a_handler_that_is_stopped_has_failed(adjourn_server: Server, traces: Traces) -> None:
    at_work = asyncio.Event()

    async def handle(job: adjourn.Job) -> None:
        at_work.set()
        await asyncio.Event().wait()

    async with adjourn.connect(adjourn_server.url, tracing=traces.of_client) as q:
        async with Worker(q, "t", handler=handle, stop_timeout=0.2):
            await q.push("t")
            await at_work.wait()
    assert failure(traces.one("process t"))[:3] == ("CancelledError", StatusCode.ERROR, "stopping")


class FaultyProcessor(SpanProcessor):
    def __init__(self, *steps: str) -> None:
        self._steps = steps

    def on_start(self, span: object, parent_context: object = None) -> None:
        if "start" in self._steps:
            raise RuntimeError("no start")

    def on_end(self, span: object) -> None:
        if "end" in self._steps:
            raise RuntimeError("no end")


class FaultyPropagator(TextMapPropagator):
    fields: set[str] = set()

    def inject(self, carrier: object, *more: object, **named: object) -> None:
        raise RuntimeError("no inject")

    def extract(self, carrier: object, *more: object, **named: object) -> context.Context:
        raise RuntimeError("no extract")


class Unencodable(FaultyPropagator):
    def inject(self, carrier: dict[str, object], *more: object, **named: object) -> None:  # type: ignore[override]
        carrier.update({"traceparent": OF_THE_JOB, "n": 1})


async def outcomes(server: Server, tracing: adjourn.Tracing) -> None:
    """Pushes and handles jobs, each of which has to end as it does without tracing."""
    handled: list[str] = []

    async def handle(job: adjourn.Job) -> None:
        handled.append(job.value)
        if job.value == "fails":
            raise ValueError("no such mail")
        if job.value == "later":
            raise adjourn.Retry("later", delay=60)

    async with adjourn.connect(server.url, tracing=tracing) as q:
        for value in ("works", "fails", "later"):
            await q.push("t", value, backoff=adjourn.backoff.fixed(60))
        assert len(await q.push_many("t", ["works", "works"])) == 2
        await q.push("k", key="k", delay=60)
        with pytest.raises(adjourn.KeyExistsError):
            await q.push("k", key="k", delay=60)
        async with Worker(q, "t", handler=handle):
            await server.until_handled()
    assert sorted(handled) == ["fails", "later", "works", "works", "works"]
    assert sorted(job.report.reason for job in server.pending("t")) == ["later", "no such mail"]
    assert len(server.jobs("k")) == 1


def said(caplog: pytest.LogCaptureFixture) -> int:
    return sum("tracing failed" in record.message for record in caplog.records)


@pytest.mark.parametrize("steps", [("start",), ("end",), ("start", "end")])
async def test_faults_of_a_processor_change_no_outcome(
    adjourn_server: Server, caplog: pytest.LogCaptureFixture, steps: tuple[str, ...]
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(FaultyProcessor(*steps))
    await outcomes(adjourn_server, OpenTelemetry(provider))
    assert said(caplog) == 1


@pytest.mark.parametrize("propagator", [FaultyPropagator(), Unencodable()])
async def test_faults_of_a_propagator_change_no_outcome(
    adjourn_server: Server, traces: Traces, caplog: pytest.LogCaptureFixture, propagator: TextMapPropagator
) -> None:
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(propagator)
    try:
        await outcomes(adjourn_server, traces.of_client)
    finally:
        propagate.set_global_textmap(before)
    assert said(caplog) == 1
    assert len(traces.all("process t")) == 5


class FaultyTracing(adjourn.Tracing):
    def __init__(self, when: str) -> None:
        self._when = when

    async def push(self, topic: str, jobs: int, send: Send) -> list[adjourn.PushResult]:
        return await self._around(lambda: send({}))

    async def process(self, job: adjourn.Job, call: Callable[[], Awaitable[None]]) -> None:
        await self._around(call)

    async def _around(self, act: Callable[[], Awaitable[Any]]) -> Any:
        if self._when == "never":
            return None
        if self._when == "before":
            raise RuntimeError("before")
        if self._when == "swallows":
            with suppress(Exception):
                await act()
            return None
        try:
            result = await act()
            return await act() if self._when == "twice" else result
        finally:
            if self._when == "after":
                raise RuntimeError("after")


@pytest.mark.parametrize(("when", "lines"), [("before", 1), ("after", 1), ("twice", 0), ("never", 0), ("swallows", 0)])
async def test_faults_of_another_tracing_change_no_outcome(
    adjourn_server: Server, caplog: pytest.LogCaptureFixture, when: str, lines: int
) -> None:
    await outcomes(adjourn_server, FaultyTracing(when))
    assert said(caplog) == lines


class Carries(adjourn.Tracing):
    def __init__(self, step: str) -> None:
        self._step = step

    def carry(self) -> AbstractContextManager[object]:
        if self._step == "carry":
            raise RuntimeError("no carry")
        context = handlers.FaultyContext(self._step)
        if self._step == "pickle":
            context.what = lambda: None  # type: ignore[attr-defined]
        return context


@pytest.mark.parametrize("step", ["carry", "pickle", "load", "enter", "exit"])
async def test_faults_of_a_carried_context_change_no_outcome(adjourn_server: Server, caplog: pytest.LogCaptureFixture, step: str) -> None:
    async with adjourn.connect(adjourn_server.url, tracing=Carries(step)) as q:
        async with Worker(q, "t", handler=handlers.in_process, runs_in=RunsIn.PROCESS, concurrency=1):
            for order in ("nothing", "fail", "nothing"):
                await q.push("t", order, backoff=adjourn.backoff.fixed(60))
            await adjourn_server.until_handled()
    assert [job.report.reason for job in adjourn_server.pending("t")] == ["ValueError: as ordered"]
    assert said(caplog) == 1


def test_tracing_is_an_object() -> None:
    with pytest.raises(adjourn.UsageError, match=r"write tracing=OpenTelemetry\(\)"):
        adjourn.connect(tracing=OpenTelemetry)  # type: ignore[arg-type]


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
import adjourn, pkgutil, importlib
for module in pkgutil.walk_packages(adjourn.__path__, "adjourn."):
    if module.name != "adjourn.opentelemetry":
        importlib.import_module(module.name)
with adjourn.sync.connect(sys.argv[1]) as q:
    q.push("t")
"""


def test_only_one_module_needs_opentelemetry(adjourn_server: Server) -> None:
    variables = {**os.environ, "PYTHONPATH": str(Path(adjourn.__file__).parents[1]), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", WITHOUT, adjourn_server.url]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    adjourn_server.assert_pushed("t", where=lambda job: not job.report.headers)
