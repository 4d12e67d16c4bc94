"""Sends the head of an answer together with the beginning of its body: one system call, and one packet, for both."""

import asyncio
from collections.abc import Callable

_BEGINS = b"HTTP/1.1 "
_GO_ON = b"HTTP/1.1 100 "
_END, _CLOSE = b"\r\n", b"connection: close\r\n"
_MOST = 64 * 1024
"""Bytes of a beginning that are copied behind the head; a longer one is sent after it."""


class JoinedAnswer:
    """What uvicorn writes one answer to. It waits with the head for the body until the event loop's next round."""

    __slots__ = ("_began", "_ends", "_head", "_loop", "_transport")

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, ends: Callable[[], bool] = lambda: False
    ) -> None:
        """Take the transport of the connection, and what tells whether it ends after this answer unknown to uvicorn."""
        self._transport = transport
        self._ends = ends
        self._loop = loop
        self._began = False
        self._head = b""

    def write(self, data: bytes) -> None:
        """Send a part of the answer; uvicorn writes the head first, and alone."""
        if not self._began and data.startswith(_BEGINS) and not data.startswith(_GO_ON):
            self._began, self._head = True, (data.removesuffix(_END) + _CLOSE + _END if self._ends() else data)
            self._loop.call_soon(self.send_head)
        elif self._head and len(data) <= _MOST:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        else:
            self.send_head()
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection once all is sent."""
        self.send_head()
        self._transport.close()

    def send_head(self) -> None:
        """Send the head, if it waits for a body."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)
