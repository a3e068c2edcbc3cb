"""The rules of the queue, in memory: what becomes of a job at each request and as time passes.

It follows protocol.md for jobs, keys, leases, backoffs, expiries and the policies of topics. It has no jitter, no rates, no
lateness, and takes weighted topics in the usual order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..errors import item_refused
from ..protocol.attributes import Attributes
from ..protocol.numbers import (
    PRIORITY_UNSAID,
    RELEASE_BACKOFF,
    RELEASE_NOT_STARTED,
    BuriedReason,
    ErrorCode,
    IfExists,
    JobState,
    PushOutcome,
    States,
)
from ..protocol.requests import Due, JobRef, LeaseRef, PushJob
from ..protocol.responses import Changed, Delivered, JobReport, PushedJob, Totals
from ..protocol.selection import UNSET, Filter, TopicPolicy

_PRIORITY_DEFAULT = 1_024
_TTR_MS_DEFAULT = 60_000
_FINISHED_MS = 60_000
_DEFAULT_STATES = States.DELAYED | States.READY | States.RESERVED | States.BURIED


@dataclass(slots=True)
class Held:
    """A job in memory."""

    id: int
    topic: str
    key: str | None
    body: bytes
    attributes: Attributes
    priority: int
    ttr_ms: int
    due_ms: int
    pushed_ms: int
    expires_ms: int | None = None
    state: JobState = JobState.DELAYED
    order_ms: int = 0
    attempts: int = 0
    buried: BuriedReason = BuriedReason.NOT_BURIED
    fence: int = 0
    session: int = 0
    deadline_ms: int = 0
    reason: str = ""
    reserved_first_ms: int = 0
    reserved_last_ms: int = 0
    finished_ms: int = 0
    forget_ms: int = 0
    is_remembered: bool = False

    def report(self, now_ms: int, *, with_body: bool = True) -> JobReport:
        """The job as GET shows it."""
        if self.state is JobState.FINISHED and not self.is_remembered:
            return JobReport(
                self.id, self.state, self.topic, attempts=self.attempts, finished_ms=self.finished_ms
            )
        return JobReport(
            self.id,
            self.state,
            self.topic,
            self.key,
            self.priority,
            self.attempts,
            self.due_ms,
            self.ttr_ms,
            max(0, self.deadline_ms - now_ms) if self.state is JobState.RESERVED else 0,
            self.buried,
            self.attributes,
            self.body if with_body else b"",
            len(self.body),
            self.pushed_ms,
            self.reserved_first_ms,
            self.reserved_last_ms,
            self.session,
            self.reason,
            self.finished_ms,
        )

    def delivered(self, now_ms: int) -> Delivered:
        """The job as RESERVED has it."""
        return Delivered(
            LeaseRef(self.id, self.fence),
            self.topic,
            self.key,
            self.priority,
            self.attempts,
            self.due_ms,
            max(0, self.deadline_ms - now_ms),
            self.attributes,
            self.body,
        )


@dataclass(slots=True)
class Topic:
    """A topic in memory."""

    policy: TopicPolicy = field(default_factory=TopicPolicy)
    paused: bool = False
    pushed: int = 0
    finished: int = 0
    deleted: int = 0
    expired: int = 0


class Engine:
    """All jobs, and the clock."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.jobs: dict[int, Held] = {}
        self.topics: dict[str, Topic] = {}
        self._last_id = 0
        self._last_fence = 0

    # ---- time

    def next_event_ms(self) -> int | None:
        """When something happens by itself."""
        times: list[int] = []
        for job in self.jobs.values():
            if job.state is JobState.DELAYED:
                times.append(job.due_ms)
            elif job.state is JobState.RESERVED:
                times.append(job.deadline_ms)
            elif job.state is JobState.FINISHED:
                times.append(job.forget_ms)
            if job.expires_ms is not None and job.state not in (JobState.RESERVED, JobState.FINISHED):
                times.append(job.expires_ms)
        return min(times, default=None)

    def refresh(self) -> None:
        """Lets happen what is due."""
        for job in list(self.jobs.values()):
            if job.state is JobState.RESERVED and job.deadline_ms <= self.now_ms:
                self._fail(job, RELEASE_BACKOFF)
            if job.state is JobState.FINISHED:
                if job.forget_ms <= self.now_ms:
                    del self.jobs[job.id]
            elif job.state is not JobState.RESERVED and job.expires_ms is not None and job.expires_ms <= self.now_ms:
                self.topics[job.topic].expired += 1
                del self.jobs[job.id]
            elif job.state is JobState.DELAYED and job.due_ms <= self.now_ms:
                job.state, job.order_ms = JobState.READY, job.due_ms

    # ---- producing

    def push(self, topic: str, new: PushJob) -> PushedJob:
        """Adds one job."""
        found = self.topics.setdefault(topic, Topic())
        old = self.by_key(topic, new.key) if new.key else None
        if old is not None:
            refused = self._meets(old, new)
            if refused is not None:
                return refused
        elif self._is_full(topic, found):
            return PushedJob(PushOutcome.REFUSED, 0, ErrorCode.QUOTA)
        job = self._made(topic, found.policy, new)
        if job.expires_ms is not None and job.expires_ms <= job.due_ms:
            return PushedJob(PushOutcome.REFUSED, 0, ErrorCode.EXPIRES_BEFORE_DUE)
        if old is not None and new.if_exists == IfExists.POSTPONE and old.state in (JobState.DELAYED, JobState.READY):
            return self._postponed(old, job)
        if old is not None:
            found.deleted += old.state is not JobState.FINISHED
            del self.jobs[old.id]
        self._last_id += 1
        job.id = self._last_id
        self.jobs[job.id] = job
        found.pushed += 1
        self.refresh()
        return PushedJob(PushOutcome.REPLACED if old is not None else PushOutcome.PUSHED, job.id)

    def _meets(self, old: Held, new: PushJob) -> PushedJob | None:
        if new.if_exists == IfExists.KEEP:
            return PushedJob(PushOutcome.KEPT, old.id)
        if new.if_exists == IfExists.REJECT:
            return PushedJob(PushOutcome.REFUSED, old.id, ErrorCode.KEY_EXISTS)
        if old.state is JobState.RESERVED and new.if_exists in (IfExists.REPLACE, IfExists.POSTPONE):
            return PushedJob(PushOutcome.REFUSED, old.id, ErrorCode.RESERVED)
        return None

    def _is_full(self, topic: str, found: Topic) -> bool:
        most = found.policy.jobs_max
        return isinstance(most, int) and len(self._alive(topic)) >= most

    def _made(self, topic: str, policy: TopicPolicy, new: PushJob) -> Held:
        attributes = new.attributes
        if attributes.attempts_max is None and isinstance(policy.attempts_max, int):
            attributes = replace(attributes, attempts_max=policy.attempts_max)
        if attributes.backoff is None and policy.backoff is not None and policy.backoff is not UNSET:
            attributes = replace(attributes, backoff=policy.backoff)
        due_ms = self.due_ms(new.due)
        expires_ms = None
        if attributes.expires is not None:
            expires_ms = attributes.expires.ms + (0 if attributes.expires.is_at else self.now_ms)
        elif isinstance(policy.expires_after_ms, int):
            expires_ms = due_ms + policy.expires_after_ms
        priority = policy.priority if isinstance(policy.priority, int) else _PRIORITY_DEFAULT
        ttr_ms = policy.ttr_ms if isinstance(policy.ttr_ms, int) else _TTR_MS_DEFAULT
        return Held(
            id=0,
            topic=topic,
            key=new.key,
            body=new.body,
            attributes=attributes,
            priority=priority if new.priority == PRIORITY_UNSAID else new.priority,
            ttr_ms=new.ttr_ms or ttr_ms,
            due_ms=due_ms,
            pushed_ms=self.now_ms,
            expires_ms=expires_ms,
        )

    def _postponed(self, old: Held, new: Held) -> PushedJob:
        old.body, old.attributes, old.priority, old.ttr_ms = new.body, new.attributes, new.priority, new.ttr_ms
        cap = new.attributes.postpone_max_ms
        old.due_ms = new.due_ms if cap is None else min(new.due_ms, old.pushed_ms + cap)
        old.expires_ms, old.state = new.expires_ms, JobState.DELAYED
        self.refresh()
        return PushedJob(PushOutcome.POSTPONED, old.id)

    # ---- consuming

    def grant(self, topics: Iterable[str], session: int) -> Held | None:
        """Leases the next ready job."""
        open_topics = {name for name in topics if name in self.topics and not self.topics[name].paused}
        ready = [job for job in self.jobs.values() if job.topic in open_topics and job.state is JobState.READY]
        ready = [job for job in ready if not self._leases_are_used_up(job.topic)]
        if not ready:
            return None
        job = min(ready, key=lambda job: (job.priority, job.order_ms, job.id))
        self._last_fence += 1
        job.state, job.fence, job.session = JobState.RESERVED, self._last_fence, session
        job.attempts += 1
        job.deadline_ms = self.now_ms + job.ttr_ms
        job.reserved_first_ms = job.reserved_first_ms or self.now_ms
        job.reserved_last_ms = self.now_ms
        return job

    def _leases_are_used_up(self, topic: str) -> bool:
        most = self.topics[topic].policy.leases_max
        if not isinstance(most, int):
            return False
        return sum(job.topic == topic and job.state is JobState.RESERVED for job in self.jobs.values()) >= most

    def leased(self, lease: LeaseRef) -> Held | None:
        """The job of a lease that is held."""
        job = self.jobs.get(lease.job)
        return job if job is not None and job.state is JobState.RESERVED and job.fence == lease.fence else None

    def finish(self, lease: LeaseRef) -> int:
        """Returns the code of SETTLED."""
        done = self.jobs.get(lease.job)
        if done is not None and done.state is JobState.FINISHED and done.fence == lease.fence:
            return 0
        job = self.leased(lease)
        if job is None:
            return ErrorCode.STALE_LEASE
        found = self.topics[job.topic]
        found.finished += 1
        keep_ms = job.attributes.dedupe_retention_ms
        if keep_ms is None and isinstance(found.policy.remember_ms, int):
            keep_ms = found.policy.remember_ms
        job.state, job.finished_ms = JobState.FINISHED, self.now_ms
        job.is_remembered = bool(keep_ms)
        job.forget_ms = self.now_ms + (keep_ms or _FINISHED_MS)
        return 0

    def release(self, lease: LeaseRef, delay_ms: int, reason: str) -> int:
        """Returns the code of SETTLED."""
        job = self.leased(lease)
        if job is None:
            return ErrorCode.STALE_LEASE
        job.reason = reason or job.reason
        self._fail(job, delay_ms)
        return 0

    def touch(self, lease: LeaseRef, ttr_ms: int) -> int:
        """Returns the code of SETTLED."""
        job = self.leased(lease)
        if job is None:
            return ErrorCode.STALE_LEASE
        job.deadline_ms = self.now_ms + (ttr_ms or job.ttr_ms)
        return 0

    def bury(self, lease: LeaseRef, reason: str) -> int:
        """Returns the code of SETTLED."""
        job = self.leased(lease)
        if job is None:
            return ErrorCode.STALE_LEASE
        job.reason = reason or job.reason
        self._set_aside(job, BuriedReason.BY_CONSUMER)
        return 0

    def _fail(self, job: Held, delay_ms: int) -> None:
        attempts_max = job.attributes.attempts_max
        if delay_ms == RELEASE_NOT_STARTED:
            job.attempts -= 1
            job.state = JobState.READY
        elif attempts_max is not None and job.attempts >= attempts_max:
            self._set_aside(job, BuriedReason.ATTEMPTS_USED_UP)
        else:
            wait_ms = delay_ms
            if delay_ms == RELEASE_BACKOFF:
                backoff = job.attributes.backoff
                wait_ms = 0 if backoff is None else backoff.wait_ms(job.attempts)
            job.state = JobState.DELAYED if wait_ms else JobState.READY
            job.due_ms = self.now_ms + wait_ms if wait_ms else job.due_ms
        self.refresh()

    def _set_aside(self, job: Held, why: BuriedReason) -> None:
        dead = self.topics[job.topic].policy.dead_letters
        if isinstance(dead, str):
            self.topics.setdefault(dead, Topic()).pushed += 1
            self.topics[job.topic].deleted += 1
            job.topic, job.state, job.attempts = dead, JobState.READY, 0
            job.order_ms = job.due_ms = self.now_ms
            job.reason = job.reason or why.name.lower().replace("_", " ")
        else:
            job.state, job.buried = JobState.BURIED, why

    # ---- one job

    def find(self, ref: JobRef) -> Held:
        """The job that a reference names."""
        job = self.jobs.get(ref.job) if ref.job is not None else self.by_key(ref.topic, ref.key)
        if job is None:
            raise item_refused(ErrorCode.NOT_FOUND)
        return job

    def alive(self, ref: JobRef) -> Held:
        """The same, of a job that is not finished."""
        job = self.find(ref)
        if job.state is JobState.FINISHED:
            raise item_refused(ErrorCode.WRONG_STATE if job.is_remembered else ErrorCode.NOT_FOUND)
        return job

    def by_key(self, topic: str, key: str | None) -> Held | None:
        """The job with a key, alive or remembered."""
        for job in self.jobs.values():
            if (job.topic, job.key) == (topic, key) and (job.state is not JobState.FINISHED or job.is_remembered):
                return job
        return None

    def delete(self, job: Held) -> Changed:
        """Removes a job."""
        self.topics[job.topic].deleted += job.state is not JobState.FINISHED
        return Changed(job.id, job.due_ms, self.jobs.pop(job.id).state)

    def reschedule(self, job: Held, due_ms: int) -> Changed:
        """Sets a new due time."""
        self._movable(job)
        if job.expires_ms is not None and job.expires_ms <= due_ms:
            raise item_refused(ErrorCode.EXPIRES_BEFORE_DUE)
        job.due_ms, job.state = due_ms, JobState.DELAYED
        self.refresh()
        return Changed(job.id, job.due_ms, job.state)

    def run_now(self, job: Held) -> Changed:
        """Makes a delayed job ready."""
        self._movable(job)
        if job.state is JobState.DELAYED:
            job.due_ms = job.order_ms = self.now_ms
            job.state = JobState.READY
        return Changed(job.id, job.due_ms, job.state)

    def kick(self, job: Held) -> Changed:
        """Makes a buried job ready."""
        if job.state is not JobState.BURIED:
            raise item_refused(ErrorCode.WRONG_STATE)
        job.due_ms = job.order_ms = self.now_ms
        job.state, job.buried, job.attempts = JobState.READY, BuriedReason.NOT_BURIED, 0
        return Changed(job.id, job.due_ms, job.state)

    def _movable(self, job: Held) -> None:
        if job.state is JobState.RESERVED:
            raise item_refused(ErrorCode.RESERVED)
        if job.state is JobState.BURIED:
            raise item_refused(ErrorCode.WRONG_STATE)

    def due_ms(self, due: Due) -> int:
        """A due point on the wall clock."""
        return due.ms if due.is_at else self.now_ms + due.ms

    # ---- many jobs

    def matching(self, chosen: Filter) -> Iterator[Held]:
        """The jobs that meet all conditions."""
        states = chosen.states or _DEFAULT_STATES
        for job in list(self.jobs.values()):
            is_shown = job.state is not JobState.FINISHED or job.is_remembered
            if is_shown and States(1 << job.state) in states and _meets(job, chosen):
                yield job

    def totals(self, topic: str) -> Totals:
        """The counts of a topic."""
        found = self.topics[topic]
        count = {state: 0 for state in JobState}
        for job in self.jobs.values():
            if job.topic == topic:
                count[job.state] += 1
        ready = [job.order_ms for job in self.jobs.values() if job.topic == topic and job.state is JobState.READY]
        return Totals(
            count[JobState.DELAYED],
            count[JobState.READY],
            count[JobState.RESERVED],
            count[JobState.BURIED],
            found.pushed,
            found.finished,
            found.deleted,
            found.expired,
            self.now_ms - min(ready) if ready else 0,
        )

    def _alive(self, topic: str) -> list[Held]:
        return [job for job in self.jobs.values() if job.topic == topic and job.state is not JobState.FINISHED]


def _meets(job: Held, chosen: Filter) -> bool:
    key = (job.key or "").encode()
    return (
        (chosen.topic is None or job.topic == chosen.topic)
        and (chosen.due_from_ms is None or job.due_ms >= chosen.due_from_ms)
        and (chosen.due_before_ms is None or job.due_ms < chosen.due_before_ms)
        and (chosen.key_prefix is None or (bool(key) and key.startswith(chosen.key_prefix)))
        and (chosen.attempts_min is None or job.attempts >= chosen.attempts_min)
        and (chosen.attempts_max is None or job.attempts <= chosen.attempts_max)
        and (chosen.buried is None or job.buried == chosen.buried)
        and (chosen.reason is None or chosen.reason in job.reason)
    )
