"""The package for tests of programs: a server for each test, its clock, and assertions that say what is in the queue."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import adjourn
from adjourn import JobState, NewJob, Worker, sync
from adjourn.testing import Server, find_binary

MINUTE = timedelta(minutes=1)


def runs(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def await_end(pid: int) -> None:
    deadline = time.monotonic() + 20
    while runs(pid):
        assert time.monotonic() < deadline, "the server outlives its test"
        os.sched_yield()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(adjourn.__file__).parents[1])}


# ---- time


async def test_time_passes_when_the_test_says_so(adjourn_server: Server) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await q.push("t", "later", delay=timedelta(days=30), attempts_max=2, backoff=adjourn.backoff.each(10, 20))
        assert await q.reserve("t") == []
        waiting = asyncio.create_task(q.reserve("t", wait=60))
        await q.ping()
        adjourn_server.advance(timedelta(days=30) - MINUTE)
        await q.ping()
        assert not waiting.done()
        adjourn_server.advance(MINUTE)
        (job,) = await waiting
        assert 40 < job.seconds_left <= 60
        await job.release()
        adjourn_server.advance(9.999)
        assert await q.reserve("t") == []
        adjourn_server.advance(0.001)
        (job,) = await q.reserve("t")
        adjourn_server.advance(59.999)
        assert (await q.get(job.id)).state is JobState.RESERVED
        adjourn_server.advance(0.001)
        with pytest.raises(adjourn.StaleLeaseError):
            await job.touch()
        shown = await q.get(job.id)
        assert (shown.state, shown.attempts) == (JobState.BURIED, 2)


async def test_remembered_jobs_are_forgotten_in_time(adjourn_server: Server) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await q.push("t", key="k", remember=3600)
        (job,) = await q.reserve("t")
        await job.finish()
        adjourn_server.advance(3599)
        with pytest.raises(adjourn.KeyExistsError):
            await q.push("t", key="k")
        adjourn_server.advance(1)
        await q.push("t", key="k", expires_after=5)
        adjourn_server.assert_pushed("t", key="k")
        adjourn_server.advance(5)
        adjourn_server.assert_nothing_left()


def test_the_clock_starts_as_that_of_the_machine_and_goes_to_the_next_job(adjourn_server: Server) -> None:
    start = adjourn_server.now
    assert abs(start - datetime.now(timezone.utc)) < MINUTE
    with pytest.raises(AssertionError, match="no job is delayed"):
        adjourn_server.advance_to_next()
    with sync.connect(adjourn_server.url) as q:
        q.push("b", delay=timedelta(hours=2))
        q.push("a", delay=timedelta(hours=1))
        assert adjourn_server.advance_to_next() == start + timedelta(hours=1) == adjourn_server.now
        assert [job.topic for job in q.reserve("a", "b")] == ["a"]


async def test_a_worker_handles_what_is_due_and_the_test_waits_for_it(adjourn_server: Server) -> None:
    done: list[object] = []

    async def handle(job: adjourn.Job) -> None:
        await asyncio.sleep(0)
        done.append(job.value)
        if job.attempts == 1:
            raise adjourn.Retry(delay=60)

    async with adjourn.connect(adjourn_server.url) as q, Worker(q, "t", handler=handle):
        await q.push("t", "ann", delay=60)
        await adjourn_server.until_handled()
        assert done == []
        adjourn_server.advance(60)
        await adjourn_server.until_handled("t")
        assert done == ["ann"]
        (again,) = adjourn_server.pending("t")
        assert (again.delay, again.report.attempts) == (MINUTE, 1)
        adjourn_server.advance_to_next()
        await adjourn_server.until_handled("t", "others")
        assert done == ["ann", "ann"]
        adjourn_server.assert_nothing_left()


async def test_a_handler_whose_lease_has_ended_does_not_finish_its_job(adjourn_server: Server) -> None:
    let_go, at_work = asyncio.Event(), asyncio.Event()

    async def handle(job: adjourn.Job) -> None:
        at_work.set()
        await let_go.wait()

    async with adjourn.connect(adjourn_server.url) as q:
        async with Worker(q, "t", handler=handle, concurrency=1):
            await q.push("t", delay=60, backoff=adjourn.backoff.fixed(10))
            adjourn_server.advance_to_next()
            await asyncio.wait_for(at_work.wait(), 10)
            adjourn_server.advance(60)
            let_go.set()
        (job,) = adjourn_server.pending("t")
        assert (job.report.state, job.delay, job.report.attempts) == (JobState.DELAYED, timedelta(seconds=10), 1)


def test_a_worker_in_a_thread_is_waited_for(adjourn_server: Server) -> None:
    done: list[object] = []

    def consume() -> None:
        with sync.connect(adjourn_server.url) as q:
            for job in q.reserve("t", jobs_max=3, wait=30):
                done.append(job.value)
                job.finish()

    with sync.connect(adjourn_server.url) as q:
        q.push_many("t", [NewJob(n, delay=60) for n in range(3)])
    consumer = threading.Thread(target=consume)
    consumer.start()
    adjourn_server.advance(60)
    adjourn_server.wait_until_handled("t")
    consumer.join()
    assert done == [0, 1, 2]
    adjourn_server.assert_nothing_left("t")


async def test_waiting_for_workers_has_an_end(adjourn_server: Server) -> None:
    async with adjourn.connect(adjourn_server.url) as q:
        await q.push("t", "nobody wants me")
        await adjourn_server.until_handled("others")
        with pytest.raises(AssertionError, match="no worker has handled in time:\n  t: 'nobody wants me', ready, attempts 0"):
            await adjourn_server.until_handled(timeout=0.01)
        with pytest.raises(AssertionError, match="no worker has handled in time"):
            adjourn_server.wait_until_handled("t", timeout=0.01)


# ---- assertions


def test_pushed_and_pending_say_what_is_in_the_queue(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.push("mails", {"to": "bob"}, delay=120)
        ann = q.push("mails", {"to": "ann"}, key="ann", delay=60)
        q.push("texts", "hello")
        q.push("bytes", b"\xff\x00")
        job = adjourn_server.assert_pushed("mails", {"to": "ann"}, key="ann", delay=MINUTE)
        assert (job.id, job.topic, job.key, job.value, job.body) == (ann.id, "mails", "ann", {"to": "ann"}, b'{"to":"ann"}')
        assert (job.delay, job.due) == (MINUTE, adjourn_server.now + MINUTE)
        assert adjourn_server.assert_pushed("mails").id == ann.id, "the one that is due first"
        assert adjourn_server.assert_pushed("mails", where=lambda job: job.value["to"] == "bob").delay == 2 * MINUTE
        adjourn_server.assert_pushed("texts", "hello", delay=0)
        adjourn_server.assert_pushed("bytes", b"\xff\x00")
        assert [(job.value["to"], job.delay) for job in adjourn_server.pending("mails")] == [("ann", MINUTE), ("bob", 2 * MINUTE)]
        assert {job.topic for job in adjourn_server.jobs()} == {"mails", "texts", "bytes"}
        adjourn_server.advance(90)
        assert [job.delay.total_seconds() for job in adjourn_server.pending("mails")] == [0, 30]
        (held,) = q.reserve("mails")
        assert [job.value["to"] for job in adjourn_server.pending("mails")] == ["bob"]
        assert len(adjourn_server.jobs("mails")) == 2
        adjourn_server.assert_pushed("mails", key="ann")
        held.bury("no")
        assert [job.report.state for job in adjourn_server.jobs("mails")] == [JobState.BURIED, JobState.DELAYED]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda s: s.assert_pushed("mails", "bob"), "no job in 'mails', body 'bob'; what is in it:\n  mails: 'ann', key 'k', delayed, due in 0:01:00, attempts 0"),
        (lambda s: s.assert_pushed("mails", "ann", delay=61), "no job in 'mails', body 'ann', due in 0:01:01;"),
        (lambda s: s.assert_pushed("mails", b"bob"), "no job in 'mails', body b'bob'"),
        (lambda s: s.assert_pushed("mails", key="other"), "no job in 'mails', key 'other'"),
        (lambda s: s.assert_pushed("mails", where=lambda job: job.value == "bob"), "for which `where` is true"),
        (lambda s: s.assert_pushed("others"), "no job in 'others'; what is in it:\n  none"),
        (lambda s: s.assert_not_pushed("mails"), "there are jobs in 'mails':\n  mails: 'ann'"),
        (lambda s: s.assert_not_pushed("mails", "ann", key="k", delay=60), "there are jobs in 'mails', body 'ann', key 'k', due in 0:01:00:"),
        (lambda s: s.assert_nothing_left(), "there are jobs left:\n  mails: 'ann'"),
        (lambda s: s.assert_nothing_left("others", "mails"), "there are jobs left:\n  mails: 'ann'"),
    ],
)  # fmt: skip
def test_an_assertion_that_fails_says_what_is_there(adjourn_server: Server, wrong: Callable[[Server], object], says: str) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.push("mails", "ann", key="k", delay=60)
    with pytest.raises(AssertionError) as failed:
        wrong(adjourn_server)
    assert says in str(failed.value)


def test_what_was_not_pushed(adjourn_server: Server) -> None:
    adjourn_server.assert_not_pushed("mails")
    with sync.connect(adjourn_server.url) as q:
        q.push("mails", "ann", delay=60)
        adjourn_server.assert_not_pushed("others")
        adjourn_server.assert_not_pushed("mails", "bob")
        adjourn_server.assert_not_pushed("mails", "ann", delay=59)
        adjourn_server.assert_nothing_left("others")


def test_nothing_is_said_of_jobs_that_have_left_the_queue(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.push("mails", "ann")
        q.reserve("mails")[0].finish()
        adjourn_server.assert_nothing_left()
        for wrong in (lambda: adjourn_server.assert_not_pushed("mails"), lambda: adjourn_server.assert_not_pushed("mails", "bob")):
            with pytest.raises(AssertionError, match="1 jobs were pushed to 'mails' and have left it"):
                wrong()
        with pytest.raises(AssertionError, match="and 1 that were pushed have left it"):
            adjourn_server.assert_pushed("mails", "ann")
        q.push("remembered", "ann", remember=3600)
        q.reserve("remembered")[0].finish()
        adjourn_server.assert_pushed("remembered", "ann")
        adjourn_server.assert_not_pushed("remembered", "bob")
        adjourn_server.assert_nothing_left()


def test_many_jobs_are_cut_short_in_a_message(adjourn_server: Server) -> None:
    with sync.connect(adjourn_server.url) as q:
        q.push_many("t", list(range(2_000)))
    assert len(adjourn_server.jobs("t")) == 2_000
    with pytest.raises(AssertionError, match="t: 19, ready, attempts 0\n  and 1980 more$"):
        adjourn_server.assert_nothing_left()


# ---- the process


def test_each_test_has_a_server_of_its_own_that_ends_with_it() -> None:
    with Server() as first, Server() as second:
        assert first.address != second.address
        with sync.connect(first.url) as q:
            q.push("t")
        second.assert_nothing_left()
        second.assert_not_pushed("t")
        first.advance(60)
        assert first.now - second.now > timedelta(seconds=50)
        pids = (first.pid, second.pid)
        assert all(runs(pid) for pid in pids) and "listening" in first.log()
        first.stop()
    first.stop()
    assert not any(runs(pid) for pid in pids)


OWNER = """
import os, signal, sys
from adjourn.testing import Server
server = Server()
server.advance(1)
print(server.pid, flush=True)
sys.stdin.readline()
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "hung up":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    os.killpg(0, signal.SIGHUP)
if sys.argv[1] == "raises":
    raise ValueError
