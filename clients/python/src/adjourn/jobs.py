"""Jobs: as a producer describes them, as a push answers, as a consumer gets them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from . import times
from .body import CONTENT_TYPE, DEFAULT_CODEC, Codec, decode_body, encode_body
from .errors import AdjournError, UsageError, item_refused
from .groups import checked_group
from .protocol.elements import NO_ATTRIBUTES, Attributes
from .protocol.numbers import HEADERS_BYTES_MAX, KEY_BYTES_MAX, PRIORITY_UNSAID, IfExists, PushOutcome
from .protocol.requests import PushJob
from .protocol.responses import Delivered, PushedJob
from .protocol.values import Backoff, Expiry
from .protocol.wire import Unencodable
from .session.hold import Hold
from .session.leases import LostReason
from .times import Duration


class PushOptions(TypedDict, total=False):
    """What a push says of a job beside its body."""

    delay: Duration | None
    """Due after this time."""
    at: datetime | None
    """Due at this time, on the wall clock. It needs a time zone."""
    key: str | None
    """Your own id of the job, unique in its topic."""
    if_exists: IfExists
    """What to do if a job with this key exists."""
    priority: int | None
    """Lower numbers are reserved first."""
    ttr: Duration | None
    """Time to run: how long a consumer may hold the job without a touch."""
    headers: Mapping[str, str] | None
    expires_after: Duration | None
    """The job is dropped after this time."""
    expires_at: datetime | None
    """The job is dropped at this time."""
    attempts_max: int | None
    """After this many failed attempts the job is buried."""
    backoff: Backoff | None
    """How long it waits after a failed attempt: see `adjourn.backoff`."""
    remember: Duration | None
    """How long its key prevents a second job after it was finished."""
    postpone_max: Duration | None
    """With `IfExists.POSTPONE`: due at the latest this long after the first push."""
    buried: str | None
    """It is buried from the start, for this reason, which may be empty: for a job that comes from elsewhere."""
    created_at: datetime | None
    """When the producer made it. It needs a time zone."""
    schedule_reference: bytes | None
    """What names the schedule that made it: bytes that only you read."""
    group: str | None
    """The group in its topic that it belongs to, such as a tenant: 1 to 255 bytes of text without control characters. What groups mean is
    a setting of the topic: see `Queue.groups`."""


_OPTION_NAMES = frozenset(PushOptions.__annotations__)
_TRACEPARENT = "traceparent"
_ATTRIBUTE_OPTIONS = _OPTION_NAMES - {"delay", "at", "key", "if_exists", "priority", "ttr"}


class NewJob:
    """A job to push: `NewJob({"order": 17}, delay=60, key="order-17")`. The options are those of `push`."""

    __slots__ = ("body", "options")

    def __init__(self, body: Any = b"", **options: Any) -> None:
        unknown = options.keys() - _OPTION_NAMES
        if unknown:
            raise TypeError(f"a job has no option {', '.join(sorted(unknown))}")
        self.body = body
        self.options = options

    def encode(
        self, codec: Codec = DEFAULT_CODEC, headers: Mapping[str, str] | None = None, traced: Mapping[str, str] | None = None
    ) -> PushJob:
        """The job as it travels. `headers` are those that every push of the client has, `traced` those of its trace."""
        option = self.options.get
        if isinstance(self.body, NewJob):
            raise UsageError("a job's body is another job: write push(topic, body, delay=60), or push_many(topic, [NewJob(body, delay=60)])")
        body, content_type = encode_body(self.body, codec)
        priority, ttr = option("priority"), option("ttr")
        has_attributes = headers or traced or content_type or not _ATTRIBUTE_OPTIONS.isdisjoint(self.options)
        if option("key") is None and option("if_exists", IfExists.REJECT) != IfExists.REJECT:
            raise UsageError("if_exists is about jobs with the same key: give the job a key, too")
        due_ms, due_kind = times.to_due(option("delay"), option("at"))
        job = PushJob(
            due_ms=due_ms,
            due_kind=due_kind,
            body=body,
            priority=PRIORITY_UNSAID if priority is None else priority,
            ttr_ms=0 if ttr is None else times.to_ms(ttr, "ttr"),
            if_exists=option("if_exists", IfExists.REJECT),
            key=_checked_key(option("key")),
            attributes=self._attributes(content_type, headers or {}, traced or {}) if has_attributes else NO_ATTRIBUTES,
        )
        try:
            _ = job.head
        except (Unencodable, AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"the job cannot be written: {error}") from None
        return job

    def _attributes(self, content_type: str | None, headers: Mapping[str, str], traced: Mapping[str, str]) -> Attributes:
        option = self.options.get
        own = option("headers") or {}
        if not isinstance(own, Mapping):
            raise UsageError(f"headers are a mapping of names to texts, not {own!r}")
        if content_type is not None:
            own = {CONTENT_TYPE: content_type, **own}
        return Attributes(
            headers=tuple(_merged_headers(headers, traced, own).items()),
            expires=_expiry(option("expires_after"), option("expires_at")),
            attempts_max=option("attempts_max"),
            backoff=option("backoff"),
            dedupe_retention_ms=_ms(option("remember"), "remember"),
            postpone_max_ms=_ms(option("postpone_max"), "postpone_max"),
            buried=option("buried"),
            created_at_ms=_epoch_ms(option("created_at"), "created_at"),
            schedule_reference=option("schedule_reference"),
            group=_group(option("group")),
        )


def _epoch_ms(value: datetime | None, name: str) -> int | None:
    return None if value is None else times.to_epoch_ms(value, name)


def _checked_key(key: str | None) -> str | None:
    if key is not None and not isinstance(key, str):
        raise UsageError(f"a key is a text, not {key!r}")
    if key is not None and not 0 < len(key.encode("utf-8", "surrogatepass")) <= KEY_BYTES_MAX:
        raise UsageError(f"a key has 1 to {KEY_BYTES_MAX} bytes")
    return key


def _group(group: str | None) -> str | None:
    return None if group is None else checked_group(group)


def _merged_headers(headers: Mapping[str, str], traced: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    merged = {**headers, **own}
    room = HEADERS_BYTES_MAX - _headers_bytes(merged)
    if headers:
        named = {name.lower() for name in own}
        merged = {name: value for name, value in merged.items() if name in own or name.lower() not in named}
        room = HEADERS_BYTES_MAX - _headers_bytes(merged)
    if room < 0:
        raise UsageError(f"the headers of a job have at most {HEADERS_BYTES_MAX} bytes")
    if not traced:
        return merged
    taken = {name.lower() for name in merged}
    if _TRACEPARENT in taken:
        return merged  # The rest, such as the baggage, belongs to another trace.
    # The trace itself comes before what else may not fit, and nothing comes without it.
    for name in sorted(traced, key=lambda name: name.lower() != _TRACEPARENT):
        size = _headers_bytes({name: traced[name]})
        if size > room and name.lower() == _TRACEPARENT:
            break
        if size <= room and name.lower() not in taken:
            merged[name] = traced[name]
            room -= size
    return merged


def _headers_bytes(headers: Mapping[str, str]) -> int:
    size = 0
    for name, value in headers.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise UsageError("the names and values of headers are texts")
        size += len(name.encode("utf-8", "surrogatepass")) + len(value.encode("utf-8", "surrogatepass"))
    return size


def _ms(value: Duration | None, name: str) -> int | None:
    return None if value is None else times.to_ms(value, name)


def _expiry(after: Duration | None, at: datetime | None) -> Expiry | None:
    if after is not None and at is not None:
        raise UsageError("a job expires after a time or at a time, not both")
    if after is not None:
        return Expiry(False, times.to_ms(after, "expires_after"))
    return None if at is None else Expiry(True, times.to_epoch_ms(at, "expires_at"))


@dataclass(frozen=True, slots=True)
class PushResult:
    """What became of a pushed job."""

    id: int
    """The job's id; with `KEPT` and `POSTPONED` that of the job with its key. 0 if it was refused."""
    outcome: PushOutcome
    error: AdjournError | None = None
    """Why the job is not in the queue, or why that is not known."""

    @classmethod
    def of(cls, result: PushedJob) -> PushResult:
        """The result that a PUSHED frame says."""
        if result.outcome == PushOutcome.REFUSED:
            return cls(0, result.outcome, item_refused(result.code, result.job or None))
        return cls(result.job, result.outcome)


