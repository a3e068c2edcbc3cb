"""The code of README.md and of the tutorial runs as it stands there."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import adjourn
from adjourn import sync
from adjourn.testing import Server

HERE = Path(__file__).parents[1]
ADDRESS = "127.0.0.1:7440"


def blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (HERE / name).read_text(), re.DOTALL)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HERE / "src"), "PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}


def run(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_tutorial(server: Server) -> None:
    printed = run("\n".join(blocks("docs/tutorial.md")).replace(ADDRESS, server.address))
    assert printed.splitlines() == [
        "pushed job 1",
        "tell ann tea",
        "kept True",
        "there is job True",
        "delivered at attempt 3",
        "consuming True",
        "report of 9 bytes",
        "hooks 0 1",
        "orders 0 0",
        "reminders 0 1",
        "reports 0 1",
        "buried 0",
    ]


def test_the_first_screen_of_the_readme(server: Server) -> None:
    producer, worker, without_async, *_ = (block.replace(ADDRESS, server.address) for block in blocks("README.md"))
    run(producer)
    run(without_async)
    with sync.connect(server.url) as q:
        assert q.count(topic="emails", states=adjourn.States.DELAYED) == 2
        for job in list(q.list_jobs(topic="emails")):
            q.run_now(job.id)
        with subprocess.Popen([sys.executable, "-c", worker], env=environment(), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = sorted(process.stdout.readline() for _ in range(2))
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        assert lines == ["to ann@example.com attempt 1\n", "to bob@example.com attempt 1\n"]
        assert q.stats().totals.finished == 2


def test_the_other_code_of_the_readme_is_python_and_names_what_exists() -> None:
    source = (HERE / "README.md").read_text()
    for block in blocks("README.md"):
        compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for name in re.findall(r"`(\w+Error)`", source):
        assert hasattr(adjourn, name) or hasattr(asyncio, name), name
    operating = source.partition("## Operating")[2].partition("The logger")[0]
    for name in re.findall(r"`(\w+)`", operating):
        assert hasattr(adjourn.Queue, name), name
