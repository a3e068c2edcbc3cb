"""Every operation, against a real server."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import adjourn
from adjourn import Attributes, BulkChange, IfExists, JobState, NewJob, PushOutcome, States, TopicPolicy
from conftest import state_of, until_true


async def test_a_job_is_pushed_reserved_and_finished(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed = await q.push(topic, {"to": "ann"}, delay=0.05, key="k", headers={"traceparent": "00-1"})
        assert pushed.outcome is PushOutcome.PUSHED
        (job,) = await q.reserve(topic, wait=timedelta(seconds=30))
        assert (job.id, job.value, job.key, job.attempts) == (pushed.id, {"to": "ann"}, "k", 1)
        assert job.headers["traceparent"] == "00-1"
        assert 30 < job.seconds_left <= 60
        assert job.due is not None and job.due <= datetime.now(timezone.utc)
        await job.finish()
        assert await state_of(q, pushed.id) == "finished"
        with pytest.raises(adjourn.NotFoundError):
            await q.get(topic=topic, key="k")


async def test_bodies_keep_their_kind(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        values = [b"\x00\xff", "grüße", {"a": [1, None]}, 17, True]
        for value in values:
            await q.push(topic, value)
        jobs = await q.reserve(topic, jobs_max=9)
        assert [job.value for job in jobs] == values
        assert jobs[0].headers == {}
        assert await q.finish_many(jobs) == [None] * 5


async def test_what_a_push_says_arrives(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        at = datetime(2030, 1, 2, tzinfo=timezone(timedelta(hours=2)))
        pushed = await q.push(
            topic,
            at=at,
            priority=7,
            ttr=1.5,
            attempts_max=3,
            backoff=adjourn.backoff.exponential(1, timedelta(minutes=1), jitter_percent=10),
            expires_at=at + timedelta(days=1),
            remember=60,
            postpone_max=5,
        )
        shown = await q.get(pushed.id)
        assert (shown.due_ms, shown.priority, shown.ttr_ms) == (1893535200000, 7, 1500)
        assert shown.attributes.backoff == adjourn.Backoff("exponential", (1000, 60000), 10)
        assert (shown.attributes.attempts_max, shown.attributes.dedupe_retention_ms) == (3, 60_000)
        assert shown.attributes.expires == adjourn.Expiry(True, 1893621600000)


async def test_jobs_under_an_idempotency_key_are_pushed_once(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q, adjourn.connect(url, without_session=True) as other:
        key = secrets.randbits(127)
        one = await q.push(topic, "one", idempotency_key=key)
        assert (await other.push(topic, "one", idempotency_key=key)).id == one.id
        many = [f"{number}" for number in range(5_000)]
        pushed = await q.push_many(topic, many, idempotency_key=key + 1)
        assert await other.push_many(topic, many, idempotency_key=key + 1) == pushed
        assert await q.count(topic=topic) == 5_001
        with pytest.raises(adjourn.BatchError) as shorter:
            await q.push_many(topic, many[:4_500], idempotency_key=key + 1)
        assert {type(result.error) for result in shorter.value.results} == {adjourn.SequenceReusedError}
        assert await q.count(topic=topic) == 5_001
        for wrong, jobs in ((-1, 1), (1 << 128, 1), ((1 << 128) - 1, 2), (1, 8_193)):
            with pytest.raises(adjourn.UsageError):
                await q.push_many(topic, many * 2 if jobs > 2 else many[:jobs], idempotency_key=wrong)


async def test_a_job_is_rescheduled_only_in_the_version_that_was_seen(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed = await q.push(topic, delay=60)
        seen = (await q.get(pushed.id)).version
        changed = await q.reschedule(pushed.id, delay=120, if_version=seen)
        assert changed.version not in (0, seen)
        with pytest.raises(adjourn.ChangedError):
            await q.reschedule(pushed.id, delay=180, if_version=seen)
        assert (await q.get(pushed.id)).due_ms == changed.due_ms


async def test_each_part_of_a_job_is_edited_and_taken_away(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed = await q.push(topic, "old", key="k", delay=3600, headers={"a": "1"}, created_at=datetime.now(timezone.utc))
        before = await q.get(pushed.id)
        assert before.edited_ms == 0
        at = datetime(2030, 1, 2, tzinfo=timezone.utc)
        changed = await q.edit(pushed.id, at=at)
        assert (changed.job, changed.state, changed.due_ms) == (pushed.id, JobState.DELAYED, 1893542400000)
        assert changed.version not in (0, before.version)
        await q.edit(topic=topic, key="k", priority=7, ttr=1.5)
        await q.edit(pushed.id, body="new")
        shown = await q.get(pushed.id)
        assert (shown.due_ms, shown.priority, shown.ttr_ms, shown.body) == (changed.due_ms, 7, 1500, b"new")
        assert sorted(shown.attributes.headers) == sorted(before.attributes.headers)
        assert replace(shown.attributes, headers=()) == replace(before.attributes, headers=())
        assert before.pushed_ms <= shown.edited_ms <= before.pushed_ms + 60_000
        backoff = adjourn.backoff.fixed(5)
        await q.edit(pushed.id, body={"n": 1}, headers={"b": "2"}, expires_at=at + timedelta(days=1))
        await q.edit(pushed.id, attempts_max=3, backoff=backoff, remember=60)
        shown = await q.get(pushed.id)
        assert shown.body == b'{"n":1}'
        assert shown.attributes.headers == (("content-type", "application/json"), ("b", "2"))
        assert shown.attributes.expires == adjourn.Expiry(True, 1893628800000)
        assert (shown.attributes.attempts_max, shown.attributes.backoff) == (3, backoff)
        assert (shown.attributes.dedupe_retention_ms, shown.attributes.created_at_ms) == (60_000, before.attributes.created_at_ms)
        await q.edit(pushed.id, priority=None, ttr=None, headers=None, expires_after=None, remember=None)
        await q.edit(pushed.id, attempts_max=None, backoff=None)
        shown = await q.get(pushed.id)
        assert (shown.priority, shown.ttr_ms) == (before.priority, before.ttr_ms)
        assert shown.attributes == replace(before.attributes, headers=(("content-type", "application/json"),))
        (listed,) = (await q.list_page(topic=topic)).jobs
        assert listed.edited_ms == shown.edited_ms
        assert (await q.edit(pushed.id, delay=0)).state is JobState.READY


async def test_what_is_taken_away_is_the_topics_to_say(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.topic_set(topic, TopicPolicy(priority=9, ttr_ms=5_000, attempts_max=4))
        pushed = await q.push(topic, delay=3600, priority=1, ttr=60, attempts_max=2)
        await q.edit(pushed.id, priority=None, ttr=None, attempts_max=None)
        shown = await q.get(pushed.id)
        assert (shown.priority, shown.ttr_ms, shown.attributes.attempts_max) == (9, 5_000, 4)


async def test_an_edit_is_refused_where_it_cannot_be_made(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed = await q.push(topic, "old", delay=3600)
        seen = (await q.get(pushed.id)).version
        changed = await q.edit(pushed.id, body="new", if_version=seen)
        with pytest.raises(adjourn.ChangedError):
            await q.edit(pushed.id, body="newer", if_version=seen)
        await q.edit(pushed.id, delay=0, if_version=changed.version)
        with pytest.raises(adjourn.ExpiresBeforeDueError):
            await q.edit(pushed.id, delay=60, expires_after=30)
        with pytest.raises(adjourn.TooLargeError):
            await q.edit(pushed.id, body=bytes(q.session.limits.body_bytes_max + 1))
        (job,) = await q.reserve(topic, wait=30)
        assert job.value == "new"
        with pytest.raises(adjourn.ReservedError):
            await q.edit(job, priority=1)
        await job.bury()
        assert (await q.edit(job, body="buried")).state is JobState.BURIED
        with pytest.raises(adjourn.WrongStateError):
            await q.edit(job, delay=0)
        await q.delete(job)
        with pytest.raises(adjourn.NotFoundError):
            await q.edit(job, priority=1)


async def test_keys(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        first = await q.push(topic, key="k", delay=60)
        with pytest.raises(adjourn.KeyExistsError) as refused:
            await q.push(topic, key="k")
        assert refused.value.job_id == first.id
        assert (refused.value.code, refused.value.retryable) == (adjourn.ErrorCode.KEY_EXISTS, False)
        assert refused.value.applied is adjourn.Applied.NO
        kept = await q.push(topic, key="k", if_exists=IfExists.KEEP)
        assert (kept.outcome, kept.id) == (PushOutcome.KEPT, first.id)
        postponed = await q.push(topic, "later", key="k", delay=90, if_exists=IfExists.POSTPONE)
        assert (postponed.outcome, postponed.id) == (PushOutcome.POSTPONED, first.id)
        replaced = await q.push(topic, key="k", if_exists=IfExists.REPLACE)
        assert replaced.outcome is PushOutcome.REPLACED and replaced.id > first.id


async def test_a_batch_says_what_became_of_each_job(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        results = await q.push_many(topic, [NewJob(n, delay=60, key=f"k{n}") for n in range(5_000)])
        assert len({result.id for result in results}) == 5_000
        with pytest.raises(adjourn.BatchError) as failed:
            await q.push_many(topic, [NewJob("new"), NewJob("old", key="k7"), b"raw"])
        outcomes = [result.outcome for result in failed.value.results]
        assert outcomes == [PushOutcome.PUSHED, PushOutcome.REFUSED, PushOutcome.PUSHED]
        assert isinstance(failed.value.failed[0].error, adjourn.KeyExistsError)
        assert await q.count(topic=topic) == 5_002


async def test_leases_are_settled_in_every_way(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push_many(topic, [NewJob(n) for n in range(4)])
        released, given, buried, touched = await q.reserve(topic, jobs_max=4)
        await released.release(delay=60, reason="later")
        await given.give_back()
        await buried.bury("no such address")
        await touched.touch(timedelta(seconds=90))
        assert 60 < touched.seconds_left < 90
        assert (await q.get(released)).reason == "later"
        shown = await q.get(given)
        assert (shown.state, shown.attempts) == (JobState.READY, 0)
        assert (await q.get(buried)).buried is adjourn.BuriedReason.BY_CONSUMER
        assert (await q.kick(buried)).state is JobState.READY
        held = [job.id async for job in q.leases()]
        assert held == [touched.id]
        await q.delete(touched)
        with pytest.raises(adjourn.StaleLeaseError):
            await touched.finish()
        assert touched.lost is adjourn.LostReason.STALE
        by_name = adjourn.LeaseRef(given.id, given.fence)
        (error,) = await q.finish_many([by_name])
        assert isinstance(error, adjourn.StaleLeaseError)


async def test_a_lease_may_be_finished_by_another_process(url: str, topic: str) -> None:
    async with adjourn.connect(url, leases_outlive=True) as q:
        await q.push(topic)
        (job,) = await q.reserve(topic, wait=5)
    async with adjourn.connect(url) as other:
        await other.finish(adjourn.LeaseRef(job.id, job.fence))
        assert await state_of(other, job.id) == "finished"


async def test_one_job(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        pushed = await q.push(topic, delay=3600, key="k")
        assert (await q.peek(topic)).id == pushed.id
        at = datetime.now(timezone.utc) + timedelta(hours=2)
        changed = await q.reschedule(topic=topic, key="k", at=at)
        assert abs(changed.due_ms / 1000 - at.timestamp()) < 0.002
        assert (await q.run_now(pushed.id)).state is JobState.READY
        assert (await q.delete(pushed.id)).state is JobState.READY
        with pytest.raises(adjourn.NotFoundError):
            await q.delete(pushed.id)


async def test_many_jobs(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push_many(topic, [NewJob(n, delay=3600 + n, key=f"{n % 2}-{n}") for n in range(30)])
        page = await q.list_page(topic=topic, jobs_max=7)
        assert len(page.jobs) == 7 and page.cursor
        listed = [job async for job in q.list_jobs(topic=topic, key_prefix="1-", with_bodies=True)]
        assert [job.body for job in listed] == [str(n).encode() for n in range(1, 30, 2)]
        moved = [step async for step in q.bulk(BulkChange.MOVE, to=f"{topic}-2", topic=topic, key_prefix="0-", jobs_max=4)]
        assert sum(step.jobs for step in moved) == 15 and len(moved) >= 4
        soon = datetime.now(timezone.utc) + timedelta(seconds=60)
        steps = [step async for step in q.bulk(BulkChange.RESCHEDULE, at=soon, topic=topic)]
        assert sum(step.jobs for step in steps) == 15
        assert await q.count(topic=topic, due_before=soon + timedelta(seconds=1), states=States.DELAYED) == 15
        now = await q.ping()
        assert now is not None
        assert sum([step.jobs async for step in q.bulk(BulkChange.RESCHEDULE, delay=7200, topic=topic, jobs_max=4)]) == 15
        assert await q.count(topic=topic, due_from=now + timedelta(hours=2), due_before=now + timedelta(hours=3)) == 15
        assert sum([step.jobs async for step in q.bulk(BulkChange.DELETE, topic=topic)]) == 15
        assert await q.count(topic=topic) == 0


@pytest.mark.parametrize(
    ("change", "options"), [(BulkChange.RESCHEDULE, {}), (BulkChange.KICK, {"delay": 1}), (BulkChange.DELETE, {"to": "else"})]
)
async def test_a_bulk_change_has_its_options_and_no_others(
    url: str, topic: str, change: BulkChange, options: dict[str, Any]
) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(adjourn.UsageError):
            await anext(q.bulk(change, topic=topic, **options))


async def test_a_topic_has_a_name_of_up_to_200_bytes(url: str) -> None:
    longest = "aZ09._:/-+;$()" + "x" * 186
    async with adjourn.connect(url) as q:
        await q.push(longest)
        (job,) = await q.reserve(longest)
        assert job.topic == longest
        await job.finish()
        for refused in ("", "-a", "a b", "a=b"):
            with pytest.raises(adjourn.InvalidError):
                await q.push(refused)
        with pytest.raises(adjourn.TooLargeError):
            await q.push(longest + "x")


async def test_a_pause_ends_by_itself(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push(topic)
        await q.pause(topic, duration=timedelta(hours=1))
        assert 3_540_000 < (await q.topic_show(topic)).pause_left_ms <= 3_600_000
        await q.pause(topic)
        assert (await q.topic_show(topic)).pause_left_ms == 0
        paused = time.monotonic()
        await q.pause(topic, duration=1)
        with pytest.raises(adjourn.PausedError):
            await q.reserve(topic)
        (job,) = await q.reserve(topic, wait=10)
        assert time.monotonic() - paused >= 0.9
        shown = await q.topic_show(topic)
        assert (shown.paused, shown.pause_left_ms) == (False, 0)
        await job.finish()


async def test_topics(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        policy = TopicPolicy(ttr_ms=5_000, attempts_max=9, jobs_max=2, dead_letters=f"{topic}-dead", backoff=adjourn.backoff.fixed(1))
        await q.topic_set(topic, policy)
        assert (await q.topic_show(topic)).policy == policy
        await q.topic_set(topic, TopicPolicy(dead_letters=adjourn.UNSET))
        assert (await q.topic_show(topic)).policy.dead_letters is None
        await q.push_many(topic, [b"", b""])
        with pytest.raises(adjourn.QuotaError):
            await q.push(topic)
        await q.pause(topic)
        assert [one.paused for one in await q.topics() if one.topic == topic] == [True]
        with pytest.raises(adjourn.PausedError) as paused:
            await q.reserve(topic)
        assert paused.value.retryable
        await q.resume(topic)
        jobs = await q.reserve(topic, jobs_max=2)
        for job in jobs:
            await job.bury()
        assert await q.kick_many(topic, 10) == 2
        with pytest.raises(adjourn.WrongStateError):
            await q.topic_delete(topic)
        assert [step.jobs async for step in q.bulk(BulkChange.DELETE, topic=topic)] == [2]
        await q.topic_delete(topic)
        stats = await q.stats()
        assert stats.totals.pushed >= 2
        assert [one.stage for one in stats.stages] == ["wait", "commit", "apply", "lateness"]
        commit = stats.stages[1]
        assert commit.count > 0 and 0 < commit.p50_us <= commit.p99_us <= commit.p999_us <= commit.max_us


async def test_operating(url: str, topic: str) -> None:
    async with adjourn.connect(url, name="one") as q, adjourn.connect(url, name="two") as other:
        now = await q.ping()
        assert now is not None and abs((now - datetime.now(timezone.utc)).total_seconds()) < 5
        (found,) = [one async for one in q.connections() if one.client_name == "two"]
        await q.disconnect(found.connection, ends_session=True)
        await until_true(lambda: _is_gone(q, found.connection))
        report = await q.cluster_status()
        assert [member.role for member in report.members] == [adjourn.MemberRole.LEADER]
        with pytest.raises(adjourn.InvalidError):
            await q.cluster_remove(report.node)
        del other


async def _is_gone(q: adjourn.Queue, connection: int) -> bool:
    return connection not in [one.connection async for one in q.connections()]


async def test_weights_share_the_jobs(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        for name in ("a", "b"):
            await q.push_many(f"{topic}-{name}", [name] * 12)
        jobs = await q.reserve(f"{topic}-a", f"{topic}-b", jobs_max=12, weights=[5, 1])
        assert sorted(job.value for job in jobs).count("b") == 2


async def test_a_subscription_yields_jobs_and_gives_back_what_it_does_not_hand_out(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push_many(topic, list(range(10)))
        seen = []
        async with q.subscribe(topic, credit=4) as jobs:
            async for job in jobs:
                seen.append(job.value)
                await job.finish()
                if len(seen) == 3:
                    break
        await until_true(lambda: _has(q, topic, ready=7))
        shown = [job async for job in q.list_jobs(topic=topic)]
        assert [job.attempts for job in shown] == [0] * 7


async def _has(q: adjourn.Queue, topic: str, **counts: int) -> bool:
    (found,) = [one for one in await q.topics() if one.topic == topic]
    return all(getattr(found.totals, name) == count for name, count in counts.items())


async def test_credit_bounds_what_a_subscription_holds(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push_many(topic, list(range(10)))
        async with q.subscribe(topic, credit=3) as jobs:
            await until_true(lambda: _has(q, topic, reserved=3))
            jobs.add_credit(2, 100)
            await until_true(lambda: _has(q, topic, reserved=5))
            assert jobs.waiting == 5


async def test_a_cancelled_reserve_leases_nothing(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(q.reserve(topic, wait=30), 0.05)
        pushed = await q.push(topic)
        assert await state_of(q, pushed.id) == "ready"
        assert [job.id for job in await q.reserve(topic)] == [pushed.id]


async def test_errors_of_the_caller_are_refused_before_they_are_sent(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        for options in (
            {"at": datetime(2030, 1, 1)},
            {"delay": -1},
            {"delay": float("nan")},
            {"delay": 1, "at": datetime.now(timezone.utc)},
            {"key": ""},
            {"headers": {"a": "b" * 2_000}},
            {"priority": 1 << 40},
            {"backoff": adjourn.Backoff("fixed", (1, 2))},
        ):
            with pytest.raises(adjourn.UsageError):
                await q.push(topic, b"", **options)  # type: ignore[arg-type]
        with pytest.raises(adjourn.UsageError):
            await q.push(topic, object())
        with pytest.raises(TypeError):
            NewJob(b"", delai=1)
        with pytest.raises(adjourn.TooLargeError):
            await q.push(topic, bytes(2 << 20))
        with pytest.raises(adjourn.InvalidError) as invalid:
            await q.push("-no topic", b"")
        assert not invalid.value.retryable
        assert await q.count(topic=topic) == 0


async def test_each_job_of_a_push_is_encoded_once(url: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Attributes] = []
    encode = Attributes.encode
    monkeypatch.setattr(Attributes, "encode", lambda self: encoded.append(self) or encode(self))
    async with adjourn.connect(url) as q:
        await q.push_many(topic, [NewJob({"number": n}, key=str(n)) for n in range(5)])
        assert len(encoded) == 5
        assert sorted([job.key async for job in q.list_jobs(topic=topic)]) == list("01234")


async def test_a_value_that_does_not_fit_is_refused_before_any_job_of_its_batch_is_sent(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        with pytest.raises(adjourn.UsageError):
            await q.push_many(topic, [b"fits", NewJob(b"", priority=1 << 40)])
        assert await q.count(topic=topic) == 0


@pytest.mark.parametrize("servers", ["", "http://x", "adjourn://", "h:0", "h:x", "h:70000", "[::1", "a b:1"])
def test_bad_addresses_are_refused(servers: str) -> None:
    with pytest.raises(adjourn.UsageError):
        adjourn.connect(servers)


async def test_nothing_listens() -> None:
    with pytest.raises(adjourn.CannotConnectError) as refused:
        await adjourn.connect("adjourn://127.0.0.1:1")
    assert isinstance(refused.value, ConnectionError) and refused.value.retryable


async def test_after_close_calls_fail_and_close_may_be_repeated(url: str, topic: str) -> None:
    q = await adjourn.connect(url)
    waiting = asyncio.create_task(q.reserve(topic, wait=60))
    await q.push(topic + "-other")
    await q.close()
    await q.close()
    assert await waiting == []
    with pytest.raises(adjourn.ClientClosedError):
        await q.push(topic)


CALL_BACKS = TopicPolicy(
    call_back="https://shop.example/hooks",
    call_back_method="PUT",
    call_back_headers="X-Shop: 7",
    call_back_body="{id}",
    call_back_timeout_ms=5_000,
    call_back_concurrency=8,
    call_back_rate=50,
    call_back_secrets="shop",
    call_back_refused="retry",
    call_back_retry_if="{status} == 503",
    call_back_success="reply",
    call_back_of_job=True,
    call_back_log_ms=86_400_000,
    call_back_paused=True,
    call_back_delay_ms=900_000,
)


async def test_the_settings_of_call_backs_are_shown_as_they_were_set(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.topic_set(topic, CALL_BACKS)
        shown = (await q.topic_show(topic)).policy
        names = [field.name for field in fields(TopicPolicy) if field.name.startswith("call_back")]
        assert len(names) == 15
        for name in names:
            assert getattr(shown, name) == getattr(CALL_BACKS, name) is not None, name
        await q.topic_set(topic, TopicPolicy(call_back_paused=False, call_back_body=adjourn.UNSET))
        shown = (await q.topic_show(topic)).policy
        assert (shown.call_back_paused, shown.call_back_body) == (None, None)
        assert shown.call_back == CALL_BACKS.call_back
        with pytest.raises(adjourn.InvalidError):
            await q.topic_set(topic, TopicPolicy(call_back_method="BREW"))


async def test_a_job_that_was_not_started_waits_without_an_attempt(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push(topic, "parked", attempts_max=1)
        (job,) = await q.reserve(topic)
        await job.give_back(delay=3600, reason="the bank is closed")
        shown = await q.get(job.id)
        assert (shown.state, shown.attempts, shown.reason) == (JobState.DELAYED, 0, "the bank is closed")
        assert 3_590_000 < shown.due_ms - shown.pushed_ms < 3_700_000
        await q.run_now(job.id)
        (again,) = await q.reserve(topic)
        await q.give_back(again, delay=0)
        shown = await q.get(job.id)
        assert (shown.state, shown.attempts) == (JobState.READY, 0)
        with pytest.raises(adjourn.UsageError, match="at most"):
            await q.give_back(again, delay=timedelta(days=3_651))


async def test_what_else_a_job_carries_arrives(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        made = datetime(2026, 1, 2, tzinfo=timezone.utc)
        await q.push(topic, created_at=made, schedule_reference=b"\x00daily", group="ann")
        (job,) = await q.reserve(topic)
        attributes = job.attributes
        assert attributes.created_at_ms == int(made.timestamp() * 1000)
        assert (attributes.schedule_reference, attributes.group) == (b"\x00daily", "ann")
