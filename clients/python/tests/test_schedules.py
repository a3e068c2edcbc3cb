"""Schedules: set, shown, listed, paused, resumed, run, deleted."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import adjourn
from adjourn import Dst, FilledPart, FiringOutcome, LocalInstant, Missed, NewJob, Overlap, PausedReason, sync
from adjourn.testing import Server

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def ms(seconds: float) -> int:
    return round(seconds * 1000)


async def test_a_schedule_pushes_a_job_at_each_of_its_instants(adjourn_server: Server) -> None:
    start = adjourn_server.now
    async with adjourn.connect(adjourn_server.url) as q:
        job = NewJob({"report": 1}, priority=7, ttr=60, attempts_max=2, headers={"tenant": "ann"})
        made = await q.schedule_set("reports", "often", "* * * * *", job, overlap=Overlap.SKIP, only_if_new=True)
        instant = start.replace(second=0, microsecond=0) + MINUTE
        assert (made.version, made.next_ms) == (1, ms(instant.timestamp()))
        assert await q.reserve("reports") == []
        adjourn_server.advance(instant - adjourn_server.now)
        (got,) = await q.reserve("reports", wait=30)
        assert (got.value, got.priority, got.headers["tenant"], got.due) == ({"report": 1}, 7, "ann", instant)
        assert got.key == f"often@{made.next_ms}"
        running = await q.schedule_show("reports", "often")
        assert (running.state.running, running.history[-1].fired) == (1, FiringOutcome.PUSHED)
        await got.finish()

        shown = await q.schedule_show("reports", "often")
        assert (shown.state.schedule, shown.state.version, shown.state.fired, shown.state.running) == (made.schedule, 1, 1, 0)
        assert (shown.state.paused, shown.state.next_ms) == (PausedReason.NOT_PAUSED, ms((instant + MINUTE).timestamp()))
        assert (shown.rules.when, shown.rules.overlap, shown.rules.dst) == ("* * * * *", Overlap.SKIP, Dst.VIXIE)
        assert (shown.template.priority, shown.template.ttr_ms, shown.template.body) == (7, 60_000, b'{"report":1}')
        assert (shown.template.headers["tenant"], shown.template.attributes.attempts_max) == ("ann", 2)
        (firing,) = shown.history
        assert (firing.instant_ms, firing.instants, firing.job, firing.fired) == (made.next_ms, 1, got.id, FiringOutcome.FINISHED)


def test_a_schedule_is_listed_paused_run_and_deleted(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:

        def names(**conditions: Any) -> list[str]:
            return [one.name for one in q.schedules("t", **conditions)]

        q.schedule_set("t", "a", "@every 1h", "x")
        q.schedule_set("t", "b", "@every 90s", zone=None)
        q.schedule_set("other", "c", "@daily")
        assert [(one.topic, one.name) for one in q.schedules()] == [("t", "a"), ("t", "b"), ("other", "c")]
        assert [(one.topic, one.name) for one in q.schedules(prefix="c", paused=False)] == [("other", "c")]
        listed = list(q.schedules("t"))
        assert [(one.topic, one.name, one.rules.when) for one in listed] == [("t", "a", "@every 1h"), ("t", "b", "@every 90s")]
        q.schedule_pause("t", "a", note="for now")
        shown = q.schedule_show("t", "a")
        assert (shown.state.paused, shown.pause_note) == (PausedReason.USER, "for now")
        now = adjourn_server.now
        assert (names(prefix="b"), names(prefix="bb")) == (["b"], [])
        assert (names(paused=True), names(paused=False)) == (["a"], ["b"])
        assert (names(next_before=now + MINUTE), names(next_before=now + 2 * MINUTE)) == ([], ["b"])
        assert names(next_before=datetime(1970, 1, 1, tzinfo=timezone.utc)) == []
        assert (names(prefix="a", paused=False), names(prefix="a", paused=True)) == ([], ["a"])
        q.schedule_resume("t", "a")
        assert q.schedule_show("t", "a").state.paused is PausedReason.NOT_PAUSED
        job = q.schedule_run("t", "a")
        (got,) = q.reserve("t", wait=30)
        assert (got.id, got.value) == (job, "x")
        with pytest.raises(adjourn.KeyExistsError):
            q.schedule_set("t", "a", "@daily", key="fixed")
            q.schedule_run("t", "a")
            q.schedule_run("t", "a")
        q.schedule_delete("t", "a")
        assert [one.name for one in q.schedules("t")] == ["b"]
        for call in (q.schedule_show, q.schedule_pause, q.schedule_resume, q.schedule_run, q.schedule_delete):
            with pytest.raises(adjourn.NotFoundError):
                call("t", "a")


def test_a_schedule_is_set_again_as_it_was_shown(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        first = q.schedule_set("t", "a", "0 9 * * 1-5", {"n": 1}, zone="Europe/Berlin", missed=Missed.LAST, window=MINUTE, jitter=0.5, note="why")
        shown = q.schedule_show("t", "a")
        assert (shown.rules.window_ms, shown.rules.jitter_ms) == (60_000, 500)
        again = q.schedule_set("t", "a", shown.rules, shown.template, if_version=shown.state.version, failures_max=3, window=None)
        assert (again.schedule, again.version, again.next_ms) == (first.schedule, 2, first.next_ms)
        now = q.schedule_show("t", "a")
        assert (now.rules.zone, now.rules.note, now.rules.failures_max, now.rules.window_ms) == ("Europe/Berlin", "why", 3, 0)
        assert now.template == shown.template
        with pytest.raises(adjourn.ChangedError):
            q.schedule_set("t", "a", shown.rules, if_version=shown.state.version)
        with pytest.raises(adjourn.ChangedError):
            q.schedule_set("t", "a", shown.rules, only_if_new=True)


def test_all_pages_of_a_list_are_read(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        for n in range(257):
            q.schedule_set("t", f"n{n}", "@daily")
        assert [one.name for one in q.schedules("t")] == [f"n{n}" for n in range(257)]
        for n in range(12):
            q.schedule_set("large", f"n{n}", "@daily", b"x" * 100_000)
        # The first page is empty: so much is read for it that the last schedule is on the next one.
        assert [one.name for one in q.schedules("large", prefix="n11")] == ["n11"]


def test_schedules_of_many_topics_are_listed_and_changed_at_once(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        for n in range(300):
            q.schedule_set(f"t{n:03}", "nightly", "@daily")
        for one in q.schedules(prefix="night", paused=False):
            q.schedule_pause(one.topic, one.name)
        assert [one.topic for one in q.schedules(paused=True)] == [f"t{n:03}" for n in range(300)]
        assert list(q.schedules(paused=False)) == []


def test_a_time_that_has_passed_is_filled(adjourn_server: Server) -> None:
    first = datetime(2024, 1, 1, 9, tzinfo=timezone.utc)
    with sync.connect(adjourn_server.url) as q:
        q.schedule_set("t", "daily", "0 9 * * *", "report")
        assert q.schedule_fill("t", "daily", first, first + 2 * DAY, dry_run=True) == FilledPart(3, 0, 0, 0, None)
        # Parts of a millisecond belong to neither end.
        part = timedelta(microseconds=1)
        assert q.schedule_fill("t", "daily", first - part, first + DAY + part) == FilledPart(2, 2, 0, 0, None)
        assert q.schedule_fill("t", "daily", first, first + 2 * DAY) == FilledPart(3, 1, 2, 0, None)
        got = q.reserve("t", jobs_max=5)
        assert [(job.key, job.value) for job in got] == [(f"daily@{ms((first + n * DAY).timestamp())}", "report") for n in range(3)]
        assert q.schedule_show("t", "daily").history == ()
        for start, end in ((first, first - DAY), (first, adjourn_server.now + DAY)):
            with pytest.raises(adjourn.InvalidError):
                q.schedule_fill("t", "daily", start, end)
        q.schedule_set("t", "one key", "@daily", key="fixed")
        with pytest.raises(adjourn.InvalidError):
            q.schedule_fill("t", "one key", first, first + DAY)
        with pytest.raises(adjourn.NotFoundError):
            q.schedule_fill("t", "weekly", first, first + DAY)


async def test_a_long_time_is_filled_part_by_part(adjourn_server: Server) -> None:
    first = datetime(2024, 1, 1, tzinfo=timezone.utc)
    async with adjourn.connect(adjourn_server.url) as q:
        await q.schedule_set("t", "often", "* * * * *")
        for dry_run, pushed in ((True, 0), (False, 1_440)):
            parts: list[FilledPart] = []
            start: datetime | None = first
            while start is not None:
                parts.append(await q.schedule_fill("t", "often", start, first + DAY - MINUTE, dry_run=dry_run))
                start = parts[-1].next
            assert (len(parts) > 1, sum(part.instants for part in parts), sum(part.pushed for part in parts)) == (True, 1_440, pushed)
        assert await q.count(topic="t") == 1_440


def test_a_schedule_is_previewed_without_setting_it(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        after = datetime(2024, 3, 28, tzinfo=timezone.utc)
        shown = q.schedule_preview("30 2 * * 7", after=after, instants_max=2, zone="Europe/Berlin")
        assert shown.instants == (
            LocalInstant(1_711_846_800_000, "2024-03-31 03:00:00 +02:00 CEST"),
            LocalInstant(1_712_449_800_000, "2024-04-07 02:30:00 +02:00 CEST"),
        )
        assert shown.zone_data != ""
        # The time itself does not count, and a part of a millisecond before it does.
        assert q.schedule_preview("@daily", after=after).instants[0].instant_ms == ms((after + DAY).timestamp())
        assert q.schedule_preview("@daily", after=after - timedelta(microseconds=1)).instants[0].instant_ms == ms(after.timestamp())
        instants = q.schedule_preview(adjourn.ScheduleRules(when="* * * * *")).instants
        assert len(instants) == 5 and instants[0].instant_ms > ms(adjourn_server.now.timestamp())
        assert q.schedule_preview("@at 2024-01-01T00:00:00Z").instants == ()
        for when, zone in (("61 * * * *", None), ("@daily", "Mars/Olympus")):
            with pytest.raises(adjourn.InvalidError):
                q.schedule_preview(when, zone=zone)
        assert list(q.schedules()) == []


def test_what_no_schedule_can_be_is_refused(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        for when in ("0 0 31 2 *", "often"):
            with pytest.raises(adjourn.InvalidError):
                q.schedule_set("t", "a", when)
        for job in (NewJob(b"", delay=5), NewJob(b"", key="k")):
            with pytest.raises(adjourn.UsageError):
                q.schedule_set("t", "a", "@daily", job)
        with pytest.raises(adjourn.UsageError):
            q.schedule_set("t", "a", "@daily", if_version=1, only_if_new=True)
        with pytest.raises(adjourn.UsageError):
            q.schedule_set("t", "a", 90)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            q.schedule_set("t", "a", "@daily", often=True)  # type: ignore[call-arg]
        assert list(q.schedules("t")) == []
