"""Groups: they take turns, are listed, weighed and paused, and say what holds their jobs back."""

from __future__ import annotations

import pytest

import adjourn
from adjourn import HoldReason, NewJob, Queue, States, TopicPolicy, sync
from adjourn.testing import Server


async def push_for_two(q: Queue) -> None:
    """Three jobs of ann and one of bob, in a topic whose groups have one lease each."""
    await q.topic_set("imports", TopicPolicy(group_leases_max=1))
    await q.push_many("imports", [NewJob(f"ann {n}", group="ann") for n in range(3)])
    await q.push("imports", "bob", group="bob")


async def test_a_group_takes_no_more_than_its_share(adjourn_server: Server) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await push_for_two(q)
        listed = [one async for one in q.groups("imports")]
        assert [(one.name, one.ready, one.reserved, one.weight, one.paused) for one in listed] == [("ann", 3, 0, 1, 0), ("bob", 1, 0, 1, 0)]
        assert [one.hold for one in listed] == [HoldReason.NEXT, HoldReason.NEXT]

        jobs = await q.reserve("imports", jobs_max=4)
        assert sorted(job.value for job in jobs) == ["ann 0", "bob"]
        assert sorted(job.attributes.group or "" for job in jobs) == ["ann", "bob"]
        assert await q.reserve("imports", jobs_max=4) == []
        ann, bob = [one async for one in q.groups("imports")]
        assert (ann.ready, ann.reserved, ann.hold) == (2, 1, HoldReason.GROUP_LEASES)
        assert (bob.ready, bob.reserved) == (0, 1)

        waiting = [job async for job in q.list_jobs(topic="imports", group="ann", states=States.READY)]
        assert [job.attributes.group for job in waiting] == ["ann", "ann"]
        for job in waiting:
            first = (await q.why(job.id))[0]
            assert first.why is HoldReason.GROUP_LEASES and first.text != ""
        reserved = next(job for job in jobs if job.attributes.group == "ann")
        assert (await q.why(reserved.id))[0].why is HoldReason.RESERVED
        await reserved.finish()
        (got,) = await q.reserve("imports", jobs_max=4)
        assert got.value == "ann 1"


async def test_a_group_is_weighed_paused_and_asked_why(adjourn_server: Server) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await push_for_two(q)
        await q.group_set("imports", "bob", weight=5, paused=True)
        listed = [one async for one in q.groups("imports")]
        assert [(one.name, one.weight, one.paused) for one in listed] == [("ann", 1, 0), ("bob", 5, 1)]
        assert listed[1].hold is HoldReason.GROUP_PAUSED
        assert [one.name async for one in q.groups("imports", prefix="b")] == ["bob"]
        assert [one.name async for one in q.groups("imports", prefix="x")] == []
        (got,) = await q.reserve("imports", jobs_max=4)
        assert got.value == "ann 0"
        assert (await q.topic_why("imports"))[0].text != ""
        assert (await q.topic_why("imports", "bob"))[0].why is HoldReason.GROUP_PAUSED
        assert (await q.topic_why("imports", "ann"))[0].why is HoldReason.GROUP_LEASES

        await q.group_set("imports", "bob", paused=False)
        (bob,) = [one async for one in q.groups("imports", prefix="bob")]
        assert (bob.weight, bob.paused, bob.hold) == (5, 0, HoldReason.NEXT)
        (got,) = await q.reserve("imports", jobs_max=4)
        assert got.value == "bob"


def test_jobs_are_chosen_and_edited_by_their_group(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.topic_set("t", TopicPolicy(fair=True, group_order="fifo", group_on_bury="continue"))
        policy = q.topic_show("t").policy
        assert (policy.fair, policy.group_order, policy.group_on_bury) == (True, "fifo", "continue")
        for group in ("ann", "ann", "bob", None):
            q.push("t", key=f"{group}-{q.count(topic='t')}", group=group)
        assert (q.count(topic="t", group="ann"), q.count(topic="t", group="bob"), q.count(group="eve")) == (2, 1, 0)
        assert [job.key for job in q.list_jobs(topic="t", group="bob")] == ["bob-2"]
        q.edit(topic="t", key="bob-2", group="eve")
        q.edit(topic="t", key="ann-1", group=None)
        assert [(one.name, one.ready) for one in q.groups("t")] == [("ann", 1), ("eve", 1)]
        assert q.get(topic="t", key="ann-1").attributes.group is None
        assert q.why(topic="t", key="ann-1") and q.topic_why("t", "eve") and q.topic_why("t")
        assert sum(step.jobs for step in q.bulk(adjourn.BulkChange.DELETE, topic="t", group="eve")) == 1
        assert q.count(topic="t") == 3


def test_all_pages_of_groups_are_read(adjourn_server: Server) -> None:
    names = [f"n{n:04}" for n in range(1_001)]
    with sync.connect(adjourn_server.url) as q:
        q.topic_set("t", TopicPolicy(fair=True))
        q.push_many("t", [NewJob(b"", group=name) for name in names])
        assert [one.name for one in q.groups("t")] == names
        assert [one.name for one in q.groups("t", prefix="n100")] == ["n1000"]


def test_what_groups_cannot_do_is_refused(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.push("t", group="ann")
        with pytest.raises(adjourn.WrongStateError):
            q.group_set("t", "ann", weight=5)
        with pytest.raises(adjourn.MalformedError):
            q.push("t", group="a\nb")
        for call in (lambda: list(q.groups("none")), lambda: q.topic_why("none"), lambda: q.group_set("none", "ann", weight=5)):
            with pytest.raises(adjourn.NotFoundError):
                call()
        with pytest.raises(adjourn.NotFoundError):
            q.why(topic="t", key="none")
