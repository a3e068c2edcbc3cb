"""Traces with OpenTelemetry, from a push to the handler of its job: `adjourn.connect(url, tracing=OpenTelemetry())`.

Needs `opentelemetry-api`, the extra `opentelemetry` of this package. No other module imports it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Token

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

from .errors import AdjournError
from .jobs import PushResult
from .protocol.numbers import ErrorCode
from .queue import Job
from .tracing import Send, Tracing
from .version import VERSION
from .worker import Bury, Retry
from .worker.failures import reason_of


class OpenTelemetry(Tracing):
    """A PRODUCER span for each push, a CONSUMER span for each handler of a worker, which is its child.

    The spans are those of the global provider, unless another one is given. The global propagator writes their contexts into the
    headers of the jobs, and reads them there.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("adjourn", VERSION, tracer_provider)

    async def push(self, topic: str, jobs: int, send: Send) -> list[PushResult]:
        attributes: dict[str, AttributeValue] = {"messaging.operation.type": "send"}
        if jobs > 1:
            attributes["messaging.batch.message_count"] = jobs
        with self._span(SpanKind.PRODUCER, "push", topic, attributes) as span:
            results = await send(self._headers())
            if jobs == 1:
                with self._faults:
                    span.set_attribute("messaging.message.id", str(results[0].id))
            return results

    async def process(self, job: Job, call: Callable[[], Awaitable[None]]) -> None:
        attributes: dict[str, AttributeValue] = {
            "messaging.operation.type": "process",
            "messaging.message.id": str(job.id),
            "adjourn.attempt": job.attempts,
        }
        of_job = Context()
        with self._faults:
            of_job = _extract(job.headers)
        with self._within(of_job), self._span(SpanKind.CONSUMER, "process", job.topic, attributes):
            await call()

    def carry(self) -> AbstractContextManager[object]:
        return _Within(self._headers())

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        with self._faults:
            propagate.inject(headers)
            return headers
        return {}

    @contextmanager
    def _span(self, kind: SpanKind, operation: str, topic: str, attributes: dict[str, AttributeValue]) -> Iterator[Span]:
        attributes |= {
            "messaging.system": "adjourn",
            "messaging.operation.name": operation,
            "messaging.destination.name": topic,
        }
        span: Span = INVALID_SPAN
        within = None
        with self._faults:
            span = self._tracer.start_span(f"{operation} {topic}", kind=kind, attributes=attributes)
            within = trace.set_span_in_context(span)
        try:
            with self._within(within):
                yield span
        except (Bury, Retry):
            raise  # The handler meant it.
        except BaseException as error:
            with self._faults:
                span.set_attribute("error.type", _type_of(error))
            with self._faults:
                span.set_status(Status(StatusCode.ERROR, reason_of(error)))
            with suppress(Exception):  # There are errors whose text cannot be had.
                span.record_exception(error)
            raise
        finally:
            with self._faults:
                span.end()

    @contextmanager
    def _within(self, entered: Context | None) -> Iterator[None]:
        """Makes a context the current one, if there is one."""
        token: Token[Context] | None = None
        if entered is not None:
            with self._faults:
                token = context.attach(entered)
        try:
            yield
        finally:
            if token is not None:
                with self._faults:
                    context.detach(token)


class _Within:
    """Makes the context that headers carry the current one."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __enter__(self) -> None:
        self._token: Token[Context] = context.attach(_extract(self._headers))

    def __exit__(self, *error: object) -> None:
        context.detach(self._token)


class _AnyCase(Getter[Mapping[str, str]]):
    """Finds headers by their names in whatever case."""

    def get(self, carrier: Mapping[str, str], key: str) -> list[str] | None:
        if key in carrier:
            return [carrier[key]]
        return [value for name, value in carrier.items() if name.lower() == key.lower()][-1:] or None

    def keys(self, carrier: Mapping[str, str]) -> list[str]:
        return list(carrier)


_ANY_CASE = _AnyCase()


def _extract(headers: Mapping[str, str]) -> Context:
    """The context that headers carry. Nothing of the context outside is left in it, such as a worker's own span."""
    return propagate.extract(headers, Context(), _ANY_CASE)


def _type_of(error: BaseException) -> str:
    code = error.code if isinstance(error, AdjournError) else None
    if code is None:
        return type(error).__qualname__
    return code.name if isinstance(code, ErrorCode) else str(code)
