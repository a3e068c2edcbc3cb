"""Handlers that tests run in processes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import adjourn


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("there is no text")


def in_process(job: adjourn.JobData) -> None:
    """Does what the body says."""
    order: Any = job.value
    if order == "fail":
        raise ValueError("as ordered")
    if order == "bury":
        raise adjourn.Bury("never again")
    if order == "retry":
        raise adjourn.Retry("soon", delay=60)
    if order == "unprintable":
        raise Unprintable
    if order == "exit":
        os._exit(3)
    if order.startswith("hold "):
        with open(order.removeprefix("hold "), "w") as file:
            file.write(str(os.getpid()))
        # Sleeps in C without giving the interpreter back.
        ctypes.PyDLL(None).sleep(60)


class FaultyContext:
    """A context for a handler in a process, of which one step fails."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fail("load")

    def __enter__(self) -> None:
        self._fail("enter")

    def __exit__(self, *error: object) -> None:
        self._fail("exit")

    def _fail(self, step: str) -> None:
        if self.step == step:
            raise RuntimeError(f"no {step}")


def writes_trace(job: adjourn.JobData) -> None:
    """Writes which span it runs in."""
    from opentelemetry import propagate

    headers: dict[str, str] = {}
    propagate.inject(headers)
    with open(job.value, "w") as file:
        file.write(headers["traceparent"])


async def async_in_process(job: adjourn.JobData) -> None:
    """An `async def` works, too."""
    assert job.value == "async"


def generates(job: adjourn.JobData) -> Iterator[int]:
    """Has a `yield`: to call it runs nothing."""
    yield job.id
