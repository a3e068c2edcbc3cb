"""What the calls of a client need below them: a session with a server, or a queue in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..protocol.requests import LeaseRef, Request, Subscribe
from ..protocol.responses import Response, Welcome
from .calls import Feed
from .leases import LostReason


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """It is not due any more."""


class LossListener(Protocol):
    """Is told when all leases are lost."""

    def __call__(self, reason: LostReason) -> None: ...


class Backend(Protocol):
    """Carries requests out."""

    @property
    def limits(self) -> Welcome:
        """The limits of the server."""

    @property
    def is_connected(self) -> bool:
        """Whether requests are answered now."""

    async def call(self, request: Request) -> Response:
        """Carries a request out. Raises what the server refuses."""

    async def subscribe(self, request: Subscribe, feed: Feed) -> int:
        """Makes a subscription, whose jobs go to `feed`. It is made anew on each connection. Returns its number."""

    def unsubscribe(self, subscription: int) -> None:
        """Ends a subscription. Jobs that still come are given back."""

    def add_credit(self, subscription: int, jobs: int, size: int) -> None:
        """Adds credit to a subscription; to be kept over reconnects."""

    def is_subscribed(self, subscription: int) -> bool:
        """Whether the server sends jobs for a subscription now."""

    def taken(self, subscription: int) -> None:
        """A job was taken out of the feed of a subscription."""

    def give_back(self, leases: list[LeaseRef], delay_ms: int) -> None:
        """Releases jobs, without waiting for the answer."""

    def on_loss(self, listener: LossListener) -> None:
        """Registers a listener, until `forget_listener`."""

    def forget_listener(self, listener: LossListener) -> None:
        """Takes a listener out."""

    def now(self) -> float:
        """The clock on which deadlines are counted."""

    def call_later(self, seconds: float, wake: Callable[[], None]) -> Timer:
        """Calls `wake` when this time has passed on that clock."""

    async def close(self, *, says_goodbye: bool, timeout: float) -> None:
        """Ends the session."""
