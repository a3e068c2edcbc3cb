"""Tagged elements: the attributes of a job, the conditions of a filter, the settings of a topic.

Generated from the schema by `make generate`: do not edit.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from .numbers import BACKOFF_KINDS, LATE_ACTIONS, BuriedReason, States
from .values import BACKOFF_NAMES, UNSET, Backoff, Expiry, Late, Unset
from .wire import (
    ELEMENT_U8,
    ELEMENT_U32,
    ELEMENT_U64,
    TAG,
    U8,
    U32,
    U64,
    MalformedFrame,
    cut_off,
    element,
    exactly,
    in_order,
    rest_of_numbers,
    text,
    text_at,
)

_HEADER = struct.Struct("<B")
_EXPIRY = struct.Struct("<BQ")
_BACKOFF = struct.Struct("<BB")
_LATE = struct.Struct("<QBQ")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a push says of a job beside its key, due time and body."""

    headers: tuple[tuple[str, str], ...] = ()
    """Name length `u8`, name of at least 1 byte, value; all texts. At most 1,024 bytes of names and values in total
    (`TOO_LARGE`).
    """
    expires: Expiry | None = None
    """Kind `u8` (0 after, 1 at), `u64` milliseconds; *after* at most `DELAY_MS_MAX`. The job is dropped at that
    time; if it is reserved then, it is dropped when its lease ends without FINISH; if a clock was set forward
    past it, it is dropped later. It must be later than the due time, or the job is refused with
    `EXPIRES_BEFORE_DUE`.
    """
    attempts_max: int | None = None
    """`u32`, at least 1. After this many failed attempts the job is buried; see retries."""
    backoff: Backoff | None = None
    """Kind `u8`, jitter `u8` (0 to 100 percent), then `u32` milliseconds: 0 fixed: the wait; 1 linear: step,
    maximum; 2 exponential: first, maximum; 3 list: 1 to 32 waits, the last one repeats.
    """
    group: str | None = None
    """Text, 1 to `GROUP_BYTES_MAX` bytes without control characters (`INVALID`): the group that the job belongs to,
    such as a tenant.
    """
    dedupe_retention_ms: int | None = None
    """`u64` milliseconds, at most `DEDUPE_RETENTION_MS_MAX` (`INVALID`): how long the job is remembered after
    FINISH. 0 is as if the attribute were not there.
    """
    created_at_ms: int | None = None
    """`u64`, set by the producer."""
    schedule_reference: bytes | None = None
    """Opaque."""
    postpone_max_ms: int | None = None
    """`u64` milliseconds, at most `DELAY_MS_MAX` (`INVALID`): see PUSH. It only means something in a push that
    postpones.
    """
    buried: str | None = None
    """Text, at most `REASON_BYTES_MAX` bytes, may be empty: the job is buried from the start, for this reason, as
    one is that comes from elsewhere and was set aside there. Broken or longer: `MALFORMED`. It only means
    something in a push; the job itself does not have it, and a schedule cannot (`INVALID`).
    """
    others: tuple[tuple[int, bytes], ...] = ()
    """Attributes that this client does not know, as tag and value."""

    def encode(self) -> bytes:
        """The elements, in the order of their tags."""
        parts: list[bytes] = []
        for value in self.headers:
            parts.append(element(1, _encode_header(value)))
        if self.expires is not None:
            parts.append(element(0x8002, _encode_expiry(self.expires)))
        if self.attempts_max is not None:
            parts.append(ELEMENT_U32.pack(0x8003, 4, self.attempts_max))
        if self.backoff is not None:
            parts.append(element(0x8004, _encode_backoff(self.backoff)))
        if self.group is not None:
            parts.append(element(5, text(self.group)))
        if self.dedupe_retention_ms is not None:
            parts.append(ELEMENT_U64.pack(6, 8, self.dedupe_retention_ms))
        if self.created_at_ms is not None:
            parts.append(ELEMENT_U64.pack(7, 8, self.created_at_ms))
        if self.schedule_reference is not None:
            parts.append(element(8, self.schedule_reference))
        if self.postpone_max_ms is not None:
            parts.append(ELEMENT_U64.pack(9, 8, self.postpone_max_ms))
        if self.buried is not None:
            parts.append(element(0x800B, text(self.buried)))
        if self.others:
            parts = in_order([*parts, *(element(tag, value) for tag, value in self.others)])
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> Attributes:
        """What this client does not know is kept in `others`."""
        found: dict[str, Any] = {}
        headers: list[tuple[str, str]] = []
        others: list[tuple[int, bytes]] = []
        at = 0
        while at < len(data):
            tag, length = TAG.unpack_from(data, at)
            at += TAG.size + length
            if at > len(data):
                raise cut_off("a tagged attribute")
            value = data[at - length : at]
            if tag == 1:
                headers.append(_decode_header(value))
            elif tag == 0x8002:
                found["expires"] = _decode_expiry(value)
            elif tag == 0x8003:
                found["attempts_max"] = exactly(U32, value)
            elif tag == 0x8004:
                known_backoff = _decode_backoff(value)
                if known_backoff is not None:
                    found["backoff"] = known_backoff
                else:
                    others.append((tag, value))
            elif tag == 5:
                found["group"] = value.decode()
            elif tag == 6:
                found["dedupe_retention_ms"] = exactly(U64, value)
            elif tag == 7:
                found["created_at_ms"] = exactly(U64, value)
            elif tag == 8:
                found["schedule_reference"] = value
            elif tag == 9:
                found["postpone_max_ms"] = exactly(U64, value)
            elif tag == 0x800B:
                found["buried"] = value.decode()
            else:
                others.append((tag, value))
        return cls(headers=tuple(headers), others=tuple(others), **found)


