"""The client: a call for every request of the protocol."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar, Unpack

from . import times
from .arguments import check_policy, checked_delay_ms, checked_reason, checked_topics, job_ref, pause_ms
from .backup import Backup
from .body import DEFAULT_CODEC, Codec
from .conditions import Where, where
from .edit import EditParts, edit_request
from .errors import (
    AdjournError,
    ClientClosedError,
    ForkedError,
    NotFoundError,
    ProtocolError,
    StaleLeaseError,
    UsageError,
    item_refused,
)
from .groups import checked_group, group_set
from .jobs import HeadersHook, HeldJob, JobData, NewJob, PushOptions, PushResult
from .pages import BulkStep, FilledPart, Page
from .producer import Producer, check_body_bytes
from .protocol import requests as rq
from .protocol import responses as rs
from .protocol.elements import TopicPolicy
from .protocol.numbers import (
    BULK_JOBS_MAX,
    CONNECTIONS_LISTED_MAX,
    DUE_BARS_MAX,
    GROUPS_LISTED_MAX,
    LIST_JOBS_MAX,
    RELEASE_BY_BACKOFF,
    RELEASE_NOT_STARTED,
    RELEASE_PARKED,
    BulkChange,
    DueKind,
    ErrorCode,
    ListOrder,
    Step,
)
from .schedules import ScheduleOptions, filled_part, schedule_fill, schedule_list, schedule_preview, schedule_set
from .session.calls import Arrived, Cancellation
from .session.hold import Arrival
from .session.leases import LostReason
from .session.session import Session
from .subscription import Subscription
from .times import Duration
from .tracing import GuardedTracing, Tracing

R = TypeVar("R", bound=rs.Response)
_GOODBYE_MAX = 5.0


class Job(HeldJob):
    """A job under a lease of this client."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue, arrival: Arrival) -> None:
        super().__init__(arrival.job, arrival.hold, queue.codec)
        self._queue = queue

    async def finish(self) -> None:
        """The work is done."""
        await self._queue.finish(self)

    async def release(self, *, delay: Duration | None = None, reason: str = "") -> None:
        """The attempt failed. The job waits for its backoff, or for `delay`."""
        await self._queue.release(self, delay=delay, reason=reason)

    async def give_back(self, *, delay: Duration | None = None, reason: str = "") -> None:
        """The work was not started: no attempt is counted. With `delay` it is not to be started before that."""
        await self._queue.give_back(self, delay=delay, reason=reason)

    async def touch(self, ttr: Duration | None = None) -> None:
        """Restarts the lease with `ttr`, or with the job's own."""
        await self._queue.touch(self, ttr)

    async def bury(self, reason: str = "") -> None:
        """Sets the job aside until it is kicked or deleted."""
        await self._queue.bury(self, reason)

    def __reduce__(self) -> Any:
        raise TypeError("a job under a lease belongs to its process: send its fields instead")