class JobCancelled(Exception):
    """The work on a job has to stop. `reason` says why."""

    def __init__(self, reason: LostReason) -> None:
        super().__init__(f"the work has to stop: {reason.value}")
        self.reason = reason


class Cancellation:
    """Tells a handler that it has to stop, and why. May be asked from any thread."""

    __slots__ = ("_event", "_reason")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason: LostReason | None = None

    @property
    def reason(self) -> LostReason | None:
        """Why the work has to stop; `None` while it may go on."""
        return self._reason

    def is_set(self) -> bool:
        """Whether the work has to stop."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Blocks until the work has to stop, or for this time. Returns whether it has to stop."""
        return self._event.wait(seconds)

    def raise_if_set(self) -> None:
        """Raises `JobCancelled` if the work has to stop."""
        if self._reason is not None:
            raise JobCancelled(self._reason)

    def set(self, reason: LostReason) -> None:
        """Stops the work. The first reason stays."""
        if self._reason is None:
            self._reason = reason
            self._event.set()


class JobData:
    """A job under a lease: what it is. It can be sent to another process."""

    __slots__ = ("_codec", "_delivered", "_headers")

    def __init__(self, delivered: Delivered, codec: Codec = DEFAULT_CODEC) -> None:
        self._delivered = delivered
        self._codec = codec
        self._headers: dict[str, str] | None = None

    @property
    def id(self) -> int:
        """The id that the queue gave it."""
        return self._delivered.lease.job

    @property
    def fence(self) -> int:
        """Larger for each lease. Pass it on to systems that can refuse stale work."""
        return self._delivered.lease.fence

    @property
    def topic(self) -> str:
        """The topic that it was pushed to."""
        return self._delivered.topic

    @property
    def key(self) -> str | None:
        """The producer's own id."""
        return self._delivered.key

    @property
    def body(self) -> bytes:
        """The bytes of its body."""
        return self._delivered.body

    @property
    def value(self) -> Any:
        """The body as its content type says: an object of JSON, a text, or bytes."""
        return decode_body(self.body, self.headers, self._codec)

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers. Of headers with the same name, the last one."""
        if self._headers is None:
            self._headers = self._delivered.headers
        return self._headers

    @property
    def attributes(self) -> Attributes:
        """All that the push said of it."""
        return self._delivered.attributes

    @property
    def priority(self) -> int:
        """Lower numbers come first."""
        return self._delivered.priority

    @property
    def attempts(self) -> int:
        """How often it was reserved, this time included."""
        return self._delivered.attempts

    @property
    def due(self) -> datetime | None:
        """When it was due."""
        return times.moment(self._delivered.due_ms)

    @property
    def delivered(self) -> Delivered:
        """The job as it came over the wire."""
        return self._delivered

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.topic!r}, attempt {self.attempts}, fence {self.fence}>"


class HeldJob(JobData):
    """A job under a lease of this process."""

    __slots__ = ("cancellation", "hold", "settled")

    def __init__(self, delivered: Delivered, hold: Hold, codec: Codec = DEFAULT_CODEC) -> None:
        super().__init__(delivered, codec)
        self.hold = hold
        self.settled = False
        """It was finished, released or buried."""
        self.cancellation = Cancellation()
        """Set by a worker when the handler has to stop."""

    @property
    def lost(self) -> LostReason | None:
        """Why the lease is lost: then stop, another consumer may have the job. `None` while it is held."""
        return self.hold.lost()

    @property
    def seconds_left(self) -> float:
        """Time until the lease ends, unless it is touched."""
        return self.hold.left()


HeadersHook = Callable[[], Mapping[str, str]]
"""Gives headers for each job that is pushed, such as the tenant of the current request."""
