"""What stands between a client and the service: it passes requests on, or is in their way, and keeps them."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

_BUSY = {
    "type": "urn:memory-gateway:problem:rate_limited",
    "title": "Too Many Requests",
    "status": 429,
    "detail": "Too many requests.",
    "code": "rate_limited",
    "request_id": "0" * 32,
    "errors": [],
}


@dataclass(slots=True)
class Between:
    """Where it listens, what it does with a request, and the paths and bodies of those so far.

    Attributes:
        does: `hold` never answers, `refuse` answers 429, `drop` breaks the connection, `strip` takes the credential.
    """

    url: str = ""
    does: Literal["pass", "hold", "refuse", "drop", "strip"] = "pass"
    asked: list[tuple[str, bytes]] = field(default_factory=list)

    def bodies(self, path: str) -> list[bytes]:
        """Return the bodies of the requests whose path ends so."""
        return [body for asked, body in self.asked if asked.endswith(path)]


@contextmanager
def between(service: str) -> Iterator[Between]:
    """Serve it as long as the context lasts."""
    told, over = Between(), threading.Event()
    host = urlsplit(service).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Be silent."""

        def _answer(self, status: int, type_: str, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": type_, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._pass(b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            told.asked.append((self.path, body))
            if told.does in ("pass", "strip"):
                return self._pass(body)
            if told.does in ("hold", "drop"):
                self.close_connection = told.does == "drop" or over.wait()
                return None
            return self._answer(429, "application/problem+json", json.dumps(_BUSY).encode(), **{"Retry-After": "60"})

        def _pass(self, body: bytes) -> None:
            left = {"host", "connection", *(["authorization"] if told.does == "strip" else [])}
            kept = {name: value for name, value in self.headers.items() if name.lower() not in left}
            with closing(http.client.HTTPConnection(host, timeout=60)) as behind, suppress(ConnectionError):
                behind.request(self.command, self.path, body, kept)
                answer = behind.getresponse()
                self._answer(answer.status, answer.headers["Content-Type"], answer.read())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield told
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        serving.join()
