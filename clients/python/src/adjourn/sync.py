"""The client without `async`: a thread with an event loop carries the calls.

    with adjourn.sync.connect("adjourn://127.0.0.1:7440") as q:
        q.push("emails", {"to": "ann@example.com"}, delay=60)

A queue may be used from any thread. After a fork, the child gets a session of its own with its first call; the parent's session
is left alone. So a queue that was made before a server forks its workers works in each of them.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar, Unpack

from . import connecting
from .backup import Backup as AsyncBackup
from .backup import BackupFacts
from .conditions import Where
from .connecting import Connecting
from .edit import EditParts
from .errors import ClientClosedError, ForkedError
from .jobs import HeldJob, JobData, NewJob, PushOptions, PushResult
from .pages import BulkStep, FilledPart, Page
from .protocol import requests as rq
from .protocol import responses as rs
from .protocol.elements import TopicPolicy
from .protocol.numbers import BACKUP_READ_BYTES_MAX, BULK_JOBS_MAX, LIST_JOBS_MAX, BulkChange, ListOrder
from .queue import Settleable, Settled
from .queue import Job as AsyncJob
from .queue import Queue as AsyncQueue
from .schedules import ScheduleOptions
from .times import Duration
from .worker import Handler, Worker

T = TypeVar("T")
_queues: weakref.WeakSet[Queue] = weakref.WeakSet()


class Job(HeldJob):
    """A job under a lease of this client."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue, job: AsyncJob) -> None:
        super().__init__(job.delivered, job.hold, job._codec)
        self._queue = queue

    def finish(self) -> None:
        """The work is done."""
        self._queue.finish(self)

    def release(self, *, delay: Duration | None = None, reason: str = "") -> None:
        """The attempt failed. The job waits for its backoff, or for `delay`."""
        self._queue.release(self, delay=delay, reason=reason)

    def give_back(self, *, delay: Duration | None = None, reason: str = "") -> None:
        """The work was not started: no attempt is counted. With `delay` it is not to be started before that."""
        self._queue.give_back(self, delay=delay, reason=reason)

    def touch(self, ttr: Duration | None = None) -> None:
        """Restarts the lease with `ttr`, or with the job's own."""
        self._queue.touch(self, ttr)

    def bury(self, reason: str = "") -> None:
        """Sets the job aside until it is kicked or deleted."""
        self._queue.bury(self, reason)

    def __reduce__(self) -> Any:
        raise TypeError("a job under a lease belongs to its process: send its fields instead")


class Backup(BackupFacts):
    """A backup that the server holds ready. See `adjourn.Backup`: the calls are the same, without `await`."""

    def __init__(self, portal: _Portal, backup: AsyncBackup) -> None:
        super().__init__(backup._ready)
        self._portal = portal
        self._backup = backup

    def read(self, offset: int, size: int = BACKUP_READ_BYTES_MAX) -> bytes:
        """Up to `size` bytes from `offset` on, 1 MiB at most."""
        return self._portal.run(self._backup.read(offset, size))

    def pieces(self) -> Iterator[bytes]:
        """All of it in order."""
        found = self._backup.pieces()
        try:
            while True:
                try:
                    piece = self._portal.run(_next(found))
                except StopAsyncIteration:
                    return
                yield piece
        finally:
            if self._portal.is_usable:
                self._portal.run(_closed(found))

    def end(self) -> None:
        """Lets the server release it. May be called twice."""
        if self._portal.is_usable:
            self._portal.run(self._backup.end())

    def __enter__(self) -> Backup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class _Portal:
    """A thread with an event loop, and the client that lives there."""

    def __init__(self, connect: Callable[[], Connecting]) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._live, name="adjourn", daemon=True)
        self.thread.start()
        try:
            self.queue: AsyncQueue = self.run(_connected(connect))
        except BaseException:
            self.end()
            raise

    @property
    def is_usable(self) -> bool:
        """Whether it is open, and belongs to this process."""
        return self.pid == os.getpid() and not self.loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self.is_usable:
            work.close()
            raise ClientClosedError if self.pid == os.getpid() else ForkedError
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C, for example: nobody waits for the answer any more.
            future.cancel()
            raise

    def end(self) -> None:
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        if not self.loop.is_running():
            self.loop.close()

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


