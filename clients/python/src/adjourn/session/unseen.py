"""Leases that the server holds for this client although their jobs never arrived, because the connection broke before.

Fences only grow, and a connection delivers its jobs in the order in which they were granted. So every lease up to the highest
fence received has arrived; and everything that a new connection has granted arrives before the LEASED that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..protocol.requests import LeaseRef
from ..protocol.responses import Delivered


class Unseen:
    """Which leases came, and whether the session's leases have to be looked at."""

    def __init__(self) -> None:
        self._through = 0
        self._since: set[int] = set()
        self.is_open = False
        """A session was resumed, and not all of its leases were looked at since."""
        self.consumes = False
        """This client has asked for jobs."""

    def open(self) -> None:
        """The session goes on with its leases over a new connection."""
        self.is_open = True

    def came(self, jobs: Iterable[Delivered]) -> None:
        """Jobs came."""
        for job in jobs:
            if self.is_open:
                self._since.add(job.lease.fence)
            else:
                self._through = max(self._through, job.lease.fence)

    def close(self) -> None:
        """All leases were looked at, or there are none."""
        self._through = max(self._through, max(self._since, default=0))
        self._since.clear()
        self.is_open = False

    def pick(self, jobs: Iterable[Delivered]) -> list[LeaseRef]:
        """Those of the shown leases that never came."""
        return [job.lease for job in jobs if job.lease.fence > self._through and job.lease.fence not in self._since]
