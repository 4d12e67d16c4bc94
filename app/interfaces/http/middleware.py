"""Gives every request an id, a log line, a limit on its body, and an answer to unexpected exceptions."""

import random
import re
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from ipaddress import ip_address

import structlog
from opentelemetry.trace import Span
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import ContentTooLarge, HostNotAllowed, MemoryGatewayError
from app.domain.limits import BLOB_BYTES
from app.domain.request_note import RequestNote
from app.interfaces.http import envelope, versions
from app.interfaces.http.anonymous import AnonymousTurns
from app.interfaces.http.call_report import HEADER as CALL_REPORT
from app.interfaces.http.call_report import call_report
from app.interfaces.http.problems import METHODS, error_response
from app.interfaces.http.segments import whole_segments
from app.interfaces.request_state import NOTE, SESSION_COOKIE, TRACE_ID, VERIFIED
from app.observability.traces import TRACEPARENT, Traces
from app.services.access.issuers import ASSERTION_HEADER

BODY_BYTES = 256 * 1024
"""The most bytes of a usual body: the largest content and metadata fit with each character escaped. A larger body is
not allowed, because parsing holds up the event loop."""

SENSITIVE_CONTENT = "Sensitive-Content"
"""The header of an answer that tells which content that should not be kept was found, and what was done about it."""

INGEST_BYTES = 20 * 1024 * 1024
"""The most bytes of a conversation: the most messages of the largest size fit. They are parsed one by one
(``app.interfaces.http.long_body``)."""
_INGEST = re.compile(r"(?:/client/v4/accounts/[^/]+/agent-memory/namespaces/[^/]+)?/profiles/[^/]+/ingest")

BLOB_BODY = ("POST", "/blobs")
"""The request whose body is a blob: any bytes, which are not parsed."""

WITH_BODIES = frozenset({"PATCH", "POST", "PUT"})
"""The methods whose requests have bodies."""

_UNLIMITED = ("POST", "/import")
"""The one request that is read line by line, each line within its own limit, and never as a whole."""

IN_NETWORK = "<in the network>"
"""Stands among the allowed host names for any address, and any name without a dot.

No page of another site has such a name: it would have to be loaded from the service itself.
"""

