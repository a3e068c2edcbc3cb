"""What a worker logs of handlers that fail: enough to see that something is wrong, and not more than a log can bear."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..protocol.numbers import REASON_BYTES_MAX

log = logging.getLogger("adjourn")

_REMEMBERED_MAX = 1_024
_LINES_MAX = 10
_LINES_PER_SECOND = 1.0


class FailureLog:
    """Logs a failure once for each job and reason: ten at once, and one a second on average. What it leaves out it counts."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[tuple[int, str], None] = {}
        self._left_out = 0
        self._lines = float(_LINES_MAX)
        self._counted_at = now()

    def failed(self, job: int, attempts: int, reason: str, error: BaseException | None) -> None:
        """A handler failed. With `error` its traceback is shown."""
        if (job, reason) in self._known:
            return
        if not self._may_write():
            self._left_out += 1
            return
        self._known[job, reason] = None
        if len(self._known) > _REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        more = f" (failures that were not logged: {self._left_out})" if self._left_out else ""
        self._left_out = 0
        log.warning("the handler of job %d failed at attempt %d: %s%s", job, attempts, reason, more, exc_info=error)

    def _may_write(self) -> bool:
        now = self._now()
        self._lines = min(_LINES_MAX, self._lines + (now - self._counted_at) * _LINES_PER_SECOND)
        self._counted_at = now
        if self._lines < 1:
            return False
        self._lines -= 1
        return True


def reason_of(error: BaseException) -> str:
    """The text of an error as a reason, or its kind: also of an error whose text cannot be had."""
    try:
        text = cut(str(error))
    except Exception:
        text = ""
    return text or type(error).__name__


def cut(reason: str) -> str:
    """A reason that is not too long."""
    return reason.encode("utf-8", "replace")[:REASON_BYTES_MAX].decode("utf-8", "ignore")
