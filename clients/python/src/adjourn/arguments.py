"""The arguments of calls: what cannot be meant is refused before anything is sent, and said with what to write."""

from __future__ import annotations

from dataclasses import fields

from . import times
from .errors import UsageError
from .jobs import JobData
from .protocol.elements import TopicPolicy
from .protocol.numbers import DELAY_MS_MAX, REASON_BYTES_MAX
from .protocol.values import JobRef
from .times import Duration


def job_ref(job: int | JobData | None, topic: str, key: str) -> JobRef:
    """Names a job by its id, or by topic and key."""
    if (job is None) != bool(topic and key) or (job is not None and (topic or key)):
        raise UsageError("name a job by its id, or by topic and key")
    if job is None:
        return JobRef(topic=topic, key=key)
    if isinstance(job, JobData):
        return JobRef(job=job.id)
    if not isinstance(job, int):
        raise UsageError(f"the id of a job is a number, not {job!r}")
    return JobRef(job=job)


def check_policy(policy: TopicPolicy) -> None:
    """Refuses an empty text, which would take its setting away."""
    if not isinstance(policy, TopicPolicy):
        raise UsageError(f"TOPIC_SET cannot be written: the settings are a TopicPolicy, not {policy!r}")
    for field in fields(policy):
        if getattr(policy, field.name) == "":
            raise UsageError(f"{field.name} is empty: write {field.name}=UNSET to take the setting away")


def checked_topics(call: str, topics: tuple[str, ...]) -> tuple[str, ...]:
    """The topics that a consumer names, at least one."""
    if not topics or not all(isinstance(topic, str) for topic in topics):
        raise UsageError(f"name the topics one by one: {call}('a', 'b')")
    return topics


def checked_delay_ms(delay: Duration) -> int:
    """A delay of a release. Above its limit, it would mean something else."""
    delay_ms = times.to_ms(delay, "delay")
    if delay_ms > DELAY_MS_MAX:
        raise UsageError(f"a delay is at most {DELAY_MS_MAX // 1000} seconds")
    return delay_ms


def pause_ms(duration: Duration | None) -> int:
    """How long a pause lasts: 0 without an end."""
    if duration is None:
        return 0
    found = times.to_ms(duration, "duration")
    if found == 0:
        raise UsageError("a pause has a positive duration: without one it lasts until resume")
    return found


def checked_reason(reason: str) -> str:
    """Why a job was settled as it was."""
    if not isinstance(reason, str):
        raise UsageError(f"a reason is a text, not {reason!r}")
    if len(reason.encode()) > REASON_BYTES_MAX:
        raise UsageError(f"a reason has at most {REASON_BYTES_MAX} bytes")
    return reason

