"""Whatever the schema has can be reached: each request and each of its fields, attributes, conditions, settings, errors, limits."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import Field, fields, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pytest

import adjourn
import schema
from adjourn import BulkChange, IfExists, LeaseRef, ListOrder, NewJob, Queue, TopicPolicy
from adjourn.body import DEFAULT_CODEC
from adjourn.conditions import where
from adjourn.errors import item_refused, refused
from adjourn.protocol import requests as rq
from adjourn.protocol.responses import Error
from adjourn.schedules import schedule_set
from adjourn.session import core, dial
from conftest import until
from nodes import Node
from scripted import Proxy

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)
LEASE = LeaseRef(1, 1)
OPTIONS: dict[str, dict[str, Any]] = {
    "headers": {"headers": {"a": "b"}},
    "expires": {"expires_after": 5},
    "attempts_max": {"attempts_max": 3},
    "backoff": {"backoff": adjourn.backoff.fixed(1)},
    "group": {"group": "ann"},
    "dedupe_retention_ms": {"remember": 5},
    "created_at_ms": {"created_at": NOW},
    "schedule_reference": {"schedule_reference": b"daily"},
    "postpone_max_ms": {"postpone_max": 5},
    "buried": {"buried": "no such address"},
}
"""The options of a push that give a job each attribute."""
EDITED = ("headers", "expires", "attempts_max", "backoff", "group", "dedupe_retention_ms")
"""The attributes that an edit can change."""
CONDITIONS: dict[str, dict[str, Any]] = {
    "topic": {"topic": "t"},
    "states": {"states": adjourn.States.READY},
    "due_from_ms": {"due_from": NOW},
    "due_before_ms": {"due_before": NOW},
    "key_prefix": {"key_prefix": "k"},
    "attempts_min": {"attempts_min": 1},
    "attempts_max": {"attempts_max": 1},
    "buried": {"buried": adjourn.BuriedReason.TOO_LATE},
    "reason": {"reason": "no"},
    "group": {"group": "ann"},
}
"""The arguments of a list that make each condition."""
LONG_LISTS = {"CONNECTIONS.after", "GROUP_LIST.after", "LEASES.after", "SCHEDULE_LIST.cursor"}
"""Fields that are sent only for the second page, of 256 connections or schedules, 1,000 groups, or 1,024 leases."""
RULES: dict[str, Any] = {
    "zone": "Europe/Berlin",
    "dst": adjourn.Dst.LITERAL,
    "origin": NOW,
    "start": NOW,
    "end": NOW,
    "count": 3,
    "jitter": 30,
    "missed": adjourn.Missed.ALL,
    "window": 3600,
    "missed_max": 7,
    "overlap": adjourn.Overlap.REPLACE,
    "failures_max": 3,
    "key": "k",
    "note": "why",
}
"""The options that set each rule of a schedule."""
VALUES: dict[type, Any] = {
    int: 1_000,
    str: "x",
    bool: True,
    adjourn.Backoff: adjourn.backoff.fixed(1),
    adjourn.Late: adjourn.Late(5, adjourn.LateAction.DROP),
}
"""A value of each type that settings have."""


async def _use(q: Queue, topic: str) -> None:
    """Calls everything. What the server refuses was sent, too."""

    async def call(work: Coroutine[Any, Any, Any]) -> None:
        with suppress(adjourn.ServerError, adjourn.BatchError):
            await work

    async def first(found: Any) -> None:
        await call(anext(found, None))

    await q.push(topic, b"one", key="k", if_exists=IfExists.KEEP, priority=7, ttr=60, idempotency_key=1 << 100)
    await q.push_many(topic, [NewJob(b"x", at=NOW, headers={"a": "b"}) for _ in range(5_000)], idempotency_key=7)
    await q.push(topic, b"numbered")
    (job,) = await q.reserve(topic, jobs_max=1, wait=1, weights=[2])
    await call(job.touch(30))
    await call(job.release(delay=60, reason="later"))
    await call(q.give_back(LEASE, delay=60, reason="parked"))
    await call(q.bury(LEASE, "set aside"))
    await call(q.finish(LEASE))
    await first(q.leases())
    for one in ("get", "delete", "run_now", "kick"):
        await call(getattr(q, one)(topic=topic, key="none"))
    await call(q.reschedule(1, at=NOW, if_version=5))
    attributes: dict[str, Any] = {name: value for part in EDITED for name, value in OPTIONS[part].items()}
    await call(q.edit(1, at=NOW, priority=7, ttr=60, body="x", if_version=5, **attributes))
    await call(q.peek(topic))
    await call(q.kick_many(topic, 9))
    page = await q.list_page(jobs_max=1, order=ListOrder.ID, with_bodies=True, topic=topic)
    await q.list_page(jobs_max=1, order=ListOrder.ID, cursor=page.cursor, topic=topic)
    await call(q.count(topic=topic))
    await call(q.count_by_due(datetime(2030, 1, 1, tzinfo=timezone.utc), 60, 3, topic=topic))
    steps = q.bulk(BulkChange.RESCHEDULE, at=NOW, jobs_max=1, topic=topic)
    await anext(steps)
    await anext(steps)
    await anext(q.bulk(BulkChange.MOVE, to=f"{topic}-2", topic=topic))
    await call(q.topic_set(topic, TopicPolicy(priority=5)))
    await call(q.group_set(topic, "ann", weight=5, paused=True))
    await first(q.groups(topic, prefix="a"))
    await call(q.why(topic=topic, key="none"))
    await call(q.topic_why(topic, "ann"))
    await call(q.pause(topic, duration=1))
    for name in ("pause", "resume", "topic_show", "topic_delete"):
        await call(getattr(q, name)(topic))
    scheduled = f"{topic}-4"
    await call(q.schedule_set(scheduled, "often", "@every 90s", b"x", if_version=5))
    await first(q.schedules(scheduled, prefix="o", paused=False, next_before=NOW))
    await call(q.schedule_pause(scheduled, "often", note="for now"))
    await call(q.schedule_fill(scheduled, "often", NOW, NOW, dry_run=True))
    await call(q.schedule_preview("@every 90s", after=NOW))
    for name in ("show", "resume", "run", "delete"):
        await call(getattr(q, f"schedule_{name}")(scheduled, "often"))
    await q.topics()
    await q.stats()
    await q.ping()
    await call(q.advance(60))
    await call(q.advance_to_next())
    connections = [one.connection async for one in q.connections()]
    await call(q.disconnect(max(connections) + 1_000, ends_session=True))
    await q.cluster_status()
    await call(q.cluster_remove(99))
    await call(q.cluster_transfer(99))
    await call(q.cluster_add("127.0.0.1:1"))
    async with await q.backup() as backup:
        await backup.read(1, 100)


Watch = Callable[[], list[rq.Request]]


async def _wait_for_jobs(q: Queue, topic: str, watch: Watch) -> None:
    """Waits in both ways, and gives up."""
    async with q.subscribe(topic, credit=2, credit_bytes=5, weights=[1]) as jobs:
        jobs.add_credit(1, 7)
        waiting = asyncio.ensure_future(q.reserve(topic, wait=60))
        await until(lambda: any(isinstance(request, rq.Reserve) and request.wait_ms > 50_000 for request in watch()))
        waiting.cancel()
        await q.ping()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """The requests that clients have sent."""
    sent: list[rq.Request] = []
    encode = core.encode

    def encoded(request_id: int, request: rq.Request) -> bytearray:
        sent.append(request)
        return encode(request_id, request)

    monkeypatch.setattr(core, "encode", encoded)
    monkeypatch.setattr(dial, "encode", encoded)
    return lambda: sent


async def test_each_request_and_each_of_its_fields_can_be_sent(server: Node, topic: str, watch: Watch) -> None:
    options: dict[str, Any] = {"name": "surface", "heartbeat": 1, "reconnect_wait_max": 0.02}
    async with Proxy(server.port) as proxy, adjourn.connect(proxy.url, leases_outlive=True, token="t", **options) as q:
        await _use(q, topic)
        proxy.cut()
        await q.ping()
        await _wait_for_jobs(q, f"{topic}-3", watch)
    async with adjourn.connect(server.url, without_session=True) as q:
        await q.ping()
    sent = {request.NAME for request in watch()}
    # RESERVE_JOB has no call: only tools and consoles need it.
    assert [name for name in schema.REQUESTS if name not in sent] == ["RESERVE_JOB"]
    kinds = {type(request) for request in watch()}
    unset = {
        f"{kind.NAME}.{field.name}"
        for kind in kinds
        for field in fields(kind)  # type: ignore[arg-type]
        if not any(getattr(request, field.name) for request in watch() if type(request) is kind)
    }
    assert unset <= LONG_LISTS


@pytest.mark.parametrize("name", schema.ATTRIBUTES)
def test_each_attribute_can_be_pushed(name: str) -> None:
    job = NewJob(b"", **OPTIONS[name]).encode()
    assert getattr(job.attributes, name)
    assert getattr(adjourn.Attributes.decode(job.attributes.encode()), name) == getattr(job.attributes, name)


@pytest.mark.parametrize("field", fields(adjourn.ScheduleRules), ids=lambda field: field.name)
def test_each_rule_of_a_schedule_can_be_set_and_taken_away(field: Field[Any]) -> None:
    option = field.name.removesuffix("_ms")
    set_ = partial(schedule_set, "t", "n", job=b"x", if_version=0, only_if_new=False, codec=DEFAULT_CODEC)
    plain = set_(rules="@daily", options={}).rules
    rules = set_(rules="@weekly", options={} if option == "when" else {option: RULES[option]}).rules  # type: ignore[misc]
    assert replace(plain, **{field.name: getattr(rules, field.name)}) == replace(rules, when=rules.when if option == "when" else "@daily")
    assert getattr(rules, field.name) != field.default
    if option != "when":
        assert set_(rules=rules, options={option: None}).rules == replace(plain, when="@weekly")  # type: ignore[misc]


@pytest.mark.parametrize("name", schema.CONDITIONS)
def test_each_condition_can_be_asked_for(name: str) -> None:
    chosen = where(CONDITIONS[name])  # type: ignore[arg-type]
    assert getattr(chosen, name) is not None
    assert chosen.encode() != b""


@pytest.mark.parametrize("name", schema.SETTINGS)
def test_each_setting_can_be_set_and_taken_away(name: str) -> None:
    kind = next(kind for kind in typing.get_args(typing.get_type_hints(TopicPolicy)[name]) if kind in VALUES)
    for value in (VALUES[kind], adjourn.UNSET):
        policy = TopicPolicy(**{name: value})
        assert TopicPolicy.decode(policy.encode()) == policy
    if kind is bool:
        assert TopicPolicy.decode(TopicPolicy(**{name: False}).encode()) == TopicPolicy(**{name: adjourn.UNSET})


@pytest.mark.parametrize("name", schema.ERRORS)
def test_each_error_has_a_code_and_a_type(name: str) -> None:
    number, is_retryable = schema.ERRORS[name]
    code = adjourn.ErrorCode[name]
    assert code == number
    error = refused(Error(code, is_retryable))
    assert type(error) is not adjourn.ServerError and type(error).__name__ in adjourn.__all__
    assert getattr(adjourn, type(error).__name__) is type(error)
    assert item_refused(code).retryable is is_retryable


@pytest.mark.parametrize("name", schema.LIMITS)
def test_each_limit_can_be_read(name: str) -> None:
    assert getattr(adjourn.limits, name) == schema.LIMITS[name]
