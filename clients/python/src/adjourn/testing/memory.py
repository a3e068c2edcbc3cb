"""A queue in memory, with a clock that tests set.

    async with MemoryQueue() as memory, memory.client() as q:
        await q.push("emails", {"to": "ann"}, delay=60)
        assert await q.reserve("emails") == []
        await memory.advance(60)
        (job,) = await q.reserve("emails")

The client is the real one, `adjourn.Queue`: only what lies below it is in memory. So a `Worker` works, too.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from types import TracebackType

from ..body import DEFAULT_CODEC, Codec
from ..errors import ClientClosedError, item_refused
from ..jobs import HeadersHook
from ..protocol import requests as rq
from ..protocol import responses as rs
from ..protocol.numbers import RELEASE_BACKOFF, BulkChange, ErrorCode, JobState, ListOrder
from ..protocol.selection import UNSET, Filter
from ..queue import Queue
from ..session.calls import Arrived, Feed
from ..session.hold import Arrival, Hold
from ..session.leases import LostReason
from ..session.link import LossListener
from ..times import Duration, to_epoch_ms, to_seconds
from .engine import Engine, Held, Topic

_START = datetime(2026, 1, 1, tzinfo=timezone.utc)
_TURNS = 30
_LIMITS = rs.Welcome(
    version=1,
    resumed=False,
    leases_kept=False,
    cluster_id=bytes(16),
    session=1,
    secret=bytes(16),
    heartbeat_ms=3_000,
    session_grace_ms=10_000,
    frame_bytes_max=1_114_112,
    body_bytes_max=1_048_576,
    push_jobs_max=4_096,
    leases_max=4_096,
    reserve_jobs_max=1_024,
    in_flight_max=1_024,
    server_name="memory",
    members=(),
)


class MemoryQueue:
    """The queue, and its clock. Use it within one event loop."""

    def __init__(self, now: datetime = _START) -> None:
        self.engine = Engine(to_epoch_ms(now, "now"))
        self._timers: list[tuple[int, int, _Timer]] = []
        self._numbers = itertools.count(1)
        self._backends: list[_Backend] = []

    @property
    def now(self) -> datetime:
        """The time of the queue."""
        return datetime.fromtimestamp(self.engine.now_ms / 1000, timezone.utc)

    @property
    def jobs(self) -> list[rs.JobReport]:
        """All jobs that are not finished, for assertions."""
        found = self.engine.jobs.values()
        return [job.report(self.engine.now_ms) for job in found if job.state is not JobState.FINISHED]

    def client(self, *, codec: Codec = DEFAULT_CODEC, headers: HeadersHook | None = None) -> Queue:
        """A client with a session of its own."""
        backend = _Backend(self, next(self._numbers))
        self._backends.append(backend)
        return Queue(backend, codec=codec, headers=headers)

    async def advance(self, duration: Duration) -> None:
        """Lets time pass, and everything happen that is due on the way."""
        end_ms = self.engine.now_ms + round(to_seconds(duration, "duration") * 1000)
        await self.settle()
        while (event_ms := self._next_event_ms()) is not None and event_ms <= end_ms:
            self.engine.now_ms = max(event_ms, self.engine.now_ms)
            self.turn()
            await self.settle()
        self.engine.now_ms = end_ms
        self.turn()
        await self.settle()

    async def settle(self) -> None:
        """Lets the tasks run that can."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    def lose_leases(self, reason: LostReason = LostReason.CONNECTION) -> None:
        """Plays a client that was cut off for too long: its leases are lost, and go to others."""
        for backend in self._backends:
            backend.lose(reason)
        self.turn()

    def turn(self) -> None:
        """Does what is due: jobs become ready, and go to those that wait; timers fire."""
        self.engine.refresh()
        while self._timers and self._timers[0][0] <= self.engine.now_ms:
            _, _, timer = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                timer.wake()
        for backend in list(self._backends):
            backend.serve()

    def call_at(self, when_ms: int, wake: Callable[[], None]) -> _Timer:
        """Calls `wake` at a time of the queue."""
        timer = _Timer(wake)
        heapq.heappush(self._timers, (when_ms, next(self._numbers), timer))
        return timer

    def forget(self, backend: _Backend) -> None:
        """A client has left."""
        if backend in self._backends:
            self._backends.remove(backend)

    def _next_event_ms(self) -> int | None:
        while self._timers and self._timers[0][2].is_cancelled:
            heapq.heappop(self._timers)
        times = [when for when in (self.engine.next_event_ms(),) if when is not None]
        times += [self._timers[0][0]] if self._timers else []
        return min(times, default=None)

    async def __aenter__(self) -> MemoryQueue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for backend in list(self._backends):
            await backend.close(says_goodbye=True, timeout=0)


