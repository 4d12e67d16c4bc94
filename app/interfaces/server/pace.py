"""How fast a caller sends a body, and whether it reads an answer. docs/limits.md lists the figures."""

import asyncio
from dataclasses import dataclass

from app.interfaces.server.connections import ConnectionLimits


@dataclass(slots=True)
class BodyPace:
    """Counts what arrives of a request's body."""

    limits: ConnectionLimits
    _body: int = 0
    """Bytes of the body that arrived in this period."""
    _framing: int = 0
    """Bytes outside the body, less those that are allowed for each byte of it."""
    _let_wait: bool = False
    """Whether the service has let the body wait in this period."""

    def arrived(self, count: int) -> None:
        """Count bytes of the body and of what frames it."""
        self._framing += count

    def took(self, count: int, *, waits: bool) -> None:
        """Count those of them that were of the body; ``waits``: the service lets the next ones wait."""
        self._body += count
        self._framing = max(0, self._framing - count * (1 + self.limits.framing))
        self._let_wait = self._let_wait or waits

    @property
    def has_too_much_framing(self) -> bool:
        """Whether the chunks say more than they hold."""
        return self._framing > self.limits.head_bytes

    def was_fast(self, *, waits: bool) -> bool:
        """Tell whether enough came in the period that ends now, or the service let the body wait; begin the next."""
        enough = self._body >= self.limits.body_bytes or self._let_wait or waits
        self._body, self._let_wait = 0, waits
        return enough


class UnreadAnswer:
    """Ends a connection whose caller reads nothing of an answer that waits to be sent."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Bind a connection, whose caller may read nothing for so many seconds."""
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Look from time to time whether less is unsent than before."""
        self.forget()
        unsent = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(self._seconds, self._look, unsent)

    def forget(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, unsent: int) -> None:
        if 0 < self._transport.get_write_buffer_size() < unsent:
            self.watch()
        else:
            self._transport.abort()
