"""Traces with OpenTelemetry, from a push to the handler of its job: `adjourn.connect(url, tracing=OpenTelemetry())`.

Needs `opentelemetry-api`, the extra `opentelemetry` of this package. No other module imports it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Token

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

from .jobs import PushResult
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
            results = await send(_current())
            if jobs == 1:
                span.set_attribute("messaging.message.id", str(results[0].id))
            return results

    async def process(self, job: Job, call: Callable[[], Awaitable[None]]) -> None:
        attributes: dict[str, AttributeValue] = {
            "messaging.operation.type": "process",
            "messaging.message.id": str(job.id),
            "adjourn.attempt": job.attempts,
        }
        with _Within(job.headers), self._span(SpanKind.CONSUMER, "process", job.topic, attributes):
            await call()

    def carry(self) -> AbstractContextManager[object]:
        return _Within(_current())

    @contextmanager
    def _span(self, kind: SpanKind, operation: str, topic: str, attributes: dict[str, AttributeValue]) -> Iterator[Span]:
        attributes |= {
            "messaging.system": "adjourn",
            "messaging.operation.name": operation,
            "messaging.destination.name": topic,
        }
        with self._tracer.start_as_current_span(
            f"{operation} {topic}", kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except (Bury, Retry):
                raise  # The handler meant it.
            except BaseException as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, reason_of(error)))
                with suppress(Exception):  # There are errors whose text cannot be had.
                    span.record_exception(error)
                raise


class _Within:
    """Makes the context that headers carry the current one. Nothing of the context outside is left in it, such as a worker's own span."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __enter__(self) -> None:
        self._token: Token[Context] = context.attach(propagate.extract(self._headers, Context()))

    def __exit__(self, *error: object) -> None:
        context.detach(self._token)


def _current() -> dict[str, str]:
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers
