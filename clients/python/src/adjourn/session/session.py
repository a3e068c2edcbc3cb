"""A session with a server: the task that carries bytes, beats, reconnects and resumes."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import weakref
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import AdjournError, CannotConnectError, ClientClosedError, ForkedError, SessionTakenOverError
from ..protocol.framing import Frame
from ..protocol.numbers import PROTOCOL_VERSION, WAIT_MS_MAX
from ..protocol.requests import Cancel, Credit, Goodbye, Hello, LeaseRef, Request, Reserve, Subscribe
from ..protocol.responses import Response, Welcome
from . import answers, clock
from .calls import Arrived, Feed
from .connection import Connect, Connection, connect_tcp
from .core import Core
from .core import Link as LinkState
from .dial import Link, Missed, round_of, unreachable
from .leases import LossListener, LostReason
from .search import Address, Backoff, Search

log = logging.getLogger("adjourn")
T = TypeVar("T")

_DRAIN_MAX = 2.0
_LATE_WARNING = 0.5
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Config:
    """How to reach a server, and how patient to be. Times in seconds."""

    servers: Sequence[Address]
    name: str
    token: bytes = b""
    leases_outlive: bool = False
    without_session: bool = False
    heartbeat: float = 0.0
    connect_timeout: float = 5.0
    request_timeout: float | None = 30.0
    reconnect_wait_max: float = 1.0
    connect: Connect = connect_tcp


class Session:
    """Carries requests out, over connections that change."""

    def __init__(self, config: Config, search: Search, link: Link) -> None:
        self._config = config
        self._search = search
        self._pid = os.getpid()
        self._loop = asyncio.get_running_loop()
        now = clock.now()
        self._core = Core(
            now,
            link.said,
            link.welcome,
            timeout=config.request_timeout,
            outlive=config.leases_outlive,
            key=secrets.randbits(128) if config.without_session else None,
        )
        self._core.leases.on_loss = self._all_lost
        self._connection: Connection = link.connection
        self._listeners: list[LossListener] = []
        self._wake = asyncio.Event()
        self._looks_at = 0.0
        """When the task looks at the clock again, unless it is woken."""
        self._flushes = False
        self._unsent = 0
        self._is_forked = False
        _sessions.add(self)
        self._task = self._loop.create_task(self._run(), name="adjourn-session")

    @property
    def limits(self) -> Welcome:
        """The limits of the server."""
        return self._core.welcome

    @property
    def is_connected(self) -> bool:
        """Whether requests are answered now."""
        return self._core.link is LinkState.UP and self._core.ended is None

    async def call(self, request: Request) -> Response:
        """Carries a request out. Raises what the server refuses."""
        self._check_process()
        future: asyncio.Future[Response] = self._loop.create_future()
        request_id = self._core.submit(clock.now(), request, future)
        timer = self._timer(request_id)
        self._pump()
        try:
            return await future
        except asyncio.CancelledError:
            self._left(request_id, request, future)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def subscribe(self, request: Subscribe, feed: Feed) -> int:
        """Makes a subscription, whose jobs go to `feed`. It is made anew on each connection. Returns its number."""
        self._check_process()
        future: asyncio.Future[Response] = self._loop.create_future()
        request_id = self._core.submit(clock.now(), request, future, feed=feed)
        timer = self._timer(request_id)
        self._pump()
        try:
            await future
        except asyncio.CancelledError:
            self._core.abandon(clock.now(), request_id)
            self._pump()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return request_id

    def unsubscribe(self, subscription: int) -> None:
        """Ends a subscription. Jobs that still come are given back."""
        if not self._is_forked:
            self._core.unsubscribe(clock.now(), subscription)
            self._pump()

    def add_credit(self, subscription: int, jobs: int, size: int) -> None:
        """Adds credit to a subscription; to be kept over reconnects."""
        self._check_process()
        call = self._core.open.get(subscription)
        if call is None or not isinstance(call.request, Subscribe):
            return
        request = call.request
        call.request = replace(
            request, credit_jobs=request.credit_jobs + jobs, credit_bytes=request.credit_bytes + size
        )
        if call.on_wire:
            self._core.submit(clock.now(), Credit(subscription, jobs, size))
            self._pump()

    def is_subscribed(self, subscription: int) -> bool:
        """Whether the server sends jobs for a subscription now."""
        call = self._core.open.get(subscription)
        return self.is_connected and call is not None and call.is_confirmed

    def taken(self, subscription: int) -> None:
        """A job was taken out of the feed of a subscription."""
        if not self._is_forked:
            self._core.refund(clock.now(), subscription)
            self._pump()

    def give_back(self, leases: list[LeaseRef], delay_ms: int) -> None:
        """Releases jobs, without waiting for the answer."""
        if not self._is_forked:
            self._core.give_back(clock.now(), leases, delay_ms)
            self._pump()

    def on_loss(self, listener: LossListener) -> None:
        """Registers a function that is told when all leases are lost, until `forget_listener`."""
        self._listeners.append(listener)

    def forget_listener(self, listener: LossListener) -> None:
        """Takes a listener out."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def now(self) -> float:
        """The clock on which deadlines are counted."""
        return clock.now()

    def call_later(self, seconds: float, wake: Callable[[], None]) -> asyncio.TimerHandle:
        """Calls `wake` when this time has passed on that clock."""
        return self._loop.call_later(seconds, wake)

    async def close(self, *, says_goodbye: bool, timeout: float) -> None:
        """Ends the session."""
        if self._is_forked or os.getpid() != self._pid:
            return
        core = self._core
        if core.ended is None:
            self._stop_waiting()
            if says_goodbye and (self.is_connected or any(call.is_awaited for call in core.open.values())):
                await self._goodbye(timeout)
            core.end(ClientClosedError())
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def forget(self) -> None:
        """In a forked child: this session belongs to the parent."""
        self._is_forked = True
        self._connection.abandon()

    def _stop_waiting(self) -> None:
        core, now = self._core, clock.now()
        for request_id, call in list(core.open.items()):
            if call.feed is not None:
                core.unsubscribe(now, request_id)
            elif isinstance(call.request, Reserve) and call.on_wire:
                core.submit(now, Cancel(request_id))
            elif isinstance(call.request, Reserve):
                core.finish(request_id, Arrived(()))

    async def _goodbye(self, timeout: float) -> None:
        future: asyncio.Future[Response] = self._loop.create_future()
        self._core.submit(clock.now(), Goodbye(), future)
        self._core.ended = ClientClosedError()
        self._pump()
        try:
            await asyncio.wait_for(future, timeout)
        except (asyncio.TimeoutError, AdjournError) as error:
            log.info("the session ends without an answer to GOODBYE: %r", error)

    def _check_process(self) -> None:
        if self._is_forked or os.getpid() != self._pid:
            raise ForkedError
        if self._core.ended is None and self._task.done():
            raise ClientClosedError

    def _left(self, request_id: int, request: Request, future: asyncio.Future[Response]) -> None:
        """The caller was cancelled. Jobs that had just come for it are given back."""
        if future.done() and not future.cancelled() and future.exception() is None:
            came = future.result()
            if isinstance(request, Reserve) and isinstance(came, Arrived):
                self._core.give_back(clock.now(), [arrival.hold.ref for arrival in came.arrivals])
        self._core.abandon(clock.now(), request_id)
        self._pump()

    def _timer(self, request_id: int) -> asyncio.TimerHandle | None:
        call = self._core.open[request_id]
        if call.deadline is None:
            return None
        return self._loop.call_later(call.deadline - call.accepted + 0.001, self._expire, request_id)

    def _expire(self, request_id: int) -> None:
        self._core.expire(clock.now(), request_id)
        self._pump()

    def _all_lost(self, reason: LostReason) -> None:
        for listener in list(self._listeners):
            listener(reason)

    def _pump(self) -> None:
        self._core.pump(clock.now())
        if self._core.out and not self._flushes:
            self._flushes = True
            self._loop.call_soon(self._flush)
        if self._core.is_drained or self._core.has_due(self._looks_at):
            self._wake.set()

    def _flush(self) -> None:
        self._flushes = False
        core = self._core
        if core.link is LinkState.DOWN:
            return
        while core.out and not self._connection.is_full:
            now = clock.now()
            self._connection.send(bytes(core.out))
            core.out.clear()
            core.pulse.spoken(now)
            core.pump(now)

    def _frame(self, frame: Frame) -> None:
        now = clock.now()
        self._core.pulse.heard(now)
        answers.received(self._core, now, frame)
        self._pump()

    def _event(self) -> None:
        """The connection is lost, or takes bytes again."""
        if not self._connection.is_lost:
            self._core.pulse.moved(clock.now())
            self._flush()
        self._wake.set()

    async def _run(self) -> None:
        end: AdjournError = ClientClosedError()
        try:
            end = await self._connections()
            log.error("the client gives up: %s", end)
        except Exception as error:
            log.exception("the client has a bug")
            end = ClientClosedError()
            end.__cause__ = error
        finally:
            self._connection.close()
            self._core.end(end)

    async def _connections(self) -> AdjournError:
        waits = Backoff(self._config.reconnect_wait_max)
        while True:
            why = await self._carry()
            self._connection.close()
            log.info("the connection is lost: %s", why)
            core = self._core
            core.down()
            if core.is_taken_over and not self._search.took_itself_over():
                return SessionTakenOverError()
            if core.was_proven:
                waits.reset()
            error = await self._reconnect(waits)
            if error is not None:
                return error

    async def _carry(self) -> str:
        """Carries bytes until the connection is lost. Says why it was."""
        core, connection = self._core, self._connection
        connection.attach(self._frame, self._event)
        self._unsent = 0
        self._pump()
        drains_until: float | None = None
        while True:
            now = clock.now()
            if connection.is_lost:
                return str(connection.failure or "the server closed it")
            self._look_at_progress(now)
            loss = core.tick(now)
            if loss is not None:
                return loss.value
            self._pump()
            wake_at = core.next_tick(now)
            if core.link is LinkState.DRAINING:
                drains_until = drains_until or now + _DRAIN_MAX
                if core.is_drained or now >= drains_until:
                    return "the server is about to close it"
                wake_at = min(wake_at, drains_until)
            await self._wait_until(wake_at)

    def _look_at_progress(self, now: float) -> None:
        """A server that takes bytes or sends a part of a frame is not stuck."""
        unsent, before = self._connection.unsent_bytes(), self._unsent
        self._unsent = unsent
        if self._connection.heard:
            self._connection.heard = False
            self._core.pulse.heard(now)
            if self._connection.is_mid_frame:
                self._core.pulse.moved(now)
        if unsent < before:
            self._core.pulse.moved(now)

    async def _wait_until(self, wake_at: float) -> None:
        self._wake.clear()
        self._looks_at = wake_at
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.002, wake_at - clock.now()))
        except asyncio.TimeoutError:
            late = clock.now() - wake_at
            if late > _LATE_WARNING:
                log.warning("the event loop stood still for %.1f s: do not block it", late)
            if late > 0.05:
                # What came meanwhile is read before the clock is looked at.
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    async def _reconnect(self, waits: Backoff) -> AdjournError | None:
        """Finds the leader and resumes the session. Returns why that is hopeless."""
        core, config = self._core, self._config
        hint, pause = core.hint, core.pause
        while True:
            await self._pause(pause + waits.wait())
            if core.ended is not None and not core.open:
                return core.ended
            hello = _hello(config, None if config.without_session else core.welcome)
            members = [member.address for member in core.members]
            search = round_of(config.connect, self._search, hello, config.connect_timeout, hint, members, is_again=True)
            found = await self._ticking(search)
            if isinstance(found, Missed):
                if found.is_hopeless and found.error is not None:
                    return found.error
                hint, pause = found.leader, found.pause
                continue
            self._connection = found.connection
            unresumed = "is new" if found.welcome.session else "is not wanted"
            log.info("connected; session %s", "resumed" if found.welcome.resumed else unresumed)
            try:
                core.up(clock.now(), found.said, found.welcome)
            except AdjournError as error:
                return error
            return None

    async def _pause(self, seconds: float) -> None:
        await self._ticking(asyncio.sleep(seconds))

    async def _ticking(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for something without a connection; leases are presumed lost meanwhile when it is time."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                now = clock.now()
                self._core.tick(now)
                await asyncio.wait([task], timeout=max(0.01, self._core.next_tick(now) - now))
            return task.result()
        finally:
            task.cancel()


async def open_session(config: Config) -> Session:
    """Connects for the first time, within `connect_timeout`."""
    search = Search(config.servers)
    missed: list[AdjournError] = []
    try:
        async with asyncio.timeout(config.connect_timeout):
            return Session(config, search, await _first_link(config, search, missed))
    except TimeoutError:
        late = missed[-1] if missed else unreachable(config.servers[0], "no answer in time")
        raise late from None


async def _first_link(config: Config, search: Search, missed: list[AdjournError]) -> Link:
    """Tries the addresses until the leader is found. `missed` gets what went wrong in each round."""
    waits = Backoff(config.reconnect_wait_max)
    hint = ""
    while True:
        hello = _hello(config, None)
        found = await round_of(config.connect, search, hello, config.connect_timeout, hint, (), is_again=False)
        if isinstance(found, Link):
            return found
        error = found.error or CannotConnectError("no address answered")
        missed.append(error)
        # Where nothing listens, waiting a little does not help: say so at once.
        nothing_listens = isinstance(error, CannotConnectError) and not found.was_silent
        if found.is_hopeless or nothing_listens:
            raise error
        hint = found.leader
        await asyncio.sleep(found.pause + waits.wait())


def _hello(config: Config, welcome: Welcome | None) -> Hello:
    return Hello(
        version_min=PROTOCOL_VERSION,
        version_max=PROTOCOL_VERSION,
        client_name=config.name,
        token=config.token,
        heartbeat_ms=min(int(config.heartbeat * 1000), WAIT_MS_MAX),
        session=welcome.session if welcome else 0,
        secret=welcome.secret if welcome else bytes(16),
        leases_outlive=config.leases_outlive,
        without_session=config.without_session,
    )


def _forget_in_child() -> None:
    for session in list(_sessions):
        session.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