"""


@pytest.mark.parametrize("end", ["returns", "raises", "killed", "hung up"])
def test_a_server_ends_with_the_process_that_started_it(end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, end],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as owner:
        assert owner.stdin is not None and owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert runs(pid)
        owner.stdin.write("\n")
        owner.stdin.flush()
        assert owner.wait(20) == {"returns": 0, "raises": 1, "killed": -signal.SIGKILL, "hung up": -signal.SIGHUP}[end]
    await_end(pid)


SURVIVED = """
import os, signal, subprocess, sys
from adjourn.testing import Server
server = Server()
if sys.argv[1] == "forks":
    child = os.fork()
    while child == 0:
        signal.pause()
else:
    child = subprocess.Popen(["sleep", "600"], close_fds=False).pid
print(server.pid, child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["forks", "starts a program"])
def test_a_child_that_outlives_the_tests_keeps_no_server(how: str) -> None:
    with subprocess.Popen([sys.executable, "-c", SURVIVED, how], env=environment(), stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, child = map(int, owner.stdout.readline().split())
        try:
            await_end(pid)
            assert runs(child)
        finally:
            os.kill(child, signal.SIGKILL)


PARENT = """
import os, sys
from adjourn.testing import Server
server = Server()
child = os.fork()
if child == 0:
    server.stop()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
server.advance(1)
print("alive")
"""


def test_a_forked_child_leaves_the_server_alone() -> None:
    ended = subprocess.run([sys.executable, "-c", PARENT], env=environment(), capture_output=True, text=True, timeout=60)
    assert ended.stdout == "alive\n", ended.stderr


def test_a_server_that_died_is_no_harm() -> None:
    server = Server()
    server.advance(1)
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    assert not runs(server.pid)


def test_what_a_developer_has_set_is_not_for_this_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_DATA", "/nowhere")
    monkeypatch.setenv("ADJOURN_LISTEN", "127.0.0.1:1")
    with Server("--session-grace-ms", "3000") as server:
        server.assert_nothing_left()


def test_a_missing_server_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ADJOURN_BIN", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="set it to the path of the adjourn binary"):
        Server()
    monkeypatch.delenv("ADJOURN_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="install `adjourn` in this Python environment or on the PATH, or set ADJOURN_BIN"):
        Server()


FINDS = """
from adjourn.testing import Server, find_binary
with Server() as server:
    server.assert_nothing_left()
print(find_binary())
"""


def test_the_binary_of_the_environment_comes_before_that_of_the_path(tmp_path: Path) -> None:
    binary, home, path = find_binary().resolve(), tmp_path / "venv", tmp_path / "path"
    venv.create(home)
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(home), "platbase": str(home)}))
    path.mkdir()

    def found(**more: str) -> Path:
        # The environment is not activated, and there is no shell.
        variables = {"PATH": str(path), "PYTHONPATH": environment()["PYTHONPATH"], **more}
        ended = subprocess.run([scripts / "python", "-c", FINDS], env=variables, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        return Path(ended.stdout.strip())

    (path / "adjourn").symlink_to(binary)
    assert found() == path / "adjourn"
    (scripts / "adjourn").symlink_to(binary)
    assert found() == scripts / "adjourn"
    assert found(ADJOURN_BIN=str(binary)) == binary


def test_a_server_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="(?s)the server does not start.*unexpected argument '--no-such-option'"):
        Server("--no-such-option")
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho hello\necho 'I am old' >&2\n")
    old.chmod(0o755)
    with pytest.raises(RuntimeError, match="I am old"):
        Server(binary=old)