class _Timer:
    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass(eq=False)
class _Waiting:
    """A RESERVE or a SUBSCRIBE."""

    request: rq.Reserve | rq.Subscribe
    future: asyncio.Future[rs.Response] | None = None
    feed: Feed | None = None
    credit: int = 0


class _Backend:
    """One session."""

    def __init__(self, memory: MemoryQueue, session: int) -> None:
        self._memory = memory
        self._engine = memory.engine
        self._session = session
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = itertools.count(1)
        self._listeners: list[LossListener] = []
        self._is_closed = False
        self._last_loss = LostReason.SESSION
        self.losses = 0

    @property
    def limits(self) -> rs.Welcome:
        return _LIMITS

    @property
    def is_connected(self) -> bool:
        return not self._is_closed

    def now(self) -> float:
        return self._engine.now_ms / 1000

    def lost_since(self, losses: int) -> LostReason | None:
        return self._last_loss if losses != self.losses else None

    def call_later(self, seconds: float, wake: Callable[[], None]) -> _Timer:
        return self._memory.call_at(self._engine.now_ms + max(1, round(seconds * 1000)), wake)

    async def call(self, request: rq.Request) -> rs.Response:
        if self._is_closed:
            raise ClientClosedError
        await asyncio.sleep(0)
        self._engine.refresh()
        if isinstance(request, rq.Reserve):
            return await self._reserve(request)
        answer = _answer(self._engine, self._session, request)
        if isinstance(answer, rs.Leased):
            answer = Arrived(tuple(self._arrival(job) for job in answer.jobs))
        self._memory.turn()
        return answer

    async def subscribe(self, request: rq.Subscribe, feed: Feed) -> int:
        if self._is_closed:
            raise ClientClosedError
        number = next(self._numbers)
        self._waiting[number] = _Waiting(request, feed=feed, credit=request.credit_jobs)
        self._memory.turn()
        return number

    def unsubscribe(self, subscription: int) -> None:
        self._waiting.pop(subscription, None)

    def add_credit(self, subscription: int, jobs: int, size: int) -> None:
        self._waiting[subscription].credit += jobs
        self._memory.turn()

    def is_subscribed(self, subscription: int) -> bool:
        return subscription in self._waiting

    def taken(self, subscription: int) -> None:
        """Credit comes back when leases end, which `serve` counts."""

    def give_back(self, leases: list[rq.LeaseRef], delay_ms: int) -> None:
        for lease in leases:
            self._engine.release(lease, delay_ms, "")
        self._memory.turn()

    def on_loss(self, listener: LossListener) -> None:
        self._listeners.append(listener)

    def forget_listener(self, listener: LossListener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    async def close(self, *, says_goodbye: bool, timeout: float) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for waiting in self._waiting.values():
            if waiting.future is not None and not waiting.future.done():
                waiting.future.set_result(Arrived(()))
            if waiting.feed is not None:
                waiting.feed.end(ClientClosedError())
        self._waiting.clear()
        self._memory.forget(self)
        if says_goodbye:
            self._release_all()
        self._memory.turn()

    def lose(self, reason: LostReason) -> None:
        """All leases are lost."""
        self.losses += 1
        self._last_loss = reason
        for listener in list(self._listeners):
            listener(reason)
        self._release_all()

    def serve(self) -> None:
        """Leases jobs for those that wait."""
        for number, waiting in list(self._waiting.items()):
            if waiting.future is not None:
                found = self._take(waiting.request)
                if found:
                    del self._waiting[number]
                    waiting.future.set_result(Arrived(found))
            elif waiting.feed is not None:
                room = waiting.credit - self._held(waiting)
                found = self._take(waiting.request, room)
                if found:
                    waiting.feed.deliver(found)

    async def _reserve(self, request: rq.Reserve) -> rs.Response:
        if request.wait_ms == 0 and all(self._is_paused(topic) for topic in request.topics):
            raise item_refused(ErrorCode.PAUSED)
        found = self._take(request)
        if found or request.wait_ms == 0:
            return Arrived(found)
        future: asyncio.Future[rs.Response] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        self._waiting[number] = _Waiting(request, future)
        timer = self.call_later(request.wait_ms / 1000, lambda: self._end_wait(number))
        try:
            return await future
        finally:
            timer.cancel()
            self._waiting.pop(number, None)

    def _end_wait(self, number: int) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None and waiting.future is not None and not waiting.future.done():
            waiting.future.set_result(Arrived(()))

    def _is_paused(self, topic: str) -> bool:
        return topic in self._engine.topics and self._engine.topics[topic].paused

    def _take(self, request: rq.Reserve | rq.Subscribe, room: int | None = None) -> tuple[Arrival, ...]:
        most = room if isinstance(request, rq.Subscribe) else request.jobs_max
        found: list[Arrival] = []
        while len(found) < (most or 0):
            job = self._engine.grant(request.topics, self._session)
            if job is None:
                break
            found.append(self._arrival(job.delivered(self._engine.now_ms)))
        return tuple(found)

    def _held(self, waiting: _Waiting) -> int:
        mine = self._engine.jobs.values()
        return sum(
            job.state is JobState.RESERVED and job.session == self._session and job.topic in waiting.request.topics
            for job in mine
        )

    def _arrival(self, job: rs.Delivered) -> Arrival:
        return Arrival(job, Hold(self, job.lease, job.ttr_left_ms / 1000, self.now()))

    def _release_all(self) -> None:
        for job in list(self._engine.jobs.values()):
            if job.state is JobState.RESERVED and job.session == self._session:
                self._engine.release(rq.LeaseRef(job.id, job.fence), RELEASE_BACKOFF, "")


def _answer(engine: Engine, session: int, request: rq.Request) -> rs.Response:
    now_ms = engine.now_ms
    match request:
        case rq.Push():
            return rs.Pushed(tuple(engine.push(request.topic, job) for job in request.jobs))
        case rq.Finish():
            return rs.Settled(tuple(engine.finish(lease) for lease in request.leases))
        case rq.Release():
            return rs.Settled(
                tuple(engine.release(lease, request.delay_ms, request.reason) for lease in request.leases)
            )
        case rq.Touch():
            return rs.Settled(tuple(engine.touch(lease, request.ttr_ms) for lease in request.leases))
        case rq.Bury():
            return rs.Settled(tuple(engine.bury(lease, request.reason) for lease in request.leases))
        case rq.Leases():
            mine = [job for job in engine.jobs.values() if job.session == session and job.state is JobState.RESERVED]
            return rs.Leased(tuple(job.delivered(now_ms) for job in mine if job.id > request.after), False)
        case rq.Get():
            return rs.Job(engine.find(request.job).report(now_ms))
        case rq.Delete():
            return engine.delete(engine.find(request.job))
        case rq.Reschedule():
            return engine.reschedule(engine.alive(request.job), engine.due_ms(request.due))
        case rq.RunNow():
            return engine.run_now(engine.alive(request.job))
        case rq.Kick():
            return engine.kick(engine.alive(request.job))
        case rq.Ping():
            return rs.Pong(now_ms, 0)
        case _:
            return _answer_of_many(engine, request)


def _answer_of_many(engine: Engine, request: rq.Request) -> rs.Response:
    now_ms = engine.now_ms
    match request:
        case rq.Peek():
            return rs.Job(_next(engine, request.topic).report(now_ms))
        case rq.KickMany():
            buried = [job for job in engine.matching(Filter(request.topic)) if job.state is JobState.BURIED]
            for job in buried[: request.jobs_max]:
                engine.kick(job)
            return rs.Kicked(len(buried[: request.jobs_max]))
        case rq.List():
            listed = _ordered(engine.matching(request.filter), request.order)
            start = int(request.cursor or b"0")
            page = listed[start : start + request.jobs_max]
            end = start + len(page)
            cursor = str(end).encode() if end < len(listed) else b""
            return rs.Jobs(tuple(job.report(now_ms, with_body=request.with_bodies) for job in page), cursor)
        case rq.Count():
            return rs.Counted(sum(1 for _ in engine.matching(request.filter)))
        case rq.Bulk():
            return _bulk(engine, request)
        case rq.Topics():
            return rs.TopicCounts(tuple(_topic(engine, name) for name in sorted(engine.topics)))
        case rq.Stats():
            topics = tuple(_topic(engine, name) for name in sorted(engine.topics))
            sums = [sum(numbers) for numbers in zip(*(one.totals.numbers() for one in topics), strict=True)]
            totals = rs.Totals(*sums) if sums else rs.Totals()
            return rs.QueueStats(now_ms, 0, 1, 1, 0, 0, 1, 0, totals, topics)
        case _:
            return _answer_of_topics(engine, request)


def _answer_of_topics(engine: Engine, request: rq.Request) -> rs.Response:
    if isinstance(request, rq.TopicSet):
        topic = engine.topics.setdefault(request.topic, Topic())
        changes = {one.name: getattr(request.policy, one.name) for one in fields(request.policy)}
        set_now = {name: None if value is UNSET else value for name, value in changes.items() if value is not None}
        topic.policy = replace(topic.policy, **set_now)
        return rs.Done()
    if isinstance(request, (rq.Pause, rq.Resume, rq.TopicDelete, rq.TopicShow)):
        if request.topic not in engine.topics:
            raise item_refused(ErrorCode.NOT_FOUND)
        topic = engine.topics[request.topic]
        jobs = list(engine.matching(Filter(request.topic)))
        if isinstance(request, rq.TopicShow):
            return rs.TopicSettings(len(jobs), sum(len(job.body) for job in jobs), topic.paused, topic.policy)
        if isinstance(request, rq.TopicDelete):
            if jobs:
                raise item_refused(ErrorCode.WRONG_STATE)
            del engine.topics[request.topic]
        else:
            topic.paused = isinstance(request, rq.Pause)
        return rs.Done()
    raise item_refused(ErrorCode.UNSUPPORTED)


def _next(engine: Engine, topic: str) -> Held:
    found = list(engine.matching(Filter(topic)))
    ready = [job for job in found if job.state is JobState.READY]
    delayed = [job for job in found if job.state is JobState.DELAYED]
    if ready:
        return min(ready, key=lambda job: (job.priority, job.order_ms, job.id))
    if not delayed:
        raise item_refused(ErrorCode.NOT_FOUND)
    return min(delayed, key=lambda job: (job.due_ms, job.id))


def _bulk(engine: Engine, request: rq.Bulk) -> rs.Bulked:
    changed = in_the_way = 0
    for job in list(engine.matching(request.filter)):
        if request.change == BulkChange.DELETE:
            engine.delete(job)
        elif request.change == BulkChange.KICK and job.state is JobState.BURIED:
            engine.kick(job)
        elif request.change == BulkChange.RUN_NOW and job.state is JobState.DELAYED:
            engine.run_now(job)
        elif request.change == BulkChange.RESCHEDULE and job.state in (JobState.DELAYED, JobState.READY):
            engine.reschedule(job, request.due_ms)
        elif request.change == BulkChange.MOVE and job.state is not JobState.RESERVED:
            if job.key and engine.by_key(request.to, job.key):
                in_the_way += 1
                continue
            engine.topics[job.topic].deleted += 1
            engine.topics.setdefault(request.to, Topic()).pushed += 1
            job.topic = request.to
        else:
            continue
        changed += 1
    return rs.Bulked(changed, b"", in_the_way)


def _ordered(jobs: Iterable[Held], order: int) -> list[Held]:
    found = list(jobs)
    if order == ListOrder.KEY:
        return sorted((job for job in found if job.key), key=lambda job: (job.key or "", job.id))
    return sorted(found, key=lambda job: (job.id,) if order == ListOrder.ID else (job.due_ms, job.id))


def _topic(engine: Engine, name: str) -> rs.TopicReport:
    return rs.TopicReport(name, engine.topics[name].paused, engine.totals(name))