@dataclass(frozen=True, slots=True)
class Filter:
    """A job matches if it meets every condition that is given."""

    topic: str | None = None
    """Its topic is this one."""
    states: States | None = None
    """Its state is one of these. Without this condition the first four."""
    due_from_ms: int | None = None
    """It is due at this time or later."""
    due_before_ms: int | None = None
    """It is due before this time."""
    key_prefix: bytes | None = None
    """It has a key that begins with these bytes."""
    attempts_min: int | None = None
    """It was reserved at least this often."""
    attempts_max: int | None = None
    """It was reserved at most this often."""
    buried: BuriedReason | int | None = None
    """It is buried for this reason, as in JOB, but not 0."""
    reason: str | None = None
    """It has a last reason, and that contains this text."""
    group: str | None = None
    """It belongs to this group."""

    def encode(self) -> bytes:
        """The elements, in the order of their tags."""
        parts: list[bytes] = []
        if self.topic is not None:
            parts.append(element(1, text(self.topic)))
        if self.states is not None:
            parts.append(ELEMENT_U8.pack(2, 1, self.states))
        if self.due_from_ms is not None:
            parts.append(ELEMENT_U64.pack(3, 8, self.due_from_ms))
        if self.due_before_ms is not None:
            parts.append(ELEMENT_U64.pack(4, 8, self.due_before_ms))
        if self.key_prefix is not None:
            parts.append(element(5, self.key_prefix))
        if self.attempts_min is not None:
            parts.append(ELEMENT_U32.pack(6, 4, self.attempts_min))
        if self.attempts_max is not None:
            parts.append(ELEMENT_U32.pack(7, 4, self.attempts_max))
        if self.buried is not None:
            parts.append(ELEMENT_U8.pack(8, 1, self.buried))
        if self.reason is not None:
            parts.append(element(9, text(self.reason)))
        if self.group is not None:
            parts.append(element(10, text(self.group)))
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The settings of a topic. `None` leaves a setting as it is, `UNSET` takes it away, as `False` does."""

    ttr_ms: int | Unset | None = None
    """The time to run of a job that is pushed with ttr_ms 0."""
    priority: int | Unset | None = None
    """The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294."""
    attempts_max: int | Unset | None = None
    """The *attempts max* of a job that has none, at least 1."""
    backoff: Backoff | Unset | None = None
    """The backoff of a job that has none."""
    expires_after_ms: int | Unset | None = None
    """A job without an expiry expires this long after it is due, in milliseconds, up to `DELAY_MS_MAX`."""
    jobs_max: int | Unset | None = None
    """A push that would add a job beyond this number is refused with `QUOTA`."""
    bytes_max: int | Unset | None = None
    """A push that would take *bytes* beyond this is refused with `QUOTA`."""
    body_bytes_max: int | Unset | None = None
    """A larger body is refused with `TOO_LARGE`."""
    leases_max: int | Unset | None = None
    """No more jobs are reserved at the same time."""
    per_second_max: int | Unset | None = None
    """Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once."""
    late: Late | Unset | None = None
    """A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the
    number that belongs to it.
    """
    dead_letters: str | Unset | None = None
    """The topic that takes the jobs that would be buried here."""
    remember_ms: int | Unset | None = None
    """How long a finished job is remembered that does not say it, in milliseconds, up to `DEDUPE_RETENTION_MS_MAX`."""
    call_back: str | Unset | None = None
    """The URL that the server calls when a job is due: `http://` or `https://`, a name or an IP address, perhaps a
    port from 1 to 65535, and a path without `.` and `..`.
    """
    call_back_method: str | Unset | None = None
    """`GET`, `POST`, `PUT`, `PATCH` or `DELETE`; POST without it."""
    call_back_headers: str | Unset | None = None
    """Lines of `Name: value`, none of a header that frames a request, of `Adjourn-*` or of `Webhook-*`."""
    call_back_body: str | Unset | None = None
    """What is sent in place of the job's body."""
    call_back_timeout_ms: int | Unset | None = None
    """How long a call may take, in milliseconds."""
    call_back_concurrency: int | Unset | None = None
    """Calls at the same time, from 1."""
    call_back_rate: int | Unset | None = None
    """Calls per second, evenly spread, 1 to 1,000,000."""
    call_back_secrets: str | Unset | None = None
    """Under which name the servers have the secrets that sign calls: `A-Z a-z 0-9 . _ -`."""
    call_back_refused: str | Unset | None = None
    """`bury` or `retry`: what becomes of a job whose call gets a status from 400 to 499."""
    call_back_retry_if: str | Unset | None = None
    """A condition on the reply under which the call counts as failed."""
    call_back_success: str | Unset | None = None
    """`status` or `reply`: what success is known by."""
    call_back_of_job: bool | Unset | None = None
    """A job may name the URL itself, in its header `call-back`."""
    call_back_log_ms: int | Unset | None = None
    """How long attempts can be looked up, in milliseconds, from 1."""
    call_back_paused: bool | Unset | None = None
    """No calls are made."""
    call_back_delay_ms: int | Unset | None = None
    """How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to
    `DELAY_MS_MAX`.
    """
    fair: bool | Unset | None = None
    """Groups take turns. So they do with any of the settings below."""
    group_leases_max: int | Unset | None = None
    """Most jobs of one group that are reserved at the same time, at least 1."""
    group_per_second_max: int | Unset | None = None
    """Most jobs of one group that are delivered per second, 1 to `RATE_PER_SECOND_MAX`."""
    group_burst: int | Unset | None = None
    """How many of them may be delivered at once, 1 to `RATE_PER_SECOND_MAX`; without it a tenth of the rate, at
    least 1.
    """
    group_order: str | Unset | None = None
    """`fifo`: one job of a group at a time, and the next one when that has ended."""
    group_on_bury: str | Unset | None = None
    """With `fifo`, what a buried job means to those behind it: `block` (the default) or `continue`."""

    def encode(self) -> bytes:
        """The elements, in the order of their tags."""
        parts: list[bytes] = []
        if self.ttr_ms is not None:
            if isinstance(self.ttr_ms, Unset):
                parts.append(TAG.pack(1, 0))
            else:
                parts.append(ELEMENT_U32.pack(1, 4, self.ttr_ms))
        if self.priority is not None:
            if isinstance(self.priority, Unset):
                parts.append(TAG.pack(2, 0))
            else:
                parts.append(ELEMENT_U32.pack(2, 4, self.priority))
        if self.attempts_max is not None:
            if isinstance(self.attempts_max, Unset):
                parts.append(TAG.pack(3, 0))
            else:
                parts.append(ELEMENT_U32.pack(3, 4, self.attempts_max))
        if self.backoff is not None:
            if isinstance(self.backoff, Unset):
                parts.append(TAG.pack(4, 0))
            else:
                parts.append(element(4, _encode_backoff(self.backoff)))
        if self.expires_after_ms is not None:
            if isinstance(self.expires_after_ms, Unset):
                parts.append(TAG.pack(5, 0))
            else:
                parts.append(ELEMENT_U64.pack(5, 8, self.expires_after_ms))
        if self.jobs_max is not None:
            if isinstance(self.jobs_max, Unset):
                parts.append(TAG.pack(6, 0))
            else:
                parts.append(ELEMENT_U64.pack(6, 8, self.jobs_max))
        if self.bytes_max is not None:
            if isinstance(self.bytes_max, Unset):
                parts.append(TAG.pack(7, 0))
            else:
                parts.append(ELEMENT_U64.pack(7, 8, self.bytes_max))
        if self.body_bytes_max is not None:
            if isinstance(self.body_bytes_max, Unset):
                parts.append(TAG.pack(8, 0))
            else:
                parts.append(ELEMENT_U32.pack(8, 4, self.body_bytes_max))
        if self.leases_max is not None:
            if isinstance(self.leases_max, Unset):
                parts.append(TAG.pack(9, 0))
            else:
                parts.append(ELEMENT_U32.pack(9, 4, self.leases_max))
        if self.per_second_max is not None:
            if isinstance(self.per_second_max, Unset):
                parts.append(TAG.pack(10, 0))
            else:
                parts.append(ELEMENT_U32.pack(10, 4, self.per_second_max))
        if self.late is not None:
            if isinstance(self.late, Unset):
                parts.append(TAG.pack(11, 0))
            else:
                parts.append(element(11, _encode_late(self.late)))
        if self.dead_letters is not None:
            if isinstance(self.dead_letters, Unset):
                parts.append(TAG.pack(12, 0))
            else:
                parts.append(element(12, text(self.dead_letters)))
        if self.remember_ms is not None:
            if isinstance(self.remember_ms, Unset):
                parts.append(TAG.pack(13, 0))
            else:
                parts.append(ELEMENT_U64.pack(13, 8, self.remember_ms))
        if self.call_back is not None:
            if isinstance(self.call_back, Unset):
                parts.append(TAG.pack(14, 0))
            else:
                parts.append(element(14, text(self.call_back)))
        if self.call_back_method is not None:
            if isinstance(self.call_back_method, Unset):
                parts.append(TAG.pack(15, 0))
            else:
                parts.append(element(15, text(self.call_back_method)))
        if self.call_back_headers is not None:
            if isinstance(self.call_back_headers, Unset):
                parts.append(TAG.pack(16, 0))
            else:
                parts.append(element(16, text(self.call_back_headers)))
        if self.call_back_body is not None:
            if isinstance(self.call_back_body, Unset):
                parts.append(TAG.pack(17, 0))
            else:
                parts.append(element(17, text(self.call_back_body)))
        if self.call_back_timeout_ms is not None:
            if isinstance(self.call_back_timeout_ms, Unset):
                parts.append(TAG.pack(18, 0))
            else:
                parts.append(ELEMENT_U32.pack(18, 4, self.call_back_timeout_ms))
        if self.call_back_concurrency is not None:
            if isinstance(self.call_back_concurrency, Unset):
                parts.append(TAG.pack(19, 0))
            else:
                parts.append(ELEMENT_U32.pack(19, 4, self.call_back_concurrency))
        if self.call_back_rate is not None:
            if isinstance(self.call_back_rate, Unset):
                parts.append(TAG.pack(20, 0))
            else:
                parts.append(ELEMENT_U32.pack(20, 4, self.call_back_rate))
        if self.call_back_secrets is not None:
            if isinstance(self.call_back_secrets, Unset):
                parts.append(TAG.pack(21, 0))
            else:
                parts.append(element(21, text(self.call_back_secrets)))
        if self.call_back_refused is not None:
            if isinstance(self.call_back_refused, Unset):
                parts.append(TAG.pack(22, 0))
            else:
                parts.append(element(22, text(self.call_back_refused)))
        if self.call_back_retry_if is not None:
            if isinstance(self.call_back_retry_if, Unset):
                parts.append(TAG.pack(23, 0))
            else:
                parts.append(element(23, text(self.call_back_retry_if)))
        if self.call_back_success is not None:
            if isinstance(self.call_back_success, Unset):
                parts.append(TAG.pack(24, 0))
            else:
                parts.append(element(24, text(self.call_back_success)))
        if self.call_back_of_job is not None:
            if not self.call_back_of_job or isinstance(self.call_back_of_job, Unset):
                parts.append(TAG.pack(25, 0))
            else:
                parts.append(element(25, b"\x01"))
        if self.call_back_log_ms is not None:
            if isinstance(self.call_back_log_ms, Unset):
                parts.append(TAG.pack(26, 0))
            else:
                parts.append(ELEMENT_U64.pack(26, 8, self.call_back_log_ms))
        if self.call_back_paused is not None:
            if not self.call_back_paused or isinstance(self.call_back_paused, Unset):
                parts.append(TAG.pack(27, 0))
            else:
                parts.append(element(27, b"\x01"))
        if self.call_back_delay_ms is not None:
            if isinstance(self.call_back_delay_ms, Unset):
                parts.append(TAG.pack(28, 0))
            else:
                parts.append(ELEMENT_U64.pack(28, 8, self.call_back_delay_ms))
        if self.fair is not None:
            if not self.fair or isinstance(self.fair, Unset):
                parts.append(TAG.pack(29, 0))
            else:
                parts.append(element(29, b"\x01"))
        if self.group_leases_max is not None:
            if isinstance(self.group_leases_max, Unset):
                parts.append(TAG.pack(30, 0))
            else:
                parts.append(ELEMENT_U32.pack(30, 4, self.group_leases_max))
        if self.group_per_second_max is not None:
            if isinstance(self.group_per_second_max, Unset):
                parts.append(TAG.pack(31, 0))
            else:
                parts.append(ELEMENT_U32.pack(31, 4, self.group_per_second_max))
        if self.group_burst is not None:
            if isinstance(self.group_burst, Unset):
                parts.append(TAG.pack(32, 0))
            else:
                parts.append(ELEMENT_U32.pack(32, 4, self.group_burst))
        if self.group_order is not None:
            if isinstance(self.group_order, Unset):
                parts.append(TAG.pack(33, 0))
            else:
                parts.append(element(33, text(self.group_order)))
        if self.group_on_bury is not None:
            if isinstance(self.group_on_bury, Unset):
                parts.append(TAG.pack(34, 0))
            else:
                parts.append(element(34, text(self.group_on_bury)))
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> TopicPolicy:
        """Settings that this client does not know are skipped."""
        found: dict[str, Any] = {}
        before = 0
        at = 0
        while at < len(data):
            tag, length = TAG.unpack_from(data, at)
            at += TAG.size + length
            if at > len(data):
                raise cut_off("a setting of a topic")
            value = data[at - length : at]
            if tag <= before:
                raise MalformedFrame("a setting of a topic is out of order")
            before = tag
            if tag == 1:
                found["ttr_ms"] = exactly(U32, value) if value else UNSET
            elif tag == 2:
                found["priority"] = exactly(U32, value) if value else UNSET
            elif tag == 3:
                found["attempts_max"] = exactly(U32, value) if value else UNSET
            elif tag == 4:
                known_backoff = UNSET if not value else _decode_backoff(value)
                if known_backoff is not None:
                    found["backoff"] = known_backoff
            elif tag == 5:
                found["expires_after_ms"] = exactly(U64, value) if value else UNSET
            elif tag == 6:
                found["jobs_max"] = exactly(U64, value) if value else UNSET
            elif tag == 7:
                found["bytes_max"] = exactly(U64, value) if value else UNSET
            elif tag == 8:
                found["body_bytes_max"] = exactly(U32, value) if value else UNSET
            elif tag == 9:
                found["leases_max"] = exactly(U32, value) if value else UNSET
            elif tag == 10:
                found["per_second_max"] = exactly(U32, value) if value else UNSET
            elif tag == 11:
                known_late = UNSET if not value else _decode_late(value)
                if known_late is not None:
                    found["late"] = known_late
            elif tag == 12:
                found["dead_letters"] = value.decode() if value else UNSET
            elif tag == 13:
                found["remember_ms"] = exactly(U64, value) if value else UNSET
            elif tag == 14:
                found["call_back"] = value.decode() if value else UNSET
            elif tag == 15:
                found["call_back_method"] = value.decode() if value else UNSET
            elif tag == 16:
                found["call_back_headers"] = value.decode() if value else UNSET
            elif tag == 17:
                found["call_back_body"] = value.decode() if value else UNSET
            elif tag == 18:
                found["call_back_timeout_ms"] = exactly(U32, value) if value else UNSET
            elif tag == 19:
                found["call_back_concurrency"] = exactly(U32, value) if value else UNSET
            elif tag == 20:
                found["call_back_rate"] = exactly(U32, value) if value else UNSET
            elif tag == 21:
                found["call_back_secrets"] = value.decode() if value else UNSET
            elif tag == 22:
                found["call_back_refused"] = value.decode() if value else UNSET
            elif tag == 23:
                found["call_back_retry_if"] = value.decode() if value else UNSET
            elif tag == 24:
                found["call_back_success"] = value.decode() if value else UNSET
            elif tag == 25:
                found["call_back_of_job"] = exactly(U8, value) != 0 if value else UNSET
            elif tag == 26:
                found["call_back_log_ms"] = exactly(U64, value) if value else UNSET
            elif tag == 27:
                found["call_back_paused"] = exactly(U8, value) != 0 if value else UNSET
            elif tag == 28:
                found["call_back_delay_ms"] = exactly(U64, value) if value else UNSET
            elif tag == 29:
                found["fair"] = exactly(U8, value) != 0 if value else UNSET
            elif tag == 30:
                found["group_leases_max"] = exactly(U32, value) if value else UNSET
            elif tag == 31:
                found["group_per_second_max"] = exactly(U32, value) if value else UNSET
            elif tag == 32:
                found["group_burst"] = exactly(U32, value) if value else UNSET
            elif tag == 33:
                found["group_order"] = value.decode() if value else UNSET
            elif tag == 34:
                found["group_on_bury"] = value.decode() if value else UNSET
        return cls(**found)


