"""Counts a server's connections, and chooses those that give way to new ones. docs/limits.md lists the figures."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

_LOOKED_AT = 8
"""Connections that wait for a request and are looked at for one that may give way."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one server."""

    connections: int = 800
    """Connections open at once. A further one closes the one that has waited longest for a request, or is refused."""
    of_one_address: int = 400
    """The limit of connections from one address; behind a proxy all connections have the proxy's address."""
    spare: int = 200
    """Connections open beyond these: new ones for which there is no room, and those that gave way. Each is for one
    request, which is refused unless its path is one that is always answered."""
    spare_seconds: float = 1.0
    """Seconds for which a spare connection may send nothing before it is ended. A busy caller sends after a while."""
    head_bytes: int = 16 * 1024
    """Bytes of the request line and the headers."""
    head_seconds: float = 10.0
    """Seconds from the first byte of a head, or from the connection's start, to the head's end."""
    body_seconds: float = 10.0
    """Seconds in which ``body_bytes`` of a body, or its end, must arrive, unless the service itself lets it wait."""
    body_bytes: int = 10 * 1024
    unread_seconds: float = 30.0
    """Seconds for which the caller may read nothing of an answer that waits to be sent."""
    linger_seconds: float = 2.0
    """Seconds for which arriving bytes are dropped, after an answer that did not wait for the whole request."""
    linger_bytes: int = 1024 * 1024
    """Bytes that are dropped so at most."""
    framing: int = 8
    """Bytes of chunk sizes, their extensions and trailers for each byte of a body, beside ``head_bytes`` in all."""


class Connection(Protocol):
    """A connection, as far as it is counted and ended here."""

    transport: asyncio.Transport

    @property
    def is_silent(self) -> bool:
        """Whether every byte that has arrived was read."""
        ...

    def give_way(self) -> None:
        """End soon, and refuse a request that comes before."""
        ...

    def end_now(self) -> None:
        """End at once."""
        ...


class Connections:
    """The connections of one server, and which of them wait for a request."""

    def __init__(self, limits: ConnectionLimits, counted: Callable[[int], object] = lambda _: None) -> None:
        """Begin without connections; ``counted`` is called with their number each time that it has changed."""
        self.limits = limits
        self._counted = counted
        self._open: dict[Connection, str] = {}
        self._of_address: Counter[str] = Counter()
        self._waiting: dict[Connection, str] = {}
        self._spare: dict[Connection, None] = {}

    def opened(self, connection: Connection, address: str) -> bool:
        """Count a new connection. Return False if there is no room, and no waiting connection could make room."""
        has_room = self._of_address[address] < self.limits.of_one_address or self._make_room(address)
        has_room = has_room and (len(self._open) < self.limits.connections or self._make_room(None))
        if has_room:
            self._open[connection] = self._waiting[connection] = address
            self._of_address[address] += 1
            self._counted(len(self._open))
        return has_room

    def opened_spare(self, connection: Connection) -> None:
        """Take a connection for which there is no room, for one request; end the oldest spare one of too many."""
        if len(self._spare) >= self.limits.spare:
            oldest = next(iter(self._spare))
            del self._spare[oldest]
            oldest.end_now()
        self._spare[connection] = None

    def closed(self, connection: Connection) -> None:
        """Stop counting a connection."""
        self._waiting.pop(connection, None)
        self._spare.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]
            self._counted(len(self._open))

    def waits(self, connection: Connection) -> None:
        """Note that a connection has no request in progress."""
        if connection in self._open:
            self._waiting[connection] = self._open[connection]

    def works(self, connection: Connection) -> None:
        """Note that a connection has a request in progress."""
        self._waiting.pop(connection, None)

    def _make_room(self, address: str | None) -> bool:
        """Let the connection that has waited longest, of an address or of all, give way; return whether one did.

        A connection whose request has arrived and is not read yet does not wait.
        """
        waiting = (each for each, of in self._waiting.items() if address in {None, of})
        longest = next((each for each in islice(waiting, _LOOKED_AT) if each.is_silent), None)
        if longest is None:
            return False
        self.closed(longest)
        self.opened_spare(longest)
        longest.give_way()
        return True
