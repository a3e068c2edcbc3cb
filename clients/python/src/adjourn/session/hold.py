"""The right to one job, as far as this client can know."""

from __future__ import annotations

from ..protocol.requests import LeaseRef
from ..protocol.responses import Delivered
from .leases import LeaseClock, LostReason


class Hold:
    """A lease and its deadline on this client's clock."""

    __slots__ = ("_leases", "_losses", "_reason", "deadline", "ref", "ttr")

    def __init__(self, leases: LeaseClock, ref: LeaseRef, ttr: float, came: float) -> None:
        self._leases = leases
        self._losses = leases.losses
        self._reason: LostReason | None = None
        self.ref = ref
        self.ttr = ttr
        """Seconds that the lease had when it came. A touch gives it as many again."""
        self.deadline = came + ttr

    def now(self) -> float:
        """The clock on which the deadline is counted."""
        return self._leases.now()

    @property
    def half_at(self) -> float:
        """When half of its time is over: then a handler's lease is touched, and a job without a handler is given back."""
        return self.deadline - self.ttr / 2

    def left(self) -> float:
        """Seconds until the deadline; 0 if the lease is lost."""
        return 0.0 if self.lost() else max(0.0, self.deadline - self.now())

    def lost(self) -> LostReason | None:
        """Why the lease is lost; `None` while it is held."""
        if self._reason is None:
            self._reason = self._leases.lost_since(self._losses)
        if self._reason is None and self.now() >= self.deadline:
            self._reason = LostReason.DEADLINE
        return self._reason

    def lose(self, reason: LostReason) -> None:
        """The lease has ended. The first reason stays."""
        if self._reason is None:
            self._reason = reason

    def touched(self, sent: float, ttr: float | None) -> None:
        """The server answered a TOUCH that was sent at `sent`."""
        if self._reason is None:
            self.ttr = self.ttr if ttr is None else ttr
            self.deadline = max(self.deadline, sent + self.ttr) if ttr is None else sent + self.ttr


class Arrival:
    """A job that came, and the hold on it."""

    __slots__ = ("hold", "job")

    def __init__(self, job: Delivered, hold: Hold) -> None:
        self.job = job
        self.hold = hold