async def _connected(connect: Callable[[], Connecting]) -> AsyncQueue:
    return await connect()


class Queue:
    """A client of a queue. See `adjourn.Queue`: the calls are the same, without `await`."""

    def __init__(self, connect: Callable[[], Connecting]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._is_closed = False
        self._portal: _Portal | None = _Portal(connect)
        _queues.add(self)

    @property
    def is_connected(self) -> bool:
        """Whether the server answers now. Calls wait while it does not."""
        return self._live().queue.is_connected

    def push(
        self, topic: str, body: Any = b"", *, idempotency_key: int = 0, **options: Unpack[PushOptions]
    ) -> PushResult:
        """Pushes one job. Returns when it is durable."""
        return self._do(lambda q: q.push(topic, body, idempotency_key=idempotency_key, **options))

    def push_many(self, topic: str, jobs: Iterable[NewJob | Any], *, idempotency_key: int = 0) -> list[PushResult]:
        """Pushes jobs; raises `BatchError` if one of them is not in the queue."""
        return self._do(lambda q: q.push_many(topic, jobs, idempotency_key=idempotency_key))

    def reserve(
        self, *topics: str, jobs_max: int = 1, wait: Duration = 0, weights: Sequence[int] = ()
    ) -> list[Job]:
        """Leases jobs that are due; waits up to `wait` for the first."""
        found = self._do(lambda q: q.reserve(*topics, jobs_max=jobs_max, wait=wait, weights=weights))
        return [Job(self, job) for job in found]

    def subscribe(
        self, *topics: str, credit: int = 1, credit_bytes: int = 64 << 20, weights: Sequence[int] = ()
    ) -> Iterator[Job]:
        """Jobs as they become due. The subscription ends with the loop over it."""
        portal = self._live()

        async def make() -> Any:
            return portal.queue.subscribe(*topics, credit=credit, credit_bytes=credit_bytes, weights=weights)

        subscription = portal.run(make())
        try:
            while True:
                try:
                    job = portal.run(subscription.__anext__())
                except StopAsyncIteration:
                    return
                if portal.pid != os.getpid():
                    return
                yield Job(self, job)
        finally:
            if portal.is_usable:
                portal.run(_called(subscription.close))

    def leases(self) -> Iterator[Job]:
        """The jobs that this session holds."""
        return (Job(self, job) for job in self._each(lambda q: q.leases()))

    def finish(self, job: Settleable) -> None:
        """The work is done: the job is removed."""
        self._do(lambda q: q.finish(job))

    def release(self, job: Settleable, *, delay: Duration | None = None, reason: str = "") -> None:
        """The attempt failed: the job waits for its backoff, or for `delay`."""
        self._do(lambda q: q.release(job, delay=delay, reason=reason))

    def give_back(self, job: Settleable, *, delay: Duration | None = None, reason: str = "") -> None:
        """The work was not started: no attempt is counted. With `delay` it is not to be started before that."""
        self._do(lambda q: q.give_back(job, delay=delay, reason=reason))

    def bury(self, job: Settleable, reason: str = "") -> None:
        """Sets the job aside until it is kicked or deleted."""
        self._do(lambda q: q.bury(job, reason))

    def touch(self, job: Settleable, ttr: Duration | None = None) -> None:
        """Restarts the lease with `ttr`, or with the job's own."""
        self._do(lambda q: q.touch(job, ttr))

    def finish_many(self, jobs: Sequence[Settleable]) -> Settled:
        """Finishes jobs in one request."""
        return self._do(lambda q: q.finish_many(jobs))

    def release_many(
        self, jobs: Sequence[Settleable], *, delay: Duration | None = None, reason: str = ""
    ) -> Settled:
        """Releases jobs in one request."""
        return self._do(lambda q: q.release_many(jobs, delay=delay, reason=reason))

    def give_back_many(
        self, jobs: Sequence[Settleable], *, delay: Duration | None = None, reason: str = ""
    ) -> Settled:
        """Gives jobs back in one request."""
        return self._do(lambda q: q.give_back_many(jobs, delay=delay, reason=reason))

    def bury_many(self, jobs: Sequence[Settleable], reason: str = "") -> Settled:
        """Buries jobs in one request."""
        return self._do(lambda q: q.bury_many(jobs, reason))

    def touch_many(self, jobs: Sequence[Settleable], ttr: Duration | None = None) -> Settled:
        """Touches jobs in one request."""
        return self._do(lambda q: q.touch_many(jobs, ttr))

    def get(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.JobReport:
        """Shows a job, by id or by topic and key."""
        return self._do(lambda q: q.get(job, topic=topic, key=key))

    def delete(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Removes a job, even from its consumer."""
        return self._do(lambda q: q.delete(job, topic=topic, key=key))

    def cancel(self, topic: str, key: str) -> bool:
        """Sees to it that there is no job with this key. Returns whether there was one."""
        return self._do(lambda q: q.cancel(topic, key))

    def reschedule(
        self,
        job: int | JobData | None = None,
        *,
        topic: str = "",
        key: str = "",
        delay: Duration | None = None,
        at: datetime | None = None,
        if_version: int = 0,
    ) -> rs.Changed:
        """Sets a new due time of a delayed or ready job; with `if_version`, only if it has not changed since."""
        return self._do(
            lambda q: q.reschedule(job, topic=topic, key=key, delay=delay, at=at, if_version=if_version)
        )

    def edit(
        self,
        job: int | JobData | None = None,
        *,
        topic: str = "",
        key: str = "",
        if_version: int = 0,
        **parts: Unpack[EditParts],
    ) -> rs.Changed:
        """Changes the given parts of a delayed, ready or buried job; `None` takes one away."""
        return self._do(lambda q: q.edit(job, topic=topic, key=key, if_version=if_version, **parts))

    def run_now(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Makes a delayed job ready."""
        return self._do(lambda q: q.run_now(job, topic=topic, key=key))

    def kick(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Makes a buried job ready."""
        return self._do(lambda q: q.kick(job, topic=topic, key=key))

    def why(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> Sequence[rs.Reason]:
        """Why a job is not running: at least one reason. See `adjourn.Queue.why`."""
        return self._do(lambda q: q.why(job, topic=topic, key=key))

    def peek(self, topic: str) -> rs.JobReport:
        """Shows the next job of a topic without reserving it."""
        return self._do(lambda q: q.peek(topic))

    def list_jobs(
        self, *, order: ListOrder = ListOrder.DUE, with_bodies: bool = False, **conditions: Unpack[Where]
    ) -> Iterator[rs.JobReport]:
        """The jobs that meet the conditions."""
        return self._each(lambda q: q.list_jobs(order=order, with_bodies=with_bodies, **conditions))

    def list_page(
        self,
        *,
        order: ListOrder = ListOrder.DUE,
        jobs_max: int = LIST_JOBS_MAX,
        with_bodies: bool = False,
        cursor: bytes = b"",
        **conditions: Unpack[Where],
    ) -> Page:
        """One page of a list."""
        return self._do(
            lambda q: q.list_page(
                order=order, jobs_max=jobs_max, with_bodies=with_bodies, cursor=cursor, **conditions
            )
        )

    def count(self, **conditions: Unpack[Where]) -> int:
        """How many jobs meet the conditions."""
        return self._do(lambda q: q.count(**conditions))

    def count_by_due(self, start: datetime, bar: Duration, bars: int, **conditions: Unpack[Where]) -> Sequence[rs.DueBar]:
        """How many jobs meet the conditions, by when they are due: see `Queue.count_by_due`."""
        return self._do(lambda q: q.count_by_due(start, bar, bars, **conditions))

    def bulk(
        self,
        change: BulkChange,
        *,
        delay: Duration | None = None,
        at: datetime | None = None,
        to: str = "",
        jobs_max: int = BULK_JOBS_MAX,
        cursor: bytes = b"",
        **conditions: Unpack[Where],
    ) -> Iterator[BulkStep]:
        """Changes all jobs that meet the conditions, step by step."""
        return self._each(
            lambda q: q.bulk(change, delay=delay, at=at, to=to, jobs_max=jobs_max, cursor=cursor, **conditions)
        )

    def kick_many(self, topic: str, jobs_max: int) -> int:
        """Makes buried jobs of a topic ready. Returns how many."""
        return self._do(lambda q: q.kick_many(topic, jobs_max))

    def topics(self) -> Sequence[rs.TopicReport]:
        """The topics and their counts."""
        return self._do(lambda q: q.topics())

    def stats(self) -> rs.QueueStats:
        """Counts of the whole queue."""
        return self._do(lambda q: q.stats())

    def pause(self, topic: str, *, duration: Duration | None = None) -> None:
        """Stops the delivery of a topic's jobs, with a `duration` for this time. See `adjourn.Queue.pause`."""
        self._do(lambda q: q.pause(topic, duration=duration))

    def resume(self, topic: str) -> None:
        """Restarts the delivery of a topic's jobs."""
        self._do(lambda q: q.resume(topic))

    def topic_set(self, topic: str, policy: TopicPolicy) -> None:
        """Changes settings of a topic."""
        self._do(lambda q: q.topic_set(topic, policy))

    def topic_show(self, topic: str) -> rs.TopicSettings:
        """The settings of a topic."""
        return self._do(lambda q: q.topic_show(topic))

    def topic_delete(self, topic: str) -> None:
        """Deletes a topic without jobs."""
        self._do(lambda q: q.topic_delete(topic))

    def topic_why(self, topic: str, group: str | None = None) -> Sequence[rs.Reason]:
        """Why a topic, or one group of it, gives no job."""
        return self._do(lambda q: q.topic_why(topic, group))

    def groups(self, topic: str, *, prefix: str = "") -> Iterator[rs.GroupState]:
        """The groups of a topic, by name. See `adjourn.Queue.groups`."""
        return self._each(lambda q: q.groups(topic, prefix=prefix))

    def group_set(self, topic: str, group: str, *, weight: int | None = None, paused: bool | None = None) -> None:
        """Changes the settings of one group. See `adjourn.Queue.group_set`."""
        self._do(lambda q: q.group_set(topic, group, weight=weight, paused=paused))

    def schedule_set(
        self,
        topic: str,
        name: str,
        rules: str | rq.ScheduleRules,
        job: Any = b"",
        *,
        if_version: int = 0,
        only_if_new: bool = False,
        **options: Unpack[ScheduleOptions],
    ) -> rs.Scheduled:
        """Creates a schedule, or gives the one of this name another content. See `adjourn.Queue.schedule_set`."""
        return self._do(
            lambda q: q.schedule_set(
                topic, name, rules, job, if_version=if_version, only_if_new=only_if_new, **options
            )
        )

    def schedule_show(self, topic: str, name: str) -> rs.Schedule:
        """A schedule as it stands: its state, rules, the template of its jobs, and what it did of late."""
        return self._do(lambda q: q.schedule_show(topic, name))

    def schedules(
        self, topic: str | None = None, *, prefix: str = "", paused: bool | None = None, next_before: datetime | None = None
    ) -> Iterator[rs.ListedSchedule]:
        """The schedules of a topic, or of all topics, that meet all conditions. See `adjourn.Queue.schedules`."""
        return self._each(lambda q: q.schedules(topic, prefix=prefix, paused=paused, next_before=next_before))

    def schedule_pause(self, topic: str, name: str, *, note: str = "") -> None:
        """Lets a schedule fire no more until it is resumed. The note says why, for people."""
        self._do(lambda q: q.schedule_pause(topic, name, note=note))

    def schedule_resume(self, topic: str, name: str) -> None:
        """Lets a paused schedule fire again."""
        self._do(lambda q: q.schedule_resume(topic, name))

    def schedule_run(self, topic: str, name: str) -> int:
        """Pushes a job of a schedule now. Returns the id of the job."""
        return self._do(lambda q: q.schedule_run(topic, name))

    def schedule_fill(self, topic: str, name: str, start: datetime, end: datetime, *, dry_run: bool = False) -> FilledPart:
        """Pushes jobs for the instants that a schedule had in one part of a time. See `adjourn.Queue.schedule_fill`."""
        return self._do(lambda q: q.schedule_fill(topic, name, start, end, dry_run=dry_run))

    def schedule_preview(
        self, rules: str | rq.ScheduleRules, *, after: datetime | None = None, instants_max: int = 5, **options: Unpack[ScheduleOptions]
    ) -> rs.Instants:
        """When a schedule with these rules would fire, without setting it. See `adjourn.Queue.schedule_preview`."""
        return self._do(lambda q: q.schedule_preview(rules, after=after, instants_max=instants_max, **options))

    def schedule_delete(self, topic: str, name: str) -> None:
        """Forgets a schedule. Its jobs stay."""
        self._do(lambda q: q.schedule_delete(topic, name))

    def ping(self) -> datetime | None:
        """The wall clock of the server."""
        return self._do(lambda q: q.ping())

    def advance(self, duration: Duration) -> datetime:
        """Moves the clock of a server for tests, one with `--memory --clock manual`. Returns its new time."""
        return self._do(lambda q: q.advance(duration))

    def advance_to_next(self) -> datetime:
        """Moves the clock of a server for tests to the time at which the next delayed job is due. Returns that time."""
        return self._do(lambda q: q.advance_to_next())

    def connections(self) -> Iterator[rs.ConnectionReport]:
        """The clients that are connected to the leader."""
        return self._each(lambda q: q.connections())

    def disconnect(self, connection: int, *, ends_session: bool = False) -> None:
        """Closes the connection of another client."""
        self._do(lambda q: q.disconnect(connection, ends_session=ends_session))

    def cluster_status(self) -> rs.ClusterReport:
        """The members of the cluster, as the leader sees them."""
        return self._do(lambda q: q.cluster_status())

    def cluster_add(self, peer_address: str) -> None:
        """Adds a node that was started to join this cluster."""
        self._do(lambda q: q.cluster_add(peer_address))

    def cluster_remove(self, node: int) -> None:
        """Removes a member."""
        self._do(lambda q: q.cluster_remove(node))

    def cluster_transfer(self, node: int | None = None) -> None:
        """Hands leadership to a member, or to the one that is furthest."""
        self._do(lambda q: q.cluster_transfer(node))

    def backup(self) -> Backup:
        """Takes a backup of the whole queue, which may take minutes."""
        portal = self._live()
        return Backup(portal, portal.run(portal.queue.backup()))

    def close(self, timeout: Duration = 5.0) -> None:
        """Ends the session with GOODBYE. In a forked child that has not used the queue, it does nothing."""
        with self._lock:
            portal, self._portal, self._is_closed = self._portal, None, True
        if portal is not None and portal.pid == os.getpid():
            try:
                portal.run(portal.queue.close(timeout))
            finally:
                portal.end()

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _live(self) -> _Portal:
        with self._lock:
            if self._is_closed:
                raise ClientClosedError
            if self._portal is None or self._portal.pid != os.getpid():
                self._portal = _Portal(self._connect)
            return self._portal

    def _do(self, call: Callable[[AsyncQueue], Coroutine[Any, Any, T]]) -> T:
        portal = self._live()

        async def work() -> T:
            return await call(portal.queue)

        return portal.run(work())

    def _each(self, call: Callable[[AsyncQueue], AsyncIterator[T]]) -> Iterator[T]:
        portal = self._live()
        found = call(portal.queue)
        while True:
            if portal.pid != os.getpid():
                raise ForkedError
            try:
                yield portal.run(_next(found))
            except StopAsyncIteration:
                return

    def _forked(self) -> None:
        self._lock = threading.Lock()


async def _next(found: AsyncIterator[T]) -> T:
    return await found.__anext__()


async def _closed(found: AsyncGenerator[Any, None]) -> None:
    await found.aclose()


async def _called(call: Callable[[], None]) -> None:
    call()


def connect(servers: str = "adjourn://127.0.0.1:7440", **options: Any) -> Queue:
    """Connects to a queue. The options are those of `adjourn.connect`."""
    return Queue(lambda: connecting.connect(servers, **options))


def work(servers: str, *topics: str, handler: Handler, client: dict[str, Any] | None = None, **options: Any) -> None:
    """Runs a worker until SIGTERM or SIGINT. `client` has options of `adjourn.connect`, the others are those of `Worker`.

    The handler is a plain function, called in a thread for each job, or in processes with `runs_in=RunsIn.PROCESS`.
    """

    async def run() -> None:
        async with connecting.connect(servers, **(client or {})) as queue:
            await Worker(queue, *topics, handler=handler, **options).run(handle_signals=True)

    asyncio.run(run())


def _in_child() -> None:
    for queue in list(_queues):
        queue._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
