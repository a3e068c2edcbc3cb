"""The effect of a frame of the server on the state of the session."""

from __future__ import annotations

import logging

from ..errors import ClientClosedError, OutcomeUnknownError, ProtocolError, refused
from ..protocol import requests as rq
from ..protocol.framing import Frame, decode_response
from ..protocol.numbers import Effect, ErrorCode, GoingAwayReason
from ..protocol.responses import (
    ClusterReport,
    Deliver,
    Delivered,
    Done,
    Error,
    GoingAway,
    Leased,
    Member,
    Pong,
    Pushed,
    Reserved,
    Response,
    Settled,
    Subscribed,
)
from ..protocol.wire import MalformedFrame
from .calls import Arrived, Call
from .core import Core, Link
from .hold import Arrival, Hold
from .pulse import MEMBERS_ID, PING_ID_MIN

log = logging.getLogger("adjourn")

NOT_HERE = (ErrorCode.NOT_LEADER, ErrorCode.NO_LEADER, ErrorCode.STOPPING, ErrorCode.SESSION_UNKNOWN)
"""Another connection may do better with the same request."""
_CLOSED_BY_OPERATOR_PAUSE = 5.0


def received(core: Core, now: float, frame: Frame) -> None:
    """Takes one frame in."""
    try:
        response = decode_response(frame)
    except MalformedFrame as error:
        log.error("an answer cannot be decoded: %s", error)
        if frame.request_id in core.open and core.open[frame.request_id].feed is None:
            core.finish(frame.request_id, ProtocolError(f"an answer cannot be decoded: {error}"))
        return
    if response is None:
        log.debug("an unknown frame 0x%02x is skipped", frame.opcode)
    elif isinstance(response, GoingAway):
        _going_away(core, response)
    elif frame.request_id == MEMBERS_ID:
        _members(core, now, response)
    elif frame.request_id == 0 or frame.request_id >= PING_ID_MIN:
        _of_the_connection(core, frame.request_id, response)
    else:
        core.pulse.moved(now)
        call = core.open.get(frame.request_id)
        if call is None or not call.on_wire:
            log.debug("an answer to an unknown request is skipped")
            _give_back_strays(core, now, response)
        else:
            _answer(core, now, frame.request_id, call, response)
    core.pump(now)


def _answer(core: Core, now: float, request_id: int, call: Call, response: Response) -> None:
    if isinstance(response, Error):
        _refused(core, now, request_id, call, response)
        return
    core.was_proven = True
    core.leases.answered(call.sent, response)
    if isinstance(response, Reserved):
        core.unseen.came(response.jobs)
        arrivals = _arrive(core, now, response.jobs)
        if not arrivals and core.ended is None and call.still_waits(now):
            _wait_on(core, now, request_id, call)
        else:
            core.finish(request_id, Arrived(arrivals))
    elif isinstance(response, Deliver) and call.feed is not None:
        core.unseen.came(response.jobs)
        arrivals = _arrive(core, now, response.jobs)
        if call.feed.has_left:
            core.give_back(now, [arrival.hold.ref for arrival in arrivals])
        else:
            call.feed.deliver(arrivals)
    elif isinstance(response, Subscribed) and call.feed is not None:
        call.is_confirmed = True
        call.settle(response)
    elif isinstance(response, Leased) and call.is_own:
        _leased(core, now, request_id, call, response)
    elif isinstance(response, Leased):
        free = [job for job in response.jobs if not core.settles(job.lease)]
        core.unseen.came(free)
        # What is too late to be handed out may have been handed out before: it is not given back.
        core.finish(request_id, Arrived(_arrive(core, now, free, gives_back=False), response.has_more))
    elif isinstance(call.request, rq.Unsubscribe):
        _unsubscribed(core, request_id, call.request)
    else:
        _finish_checked(core, request_id, call, response)


def _wait_on(core: Core, now: float, request_id: int, call: Call) -> None:
    """The server ended the wait of a RESERVE early: it goes on here after a while, or on the next connection."""
    if core.link is Link.UP:
        core.send_later(min(now + call.busy.wait(), call.accepted + call.wait), request_id)
    else:
        core.send_elsewhere(call)


def _finish_checked(core: Core, request_id: int, call: Call, response: Response) -> None:
    asked = found = 0
    if isinstance(call.request, rq.Push) and isinstance(response, Pushed):
        asked, found = len(call.request.jobs), len(response.results)
    elif isinstance(call.request, (rq.Finish, rq.Release, rq.Touch, rq.Bury)) and isinstance(response, Settled):
        asked, found = len(call.request.leases), len(response.results)
    if asked != found:
        core.finish(request_id, ProtocolError(f"an answer of {found} items to a request of {asked}"))
    else:
        core.finish(request_id, response)


