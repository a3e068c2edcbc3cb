"""How long this client may treat its leases as its own.

Two things end a lease without notice to its holder: its deadline, and the grace of a session whose connection the server
counts as lost. The client counts both from moments that cannot be later than the server's, so it stops before another
consumer gets the job.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..protocol.numbers import HEARTBEAT_MS_MIN
from ..protocol.responses import Deliver, Delivered, Pong, Reserved, Response, Welcome
from . import clock

_DRIFT = 0.999
"""Two clocks may differ in speed by a thousandth."""
_CLOCK_AGE_MAX = 10.0
"""Seconds for which a pair of clocks is good: a slow answer makes a bad one."""
_HEARTBEATS_PER_GRACE = 4
_HEARTBEAT_MIN = HEARTBEAT_MS_MIN / 1000


class LostReason(Enum):
    """Why work on a job has to stop."""

    DEADLINE = "deadline"
    """The lease ended at its deadline."""
    CONNECTION = "connection"
    """No answer has proved for the session's grace that the lease is still held."""
    SESSION = "session"
    """The server did not keep the leases of this session."""
    STALE = "stale"
    """The server says that the lease has ended."""
    RUN_TIME = "run time"
    """The handler ran for longer than it may."""
    STOPPING = "stopping"
    """The worker stops and does not wait any longer."""

    @property
    def ends_lease(self) -> bool:
        """Whether another consumer may have the job."""
        return self not in (LostReason.RUN_TIME, LostReason.STOPPING)

    @property
    def is_a_guess(self) -> bool:
        """Whether only this client's clock said it: the server may still hold the lease."""
        return self in (LostReason.CONNECTION, LostReason.DEADLINE)


LossListener = Callable[[LostReason], None]
"""Is told when all leases are lost."""


class LeaseClock:
    """What is known of all leases of the session."""

    def __init__(self, said: float, welcome: Welcome, outlive: bool) -> None:
        self._outlive = outlive
        self._grace: float | None = None
        self._clock: tuple[float, float] | None = None
        """When a request was sent that showed the server's clock; and when that clock was 0, at the latest."""
        self._presumed_lost: float | None = None
        self.proven = said
        self.losses = 0
        """How often all leases were lost. A lease is lost if this has grown since it came."""
        self.last_loss: LostReason = LostReason.SESSION
        self.on_loss: LossListener = lambda reason: None
        self._welcomed(said, welcome)

    def up(self, said: float, welcome: Welcome, kept: bool) -> None:
        """A connection whose HELLO was sent at `said`."""
        if not kept:
            self._lose(LostReason.SESSION)
        # WELCOME proves nothing for leases that were kept: its sender may be a deposed leader.
        if not kept or self._presumed_lost is not None:
            self.proven = said
        self._presumed_lost = None
        self._welcomed(said, welcome)

    def answered(self, sent: float, response: Response) -> None:
        """An answer came to a request that was sent at `sent`."""
        if isinstance(response, Pong) and response.clock_ms:
            self._show_clock(sent, response.clock_ms)
        if _is_proof(response) and (self._presumed_lost is None or self._presumed_lost < sent):
            self._presumed_lost = None
            self.proven = max(self.proven, sent)

    def presume(self, now: float) -> bool:
        """Presumes all leases lost if it is time. Returns whether that is new."""
        if self._presumed_lost is not None or not self.are_over(now):
            return False
        self._presumed_lost = now
        self._lose(LostReason.CONNECTION)
        return True

    def are_over(self, now: float) -> bool:
        """Whether another consumer may have the jobs."""
        if self._grace is None:
            return False
        return self._presumed_lost is not None or self.proven + self._grace <= now

    def ends_at(self) -> float | None:
        """When the leases are presumed lost unless a proof comes."""
        return None if self._grace is None or self._presumed_lost is not None else self.proven + self._grace

    def now(self) -> float:
        """The clock on which deadlines are counted."""
        return clock.now()

    def lost_since(self, losses: int) -> LostReason | None:
        """Why the leases are lost that came when `losses` was the number of losses."""
        if self.losses != losses:
            return self.last_loss
        return LostReason.CONNECTION if self.are_over(self.now()) else None

    def left(self, now: float, job: Delivered) -> float:
        """Seconds for which a delivered job is surely this client's own."""
        left = job.ttr_left_ms / 1000
        if self._clock is not None and job.deadline_ms:
            _, started = self._clock
            left = min(left, started + job.deadline_ms / 1000 - now)
        return left * _DRIFT

    def _lose(self, reason: LostReason) -> None:
        self.losses += 1
        self.last_loss = reason
        self.on_loss(reason)

    def _welcomed(self, said: float, welcome: Welcome) -> None:
        grace = max(welcome.session_grace_ms / 1000, _HEARTBEAT_MIN * _HEARTBEATS_PER_GRACE)
        # A server without heartbeats does not notice that a client is silent.
        self._grace = None if self._outlive or welcome.heartbeat_ms == 0 else grace * _DRIFT
        self._clock = None
        if welcome.clock_ms:
            self._show_clock(said, welcome.clock_ms)

    def _show_clock(self, sent: float, clock_ms: int) -> None:
        started = sent - clock_ms / 1000
        if self._clock is None or started >= self._clock[1] or sent > self._clock[0] + _CLOCK_AGE_MAX:
            self._clock = (sent, started)


def heartbeat_every(welcome: Welcome, outlive: bool) -> float | None:
    """How often to ask for a proof; `None` if the server asks for no heartbeats."""
    if welcome.heartbeat_ms == 0:
        return None
    wish = welcome.heartbeat_ms / 1000
    often = max(welcome.session_grace_ms / 1000 / _HEARTBEATS_PER_GRACE, _HEARTBEAT_MIN)
    return wish if outlive else min(wish, often)


def _is_proof(response: Response) -> bool:
    if isinstance(response, (Reserved, Deliver)):
        return bool(response.jobs)
    return response.IS_PROOF
