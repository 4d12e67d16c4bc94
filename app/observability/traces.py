"""Opens the spans of one process: of requests, of operations on memories and of calls to other services (ADR 0078).

It knows OpenTelemetry's API alone; ``trace_export`` brings the SDK, which is installed where spans are exported.
"""

import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from itertools import islice
from typing import Final, Protocol

from opentelemetry import context as ambient
from opentelemetry import trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.domain.request_note import MemoryOperation, RequestNote

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"
QUERY_CHARACTERS: Final = 1_000
"""Characters of a query that a span has at most, where spans have content."""
RECORDS: Final = 10
"""Memories whose content a span has at most."""
RECORD_CHARACTERS: Final = 500
TRACEPARENT = re.compile(
    r"(?:00|(?P<newer>(?!00|ff)[0-9a-f]{2}))-(?P<trace_id>(?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
    r"(?(newer)(?:-.{0,400})?)"
)
"""The header that names the trace and the span of a caller (https://www.w3.org/TR/trace-context/)."""
_FOLLOWS_NS = 60_000_000_000
"""Nanoseconds after the end of a span in which calls may still belong to it: a delivery goes on after its answer."""
_SERVER_ERRORS = 500
_LINKS = ambient.create_key("memory-gateway-links")
_BAGGAGE = re.compile(r"[\x21-\x7e \t]{1,2048}")
_DATABASES = {"d1": "sqlite", "vectorize": "cloudflare.vectorize"}
_TRACE_CONTEXT = TraceContextTextMapPropagator()
_BAGGAGE_HEADER = W3CBaggagePropagator()


class RequestHeaders(Protocol):
    """The headers of a request, by their names in lower case."""

    def getlist(self, name: str, /) -> list[str]:
        """Return every value of a header."""
        ...


class _Headers(Getter[RequestHeaders]):
    """Reads headers for OpenTelemetry's propagators, as far as they have the form that they should have."""

    def get(self, carrier: RequestHeaders, key: str) -> list[str] | None:
        values = carrier.getlist(key)
        if key == "baggage":
            joined = ",".join(values)
            return [joined] if _BAGGAGE.fullmatch(joined) else None
        if key == "traceparent":
            return values if len(values) == 1 and TRACEPARENT.fullmatch(values[0]) else None
        return values or None

    def keys(self, carrier: RequestHeaders) -> list[str]:
        del carrier
        return ["traceparent", "tracestate", "baggage"]


_GETTER = _Headers()


