"""Handlers in processes: they may hold the interpreter, and are killed when their lease is lost.

    event loop  <-- thread of the child: send, wait, receive -->  child: receive, call the handler, answer
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import inspect
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from ..jobs import HeldJob, JobData
from ..session.leases import LostReason
from ..times import Duration
from ..tracing import Faults, GuardedTracing
from .failures import reason_of
from .handlers import Bury, Handler, Retry, _tell, refuse_not_run

_SPAWN = multiprocessing.get_context("spawn")
_PR_SET_PDEATHSIG = 1

Call = tuple[JobData, bytes | None]
"""What a child gets: a job, and the pickled context that its handler runs in, if there is one."""
Outcome = tuple[str, str, Any]
"""What a child answers: `done`, `failed`, `retry` or `bury`; a text; a delay. Beside it, a fault of the context or an empty text."""


class HandlerFailed(Exception):
    """The handler raised in its process, or its process ended."""


class ProcessRunner:
    """Keeps one child for each handler that runs at once."""

    def __init__(self, handler: Handler, tracing: GuardedTracing) -> None:
        self._handler = handler
        self._tracing = tracing
        self._idle: list[_Child] = []
        self._busy: dict[int, _Child] = {}

    async def run(self, job: HeldJob) -> None:
        child = self._idle.pop() if self._idle else _Child(self._handler, self._tracing.faults)
        self._busy[id(job)] = child
        try:
            await asyncio.shield(child.call((JobData(job.delivered, job._codec), self._tracing.carry())))
        finally:
            self._busy.pop(id(job), None)
            if child.is_alive:
                self._idle.append(child)

    def stop(self, job: HeldJob, handling: asyncio.Task[None], reason: LostReason) -> None:
        child = self._busy.get(id(job))
        if child is not None:
            child.kill()

    async def close(self) -> None:
        for child in (*self._idle, *self._busy.values()):
            child.kill()
        self._idle.clear()


class _Child:
    """A process, and the thread that talks with it."""

    def __init__(self, handler: Handler, faults: Faults) -> None:
        self.is_alive = True
        self._handler = handler
        self._faults = faults
        self._calls: queue.SimpleQueue[tuple[Call, asyncio.AbstractEventLoop, asyncio.Future[None]] | None]
        self._calls = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        threading.Thread(target=self._talk, name="adjourn-process", daemon=True).start()

    def call(self, call: Call) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        self._calls.put((call, loop, ended))
        return ended

    def kill(self) -> None:
        with self._lock:
            self.is_alive = False
            if self._process is not None:
                self._process.kill()
        self._calls.put(None)

    def _talk(self) -> None:
        ours, theirs = _SPAWN.Pipe()
        watched, held = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(target=_serve, args=(self._handler, theirs, watched), daemon=True)
        with self._lock:
            if self.is_alive:
                process.start()
                self._process = process
        theirs.close()
        watched.close()
        try:
            while (asked := self._calls.get()) is not None:
                call, loop, ended = asked
                failure = self._ask(ours, call)
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_tell, ended, failure)
        finally:
            ours.close()
            held.close()
            if self._process is not None:
                self._process.join()

    def _ask(self, ours: Connection, call: Call) -> Exception | None:
        try:
            ours.send(call)
            (kind, text, delay), fault = ours.recv()
        except (EOFError, OSError):
            self.is_alive = False
            self._calls.put(None)
            return HandlerFailed("the process of the handler ended")
        except Exception as error:
            return HandlerFailed(f"the job cannot be sent to its process: {error}")
        if fault:
            self._faults.happened(fault)
        if kind == "retry":
            return Retry(text, delay=delay)
        if kind == "bury":
            return Bury(text)
        return None if kind == "done" else HandlerFailed(text)


def _serve(handler: Handler, theirs: Connection, watched: Connection) -> None:
    """The child: calls the handler for each job that comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent(watched)
    while True:
        try:
            job, carried = theirs.recv()
        except (EOFError, OSError):
            return
        theirs.send(_outcome_within(carried, handler, job))


def _outcome_within(carried: bytes | None, handler: Handler, job: JobData) -> tuple[Outcome, str]:
    """A fault of the context, which is only there for traces, changes nothing for the handler."""
    context: Any = None
    fault = ""
    if carried is not None:
        try:
            entering = pickle.loads(carried)
            entering.__enter__()
            context = entering
        except Exception as error:
            fault = reason_of(error)
    outcome = _outcome(handler, job)
    if context is not None:
        try:
            context.__exit__(None, None, None)
        except Exception as error:
            fault = reason_of(error)
    return outcome, fault


def _outcome(handler: Handler, job: JobData) -> Outcome:
    delay: Duration | None = None
    try:
        result = handler(job)
        if inspect.isawaitable(result):
            asyncio.run(_awaited(result))
        else:
            refuse_not_run(result)
    except Retry as error:
        delay = error.delay
        return ("retry", error.reason, delay)
    except Bury as error:
        return ("bury", error.reason, None)
    except BaseException as error:
        name, reason = type(error).__name__, reason_of(error)
        return ("failed", name if reason == name else f"{name}: {reason}", None)
    return ("done", "", None)


async def _awaited(result: Any) -> None:
    await result


def _end_with_parent(watched: Connection) -> None:
    """A child must not outlive the process that holds its leases."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            watched.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
