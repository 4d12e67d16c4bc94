"""uvicorn's HTTP protocol with limits of size and time for a request's head and body, and for unread answers.

uvicorn has no such limits (https://www.uvicorn.org/settings/#resource-limits): it keeps a head of any size, sent at any
pace, and parses and keeps all requests that are sent before earlier ones are answered. docs/limits.md lists the
figures.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Collection
from typing import Any
from uuid import uuid4

import httptools
from uvicorn._types import ASGI3Application, HTTPScope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.domain.errors import HeadersTooLarge, MalformedHttp, MemoryGatewayError, RequestTimeout, TooManyConnections
from app.interfaces.http.problems import answer_bytes, problem_response
from app.interfaces.server.connections import ConnectionLimits, Connections
from app.interfaces.server.joined import JoinedAnswer
from app.interfaces.server.pace import BodyPace, UnreadAnswer
from app.interfaces.server.upgrades import SentAhead, parser_of_body

if sys.platform != "win32":
    import fcntl
    import termios

_NO_ROOM = "This server has as many connections as it may."
_NOTHING = bytes(4)
"""The system's count of bytes to read, for a socket that has none: a C int of 0."""

_PART = 64 * 1024
_SEND_BUFFER = 128 * 1024


class _Refused(Exception):
    """The connection is one too many, and its request was refused: nothing more of it is parsed."""


def guarded(
    limits: ConnectionLimits,
    *,
    finished: Collection[str] = (),
    always: Collection[str] = (),
    refusal: Callable[[HTTPScope], bytes | None] = lambda _: None,
    counted: Callable[[int], object] = lambda _: None,
) -> type[asyncio.Protocol]:
    """Return the protocol of one server, whose connections share these limits.

    ``finished`` are the paths of requests that are answered to their end even where the caller has gone. ``always`` are
    the paths of requests that are answered even on a spare connection. ``refusal`` returns the whole answer to a
    request that is refused before anything is done for it, or None. ``counted`` takes the number of connections each
    time that it has changed.
    """
    connections = Connections(limits, counted)

    class OfThisServer(GuardedHttp):
        def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's arguments
            super().__init__(connections, finished, always, refusal, *args, **kwargs)

    return OfThisServer


