"""Edits: which parts of a job change, and to what. A part is encoded as a push encodes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from .body import Codec
from .errors import UsageError
from .jobs import NewJob
from .protocol.requests import Edit
from .protocol.values import Backoff, JobRef
from .times import Duration


class EditParts(TypedDict, total=False):
    """The parts of a job that an edit changes. One that is not given stays; `None` takes away what a job need not have."""

    delay: Duration
    """Due after this time, from now on."""
    at: datetime
    """Due at this time, on the wall clock. It needs a time zone."""
    priority: int | None
    """Lower numbers are reserved first. `None`: the topic's default."""
    ttr: Duration | None
    """Time to run. `None`: the topic's default."""
    body: Any
    """The new body, encoded as in a push, and with it the header `content-type`; `None` is the `null` of JSON."""
    headers: Mapping[str, str] | None
    """The new headers, in place of all old ones but `content-type`, which goes with the body unless it is given here.
    `None` or an empty mapping: no headers. The headers of `connect` and those of a trace are not added."""
    expires_after: Duration | None
    """The job is dropped after this time. `None`: the topic's default, or never."""
    expires_at: datetime | None
    """The job is dropped at this time. `None`: as `expires_after`."""
    attempts_max: int | None
    """After this many failed attempts the job is buried. `None`: the default of the topic or the server."""
    backoff: Backoff | None
    """How long it waits after a failed attempt. `None`: the default of the topic or the server."""
    remember: Duration | None
    """How long its key prevents a second job after it was finished. `None`: the topic's default, or not at all."""
    group: str | None
    """The group in its topic that it belongs to. `None`: none."""


_PART_OF_OPTION = {
    "delay": "due",
    "at": "due",
    "priority": "priority",
    "ttr": "ttr",
    "body": "body",
    "headers": "headers",
    "expires_after": "expires",
    "expires_at": "expires",
    "attempts_max": "attempts_max",
    "backoff": "backoff",
    "remember": "dedupe_retention",
    "group": "group",
}
_PARTS = tuple(dict.fromkeys(_PART_OF_OPTION.values()))


def edit_request(job: JobRef, given: EditParts, if_version: int, codec: Codec) -> Edit:
    """The request that changes these parts, and no others."""
    unknown = given.keys() - _PART_OF_OPTION.keys()
    if unknown:
        raise TypeError(f"an edit has no part {', '.join(sorted(unknown))}")
    if not given:
        raise UsageError("an edit of what? Name at least one part: edit(job, priority=5), for example")
    edited = {_PART_OF_OPTION[name] for name in given}
    if "due" in edited and given.get("delay") is None and given.get("at") is None:
        raise UsageError("a job is always due at some time: leave delay and at out, or write delay=0")
    # What a push would be given: the parts that stay are then empty, which is valid.
    options = {name: value for name, value in given.items() if name != "body"}
    new = NewJob(given.get("body", b""), **options).encode(codec)
    marks: dict[str, Any] = {f"edits_{part}": part in edited for part in _PARTS}
    return Edit(
        due_ms=new.due_ms,
        due_kind=new.due_kind,
        priority=new.priority,
        ttr_ms=new.ttr_ms,
        job=job,
        attributes=new.attributes,
        body=new.body,
        if_version=if_version,
        **marks,
    )