def _refused(core: Core, now: float, request_id: int, call: Call, reply: Error) -> None:
    error = refused(reply)
    not_applied = reply.applied is Effect.NO
    if not_applied:
        call.doubts = max(0, call.doubts - 1)
    if isinstance(call.request, rq.Goodbye) and reply.code == ErrorCode.SESSION_UNKNOWN:
        core.finish(request_id, Done())
        return
    if isinstance(call.request, rq.Unsubscribe):
        _unsubscribed(core, request_id, call.request)
        return
    if isinstance(call.request, rq.Cancel):
        core.finish(request_id, Done())
        return
    if reply.code in NOT_HERE and not isinstance(core.ended, ClientClosedError):
        core.drain()
        core.awaits_close |= reply.code == ErrorCode.SESSION_UNKNOWN
        core.hint = reply.leader or core.hint
        core.pause = max(core.pause, reply.retry_after_ms / 1000)
        if not_applied or call.is_repeatable:
            core.send_elsewhere(call)
            return
    elif reply.code == ErrorCode.BUSY and not_applied and call.may_retry:
        when = now + max(reply.retry_after_ms / 1000, call.busy.wait())
        if call.deadline is None or not call.is_awaited or when < call.deadline:
            core.send_later(when, request_id)
            return
    if call.is_own and isinstance(call.request, rq.Leases):
        core.unseen.close()
    doubtful = call.doubts > 0 and (isinstance(call.request, rq.Push) or reply.code in NOT_HERE)
    core.finish(request_id, OutcomeUnknownError() if doubtful else error)


def _leased(core: Core, now: float, request_id: int, call: Call, response: Leased) -> None:
    """The leases that the session holds after it was resumed: those that never came are given back."""
    unseen = [lease for lease in core.unseen.pick(response.jobs) if not core.settles(lease)]
    if unseen:
        log.info("%d jobs that never arrived over the lost connection are given back", len(unseen))
        core.give_back(now, unseen)
    core.finish(request_id, Done())
    if response.has_more and isinstance(call.request, rq.Leases):
        core.ask_leases(now, response.jobs[-1].lease.job if response.jobs else call.request.after)
    else:
        core.unseen.close()


def _arrive(
    core: Core, now: float, jobs: list[Delivered] | tuple[Delivered, ...], *, gives_back: bool = True
) -> tuple[Arrival, ...]:
    if core.leases.are_over(now):
        if gives_back:
            core.give_back(now, [job.lease for job in jobs])
        return ()
    timed = [(job, core.leases.left(now, job)) for job in jobs]
    return tuple(Arrival(job, Hold(core.leases, job.lease, left, now)) for job, left in timed if left > 0)


def _give_back_strays(core: Core, now: float, response: Response) -> None:
    if isinstance(response, (Reserved, Deliver)):
        core.unseen.came(response.jobs)
        core.give_back(now, [job.lease for job in response.jobs])


def _unsubscribed(core: Core, request_id: int, request: rq.Unsubscribe) -> None:
    core.finish(request_id, Done())
    core.finish(request.subscription, Done())


def _going_away(core: Core, response: GoingAway) -> None:
    log.info("the server closes the connection: %s", response.message)
    if response.reason == GoingAwayReason.DISCONNECTED:
        core.pause = max(core.pause, _CLOSED_BY_OPERATOR_PAUSE)
    elif response.reason == GoingAwayReason.SESSION_TAKEN_OVER:
        core.is_taken_over = True
    core.awaits_close = False
    core.drain()


def _members(core: Core, now: float, response: Response) -> None:
    if isinstance(response, ClusterReport) or (isinstance(response, Error) and response.retryable):
        core.pulse.members_told(now)
    if isinstance(response, ClusterReport):
        known = [member for member in response.members if member.client_address]
        if known:
            core.members = tuple(Member(one.node, one.node == response.leader, one.client_address) for one in known)


def _of_the_connection(core: Core, request_id: int, response: Response) -> None:
    sent = core.pulse.answered(request_id)
    if isinstance(response, Pong) and sent is not None:
        core.leases.answered(sent, response)
    elif isinstance(response, Error) and response.code in NOT_HERE:
        core.drain()
        core.awaits_close |= response.code == ErrorCode.SESSION_UNKNOWN
        core.hint = response.leader or core.hint
    elif isinstance(response, Error):
        log.warning("the server refuses the connection: %s", response.message)
