"""The code of README.md and of the tutorial runs as it stands there."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import adjourn
from adjourn import sync
from nodes import Node

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


def test_the_tutorial(server: Node) -> None:
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


def test_the_first_screen_of_the_readme(server: Node) -> None:
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


EXPORTS = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
write = lambda span: f"span {span.context.span_id} of {span.parent and span.parent.span_id} is {span.name}\\n"
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=write)))
trace.set_tracer_provider(provider)
"""


def test_the_traces_of_the_readme(server: Node) -> None:
    (block,) = [block for block in blocks("README.md") if "OpenTelemetry()" in block]
    program = EXPORTS + block.replace(ADDRESS, server.address)
    (wanted,) = re.findall(r"^# (.*)", block, re.MULTILINE)
    parents: dict[str, str] = {}
    names: dict[str, str] = {}
    with subprocess.Popen([sys.executable, "-c", program], env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.fullmatch(r"span (\d+) of (\w+) is (.*)\n", line):
                names[found[1]], parents[found[3]] = found[3], found[2]
            if len(names) == 4:
                process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    trail = ["send mail"]
    while (parent := parents[trail[0]]) != "None":
        trail.insert(0, names[parent])
    assert " > ".join(trail) == wanted


@pytest.mark.parametrize("option", ["call_back_rate", "group_set", "schedule_set"])
def test_the_policies_groups_and_schedules_of_the_readme(server: Node, option: str) -> None:
    (block,) = [block for block in blocks("README.md") if option in block]
    program = "\n".join(
        [
            "import asyncio, adjourn",
            "from datetime import datetime, timezone",
            "from adjourn import UNSET, Missed, NewJob, Overlap, States, TopicPolicy",
            "async def main():",
            f"    async with adjourn.connect('{server.url}') as q:",
            textwrap.indent(block, "        "),
            "asyncio.run(main())",
        ]
    )
    assert run(program).splitlines() == re.findall(r"^# (.*)", block, re.MULTILINE)


RUNS_ASYNC = """
import asyncio, inspect
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True
"""


def test_the_tests_of_the_readme(tmp_path: Path) -> None:
    (block,) = [block for block in blocks("README.md") if "adjourn_server" in block]
    (tmp_path / "test_reminders.py").write_text(block)
    (tmp_path / "conftest.py").write_text(RUNS_ASYNC)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "adjourn.testing.plugin", "--rootdir", str(tmp_path), str(tmp_path)]
    ended = subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and "2 passed" in ended.stdout, ended.stdout


def test_the_other_code_of_the_readme_is_python_and_names_what_exists() -> None:
    source = (HERE / "README.md").read_text()
    for block in blocks("README.md"):
        compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for name in re.findall(r"`(\w+Error)`", source):
        assert hasattr(adjourn, name) or hasattr(asyncio, name), name
    operating = source.partition("## Operating")[2].partition("The logger")[0]
    for name in re.findall(r"`(\w+)`", operating):
        assert hasattr(adjourn.Queue, name), name
