"""In which order the addresses of a cluster are tried."""

from __future__ import annotations

import ipaddress
import random
from collections import deque
from collections.abc import Iterable, Sequence

from ..errors import UsageError
from ..protocol.numbers import PORT_DEFAULT

_SCHEME = "adjourn://"
_TLS_SCHEME = "adjourns://"

Address = tuple[str, int]


def parse_servers(text: str) -> tuple[tuple[Address, ...], bool]:
    """Reads `adjourn://host:port,host:port`, `adjourns://` for TLS, or `host:port`. Without a port, 7440. Says whether TLS is spoken.

    The scheme of the first address holds for all.
    """
    found: list[Address] = []
    written = ""
    for part in filter(None, (part.strip() for part in text.split(","))):
        own = next((scheme for scheme in (_SCHEME, _TLS_SCHEME) if part.startswith(scheme)), "")
        if found and own and own != written:
            raise UsageError(f"{text!r}: TLS is spoken with all servers or with none: write {_TLS_SCHEME} once, before the first")
        if not found:
            written = own
        address = parse_address(part.removeprefix(own).removesuffix("/"))
        if address is None:
            break
        found.append(address)
    else:
        if found:
            return tuple(found), written == _TLS_SCHEME
    raise UsageError(f"{text!r} is no address of a queue: write {_SCHEME}host:port, or {_TLS_SCHEME}host:port for TLS")


def parse_address(text: str) -> Address | None:
    """`host:port`, `[v6]:port` or a host alone; `None` if it is none of them."""
    host, port_text = text, ""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            return None
        port_text = rest[1:]
    elif text.count(":") == 1:
        host, _, port_text = text.partition(":")
    elif ":" in text:
        return None
    if not host or any(char in host for char in " /@?#"):
        return None
    if not port_text:
        return (host, PORT_DEFAULT)
    if not (port_text.isascii() and port_text.isdigit()) or not 0 < int(port_text) < 65_536:
        return None
    return (host, int(port_text))


def is_somewhere(address: Address) -> bool:
    """Whether a server can mean this address: 0.0.0.0 would be this machine."""
    try:
        return not ipaddress.ip_address(address[0]).is_unspecified
    except ValueError:
        return True


class Search:
    """Rounds over all known addresses: the hint, the configured ones, the members."""

    def __init__(self, configured: Sequence[Address]) -> None:
        self._configured = tuple(configured)
        self._silent: set[Address] = set()
        self._ahead: deque[Address] = deque()
        self._tried: set[Address] = set()
        self._rounds = 0
        self._hellos_given_up = 0

    def begin(self, hint: str, members: Iterable[str]) -> None:
        """Begins a round."""
        self._rounds += 1
        self._tried.clear()
        named = [parse_address(text) for text in (hint, *members) if text]
        known = [address for address in named if address is not None and is_somewhere(address)]
        first = known[:1] if hint and known and parse_address(hint) == known[0] else []
        order = dict.fromkeys((*first, *self._configured, *known))
        # A server that was silent must not hide one that leads.
        self._ahead = deque(sorted(order, key=lambda address: address in self._silent))

    def next(self) -> Address | None:
        """The next address of this round."""
        if not self._ahead:
            return None
        address = self._ahead.popleft()
        self._tried.add(address)
        return address

    def patience(self, limit: float) -> float:
        """How long to wait for the last address: less while others are left, and in the first rounds."""
        if len(self._tried) + len(self._ahead) == 1:
            return limit
        return limit / {1: 4, 2: 2}.get(self._rounds, 1)

    def redirect(self, leader: str) -> None:
        """A server said who leads: tries that next, once a round."""
        address = parse_address(leader)
        if address is None or not is_somewhere(address) or address in self._tried:
            return
        if address in self._ahead:
            self._ahead.remove(address)
        if address in self._silent:
            self._ahead.append(address)
        else:
            self._ahead.appendleft(address)

    def answered(self, address: Address) -> None:
        """Something was heard from this address, if only that nothing listens there."""
        self._silent.discard(address)

    def silent(self, address: Address) -> None:
        """Nothing came from this address in time."""
        self._silent.add(address)

    def found(self, *, resumed: bool) -> None:
        """The leader is found. In a new session, no HELLO can take the old one over."""
        self._rounds = 0
        if not resumed:
            self._hellos_given_up = 0

    def gave_up_hello(self) -> None:
        """A HELLO was given up that a server may still get."""
        self._hellos_given_up += 1

    def took_itself_over(self) -> bool:
        """The session was taken over: whether it may have been by a HELLO of this client. Each does that once."""
        may_have = self._hellos_given_up > 0
        self._hellos_given_up -= may_have
        return may_have


class Backoff:
    """Random waits between attempts: below a bound that doubles from 50 ms to a maximum."""

    def __init__(self, wait_max: float) -> None:
        self._wait_max = wait_max
        self.reset()

    def reset(self) -> None:
        """The last attempt was a success."""
        self._bound = min(0.05, self._wait_max)

    def wait(self) -> float:
        """Seconds to wait before the next attempt."""
        wait = random.uniform(0, self._bound)
        self._bound = min(self._bound * 2, self._wait_max)
        return wait