class Traces:
    """The spans of one process. Nothing here waits: what has ended is exported by a thread of its own."""

    def __init__(self, tracer: Tracer, *, content: bool = False) -> None:
        """Take the tracer; ``content``: whether spans have queries and memories, each cut off."""
        self._tracer = tracer
        self._content = content

    @contextmanager
    def request(self, method: str, headers: RequestHeaders, note: RequestNote) -> Iterator[Span]:
        """Open the span of a request that is served, in the trace of its caller if its headers name one.

        The operations that the ``note`` is told of get spans within it.
        """
        note.spans = self.operation
        given = _TRACE_CONTEXT.extract(headers, ambient.Context(), _GETTER)
        token = ambient.attach(_BAGGAGE_HEADER.extract(headers, given, _GETTER))
        try:
            with self._tracer.start_as_current_span(
                method if method != "other" else "HTTP",
                kind=SpanKind.SERVER,
                attributes={"http.request.method": method if method != "other" else "_OTHER"},
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                yield span
        finally:
            ambient.detach(token)

    def answered(self, span: Span, method: str, route: str, status: int, note: RequestNote) -> None:
        """Tell the span of a request how it was answered; ``status`` is 0 where nobody waited for the answer."""
        if not span.is_recording():
            return
        told: dict[str, str | int] = {"memory_gateway.outcome": note.outcome}
        if route:
            span.update_name(f"{method if method != 'other' else 'HTTP'} {route}")
            told["http.route"] = route
        if status:
            told["http.response.status_code"] = status
        if note.tenant_id:
            told["memory_gateway.tenant"] = note.tenant_id
        if note.tool:
            told |= {"gen_ai.tool.name": note.tool, "mcp.method.name": "tools/call"}
        if note.code:
            told["error.type"] = note.code
        if status >= _SERVER_ERRORS:
            span.set_status(Status(StatusCode.ERROR))
        span.set_attributes(told)

    @contextmanager
    def operation(self, operation: MemoryOperation) -> Iterator[None]:
        """Open the span of an operation on memories, by the conventions of OpenTelemetry for generative AI."""
        with self._tracer.start_as_current_span(
            operation.name,
            kind=SpanKind.INTERNAL,
            attributes={
                "gen_ai.operation.name": operation.name,
                "gen_ai.memory.store.id": f"{operation.tenant_id}/{operation.agent_id}",
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                fail(span, str(getattr(error, "code", type(error).__name__)))
                raise
            finally:
                span.set_attributes(self._told(operation))

    def _told(self, operation: MemoryOperation) -> dict[str, str | int]:
        told: dict[str, str | int] = {}
        if operation.count is not None:
            told["gen_ai.memory.record.count"] = operation.count
        if operation.record_id is not None:
            told["gen_ai.memory.record.id"] = operation.record_id
        if self._content and operation.query is not None:
            told["gen_ai.memory.query.text"] = operation.query[:QUERY_CHARACTERS]
        if self._content and operation.records is not None:
            told["gen_ai.memory.records"] = _records(operation.records())
        return told

    @contextmanager
    def call(self, operation: str, attributes: Mapping[str, str | int]) -> Iterator[Span]:
        """Open the span of a call to another service, within the span of the request that makes it.

        A call that no request makes, as the work of the indexer is, has no span.
        """
        if not _follows(trace.get_current_span()):
            yield trace.INVALID_SPAN
            return
        model = attributes.get("gen_ai.request.model", "")
        name = f"{attributes['gen_ai.operation.name']} {model}".strip() if "gen_ai.operation.name" in attributes else ""
        database = _DATABASES.get(operation.partition(".")[0])
        with self._tracer.start_as_current_span(
            name or operation,
            kind=SpanKind.CLIENT,
            links=_links(),
            attributes={
                "memory_gateway.operation": operation,
                **({} if database is None else {"db.system.name": database}),
                **attributes,
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield span

    def headers(self) -> Mapping[str, str]:
        """Return the headers that name the current trace."""
        headers: dict[str, str] = {}
        _TRACE_CONTEXT.inject(headers)
        _BAGGAGE_HEADER.inject(headers)
        return headers


def fail(span: Span, code: str) -> None:
    """Tell a span that it ended in an error of this code."""
    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR))


def tell_status(status: int) -> None:
    """Tell the span of the call that is under way the status that it was answered with."""
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("http.response.status_code", status)


def shared_context(spans: Collection[Span]) -> Context:
    """Return an empty context for a call that several requests share: in the trace of the first, linked to the others.

    Log lines of the call have nothing of the requests.
    """
    own = Context()
    traced = [span for span in spans if span.get_span_context().is_valid]
    if traced:
        first, *others = traced
        own.run(ambient.attach, ambient.set_value(_LINKS, others, trace.set_span_in_context(first, ambient.Context())))
    return own


def _links() -> Sequence[Link]:
    others = ambient.get_value(_LINKS)
    return [Link(span.get_span_context()) for span in others] if isinstance(others, list) else ()


def _follows(span: Span) -> bool:
    """Tell whether a call may belong to a span: work that goes on for ever was begun by some request too."""
    if span.is_recording():
        return True
    if not span.get_span_context().is_valid:
        return False
    ended = getattr(span, "end_time", None)
    return ended is not None and time.time_ns() - ended < _FOLLOWS_NS


def _records(records: Iterable[tuple[str, str, float | None]]) -> str:
    told = [
        {"id": id_, "content": content[:RECORD_CHARACTERS]} | ({} if score is None else {"score": score})
        for id_, content, score in islice(records, RECORDS)
    ]
    return json.dumps(told, ensure_ascii=False)
