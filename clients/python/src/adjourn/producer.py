"""Pushes: encodes each job once, and sends jobs in as few requests as the limits of the server allow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

from .body import Codec
from .errors import AdjournError, BatchError, SequenceReusedError, TooLargeError, UsageError
from .jobs import HeadersHook, NewJob, PushResult
from .protocol import requests as rq
from .protocol import responses as rs
from .protocol.numbers import IDEMPOTENT_LIST_JOBS_MAX, PUSH_JOBS_MAX, SEQUENCE_NONE, ErrorCode, PushOutcome
from .session.session import Session
from .tracing import GuardedTracing

Ask = Callable[[rq.Push, type[rs.Pushed]], Awaitable[rs.Pushed]]
_PUSH_OVERHEAD_BYTES = 256
_KEY_MAX = (1 << 128) - 1


class Producer:
    """Carries out the pushes of a queue."""

    def __init__(self, ask: Ask, session: Session, codec: Codec, headers: HeadersHook | None, tracing: GuardedTracing) -> None:
        self._ask = ask
        self._session = session
        self._codec = codec
        self._headers = headers
        self._tracing = tracing

    async def push(self, topic: str, job: NewJob, idempotency_key: int) -> PushResult:
        """Pushes one job. Raises what became of it if it is not in the queue."""
        _check_idempotency_key(idempotency_key, 1)

        async def send(headers: Mapping[str, str]) -> list[PushResult]:
            results = await self._push(topic, self._encode([job], headers), idempotency_key)
            if results[0].error is not None:
                raise results[0].error
            return results

        (result,) = await self._tracing.push(topic, 1, send)
        return result

    async def push_many(self, topic: str, jobs: Sequence[NewJob], idempotency_key: int) -> list[PushResult]:
        """Pushes jobs. Raises `BatchError` if one of them is not in the queue."""
        _check_idempotency_key(idempotency_key, len(jobs))

        async def send(headers: Mapping[str, str]) -> list[PushResult]:
            results = await self._push_parts(topic, self._encode(jobs, headers), idempotency_key)
            if any(result.error is not None for result in results):
                raise BatchError(results)
            return results

        return await self._tracing.push(topic, len(jobs), send) if jobs else []

    async def _push_parts(self, topic: str, jobs: Sequence[rq.PushJob], idempotency_key: int) -> list[PushResult]:
        results: list[PushResult] = []
        failed: AdjournError | None = None
        for batch in self._batches(jobs):
            if failed is not None and idempotency_key:
                # No job may be added of a list that the server has to refuse: the rest is not sent.
                results += _refused(batch, failed)
                continue
            try:
                key = idempotency_key and idempotency_key + len(results)
                part = await self._push(topic, batch, key, 0 if len(batch) == len(jobs) else len(jobs))
                failed = next((result.error for result in part if isinstance(result.error, SequenceReusedError)), None)
            except AdjournError as error:
                failed, part = error, _refused(batch, error)
            results += part
        return results

    def _batches(self, jobs: Sequence[rq.PushJob]) -> Generator[Sequence[rq.PushJob], None, None]:
        limits = self._session.limits
        jobs_max = max(1, min(limits.push_jobs_max, PUSH_JOBS_MAX))
        room = limits.frame_bytes_max - _PUSH_OVERHEAD_BYTES
        start = size = 0
        for place, job in enumerate(jobs):
            job_bytes = job.frame_bytes
            if place > start and (place - start >= jobs_max or size + job_bytes > room):
                yield jobs[start:place]
                start, size = place, 0
            size += job_bytes
        if start < len(jobs):
            yield jobs[start:]

    def _encode(self, jobs: Sequence[NewJob], traced: Mapping[str, str]) -> list[rq.PushJob]:
        most = self._session.limits.body_bytes_max
        encoded = []
        for job in jobs:
            one = job.encode(self._codec, self._headers() if self._headers else None, traced)
            check_body_bytes(one.body, most)
            encoded.append(one)
        return encoded

    async def _push(
        self, topic: str, jobs: Sequence[rq.PushJob], idempotency_key: int = 0, list_jobs: int = 0
    ) -> list[PushResult]:
        request = rq.Push(SEQUENCE_NONE, topic, tuple(jobs), idempotency_key, list_jobs if idempotency_key else 0)
        answer = await self._ask(request, rs.Pushed)
        return [PushResult.of(result) for result in answer.results]


def check_body_bytes(body: bytes, most: int) -> None:
    """Refuses a body that is longer than the server takes."""
    if len(body) > most:
        raise TooLargeError(ErrorCode.TOO_LARGE, f"a body of {len(body)} bytes: the server takes {most}")


def _refused(jobs: Sequence[rq.PushJob], error: AdjournError) -> list[PushResult]:
    return [PushResult(0, PushOutcome.REFUSED, error) for _ in jobs]


def _check_idempotency_key(key: int, jobs: int) -> None:
    if not isinstance(key, int) or not 0 <= key <= _KEY_MAX - max(0, jobs - 1):
        raise UsageError(f"an idempotency key is a number of 128 bits, not {key!r}: write secrets.randbits(127), for example")
    if key and jobs > IDEMPOTENT_LIST_JOBS_MAX:
        raise UsageError(f"a list under an idempotency key has at most {IDEMPOTENT_LIST_JOBS_MAX} jobs")
