"""A collector of traces, which reads what it is sent by OpenTelemetry's own library."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Manner = Literal["takes", "refuses", "hangs"]


@dataclass(frozen=True, slots=True)
class TakenSpan:
    """A span, and the process that sent it."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool
    linked: list[str]
    """The spans that it is linked to."""
    service: dict[str, Any]


@dataclass
class Collector:
    """What was sent."""

    url: str = ""
    manner: Manner = "takes"
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[TakenSpan]:
        return [
            _taken(span, _plain(resource.resource.attributes))
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> TakenSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        self.headers.append(headers)
        if self.manner == "hangs":
            self.let_go.wait(60)
        if self.manner == "refuses":
            return 400
        assert path == "/v1/traces"
        content = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        self.requests.append(ExportTraceServiceRequest.FromString(content))
        return 200


@contextmanager
def collecting(manner: Manner = "takes") -> Iterator[Collector]:
    collector = Collector(manner=manner)

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = collector.take(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass  # who has sent may be gone

    with Server(("127.0.0.1", 0), Taker) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            collector.let_go.set()
            wait_for_exports()
            server.shutdown()
            thread.join()


def wait_for_exports() -> None:
    """Wait until no thread exports any more: a retry draws random numbers, which Hypothesis refuses in another test."""
    for thread in threading.enumerate():
        if thread.name == "traces":
            thread.join()


def _taken(span: Span, service: dict[str, Any]) -> TakenSpan:
    return TakenSpan(
        span.name,
        Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        _plain(span.attributes),
        span.status.code == 2,
        [link.span_id.hex() for link in span.links],
        service,
    )


def _plain(attributes: Any) -> dict[str, Any]:
    pairs: list[KeyValue] = list(attributes)
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")