class Queue:
    """A client of a queue. Made by `adjourn.connect`; safe to use from any task of its event loop."""

    def __init__(
        self,
        session: Session,
        *,
        codec: Codec = DEFAULT_CODEC,
        headers: HeadersHook | None = None,
        tracing: Tracing | None = None,
        has_session: bool = True,
    ) -> None:
        self.codec = codec
        self.tracing = GuardedTracing(tracing)
        self._session = session
        self._producer = Producer(self._ask, session, codec, headers, self.tracing)
        self._has_session = has_session
        self._pid = os.getpid()
        self._is_closing = False
        self._leaves_leases = False
        self._stops: list[Stop] = []
        self._backups = 0

    @property
    def session(self) -> Session:
        """What carries the requests out."""
        return self._session

    @property
    def is_connected(self) -> bool:
        """Whether the server answers now. Calls wait while it does not."""
        return self._session.is_connected

    # ---- producing

    async def push(
        self, topic: str, body: Any = b"", *, idempotency_key: int = 0, **options: Unpack[PushOptions]
    ) -> PushResult:
        """Pushes one job. Returns when it is durable. The options are described at `PushOptions`.

        `idempotency_key` is a number of 128 bits that you draw or hash: a second push under it, by any client with the same token,
        gets the result of the first and adds no job.
        """
        return await self._producer.push(topic, NewJob(body, **options), idempotency_key)

    async def push_many(
        self, topic: str, jobs: Iterable[NewJob | Any], *, idempotency_key: int = 0
    ) -> list[PushResult]:
        """Pushes jobs, in as few requests as the limits of the server allow.

        Raises `BatchError`, which has a result for each job, if one of them is not in the queue. `idempotency_key` is that of the
        first job, as of `push`; each of the others, 8,192 with it at most, takes the next number. A repeat has the same jobs.
        If a request with a part of such a list fails, the rest of the list is not sent, and its results have the same error.
        """
        if isinstance(jobs, (str, bytes, bytearray, memoryview, Mapping, NewJob)):
            raise UsageError("push_many takes a list of jobs: write push_many(topic, [job])")
        new = [job if isinstance(job, NewJob) else NewJob(job) for job in jobs]
        return await self._producer.push_many(topic, new, idempotency_key)

    # ---- consuming

    async def reserve(
        self,
        *topics: str,
        jobs_max: int = 1,
        wait: Duration = 0,
        weights: Sequence[int] = (),
    ) -> list[Job]:
        """Leases jobs that are due; waits up to `wait` for the first. At most an hour."""
        self._check_session()
        request = rq.Reserve(times.to_ms(wait, "wait"), jobs_max, checked_topics("reserve", topics), tuple(weights))
        return self._jobs(await self._ask(request, Arrived))

    def subscribe(
        self,
        *topics: str,
        credit: int = 1,
        credit_bytes: int = 64 << 20,
        weights: Sequence[int] = (),
    ) -> Subscription[Job]:
        """Jobs as they become due: `async for job in q.subscribe("emails")`. `credit` is how many to hold at once."""
        self._check_open()
        self._check_session()
        if not isinstance(credit, int) or credit < 1:
            raise UsageError(f"credit is how many jobs to hold at once, 1 at least, not {credit!r}")
        request = rq.Subscribe(credit, credit_bytes, checked_topics("subscribe", topics), tuple(weights))
        return Subscription(self._session, request, lambda arrival: Job(self, arrival), self._check_open)

    async def leases(self) -> AsyncIterator[Job]:
        """The jobs that this session holds, whichever call leased them."""
        self._check_session()
        after, has_more = 0, True
        while has_more:
            page = await self._ask(rq.Leases(after, max(1, self._session.limits.reserve_jobs_max)), Arrived)
            has_more = page.has_more
            for job in self._jobs(page):
                after = job.id
                yield job

    async def finish(self, job: Settleable) -> None:
        """The work is done: the job is removed."""
        _raise_first(await self.finish_many([job]))

    async def release(self, job: Settleable, *, delay: Duration | None = None, reason: str = "") -> None:
        """The attempt failed: the job waits for its backoff, or for `delay`."""
        _raise_first(await self.release_many([job], delay=delay, reason=reason))

    async def give_back(self, job: Settleable, *, delay: Duration | None = None, reason: str = "") -> None:
        """The work was not started, so no attempt is counted: the job is ready at once, or it is delayed by `delay`."""
        _raise_first(await self.give_back_many([job], delay=delay, reason=reason))

    async def bury(self, job: Settleable, reason: str = "") -> None:
        """Sets the job aside until it is kicked or deleted."""
        _raise_first(await self.bury_many([job], reason))

    async def touch(self, job: Settleable, ttr: Duration | None = None) -> None:
        """Restarts the lease with `ttr`, or with the job's own."""
        _raise_first(await self.touch_many([job], ttr))

    async def finish_many(self, jobs: Sequence[Settleable]) -> Settled:
        """Finishes jobs in one request. Returns an error for each job that could not be finished, else `None`."""
        return await self._settle(jobs, rq.Finish, needs_lease=True)

    async def release_many(
        self, jobs: Sequence[Settleable], *, delay: Duration | None = None, reason: str = ""
    ) -> Settled:
        """Releases jobs in one request."""
        delay_ms = RELEASE_BY_BACKOFF if delay is None else checked_delay_ms(delay)
        text = checked_reason(reason)
        return await self._settle(jobs, lambda leases: rq.Release(delay_ms, leases, text))

    async def give_back_many(
        self, jobs: Sequence[Settleable], *, delay: Duration | None = None, reason: str = ""
    ) -> Settled:
        """Gives jobs back in one request."""
        delay_ms = RELEASE_NOT_STARTED if delay is None else RELEASE_PARKED + checked_delay_ms(delay)
        text = checked_reason(reason)
        return await self._settle(jobs, lambda leases: rq.Release(delay_ms, leases, text))

    async def bury_many(self, jobs: Sequence[Settleable], reason: str = "") -> Settled:
        """Buries jobs in one request."""
        text = checked_reason(reason)
        return await self._settle(jobs, lambda leases: rq.Bury(leases, text), needs_lease=True)

    async def touch_many(self, jobs: Sequence[Settleable], ttr: Duration | None = None) -> Settled:
        """Touches jobs in one request."""
        sent = self._session.now()
        ttr_ms = 0 if ttr is None else times.to_ms(ttr, "ttr")
        results = await self._settle(jobs, lambda leases: rq.Touch(ttr_ms, leases), needs_lease=True, ends=False)
        for job, error in zip(jobs, results, strict=True):
            if error is None and isinstance(job, HeldJob):
                job.hold.touched(sent, None if ttr is None else ttr_ms / 1000)
        return results

    # ---- one job

    async def get(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.JobReport:
        """Shows a job, by id or by topic and key. A finished job is shown for a short time: look at its state."""
        return (await self._ask(rq.Get(job_ref(job, topic, key)), rs.Job)).job

    async def delete(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Removes a job, even from its consumer. The answer has the state that it had.

        A deletion by key whose answer is lost raises `OutcomeUnknownError`; `cancel` does not.
        """
        return await self._ask(rq.Delete(job_ref(job, topic, key)), rs.Changed)

    async def cancel(self, topic: str, key: str) -> bool:
        """Sees to it that there is no job with this key. Returns whether there was one.

        It is sent again when its answer is lost. So `False` may also mean that its first copy removed the job, and a job that
        somebody pushed under the same key meanwhile is removed, too.
        """
        try:
            await self._ask(Cancellation(job_ref(None, topic, key)), rs.Changed)
        except NotFoundError:
            return False
        return True

    async def reschedule(
        self,
        job: int | JobData | None = None,
        *,
        topic: str = "",
        key: str = "",
        delay: Duration | None = None,
        at: datetime | None = None,
        if_version: int = 0,
    ) -> rs.Changed:
        """Sets a new due time of a delayed or ready job. With `if_version`, a number that a `JobReport` or `Changed` shows: only if
        the job has not changed since, else `ChangedError`."""
        if delay is None and at is None:
            raise UsageError("reschedule to when? Name delay or at; run_now makes a job ready")
        request = rq.Reschedule(*times.to_due(delay, at), job_ref(job, topic, key), if_version)
        return await self._ask(request, rs.Changed)

    async def edit(
        self,
        job: int | JobData | None = None,
        *,
        topic: str = "",
        key: str = "",
        if_version: int = 0,
        **parts: Unpack[EditParts],
    ) -> rs.Changed:
        """Changes parts of a delayed, ready or buried job: `q.edit(17, priority=5, expires_after=None)`. The parts are described
        at `EditParts`; a buried job cannot get a due time. `if_version` is as in `reschedule`."""
        request = edit_request(job_ref(job, topic, key), parts, if_version, self.codec)
        check_body_bytes(request.body, self._session.limits.body_bytes_max)
        return await self._ask(request, rs.Changed)

    async def run_now(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Makes a delayed job ready."""
        return await self._ask(rq.RunNow(job_ref(job, topic, key)), rs.Changed)

    async def kick(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> rs.Changed:
        """Makes a buried job ready; its attempts start at 0 again."""
        return await self._ask(rq.Kick(job_ref(job, topic, key)), rs.Changed)

    async def why(self, job: int | JobData | None = None, *, topic: str = "", key: str = "") -> Sequence[rs.Reason]:
        """Why a job is not running. There is at least one reason; the most important one comes first. A `why` that only a newer
        server knows is a number. `until_ms` is when a reason ends, in milliseconds on the wall clock; 0: that is not known."""
        return (await self._ask(rq.Why(job_ref(job, topic, key)), rs.Reasons)).reasons

    async def peek(self, topic: str) -> rs.JobReport:
        """Shows the next job of a topic without reserving it."""
        return (await self._ask(rq.Peek(topic), rs.Job)).job

    # ---- many jobs

    async def list_jobs(
        self, *, order: ListOrder = ListOrder.DUE, with_bodies: bool = False, **conditions: Unpack[Where]
    ) -> AsyncIterator[rs.JobReport]:
        """The jobs that meet the conditions: `async for job in q.list_jobs(topic="emails", states=States.BURIED)`."""
        cursor = b""
        while True:
            page = await self.list_page(order=order, with_bodies=with_bodies, cursor=cursor, **conditions)
            for job in page.jobs:
                yield job
            cursor = page.cursor
            if not cursor:
                return

    async def list_page(
        self,
        *,
        order: ListOrder = ListOrder.DUE,
        jobs_max: int = LIST_JOBS_MAX,
        with_bodies: bool = False,
        cursor: bytes = b"",
        **conditions: Unpack[Where],
    ) -> Page:
        """One page of a list."""
        request = rq.List(jobs_max, order, with_bodies, cursor, where(conditions))
        answer = await self._ask(request, rs.Jobs)
        return Page(answer.jobs, answer.cursor)

    async def count(self, **conditions: Unpack[Where]) -> int:
        """How many jobs meet the conditions."""
        return (await self._ask(rq.Count(where(conditions)), rs.Counted)).jobs

    async def count_by_due(
        self, start: datetime, bar: Duration, bars: int, **conditions: Unpack[Where]
    ) -> Sequence[rs.DueBar]:
        """How many jobs meet the conditions, by when they are due: before `start`, in each of the bars of this length from
        `start` on, and after them. There are 1 to `DUE_BARS_MAX` bars."""
        if not 1 <= bars <= DUE_BARS_MAX:
            raise UsageError(f"bars is 1 to {DUE_BARS_MAX}, not {bars!r}")
        bar_ms = times.to_ms(bar, "bar")
        if bar_ms < 1:
            raise UsageError("bar is at least a millisecond")
        request = rq.Count(where(conditions), bars, times.to_epoch_ms(start, "start"), bar_ms)
        return (await self._ask(request, rs.Counted)).by_due

    async def bulk(
        self,
        change: BulkChange,
        *,
        delay: Duration | None = None,
        at: datetime | None = None,
        to: str = "",
        jobs_max: int = BULK_JOBS_MAX,
        cursor: bytes = b"",
        **conditions: Unpack[Where],
    ) -> AsyncIterator[BulkStep]:
        """Changes all jobs that meet the conditions, step by step.

        `RESCHEDULE` needs `delay` or `at`: all jobs get the same due time, a `delay` counts from now on the server's clock.
        `MOVE` needs `to`. After `OutcomeUnknownError` start again with the last cursor.
        """
        if (change is BulkChange.RESCHEDULE) != (delay is not None or at is not None):
            raise UsageError("a bulk change names a due time if it reschedules jobs, and only then")
        if (change is BulkChange.MOVE) != bool(to):
            raise UsageError("a bulk change names another topic if it moves jobs, and only then")
        chosen = where(conditions)
        due_ms = await self._due_ms(*times.to_due(delay, at)) if change is BulkChange.RESCHEDULE else 0
        while True:
            answer = await self._ask(rq.Bulk(jobs_max, change, due_ms, cursor, chosen, to), rs.Bulked)
            cursor = answer.cursor
            yield BulkStep(answer.jobs, answer.skipped, cursor)
            if not cursor:
                return

    async def kick_many(self, topic: str, jobs_max: int) -> int:
        """Makes buried jobs of a topic ready. Returns how many."""
        return (await self._ask(rq.KickMany(jobs_max, topic), rs.Kicked)).jobs

    # ---- topics

    async def topics(self) -> Sequence[rs.TopicReport]:
        """The topics and their counts."""
        return (await self._ask(rq.Topics(), rs.TopicCounts)).topics

    async def stats(self) -> rs.QueueStats:
        """Counts of the whole queue."""
        return await self._ask(rq.Stats(), rs.QueueStats)

    async def pause(self, topic: str, *, duration: Duration | None = None) -> None:
        """Stops the delivery of a topic's jobs until `resume`. With a `duration`, the pause ends by itself after this time, of which
        at most ten years count. Of a paused topic only the end of the pause changes.
        """
        await self._ask(rq.Pause(topic, pause_ms(duration)), rs.Done)

    async def resume(self, topic: str) -> None:
        """Restarts the delivery of a topic's jobs."""
        await self._ask(rq.Resume(topic), rs.Done)

    async def topic_set(self, topic: str, policy: TopicPolicy) -> None:
        """Changes settings of a topic. `UNSET` takes a setting away."""
        check_policy(policy)
        await self._ask(rq.TopicSet(topic, policy), rs.Done)

    async def topic_show(self, topic: str) -> rs.TopicSettings:
        """The settings of a topic."""
        return await self._ask(rq.TopicShow(topic), rs.TopicSettings)

    async def topic_delete(self, topic: str) -> None:
        """Deletes a topic without jobs, with its settings."""
        await self._ask(rq.TopicDelete(topic), rs.Done)

    async def topic_why(self, topic: str, group: str | None = None) -> Sequence[rs.Reason]:
        """Why a topic, or one group of it, gives no job. The reasons are as those of `why`."""
        name = "" if group is None else checked_group(group)
        return (await self._ask(rq.TopicWhy(topic, name), rs.Reasons)).reasons

    # ---- groups

    async def groups(self, topic: str, *, prefix: str = "") -> AsyncIterator[rs.GroupState]:
        """The groups of a topic that have a ready or reserved job, or settings of their own, by name: how many jobs each has, its weight, and
        what holds it back. With `prefix`: only those whose names begin like this.

        Groups mean something in a topic with one of the settings `fair`, `group_leases_max`, `group_per_second_max`, `group_burst`,
        `group_order`, `group_on_bury`: then they take turns. The group with the fewest leases for its weight gives the next job, and equal
        groups go round. The limits hold for each group. Jobs without a group take turns as one more group, which has no limits.
        """
        after = ""
        while True:
            answer = await self._ask(rq.GroupList(GROUPS_LISTED_MAX, topic, after, prefix), rs.Groups)
            for one in answer.groups:
                yield one
            after = answer.after
            if not after:
                return

    async def group_set(self, topic: str, group: str, *, weight: int | None = None, paused: bool | None = None) -> None:
        """Changes the settings of one group: `q.group_set("imports", "ann", weight=5)`. `None` leaves a setting as it is.

        `weight`, 1 to 1,000, is how many jobs it gives at its turn; 1 at first. A group that is `paused` gives none. With the weight 1 and
        not paused, a group has no settings; at most 65,536 groups of a topic have some. Raises `WrongStateError` if groups mean nothing in
        the topic.
        """
        await self._ask(group_set(topic, group, weight, paused), rs.Done)

    # ---- schedules

    async def schedule_set(
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
        """Creates a schedule, or gives the one of this name another content: `q.schedule_set("reports", "morning", "0 9 * * 1-5", body,
        zone="Europe/Berlin")`. Everything is replaced but its history.

        `rules` is the text that says when it fires: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times. The other
        rules are described at `ScheduleOptions`. To change some rules and keep the others, give those that `schedule_show` shows.
        `job` is the body of its jobs, a `NewJob` without a time or a key, or the template that `schedule_show` shows. The headers of
        `connect` and those of a trace are not added.

        With `if_version`, a number that a report shows: only if it was not set since; with `only_if_new`: only if there is none; else
        `ChangedError`. Rules that cannot be read, or never fire, raise `InvalidError`.
        """
        request = schedule_set(topic, name, rules, job, options, if_version, only_if_new, self.codec)
        check_body_bytes(request.template.body, self._session.limits.body_bytes_max)
        return await self._ask(request, rs.Scheduled)

    async def schedule_show(self, topic: str, name: str) -> rs.Schedule:
        """A schedule as it stands: its state, rules, the template of its jobs, and what it did of late. `NotFoundError` if there is none."""
        return await self._ask(rq.ScheduleShow(topic, name), rs.Schedule)

    async def schedules(
        self, topic: str | None = None, *, prefix: str = "", paused: bool | None = None, next_before: datetime | None = None
    ) -> AsyncIterator[rs.ListedSchedule]:
        """The schedules of a topic, or without one of all topics that the token may read, that meet all conditions. Those of a topic come
        in the order in which they were made.

        With `prefix`: only those whose names begin like this. With `paused`: only those that are paused, or those that are not. With
        `next_before`: only those with a next instant before this time, which needs a time zone.

        To change many at once, list those that meet the conditions, and pause, resume or delete each of them.
        """
        request = schedule_list(topic, prefix, paused, next_before)
        while True:
            answer = await self._ask(request, rs.Schedules)
            for one in answer.schedules:
                yield one
            if not answer.cursor:
                return
            request = replace(request, cursor=answer.cursor)

    async def schedule_pause(self, topic: str, name: str, *, note: str = "") -> None:
        """Lets a schedule fire no more until it is resumed. The note says why, for people."""
        await self._ask(rq.SchedulePause(topic, name, note), rs.Done)

    async def schedule_resume(self, topic: str, name: str) -> None:
        """Lets a paused schedule fire again. Its rule for missed instants says what happens to those that passed."""
        await self._ask(rq.ScheduleResume(topic, name), rs.Done)

    async def schedule_run(self, topic: str, name: str) -> int:
        """Pushes a job of a schedule now, whether an earlier one has ended or not. Returns the id of the job. The next instant stays.

        Raises `KeyExistsError` if the topic has a job with the key that it would have.
        """
        return (await self._ask(rq.ScheduleRun(topic, name), rs.ScheduleRan)).job

    async def schedule_fill(
        self, topic: str, name: str, start: datetime, end: datetime, *, dry_run: bool = False
    ) -> FilledPart:
        """Pushes jobs for the instants that a schedule had from `start` to `end`: those of one part of this time. Go on with the next part:

            start: datetime | None = monday
            while start is not None:
                part = await q.schedule_fill("reports", "morning", start, friday)
                start = part.next

        The jobs are due at once. An instant gets none if the topic has a job with its key; a finished job is pushed again. The history of
        the schedule does not show these jobs. `dry_run` only counts the instants. If `end` is ahead, or the rules give all jobs one key,
        it is an `InvalidError`.
        """
        request = schedule_fill(topic, name, start, end, dry_run)
        return filled_part(await self._ask(request, rs.ScheduleFilled))

    async def schedule_preview(
        self, rules: str | rq.ScheduleRules, *, after: datetime | None = None, instants_max: int = 5, **options: Unpack[ScheduleOptions]
    ) -> rs.Instants:
        """When a schedule with these rules would fire: the next instants after now, or after `after`, at most so many. No schedule is set.

        `rules` and the options are those of `schedule_set`. Each instant has `local`, what the clocks of its zone show, such as
        `2027-03-28 03:00:00 +02:00 CEST`; `zone_data` says which zone data the server used. Without an origin and a start, `@every`
        counts from `after`, or from now.
        """
        return await self._ask(schedule_preview(rules, after, instants_max, options), rs.Instants)

    async def schedule_delete(self, topic: str, name: str) -> None:
        """Forgets a schedule. Its jobs stay."""
        await self._ask(rq.ScheduleDelete(topic, name), rs.Done)

    # ---- operating

    async def ping(self) -> datetime | None:
        """The wall clock of the server. The answer proves that this client is connected to the leader."""
        return times.moment((await self._ask(rq.Ping(), rs.Pong)).now_ms)

    async def advance(self, duration: Duration) -> datetime:
        """Moves the clock of a server for tests by `duration`, and returns its new time. What is due by then has happened when this
        returns: jobs are ready, leases have ended. It is never sent again by itself.

        Only a server that was started with `--memory --clock manual` does it, others raise `UnsupportedError`.
        """
        by_ms = times.to_ms(duration, "duration")
        return times.point((await self._ask(rq.Advance(Step.BY, by_ms), rs.Pong)).now_ms)

    async def advance_to_next(self) -> datetime:
        """Moves the clock of a server for tests to the time at which the next delayed job is due, of all topics; see `advance`.
        Raises `NotFoundError` if no job is delayed."""
        return times.point((await self._ask(rq.Advance(Step.TO_NEXT, 0), rs.Pong)).now_ms)

    async def connections(self) -> AsyncIterator[rs.ConnectionReport]:
        """The clients that are connected to the leader."""
        after, has_more = 0, True
        while has_more:
            page = await self._ask(rq.Connections(after, CONNECTIONS_LISTED_MAX), rs.ConnectionList)
            has_more = page.has_more
            for one in page.connections:
                after = one.connection
                yield one

    async def disconnect(self, connection: int, *, ends_session: bool = False) -> None:
        """Closes the connection of another client."""
        await self._ask(rq.Disconnect(connection, ends_session), rs.Done)

    async def cluster_status(self) -> rs.ClusterReport:
        """The members of the cluster, as the leader sees them."""
        return await self._ask(rq.ClusterStatus(), rs.ClusterReport)

    async def cluster_add(self, peer_address: str) -> None:
        """Adds a node that was started to join this cluster."""
        await self._ask(rq.ClusterAdd(peer_address), rs.Done)

    async def cluster_remove(self, node: int) -> None:
        """Removes a member. Its number cannot be used again."""
        await self._ask(rq.ClusterRemove(node), rs.Done)

    async def cluster_transfer(self, node: int | None = None) -> None:
        """Hands leadership to a member, or to the one that is furthest."""
        await self._ask(rq.ClusterTransfer(node or 0), rs.Done)

    async def backup(self) -> Backup:
        """Takes a backup of the whole queue, with everything that was answered before. The server writes a checkpoint first, which may
        take minutes."""
        self._backups += 1
        number = self._backups
        ready = await self._ask(rq.BackupBegin(), rs.BackupReady)
        return Backup(self._ask, ready, lambda: number == self._backups)

    # ---- the end

    def before_close(self, stop: Stop) -> None:
        """`close` awaits this before it ends the session. Raises if `close` was called: then it would not."""
        self._check_open()
        self._stops.append(stop)

    def forget_stop(self, stop: Stop) -> None:
        """There is nothing to stop any more."""
        if stop in self._stops:
            self._stops.remove(stop)

    def leave_leases(self) -> None:
        """`close` will not say GOODBYE: leases whose handlers still run stay until the session's grace ends."""
        self._leaves_leases = True

    async def close(self, timeout: Duration = _GOODBYE_MAX) -> None:
        """Stops the workers, each within its `stop_timeout`; then ends the session within `timeout`. May be called twice.

        The leases that are left are given back, but for those of handlers that did not stop: they end with the session's grace.
        From the call on, no worker or subscription starts any more: that raises `ClientClosedError`.
        """
        if os.getpid() != self._pid:
            return
        seconds = times.to_seconds(timeout, "timeout")
        # First: no worker is added from here on, so all of them are stopped.
        self._is_closing = True
        await asyncio.gather(*(stop() for stop in self._stops))
        await self._session.close(says_goodbye=not self._leaves_leases, timeout=seconds)

    async def __aenter__(self) -> Queue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # ---- below

    def _check_open(self) -> None:
        """Raises if `close` was called. Jobs that are taken later would be lost at its end, while their handlers run."""
        if self._is_closing:
            raise ClientClosedError

    def _check_session(self) -> None:
        """Raises if there is no session, to which leases would belong."""
        if not self._has_session:
            raise UsageError("this client has no session: leave out without_session to reserve jobs")

    async def _ask(self, request: rq.Request, expected: type[R]) -> R:
        if os.getpid() != self._pid:
            raise ForkedError
        answer = await self._session.call(request)
        if not isinstance(answer, expected):
            raise ProtocolError(f"{request.NAME} was answered with {type(answer).__name__}")
        return answer

    def _give_back_guessed(self, jobs: Sequence[Settleable], results: Settled) -> None:
        held = [job for job, error in zip(jobs, results, strict=True) if error is not None and isinstance(job, HeldJob)]
        ended = [job for job in held if not job.settled and job.lost is not None and job.lost.is_a_guess]
        if ended:
            self._session.give_back([job.hold.ref for job in ended], 0)

    async def _due_ms(self, ms: int, kind: DueKind) -> int:
        """A due point on the wall clock of the server."""
        return ms if kind is DueKind.AT else (await self._ask(rq.Ping(), rs.Pong)).now_ms + ms

    def _jobs(self, came: Arrived) -> list[Job]:
        return [Job(self, arrival) for arrival in came.arrivals]

    async def _settle(
        self,
        jobs: Sequence[Settleable],
        make: Callable[[tuple[rq.LeaseRef, ...]], rq.Request],
        *,
        needs_lease: bool = False,
        ends: bool = True,
    ) -> Settled:
        """`needs_lease`: a job whose lease this client holds for lost is not settled with the result of the work.

        `ends`: the work has ended. If the server still holds that lease, the job is given back.
        """
        results: list[AdjournError | None] = [_lost(job) if needs_lease else None for job in jobs]
        places = [place for place, error in enumerate(results) if error is None]
        if needs_lease and ends:
            self._give_back_guessed(jobs, results)
        most = max(1, self._session.limits.leases_max)
        for start in range(0, len(places), most):
            part = places[start : start + most]
            answer = await self._ask(make(tuple(_lease(jobs[place]) for place in part)), rs.Settled)
            for place, code in zip(part, answer.results, strict=True):
                job = jobs[place]
                if code:
                    results[place] = item_refused(code, _lease(job).job)
                if isinstance(job, HeldJob):
                    if code == ErrorCode.STALE_LEASE:
                        job.hold.lose(LostReason.STALE)
                    job.settled = job.settled or (ends and not code)
        return results


Settleable = HeldJob | rq.LeaseRef
"""What can be settled: a job, or a lease that another process holds."""
Settled = list[AdjournError | None]


Stop = Callable[[], Awaitable[None]]
"""Stops what works with a queue."""


def _lease(job: Settleable) -> rq.LeaseRef:
    if not isinstance(job, (HeldJob, rq.LeaseRef)):
        raise UsageError(f"{job!r} is neither a job under a lease nor a LeaseRef")
    return job.hold.ref if isinstance(job, HeldJob) else job


def _lost(job: Settleable) -> AdjournError | None:
    reason = job.lost if isinstance(job, HeldJob) else None
    if reason is None:
        return None
    return StaleLeaseError(ErrorCode.STALE_LEASE, f"the lease of job {_lease(job).job} is lost: {reason.value}")


def _raise_first(results: Settled) -> None:
    if results[0] is not None:
        raise results[0]
