"""The requests of a session and their progress, without a socket and without a clock.

    submit --> in line --> on the wire --> answered
                  ^              |
                  +---- down ----+--> outcome unknown (not safe to repeat, session lost)

Requests are sent in the order in which they came. Promised: a push is sent under new numbers only if no copy of it can have
been applied. Without a session, a push has a key instead of numbers, under which it is sent again whatever became of its copies.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from collections import deque
from dataclasses import replace
from enum import Enum

from ..errors import (
    AdjournError,
    Applied,
    OutcomeUnknownError,
    RequestTimeoutError,
    TooLargeError,
    UsageError,
    WrongClusterError,
)
from ..protocol import requests as rq
from ..protocol.framing import encode
from ..protocol.numbers import PRODUCER_WINDOW_MAX, RELEASE_NOT_STARTED, ErrorCode
from ..protocol.responses import Done, Response, Welcome
from ..protocol.wire import Unencodable
from .calls import Arrived, Call, Feed
from .leases import LeaseClock, heartbeat_every
from .pulse import MEMBERS_ID, PING_ID_MIN, Loss, Pulse
from .unseen import Unseen

log = logging.getLogger("adjourn")

_OWN_REQUESTS = 2
_OUT_BYTES_MAX = 1 << 20
_UNCOUNTED_BYTES = 4
_KEYS = 1 << 128
# The queue remembers 65,536 jobs with keys, for all clients, and pushes one that it has forgotten a second time. So few of them
# may need a repeat at once: one PUSH, of 4,096 jobs at most, always fits.
_KEYED_JOBS_MAX = 8_192


class Link(Enum):
    """The connection as the requests see it."""

    DOWN = "requests wait in line"
    UP = "requests are sent"
    DRAINING = "answers still come, nothing more is sent"


class Core:
    """The state of one session."""

    def __init__(
        self, now: float, said: float, welcome: Welcome, *, timeout: float | None, outlive: bool, key: int | None = None
    ) -> None:
        """`key`, of a client without a session, is that of its first push."""
        # Without a session there are no leases that could end with it.
        outlive = outlive or key is not None
        self.welcome = welcome
        self.members = welcome.members
        self.link = Link.UP
        self.out = bytearray()
        self.open: dict[int, Call] = {}
        self.leases = LeaseClock(said, welcome, outlive)
        self.pulse = Pulse(now, heartbeat_every(welcome, outlive))
        self.unseen = Unseen()
        self.hint = ""
        self.pause = 0.0
        """Seconds to wait before the next connection."""
        self.awaits_close = False
        """The server said that it closes the connection; it may still say why."""
        self.was_proven = False
        """The present connection has answered something."""
        self.ended: AdjournError | None = None
        self.is_taken_over = False
        """The server said on the present connection that another one speaks for the session."""
        self._outlive = outlive
        self._timeout = timeout
        self._line: deque[int] = deque()
        self._later: list[tuple[float, int]] = []
        self._numbered: dict[int, int] = {}
        self._keyed: dict[int, int] = {}
        self._keyed_jobs = 0
        self._in_flight = 0
        self._next_id = 1
        self._next_sequence = 1
        self._next_key = key

    def submit(
        self,
        now: float,
        request: rq.Request,
        future: asyncio.Future[Response] | None = None,
        *,
        feed: Feed | None = None,
        is_own: bool = False,
    ) -> int:
        """Takes a request in. It is sent as soon as its turn comes. Returns its id."""
        if self.ended is not None:
            raise self.ended.with_traceback(None)
        call = Call(self._with_key(request), now, future, feed, is_own=is_own)
        if self._timeout is not None and future is not None:
            call.deadline = now + self._timeout + call.wait
        request_id = self._free_id()
        self.open[request_id] = call
        if is_own and isinstance(request, rq.Leases):
            self._line.appendleft(request_id)
        else:
            self._line.append(request_id)
        return request_id

    def abandon(self, now: float, request_id: int) -> None:
        """Its caller has left. What was sent is carried out, but a waiting RESERVE is cancelled."""
        call = self.open.get(request_id)
        if call is None:
            return
        call.future = None
        if call.feed is not None:
            self.unsubscribe(now, request_id)
        elif not call.on_wire and call.doubts == 0:
            self._remove(request_id)
        elif call.on_wire and isinstance(call.request, rq.Reserve):
            self._unheard(now, rq.Cancel(request_id))
        self.pump(now)

    def unsubscribe(self, now: float, request_id: int) -> None:
        """Ends a subscription. Jobs that still come are given back."""
        call = self.open.get(request_id)
        if call is None or call.feed is None:
            return
        call.feed.has_left = True
        if call.on_wire:
            self._unheard(now, rq.Unsubscribe(request_id))
            self.pump(now)
        else:
            self.finish(request_id, Done())

    def expire(self, now: float, request_id: int) -> None:
        """A call has waited for too long."""
        call = self.open.get(request_id)
        if call is None or call.deadline is None or now < call.deadline:
            return
        error = self._too_late(call)
        if call.on_wire or call.feed is not None:
            # The id is in use until the answer comes, or the connection is lost.
            call.settle(error)
            self.abandon(now, request_id)
        else:
            self.finish(request_id, error)

    def give_back(self, now: float, leases: list[rq.LeaseRef], delay_ms: int = RELEASE_NOT_STARTED) -> None:
        """Releases jobs that nobody works on."""
        most = max(1, self.welcome.leases_max)
        for start in range(0, len(leases), most):
            self._unheard(now, rq.Release(delay_ms, tuple(leases[start : start + most])))

    def pump(self, now: float) -> None:
        """Encodes what is in line, as far as the server's limits and the buffer allow."""
        due = []
        while self._later and self._later[0][0] <= now:
            due.append(heapq.heappop(self._later)[1])
        # Before all others: a push that waits for its turn must not wait for these numbers.
        self._line.extendleft(reversed(due))
        limit = max(1, self.welcome.in_flight_max - _OWN_REQUESTS)
        while self._line and self.link is Link.UP and self._in_flight < limit and len(self.out) < _OUT_BYTES_MAX:
            request_id = self._line[0]
            call = self.open.get(request_id)
            if call is not None and not call.on_wire:
                if isinstance(call.request, rq.Push) and not self._fits_window(request_id, call.request):
                    return
                self._send(now, request_id, call)
            self._line.popleft()

    def up(self, now: float, said: float, welcome: Welcome) -> None:
        """A new connection whose HELLO was sent at `said`. Sends again what may be sent again."""
        if welcome.cluster_id != self.welcome.cluster_id:
            raise WrongClusterError(self.welcome.cluster_id, welcome.cluster_id)
        is_resumed = welcome.resumed and welcome.session == self.welcome.session
        kept = self._outlive or (is_resumed and welcome.leases_kept)
        if not is_resumed:
            self._renumber()
        self.leases.up(said, welcome, kept)
        self.welcome = welcome
        self.members = welcome.members
        self.pulse = Pulse(now, heartbeat_every(welcome, self._outlive))
        self.was_proven = self.awaits_close = self.is_taken_over = False
        self.hint, self.pause = "", 0.0
        if kept and not self._outlive and self.unseen.consumes and self.ended is None:
            self.unseen.open()
            self.ask_leases(now, 0)
        else:
            self.unseen.close()
        self.link = Link.UP
        self.pump(now)

    def down(self) -> None:
        """The connection is gone."""
        self.link = Link.DOWN
        self.out.clear()
        self._later.clear()
        self._in_flight = 0
        line = []
        for request_id, call in list(self.open.items()):
            ends, was_on_wire = call.ends_with_connection, call.on_wire
            call.on_wire = call.is_confirmed = False
            if ends:
                self.finish(request_id, Done())
            elif was_on_wire and not call.is_repeatable:
                self.finish(request_id, OutcomeUnknownError())
            else:
                line.append(request_id)
        self._line = deque(line)

    def drain(self) -> None:
        """Nothing more is sent on this connection."""
        if self.link is Link.UP:
            self.link = Link.DRAINING

    @property
    def is_drained(self) -> bool:
        """Whether the connection may be closed without losing an answer."""
        return self.link is Link.DRAINING and self._in_flight == 0 and not self.out and not self.awaits_close

    def end(self, error: AdjournError) -> None:
        """Ends every call."""
        self.ended = self.ended or error
        self.link = Link.DOWN
        self._line.clear()
        for request_id, call in list(self.open.items()):
            self.finish(request_id, OutcomeUnknownError() if call.is_doubtful else error)

    def tick(self, now: float) -> Loss | None:
        """Sends what is due by the clock. Says if the connection is no good."""
        if self.leases.presume(now):
            log.warning("no answer proves that the leases are held: they are presumed lost")
            self.give_back(now, self._forget_jobs())
        if self.link is Link.DOWN:
            return None
        loss = self.pulse.loss(now, self._oldest())
        if loss is None:
            ping = self.pulse.ping_due(now, self._proven)
            if ping is not None:
                self.out += encode(ping, rq.Ping())
            if self.link is Link.UP and self.pulse.members_due(now):
                self.out += encode(MEMBERS_ID, rq.ClusterStatus())
            self.pump(now)
        return loss

    def has_due(self, before: float) -> bool:
        """Whether a request is to be sent again before this time."""
        return bool(self._later) and self._later[0][0] < before

    def next_tick(self, now: float) -> float:
        """When to call `tick` again."""
        times = [self.pulse.next_look(now, self._proven, self._oldest())]
        times += [when for when in (self.leases.ends_at(),) if when is not None]
        times += [self._later[0][0]] if self._later else []
        return min(times) if self.link is not Link.DOWN else min([now + 0.5, *times[1:]])

    def finish(self, request_id: int, outcome: Response | AdjournError) -> None:
        """Ends one request."""
        call = self._remove(request_id)
        if call is None:
            return
        if call.feed is not None:
            self.give_back(call.accepted, [arrival.hold.ref for arrival in call.feed.jobs])
            call.feed.jobs.clear()
            call.feed.end(outcome if isinstance(outcome, AdjournError) else None)
        elif isinstance(outcome, Arrived) and not call.is_awaited and isinstance(call.request, rq.Reserve):
            self.give_back(call.accepted, [arrival.hold.ref for arrival in outcome.arrivals])
        call.settle(outcome)

    def refund(self, now: float, request_id: int) -> None:
        """Gives the credit that was withheld for jobs that have been taken since."""
        call = self.open.get(request_id)
        if call is None or call.feed is None or not call.on_wire:
            return
        credit = call.feed.withheld - len(call.feed.jobs)
        if credit > 0:
            call.feed.withheld -= credit
            self._unheard(now, rq.Credit(request_id, credit, 0))

    def send_elsewhere(self, call: Call) -> None:
        """A request that was answered "not here" waits for the next connection."""
        self._leave_wire(call)

    def send_later(self, when: float, request_id: int) -> None:
        """A request that was answered "busy", or too early, is sent again after a while."""
        self._leave_wire(self.open[request_id])
        heapq.heappush(self._later, (when, request_id))

    def ask_leases(self, now: float, after: int) -> None:
        """Asks which leases the session holds, before everything that waits for its turn."""
        if self.ended is None:
            self.submit(now, rq.Leases(after, max(1, self.welcome.reserve_jobs_max)), is_own=True)

    def settles(self, lease: rq.LeaseRef) -> bool:
        """Whether a request without an answer settles this lease."""
        return any(
            isinstance(call.request, (rq.Finish, rq.Release, rq.Bury)) and lease in call.request.leases
            for call in self.open.values()
        )

    @property
    def _proven(self) -> float:
        """Since when a heartbeat has to prove that the leases are held: never without a session."""
        return self.leases.proven if self._next_key is None else math.inf

    def _with_key(self, request: rq.Request) -> rq.Request:
        """Without a session, a push takes the next key; the next one goes on behind its jobs. 0 would be none."""
        if self._next_key is None or not isinstance(request, rq.Push) or request.idempotency:
            return request
        key = self._next_key or 1
        self._next_key = (key + len(request.jobs)) % _KEYS
        return replace(request, sequence=0, idempotency=key)

    def _forget_jobs(self) -> list[rq.LeaseRef]:
        found = []
        for call in self.open.values():
            if call.feed is not None:
                found += [arrival.hold.ref for arrival in call.feed.jobs]
                call.feed.jobs.clear()
        return found

    def _unheard(self, now: float, request: rq.Request) -> None:
        if self.ended is None:
            self.submit(now, request)

    def _send(self, now: float, request_id: int, call: Call) -> None:
        if call.nobody_wants:
            self._remove(request_id)
            return
        request = call.request
        if isinstance(request, rq.Push) and not request.sequence and not request.idempotency:
            request = replace(request, sequence=self._next_sequence)
        try:
            frame = encode(request_id, _as_sent(now, call, request))
        except (Unencodable, AttributeError, TypeError, ValueError) as error:
            # It must not stay in line: everything behind it would wait for ever.
            self.finish(request_id, UsageError(f"{request.NAME} cannot be written: {error}"))
            return
        if len(frame) - _UNCOUNTED_BYTES > self.welcome.frame_bytes_max:
            self.finish(request_id, self._too_large(call, len(frame)))
            return
        call.request = request
        if isinstance(request, rq.Push) and request.sequence:
            self._numbered.setdefault(request_id, request.sequence)
            self._next_sequence = max(self._next_sequence, request.sequence + len(request.jobs))
        elif isinstance(request, rq.Push) and request_id not in self._keyed:
            self._keyed[request_id] = len(request.jobs)
            self._keyed_jobs += len(request.jobs)
        if isinstance(request, (rq.Reserve, rq.Subscribe)):
            self.unseen.consumes = True
            ping = self.pulse.consumes(now)
            if ping is not None:
                self.out += encode(ping, rq.Ping())
        self.out += frame
        call.on_wire, call.sent, call.doubts = True, now, call.doubts + 1
        self._in_flight += call.feed is None

    def _too_large(self, call: Call, frame_bytes: int) -> AdjournError:
        if call.is_doubtful:
            return OutcomeUnknownError()
        most = self.welcome.frame_bytes_max
        return TooLargeError(ErrorCode.TOO_LARGE, f"a request of {frame_bytes} bytes: the server takes {most}")

    def _too_late(self, call: Call) -> AdjournError:
        if call.doubts > 0 and isinstance(call.request, rq.Push):
            return OutcomeUnknownError()
        applied = Applied.UNKNOWN if call.doubts > 0 else Applied.NO
        return RequestTimeoutError(self._timeout or 0.0, applied)

    def _fits_window(self, request_id: int, push: rq.Push) -> bool:
        if push.idempotency:
            # A repeat is counted already.
            return request_id in self._keyed or self._keyed_jobs + len(push.jobs) <= _KEYED_JOBS_MAX
        if not self._numbered:
            return True
        oldest = next(iter(self._numbered.values()))
        first = push.sequence or self._next_sequence
        return first + len(push.jobs) - oldest <= PRODUCER_WINDOW_MAX

    def _renumber(self) -> None:
        """A new session: numbers start over, and a push that may have been applied is not sent again."""
        self._next_sequence = 1
        self._numbered.clear()
        for request_id, call in list(self.open.items()):
            if isinstance(call.request, rq.Push) and not call.request.idempotency:
                if call.doubts > 0:
                    self.finish(request_id, OutcomeUnknownError())
                else:
                    call.request = replace(call.request, sequence=0)

    def _oldest(self) -> float | None:
        on_wire = (call for call in self.open.values() if call.on_wire and call.feed is None)
        return min((call.sent + call.wait for call in on_wire), default=None)

    def _free_id(self) -> int:
        while self._next_id in self.open:
            self._next_id = self._next_id % (PING_ID_MIN - 1) + 1
        found = self._next_id
        self._next_id = self._next_id % (PING_ID_MIN - 1) + 1
        return found

    def _remove(self, request_id: int) -> Call | None:
        call = self.open.pop(request_id, None)
        if call is not None:
            self._numbered.pop(request_id, None)
            self._keyed_jobs -= self._keyed.pop(request_id, 0)
            self._leave_wire(call)
        return call

    def _leave_wire(self, call: Call) -> None:
        call.is_confirmed = False
        if call.on_wire:
            call.on_wire = False
            self._in_flight -= call.feed is None


def _as_sent(now: float, call: Call, request: rq.Request) -> rq.Request:
    """The request with what is left of its wait, or of its credit."""
    if isinstance(request, rq.Reserve):
        # One that does not wait is ordered like a change, and refused if its topics are paused. A repeat need not be, and one that
        # was to wait must not.
        least_ms = int(call.doubts > 0 or request.wait_ms > 0)
        left_ms = max(least_ms, request.wait_ms - int((now - call.accepted) * 1000))
        return replace(request, wait_ms=left_ms)
    if isinstance(request, rq.Subscribe) and call.feed is not None:
        # Jobs that came over an earlier connection do not count against the credit of this one.
        credit = max(1, request.credit_jobs - len(call.feed.jobs))
        call.feed.withheld = request.credit_jobs - credit
        return replace(request, credit_jobs=credit)
    return request
