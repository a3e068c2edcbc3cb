"""Calls that cannot mean what they say: each is refused, says what to write, and harms no other call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

import adjourn
from adjourn import BulkChange, IfExists, LeaseRef, NewJob, TopicPolicy

NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)
WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda q: q.push(17, "x"), "17 is no text"),
    (lambda q: q.push("t", "x", key=17), "a key is a text"),
    (lambda q: q.push("t", "x", if_exists=IfExists.KEEP), "give the job a key"),
    (lambda q: q.push("t", "x", priority="high"), "a number does not fit"),
    (lambda q: q.push("t", "x", backoff=5), "the job cannot be written"),
    (lambda q: q.push("t", "x", headers=[("a", "b")]), "a mapping of names to texts"),
    (lambda q: q.push("t", "x", group=""), "a group has 1 to 255 bytes"),
    (lambda q: q.push("t", "x", group="x" * 256), "a group has 1 to 255 bytes"),
    (lambda q: q.push("t", "x", group=17), "a group is a text"),
    (lambda q: q.push("t", "\ud800"), "UTF-8 cannot encode"),
    (lambda q: q.push("t", "x", delya=5), "a job has no option delya"),
    (lambda q: q.push("t", NewJob("x", delay=60), key="k"), "write push"),
    (lambda q: q.push_many("t", "abc"), "write push_many"),
    (lambda q: q.push_many("t", {"order": 1}), "write push_many"),
    (lambda q: q.push_many("t", NewJob("x")), "write push_many"),
    (lambda q: q.reserve(["t"]), "one by one"),
    (lambda q: q.subscribe(["t"]), "one by one"),
    (lambda q: q.subscribe("t", credit="2"), "1 at least"),
    (lambda q: q.subscribe("t", credit=0), "1 at least"),
    (lambda q: q.get("17"), "is a number"),
    (lambda q: q.get(1, topic="t", key="k"), "by its id, or by topic and key"),
    (lambda q: q.get(1, key="k"), "by its id, or by topic and key"),
    (lambda q: q.delete(topic="t"), "by its id, or by topic and key"),
    (lambda q: q.cancel("t", 17), "17 is no text"),
    (lambda q: q.reschedule(1), "delay or at"),
    (lambda q: q.edit(1), "at least one part"),
    (lambda q: q.edit(1, if_version=5), "at least one part"),
    (lambda q: q.edit(1, delya=5), "an edit has no part delya"),
    (lambda q: q.edit(1, delay=None), "always due at some time"),
    (lambda q: q.edit(1, backoff=5), "the job cannot be written"),
    (lambda q: q.edit("17", priority=5), "is a number"),
    (lambda q: q.edit(topic="t", priority=5), "by its id, or by topic and key"),
    (lambda q: q.edit(1, priority=5, if_version="x"), "EDIT cannot be written"),
    (lambda q: q.count(topik="t"), "no condition topik"),
    (lambda q: q.count(key_prefix=5), "key_prefix is a text"),
    (lambda q: q.count(group=""), "a group has 1 to 255 bytes"),
    (lambda q: q.list_page(cursor="x"), "cannot be written"),
    (lambda q: anext(aiter(q.list_jobs(stats=1))), "no condition stats"),
    (lambda q: anext(aiter(q.bulk(BulkChange.DELETE, topik="t"))), "no condition topik"),
    (lambda q: anext(aiter(q.bulk(BulkChange.KICK, to="t"))), "if it moves jobs"),
    (lambda q: q.finish(5), "neither a job"),
    (lambda q: q.release(LeaseRef(1, 1), reason=5), "a reason is a text"),
    (lambda q: q.release(LeaseRef(1, 1), delay=1 << 60), "a delay is at most"),
    (lambda q: q.release_many([LeaseRef(1, 1)], delay=315_360_000.001), "a delay is at most"),
    (lambda q: q.bury(LeaseRef(1, 1), None), "a reason is a text"),
    (lambda q: q.pause(None), "None is no text"),
    (lambda q: q.pause("t", duration=0), "a positive duration"),
    (lambda q: q.pause("t", duration=-1), "duration cannot be -1"),
    (lambda q: q.pause("t", duration="5"), "duration is seconds or a timedelta"),
    (lambda q: q.topic_set("t", {"rate": 1}), "TOPIC_SET cannot be written"),
    (lambda q: q.topic_set("t", TopicPolicy(call_back_body="")), "call_back_body is empty: write call_back_body=UNSET"),
    (lambda q: q.topic_set("t", TopicPolicy(dead_letters="")), "dead_letters is empty: write dead_letters=UNSET"),
    (lambda q: q.group_set("t", "ann"), "Name weight or paused"),
    (lambda q: q.group_set("t", "ann", weight=0), "a whole number from 1 to 1000, not 0"),
    (lambda q: q.group_set("t", "ann", weight=1_001), "a whole number from 1 to 1000, not 1001"),
    (lambda q: q.group_set("t", "ann", weight="5"), "a whole number from 1 to 1000, not '5'"),
    (lambda q: q.group_set("t", "ann", weight=True), "a whole number from 1 to 1000, not True"),
    (lambda q: q.group_set("t", "ann", paused=1), "paused is True or False, not 1"),
    (lambda q: q.group_set("t", "", weight=5), "a group has 1 to 255 bytes"),
    (lambda q: anext(aiter(q.groups("t", prefix=5))), "GROUP_LIST cannot be written"),
    (lambda q: q.topic_why("t", ""), "a group has 1 to 255 bytes"),
    (lambda q: q.why(topic="t"), "by its id, or by topic and key"),
    (lambda q: anext(aiter(q.schedules(""))), "leave it out to list the schedules of all topics"),
    (lambda q: anext(aiter(q.schedules(5))), "SCHEDULE_LIST cannot be written"),
    (lambda q: q.schedule_fill("t", "n", datetime(2024, 1, 1), NOW), "start is a datetime without a time zone"),
    (lambda q: q.schedule_fill("t", "n", NOW, 5), "end is a datetime with a time zone"),
    (lambda q: q.schedule_fill("t", "n", NOW, NOW, dry_run=1), "dry_run is True or False, not 1"),
    (lambda q: q.schedule_preview(5), "a schedule fires by a text"),
    (lambda q: q.schedule_preview("@daily", often=True), "a schedule has no rule often"),
    (lambda q: q.schedule_preview("@daily", instants_max=0), "instants_max is 1 to 1000, not 0"),
    (lambda q: q.schedule_preview("@daily", instants_max=1_001), "instants_max is 1 to 1000, not 1001"),
    (lambda q: q.schedule_preview("@daily", after="now"), "after is a datetime with a time zone"),
    (lambda q: q.disconnect("x"), "DISCONNECT cannot be written"),
    (lambda q: adjourn.Worker(q, "t", handler=None), "a handler is a function"),
    (lambda q: adjourn.Worker(q, "t", handler=print, prefetch=-1), "prefetch is a whole number from 0 on, not -1"),
    (lambda q: adjourn.Worker(q, "t", handler=print, prefetch="1"), "prefetch is a whole number from 0 on, not '1'"),
    (lambda q: adjourn.Worker(q, "t", handler=print, concurrency="3"), "concurrency is a whole number from 1 on, not '3': write concurrency=1"),
    (lambda q: adjourn.Worker(q, "t", handler=print, concurrency=2.5), "concurrency is a whole number"),
    (lambda q: adjourn.Worker(q, "t", handler=print, concurrency=0), "concurrency is a whole number"),
    (lambda q: adjourn.Worker(q, "t", handler=print, middleware=print), "write middleware="),
    (lambda q: adjourn.Worker(q, "t", handler=print, middleware=[5]), "write middleware="),
    (lambda q: adjourn.Worker(q, "t", handler=print, run_time_max=0), "more than 0 seconds"),
    (lambda q: adjourn.Worker(q, "t", handler=print, run_time_max="60"), "run_time_max is seconds or a timedelta"),
    (lambda q: adjourn.Worker(q, "t", handler=print, stop_timeout="5"), "stop_timeout is seconds or a timedelta"),
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=[str(at) for at in range(len(WRONG))])
async def test_a_wrong_call_is_refused_and_harms_no_other(url: str, call: Callable[[Any], Any], says: str) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises((adjourn.UsageError, TypeError), match=says):
            made = call(q)
            assert inspect.isawaitable(made), "it was accepted"
            await made
        await q.ping()
