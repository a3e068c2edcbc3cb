"""Finding the leader: connect, send HELLO, read the answer, follow the hints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import AdjournError, CannotConnectError, ProtocolError, ServerError, SessionUnknownError, refused
from ..protocol.framing import decode_response, encode
from ..protocol.requests import Hello
from ..protocol.responses import Error, GoingAway, Response, Welcome
from ..protocol.wire import MalformedFrame
from . import clock
from .connection import Connect, Connection
from .pulse import HELLO_ID
from .search import Address, Search

log = logging.getLogger("adjourn")


@dataclass(frozen=True, slots=True)
class Link:
    """A connection whose HELLO was answered with WELCOME."""

    connection: Connection
    welcome: Welcome
    said: float
    """When HELLO was sent."""


@dataclass(slots=True)
class Missed:
    """A round of attempts of which none succeeded."""

    error: AdjournError | None = None
    is_hopeless: bool = False
    was_silent: bool = False
    leader: str = ""
    pause: float = 0.0


async def round_of(
    connect: Connect, search: Search, hello: Hello, limit: float, hint: str, members: Iterable[str], *, is_again: bool
) -> Link | Missed:
    """Tries each address once, and the leaders that the servers name. `is_again`: a queue was found before."""
    search.begin(hint, members)
    missed = Missed()
    while (address := search.next()) is not None:
        attempt = _Attempt(address, hello)
        try:
            link = await asyncio.wait_for(attempt.greet(connect), search.patience(limit))
        except (asyncio.TimeoutError, CannotConnectError) as error:
            silent = isinstance(error, asyncio.TimeoutError) and not isinstance(error, CannotConnectError)
            (search.silent if silent else search.answered)(address)
            if attempt.said is not None:
                search.gave_up_hello()
            failure = unreachable(address, "no answer in time") if silent else error
            missed.was_silent |= silent
            log.debug("cannot connect: %s", failure)
            if missed.error is None or not isinstance(missed.error, ServerError):
                missed.error = failure if isinstance(failure, AdjournError) else missed.error
            continue
        search.answered(address)
        if isinstance(link, Link):
            search.found(resumed=link.welcome.resumed)
            return link
        missed.error = link if isinstance(link, AdjournError) else refused(link)
        if isinstance(link, AdjournError):
            # Where a queue was, something else may answer for now; a queue may answer there again.
            missed.is_hopeless = not is_again
            if missed.is_hopeless:
                return missed
            continue
        log.debug("%s:%d: %s", *address, missed.error)
        missed.pause = max(missed.pause, link.retry_after_ms / 1000)
        if link.leader:
            missed.leader = link.leader
            search.redirect(link.leader)
        if not link.retryable and not isinstance(missed.error, SessionUnknownError):
            missed.is_hopeless = True
            return missed
    return missed


@dataclass(slots=True)
class _Attempt:
    """One try at one address."""

    address: Address
    hello: Hello
    said: float | None = None
    """When HELLO was sent; `None` before."""

    async def greet(self, connect: Connect) -> Link | Error | AdjournError:
        """Connects, says HELLO and hears the answer."""
        host, port = self.address
        try:
            connection = await connect(self.address)
        except OSError as error:
            raise unreachable(self.address, str(error)) from error
        is_welcome = False
        try:
            self.said = said = clock.now()
            connection.send(bytes(encode(HELLO_ID, self.hello)))
            answer = await _answer(connection)
            if isinstance(answer, Welcome):
                is_welcome = True
                return Link(connection, answer, said)
        except MalformedFrame as error:
            return ProtocolError(f"{host}:{port} does not speak the protocol: {error}")
        except OSError as error:
            # A server tells under TLS only now that it asks for a certificate.
            raise unreachable(self.address, str(error)) from error
        finally:
            if not is_welcome:
                connection.close()
        if isinstance(answer, Error):
            return answer
        if answer is None or isinstance(answer, GoingAway):
            raise unreachable(self.address, "the server closed the connection")
        return ProtocolError(f"{host}:{port} answered HELLO with {answer.NAME}")


async def _answer(connection: Connection) -> Response | None:
    while (frame := await connection.frame()) is not None:
        response = decode_response(frame)
        if response is not None:
            return response
    return None


def unreachable(address: Address, why: str) -> CannotConnectError:
    """No connection to this address."""
    return CannotConnectError(
        f"cannot connect to {address[0]}:{address[1]}: {why}. Is the server running, and is this its address?"
    )
