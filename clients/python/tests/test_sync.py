"""The client without `async`, threads, forks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

import adjourn
from adjourn import sync


def in_child(work: Callable[[], None]) -> int:
    """Runs something in a forked child, which then ends as programs do. Returns its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child hangs")


def test_calls_without_async(url: str, topic: str) -> None:
    with sync.connect(url) as q:
        pushed = q.push(topic, {"n": 1}, key="k")
        (job,) = q.reserve(topic, wait=5)
        assert (job.id, job.value) == (pushed.id, {"n": 1})
        job.touch(90)
        assert job.seconds_left > 80
        assert [held.id for held in q.leases()] == [job.id]
        job.release(reason="again")
        assert q.get(topic=topic, key="k").reason == "again"
        changed = q.edit(topic=topic, key="k", priority=7, body={"n": 2}, headers=None)
        assert q.edit(pushed.id, body={"n": 1}, if_version=changed.version).job == pushed.id
        with pytest.raises(adjourn.ChangedError):
            q.edit(pushed.id, priority=8, if_version=changed.version)
        q.pause(topic, duration=3_600)
        assert 3_540_000 < q.topic_show(topic).pause_left_ms <= 3_600_000
        q.resume(topic)
        q.push_many(topic, list(range(4)))
        seen = []
        for job in q.subscribe(topic, credit=2):
            job.finish()
            seen.append(job.value)
            if len(seen) == 5:
                break
        # The one that was released waits for its backoff.
        assert seen == [0, 1, 2, 3, {"n": 1}]
        assert [job.id for job in q.list_jobs(topic=topic)] == []
        with pytest.raises(adjourn.NotFoundError):
            q.delete(pushed.id)
    with pytest.raises(adjourn.ClientClosedError):
        q.push(topic)
    q.close()


def test_every_call_of_the_queue_has_a_twin() -> None:
    missing = {"before_close", "codec", "forget_stop", "leave_leases", "session"}
    names = {name for name in dir(adjourn.Queue) if not name.startswith("_")}
    assert names - missing == {name for name in dir(sync.Queue) if not name.startswith("_")}


def test_threads_share_a_client(url: str, topic: str) -> None:
    with sync.connect(url) as q:
        threads = [threading.Thread(target=lambda: [q.push(topic) for _ in range(25)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert q.count(topic=topic) == 200


def test_a_child_has_a_session_of_its_own_and_leaves_that_of_its_parent_alone(url: str, topic: str) -> None:
    with sync.connect(url, name="parent") as q:
        q.push(topic, "held", ttr=600)
        (job,) = q.reserve(topic, wait=5)
        (before,) = [one for one in q.connections() if one.client_name == "parent"]

        def child() -> None:
            q.push(topic, "from the child")
            assert len([one for one in q.connections() if one.client_name == "parent"]) == 2
            q.close()

        assert in_child(child) == 0
        assert in_child(q.close) == 0, "a child that only closes says nothing"
        assert in_child(lambda: None) == 0
        (after,) = [one for one in q.connections() if one.client_name == "parent"]
        assert (after.connection, after.session, after.leases) == (before.connection, before.session, 1)
        assert job.lost is None
        job.finish()
        assert q.reserve(topic, wait=5)[0].value == "from the child"


def test_a_child_that_ends_with_its_interpreter_leaves_the_parent_alone(url: str, topic: str) -> None:
    program = f"""
import os, sys
from adjourn import sync
with sync.connect({url!r}) as q:
    q.push({topic!r}, ttr=600)
    (job,) = q.reserve({topic!r}, wait=5)
    if os.fork() == 0:
        sys.exit(0)
    assert os.wait()[1] == 0
    assert job.lost is None
    job.finish()
    assert q.is_connected
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=30)
    assert (ended.returncode, ended.stderr.decode()) == (0, "")


async def test_an_async_client_refuses_to_work_in_a_child(url: str, topic: str) -> None:
    async with adjourn.connect(url) as q:
        await q.push(topic)
        (job,) = await q.reserve(topic)

        def child() -> None:
            with pytest.raises(adjourn.ForkedError):
                q.push(topic).send(None)
            with pytest.raises(StopIteration):
                q.close().send(None)

        assert await asyncio.to_thread(in_child, child) == 0
        await job.finish()
        assert q.is_connected


def test_work_runs_until_a_signal(server: Node) -> None:
    program = f"""
import time
from adjourn import sync

def handle(job):
    print("started", flush=True)
    time.sleep(0.3)
    print("done", flush=True)

sync.work({server.url!r}, "t", handler=handle, stop_timeout=10)
print("stopped", flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        with sync.connect(server.url) as q:
            pushed = q.push("t")
            assert worker.stdout.readline() == "started\n"
            worker.send_signal(signal.SIGTERM)
            assert worker.stdout.read() == "done\nstopped\n"
            assert worker.wait(10) == 0
            assert q.get(pushed.id).state is adjourn.JobState.FINISHED
            assert q.stats().sessions == 1, "the worker said GOODBYE"


def test_a_worker_that_is_killed_loses_nothing(server: Node) -> None:
    program = f"""
import time
from adjourn import sync
from nodes import Node
sync.work({server.url!r}, "t", handler=lambda job: (print("started", flush=True), time.sleep(60)))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        with sync.connect(server.url) as q:
            pushed = q.push("t", ttr=600)
            assert worker.stdout.readline() == "started\n"
            worker.kill()
            (job,) = q.reserve("t", wait=20)
            assert (job.id, job.attempts) == (pushed.id, 2)