NO_ATTRIBUTES = Attributes()


def _encode_header(value: tuple[str, str]) -> bytes:
    name = text(value[0])
    return _HEADER.pack(len(name)) + name + text(value[1])


def _decode_header(data: bytes) -> tuple[str, str]:
    (name_length,) = _HEADER.unpack_from(data)
    name, at = text_at(data, 1, name_length)
    value = data[at:].decode()
    return name, value


def _encode_expiry(value: Expiry) -> bytes:
    return _EXPIRY.pack(int(value.is_at), value.ms)


def _decode_expiry(data: bytes) -> Expiry:
    kind, ms = _EXPIRY.unpack_from(data)
    return Expiry(is_at=kind == 1, ms=ms)


def _encode_backoff(value: Backoff) -> bytes:
    value.check()
    waits_ms = b"".join([U32.pack(one) for one in value.values_ms])
    return _BACKOFF.pack(BACKOFF_NAMES[value.kind], value.jitter_percent) + waits_ms


def _decode_backoff(data: bytes) -> Backoff | None:
    kind, jitter = _BACKOFF.unpack_from(data)
    waits_ms = rest_of_numbers(data, 2, 1)
    if kind not in BACKOFF_KINDS:
        return None
    return Backoff(kind=BACKOFF_KINDS[kind].name.lower(), jitter_percent=jitter, values_ms=waits_ms)


def _encode_late(value: Late) -> bytes:
    return _LATE.pack(value.after_ms, value.action, value.value)


def _decode_late(data: bytes) -> Late | None:
    after_ms, action, value = _LATE.unpack_from(data)
    if action not in LATE_ACTIONS:
        return None
    return Late(after_ms=after_ms, action=LATE_ACTIONS[action], value=value)
