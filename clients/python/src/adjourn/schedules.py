"""Schedules: which rules a caller sets, and what the jobs of a schedule have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypedDict

from . import times
from .body import Codec
from .errors import UsageError
from .jobs import NewJob
from .pages import FilledPart
from .protocol.numbers import INSTANTS_SHOWN_MAX, SCHEDULES_LISTED_MAX, Dst, Missed, Overlap, WhichPaused
from .protocol.requests import JobTemplate, ScheduleFill, ScheduleList, SchedulePreview, ScheduleRules, ScheduleSet
from .protocol.responses import ScheduleFilled
from .times import Duration

_ONLY_IF_NEW = 0xFFFF_FFFF


class ScheduleOptions(TypedDict, total=False):
    """The rules of a schedule beside the text that says when it fires. `None` is the same as to leave a rule out, or takes away that
    of the `ScheduleRules` that are given."""

    zone: str | None
    """The IANA name of the time zone of a cron expression, such as `Europe/Berlin`. `None`: UTC."""
    dst: Dst | None
    """What happens when the clocks of its zone are changed. `None`: `VIXIE`, as cron."""
    origin: datetime | None
    """From when `@every` counts. It needs a time zone. `None`: from when the schedule is set first."""
    start: datetime | None
    """It does not fire before this time. It needs a time zone."""
    end: datetime | None
    """It does not fire after this time. It needs a time zone."""
    count: int | None
    """It ends when it has pushed a job at so many instants."""
    jitter: Duration | None
    """A job is due up to this long after its instant, a day at most: how long follows from the name and the instant."""
    missed: Missed | None
    """Which of the instants that passed unnoticed are fired late. `None`: `LAST`."""
    window: Duration | None
    """With `Missed.LAST` or `ALL`: only instants that were missed no longer ago than this."""
    missed_max: int | None
    """With `Missed.ALL`: at most so many instants, the last ones, up to 1,000. `None`: 100."""
    overlap: Overlap | None
    """What it does while an earlier job of it has not ended. `None`: `SKIP`."""
    failures_max: int | None
    """It is paused after so many failures one after another. `None`: it is not."""
    key: str | None
    """The key of its jobs. `None`: the name, `@`, and the instant in milliseconds."""
    note: str | None
    """For people."""


_TIMES: dict[str, Callable[[Any, str], int]] = {
    "origin": times.to_epoch_ms,
    "start": times.to_epoch_ms,
    "end": times.to_epoch_ms,
    "jitter": times.to_ms,
    "window": times.to_ms,
}
_DEFAULTS = {field.name: field.default for field in fields(ScheduleRules)}
_NOT_OF_ALL = ("delay", "at", "key", "if_exists", "postpone_max", "buried")


def schedule_set(
    topic: str,
    name: str,
    rules: str | ScheduleRules,
    job: Any,
    options: ScheduleOptions,
    if_version: int,
    only_if_new: bool,
    codec: Codec,
) -> ScheduleSet:
    """The request that gives a schedule this content."""
    if only_if_new and if_version:
        raise UsageError("a schedule is set only if it is new, or only if it has a version, not both")
    version = _ONLY_IF_NEW if only_if_new else if_version
    return ScheduleSet(topic, name, _rules(rules, options), _template(job, codec), version)


def schedule_list(topic: str | None, prefix: str, paused: bool | None, next_before: datetime | None) -> ScheduleList:
    """The request for the first page of the schedules that meet these conditions."""
    if topic == "":
        raise UsageError("a topic is no empty text: leave it out to list the schedules of all topics")
    which = WhichPaused.ANY if paused is None else WhichPaused.PAUSED if paused else WhichPaused.ACTIVE
    before_ms = 0 if next_before is None else max(1, times.to_epoch_ms(next_before, "next_before"))
    return ScheduleList(SCHEDULES_LISTED_MAX, before_ms, which, "" if topic is None else topic, prefix, b"")


def schedule_fill(topic: str, name: str, start: datetime, end: datetime, dry_run: bool) -> ScheduleFill:
    """The request that pushes jobs for the instants from `start` to `end`, or for the first of them."""
    if not isinstance(dry_run, bool):
        raise UsageError(f"dry_run is True or False, not {dry_run!r}")
    return ScheduleFill(times.to_epoch_ms(start, "start"), times.to_epoch_ms(end, "end", down=True), dry_run, topic, name)


def filled_part(answer: ScheduleFilled) -> FilledPart:
    """What a request of a fill did."""
    return FilledPart(answer.instants, answer.pushed, answer.kept, answer.refused, times.moment(answer.next_ms))


def schedule_preview(rules: str | ScheduleRules, after: datetime | None, instants_max: int, options: ScheduleOptions) -> SchedulePreview:
    """The request that asks when a schedule with these rules would fire."""
    if type(instants_max) is not int or not 1 <= instants_max <= INSTANTS_SHOWN_MAX:
        raise UsageError(f"instants_max is 1 to {INSTANTS_SHOWN_MAX}, not {instants_max!r}")
    after_ms = 0 if after is None else max(1, times.to_epoch_ms(after, "after", down=True))
    return SchedulePreview(_rules(rules, options), after_ms, instants_max)


def _rules(rules: str | ScheduleRules, options: ScheduleOptions) -> ScheduleRules:
    if isinstance(rules, str):
        rules = ScheduleRules(when=rules)
    elif not isinstance(rules, ScheduleRules):
        raise UsageError(f"a schedule fires by a text such as '0 9 * * 1-5', or by ScheduleRules, not {rules!r}")
    unknown = options.keys() - ScheduleOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"a schedule has no rule {', '.join(sorted(unknown))}")
    changed: dict[str, Any] = {}
    for option, value in options.items():
        to_ms = _TIMES.get(option)
        field = option if to_ms is None else f"{option}_ms"
        if value is None:
            changed[field] = _DEFAULTS[field]
        else:
            changed[field] = value if to_ms is None else to_ms(value, option)
    return replace(rules, **changed)


def _template(job: Any, codec: Codec) -> JobTemplate:
    if isinstance(job, JobTemplate):
        return job
    new = job if isinstance(job, NewJob) else NewJob(job)
    own = [option for option in _NOT_OF_ALL if new.options.get(option) is not None]
    if own:
        raise UsageError(f"the jobs of a schedule have no {own[0]} of their own: leave it out of the NewJob. Its rules say when and under which key")
    encoded = new.encode(codec)
    return JobTemplate(encoded.priority, encoded.ttr_ms, encoded.attributes, encoded.body)