_PORT = re.compile(r":\d*$")
_UNQUALIFIED = re.compile(r"[a-z0-9_-]{1,63}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
Observe = Callable[[str, str, int, float], None]
"""Takes a request's method, its route, the status of its answer, and how many seconds it took."""
Count = Callable[[RequestNote, float], None]
"""Takes a request's note, and how many seconds the request took."""
Find = Callable[[Scope], Callable[[Request], Awaitable[Response]] | None]
"""Returns what answers a request without the layers of the framework; None where these have to."""


class RequestContext:
    """The middleware; it is pure ASGI, so that it costs little and a body can be refused while it arrives."""

    def __init__(  # noqa: PLR0913 - what every request has around it
        self,
        app: ASGIApp,
        hosts: Collection[str] = (),
        observe: Observe = lambda *_: None,
        anonymous: AnonymousTurns | None = None,
        count: Count = lambda *_: None,
        *,
        reports: bool = False,
        traces: Traces | None = None,
        find: Find = lambda _: None,
    ) -> None:
        """Wrap the application.

        ``hosts`` are the host names that requests may be addressed to, all where it is empty; ``observe`` and ``count``
        count requests; ``anonymous`` has the turns of requests without a verified credential; ``reports``: each answer
        has the header for the Worker in front; ``traces``: opens a span for each request; ``find`` returns what
        answers a request with a body without the application.
        """
        self._app = app
        self._traces = traces
        self._anonymous = anonymous or AnonymousTurns()
        self._observe = observe
        self._count = count
        self._reports = reports
        self._hosts = frozenset(hosts)
        self._find = find

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        started = time.perf_counter()
        status = sent_bytes = 0
        address = scope["client"][0] if scope["client"] else ""
        began: float | None = None
        """When the request began its turn as one without a verified credential; None where it has no such turn."""

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent_bytes, began
            if message["type"] == "http.response.start":
                if began is None and VERIFIED not in scope["state"]:
                    await self._anonymous.wait(address, scope["path"])
                    began = time.perf_counter()
                status = int(message["status"])
                self._head(message, scope, status)
            sent_bytes += len(message.get("body", b""))
            await send(message)

        with self._begun(scope, headers) as span:
            _name(scope, headers, span)
            try:
                if not _names_caller(headers):
                    await self._anonymous.wait(address, scope["path"])
                    began = time.perf_counter()
                _check_host(headers.getlist("host"), self._hosts, scope["http_version"])
                scope = _as_sent(scope)
                receive = _limited(scope, receive, headers)
                answer = scope["method"] in WITH_BODIES and self._find(scope)
                serve = await answer(Request(scope, receive)) if answer else self._app
                await serve(scope, receive, send_with_id)
            except HostNotAllowed as refusal:
                await error_response(refusal, scope)(scope, receive, send_with_id)
            except Exception:  # a defect of the service: the caller gets a problem, the log the traceback
                structlog.get_logger().exception("defect")
                if status:
                    raise
                error = MemoryGatewayError(
                    "The service failed in a way it should not. The request id finds it in the log."
                )
                await error_response(error, scope)(scope, receive, send_with_id)
            finally:
                if began is not None:
                    self._anonymous.ended(time.perf_counter() - began, sent_bytes)
                self._tell(scope, status, time.perf_counter() - started, span)

    def _begun(self, scope: Scope, headers: Headers) -> AbstractContextManager[Span | None]:
        """Give a request its id and its note, and return the context of its span."""
        note = RequestNote()
        scope.setdefault("state", {}).update({"request_id": request_id_of(headers), NOTE: note})
        if self._traces is None:
            return nullcontext()
        return self._traces.request(_method(scope), headers, note)

    def _head(self, message: Message, scope: Scope, status: int) -> None:
        """Add the headers that every answer has."""
        note: RequestNote = scope["state"][NOTE]
        if status >= HTTPStatus.BAD_REQUEST and not note.code:
            note.code = f"http_{status}"
        message["headers"] = raw = [*message["headers"], (b"x-request-id", scope["state"]["request_id"].encode())]
        # A cache in front may go by the path alone, such as one that ends with .js, where nothing says otherwise.
        if all(name != b"cache-control" for name, _ in raw):
            raw.append((b"cache-control", b"no-store"))
        if not (note.found or self._reports):
            return
        headers = MutableHeaders(raw=raw)
        if note.found:
            headers[SENSITIVE_CONTENT] = note.sensitive_content
        if self._reports:
            headers[CALL_REPORT] = call_report(note, *_route(scope))

    def _tell(self, scope: Scope, status: int, seconds: float, span: Span | None) -> None:
        """Log a request, count it, and tell its span how it was answered."""
        method, route = _route(scope)
        note: RequestNote = scope["state"][NOTE]
        note.gone = not status
        self._observe(method, route, status, seconds)
        self._count(note, seconds)
        if self._traces is not None and span is not None:
            self._traces.answered(span, method, route, status, note)
        structlog.get_logger().info(
            "request", method=scope["method"], route=route or None, status=status, duration_ms=round(seconds * 1000, 2)
        )


def _name(scope: Scope, headers: Headers, span: Span | None) -> None:
    """Name a request, and the trace that it belongs to, in its answers and in all lines of the log that it leaves."""
    state = scope["state"]
    names = {"request_id": state["request_id"]}
    own = None if span is None else span.get_span_context()
    trace_id = f"{own.trace_id:032x}" if own is not None and own.is_valid else trace_id_of(headers)
    if trace_id is not None:
        names[TRACE_ID] = state[TRACE_ID] = trace_id
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(**names)


def _names_caller(headers: Headers) -> bool:
    """Tell whether a request says who is calling, which is not verified here."""
    sent = "authorization" in headers or ASSERTION_HEADER in headers
    return sent or f"{SESSION_COOKIE}=" in headers.get("cookie", "")


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def _route(scope: Scope) -> tuple[str, str]:
    """Return a request's method, ``other`` where HTTP has no such method, and its path as the route declares it."""
    return _method(scope), getattr(scope.get("route"), "path", "")


def trace_id_of(headers: Headers) -> str | None:
    """Return the id of the trace that the caller says the request belongs to; None where it says nothing sound.

    https://www.w3.org/TR/trace-context/#traceparent-header
    """
    given = headers.getlist("traceparent")
    found = TRACEPARENT.fullmatch(given[0]) if len(given) == 1 else None
    return None if found is None else found["trace_id"]


def request_id_of(headers: Headers) -> str:
    """Return the caller's request id where it is safe to log, else a new id."""
    given = headers.get("x-request-id", "")
    if _REQUEST_ID.fullmatch(given):
        return given
    return f"{random.getrandbits(128):032x}"


def _check_host(hosts: Sequence[str], allowed: Collection[str], version: str) -> None:
    """Refuse a request without exactly one Host header, or for a host that is not allowed.

    HTTP/1.0 may leave the header out; without ``allowed`` names every host is allowed. A page of another site may have
    its own name lead to this machine; the Host header of its requests then has that name.
    """
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        raise HostNotAllowed("Send one Host header.")
    if not allowed:
        return
    name = _PORT.sub("", hosts[0]).lower() if hosts else ""
    if name not in allowed and not (IN_NETWORK in allowed and _is_in_network(name)):
        raise HostNotAllowed("This service is not asked for by this name. ALLOWED_HOSTS has those that it takes.")


def _is_in_network(name: str) -> bool:
    """Tell whether a name is an address, or has no dot, so that no registry hands the name out."""
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return _UNQUALIFIED.fullmatch(name) is not None
    return True


def _as_sent(scope: Scope) -> Scope:
    """Return the request with the path that routes know: decoded by segments where names may have any characters."""
    if _path(scope).startswith(versions.PREFIX):
        return versions.unversioned(scope)
    return whole_segments(scope) if _path(scope).startswith(envelope.PREFIX) else scope


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _limited(scope: Scope, receive: Receive, headers: Headers) -> Receive:
    """Refuse a body over the limit: at once where its length is announced, else as soon as it is passed."""
    method, path = scope["method"], _path(scope)
    if (method, path) == _UNLIMITED:
        return receive
    most = _most(method, path)
    received = 0
    announced = headers.get("content-length", "")

    async def receive_limited() -> Message:
        nonlocal received
        if announced.isdigit() and int(announced) > most:
            raise _too_large(most)
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise _too_large(most)
        return message

    return receive_limited


def _most(method: str, path: str) -> int:
    if (method, path) == BLOB_BODY:
        return BLOB_BYTES
    return INGEST_BYTES if method == "POST" and _INGEST.fullmatch(path) else BODY_BYTES


def _too_large(most: int) -> ContentTooLarge:
    return ContentTooLarge(f"The body has more than {most} bytes.")