class GuardedHttp(HttpToolsProtocol):
    """uvicorn's protocol with limits; one request at a time on a connection."""

    def __init__(
        self,
        connections: Connections,
        finished: Collection[str],
        always: Collection[str],
        refusal: Callable[[HTTPScope], bytes | None],
        *args: Any,  # noqa: ANN401 - uvicorn's arguments
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Take the arguments that all connections share, and uvicorn's."""
        super().__init__(*args, **kwargs)
        self._connections = connections
        self._finished = finished
        self._always = always
        self._refusal = refusal
        self._spare = False
        """Whether the connection is one too many."""
        self._task: asyncio.Task[Any] | None = None
        """The task that answers a request."""
        self._answering: asyncio.Task[Any] | None = None
        """The same task, where it is cancelled once its caller has gone."""
        self._limits = connections.limits
        self._in_head = True
        self._head_bytes = 0
        self._body = BodyPace(self._limits)
        self._ending = False
        """Whether bytes that still arrive are dropped."""
        self._dropped_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered; uvicorn has no cycle before the first request."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room for it."""
        super().connection_made(transport)
        self._unread = UnreadAnswer(transport, self.loop, self._limits.unread_seconds)
        if (own := transport.get_extra_info("socket")) is not None:  # a small buffer: how much was read is soon known
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        if self._connections.opened(self, self.client[0] if self.client else ""):
            self._end_in(self._limits.head_seconds, self._head_is_late)
        else:
            self._spare = True
            self._connections.opened_spare(self)
            self._end_in(self._limits.spare_seconds, self._refuse_spare)

    @property
    def is_silent(self) -> bool:
        """Whether every byte that has arrived was read; Windows does not tell, and it counts as so."""
        if sys.platform == "win32":
            return True
        own = self.transport.get_extra_info("socket")
        return own is None or fcntl.ioctl(own.fileno(), termios.FIONREAD, _NOTHING) == _NOTHING

    def give_way(self) -> None:
        """End soon, and refuse a request that comes before; a request that crosses the end finds no reset."""
        self._spare = True
        self._unset_keepalive_if_required()
        self._end_in(self._limits.spare_seconds, self._linger)

    def end_now(self) -> None:
        """End at once; a request that has not been answered is refused for want of room."""
        if self._head_bytes:
            self._refuse_spare()
        self.transport.abort()

    def _refuse_spare(self) -> None:
        if not self._ending:
            self._refuse(TooManyConnections(_NO_ROOM))

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection."""
        self._cancel()
        self._unread.forget()
        if self._task is None or self._task.done():
            self._connections.closed(self)
        else:  # the connection counts until its task ends
            self._connections.works(self)
            self._task.add_done_callback(lambda _: self._connections.closed(self))
        super().connection_lost(exc)
        self._leave()

    def pause_writing(self) -> None:
        """Wait for a caller to read, but no longer than the limit."""
        super().pause_writing()
        self._unread.watch()

    def resume_writing(self) -> None:
        """Go on, since the caller has read."""
        super().resume_writing()
        if self._busy or not self._ending:
            self._unread.forget()

    def data_received(self, data: bytes) -> None:
        """Parse the bytes that have arrived; of a head no more than its limit is parsed, or kept."""
        self._unset_keepalive_if_required()
        while data and not self._ending:
            data = self._parse_head(data) if self._in_head else self._parse_body(data)
        if self._ending:
            self._dropped_bytes += len(data)
            if self._dropped_bytes > self._limits.linger_bytes:
                self.transport.abort()
        elif self._in_head and self._head_bytes and self._deadline is None and not self._busy:
            self._end_in(self._limits.head_seconds, self._head_is_late)
        elif not self._in_head and self._deadline is None:  # most bodies come with their heads and need no deadline
            self._end_in(self._limits.body_seconds, self._look_at_body)

    def _parse_head(self, data: bytes) -> bytes:
        """Parse as much as a head may still have, and return the rest."""
        part = data[: self._limits.head_bytes - self._head_bytes]
        self._head_bytes += len(part)
        self._parse(part)
        if self._in_head and self._head_bytes >= self._limits.head_bytes and not self._ending:
            detail = f"The request line and the headers have more than {self._limits.head_bytes} bytes."
            self._refuse(HeadersTooLarge(detail))
        return data[len(part) :]

    def _parse_body(self, data: bytes) -> bytes:
        """Parse a part of a body, and refuse the request if its framing has too many bytes; return the rest."""
        part = data[:_PART]
        self._body.arrived(len(part))
        self._parse(part)
        if not self._in_head and self._body.has_too_much_framing and not self._ending:
            self._refuse(MalformedHttp("The body's chunks say more than they hold."))
        return data[len(part) :]

    def _parse(self, part: bytes) -> None:
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on(part[upgrade.args[0] :])
        except httptools.HttpParserError:
            if not self._ending:  # else a request that was sent ahead has ended the parsing
                self._refuse(MalformedHttp("This is not HTTP/1.1."))

    def _read_on(self, rest: bytes) -> None:
        """Read the body of a request that would change the protocol: only HTTP/1.1 is spoken here (RFC 9110, 7.8).

        Java's HttpClient asks for HTTP/2 with each request.
        """
        self.cycle.keep_alive = False
        self.parser = parser_of_body(self, self.headers)
        self._parse(rest)

    def on_message_begin(self) -> None:
        """Begin a request, unless another is being answered: its sender may send it again on another connection."""
        if self._busy:
            self._ending = True
            self.flow.pause_reading()
            raise SentAhead
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._in_head = False
        self._cancel()
        if self._spare and self.url.partition(b"?")[0].decode("ascii", "replace") not in self._always:
            self._refuse_spare()
            raise _Refused
        self._connections.works(self)
        super().on_headers_complete()
        joined = JoinedAnswer(self.transport, self.loop, self._ends_unsaid)
        self.cycle.transport = joined  # type: ignore[assignment]  # it needs no more
        if self._spare:
            self.cycle.keep_alive = False
            self._ending = True
        self._body = BodyPace(self._limits)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is ignored, because no proxy has looked at it."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, and count its bytes."""
        super().on_body(body)
        self._body.took(len(body), waits=self.flow.read_paused)

    def on_message_complete(self) -> None:
        """Await the next head, unless httptools has left the body out."""
        if not self.parser.should_upgrade():
            self.body_complete()

    def body_complete(self) -> None:
        """Await the next head; its time begins with its first byte."""
        self._cancel()
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    def _ends_unsaid(self) -> bool:
        """Tell whether the connection ends after the answer that begins now, unknown to uvicorn."""
        return self.cycle.keep_alive and (self._ending or self.cycle.more_body)

    def end_after_this(self) -> None:
        """Read no other request."""
        self._ending = True

    def on_response_complete(self) -> None:
        """Await the next request, or end the connection if this one was not read to its end."""
        if self._ending or self.cycle.more_body:
            self.server_state.total_requests += 1
            self.cycle.transport.send_head()  # type: ignore[attr-defined]  # a ``JoinedAnswer``
            self._linger()
        else:
            super().on_response_complete()
            self._connections.waits(self)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if (refusal := self._refusal(cycle.scope)) is not None:
            self.loop.call_soon(self._answer_at_once, cycle, refusal)  # once the bytes behind the head are parsed
            return

        async def until_the_caller_goes(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - uvicorn's types
            self._task = asyncio.current_task()
            self._answering = self._task if scope["path"] not in self._finished else None
            if cycle.disconnected:  # the caller has gone while the loop was busy
                return
            try:
                await app(scope, receive, send)
            except asyncio.CancelledError:
                if not cycle.disconnected or self._answering is None:
                    raise
                self._answering.uncancel()
            finally:
                if self._answering is asyncio.current_task():
                    self._answering = None

        super()._start_asgi_task(cycle, until_the_caller_goes)

    def _answer_at_once(self, cycle: RequestResponseCycle, answer: bytes) -> None:
        """Answer without the application."""
        if not cycle.disconnected:
            self._ending = self._ending or not cycle.keep_alive
            cycle.response_started = cycle.response_complete = True
            self.transport.write(answer)
            self.on_response_complete()

    def _head_is_late(self) -> None:
        if self._head_bytes:
            detail = f"The headers were not complete within {self._limits.head_seconds:g} s."
            self._refuse(RequestTimeout(detail))
        else:
            self.transport.close()

    def _look_at_body(self) -> None:
        if self._body.was_fast(waits=self.flow.read_paused):
            self._end_in(self._limits.body_seconds, self._look_at_body)
        else:
            detail = f"Less than {self._limits.body_bytes} bytes of the body came in {self._limits.body_seconds:g} s."
            self._refuse(RequestTimeout(detail))

    def _refuse(self, error: MemoryGatewayError) -> None:
        """Answer with a problem in place of the application, and end the connection."""
        if self.transport.is_closing():
            return
        if self._busy:
            if self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._leave()
        self._tell(error)
        self._linger()

    def _leave(self) -> None:
        """Cancel the task of an answer whose caller no longer waits for it."""
        if self._answering is not None and self._busy:
            self._answering.cancel()

    def _tell(self, error: MemoryGatewayError) -> None:
        request_id = uuid4().hex
        response = problem_response(error, request_id)
        headers = (b"x-request-id", request_id.encode()), (b"connection", b"close")
        self.transport.write(answer_bytes(response, *headers))

    def _linger(self) -> None:
        """End the connection once the answer was read: if it were closed while bytes arrive, it would be reset."""
        self._ending = True
        self._cancel()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._end_in(self._limits.linger_seconds, self._end_lingering)

    def _end_lingering(self) -> None:
        """End the connection, once its answer is sent or was not read for too long."""
        if self.transport.get_write_buffer_size():
            self._unread.watch()
        else:
            self.transport.abort()

    def _end_in(self, seconds: float, end: Any) -> None:  # noqa: ANN401 - a function without arguments
        self._cancel()
        self._deadline = self.loop.call_later(seconds, end)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
