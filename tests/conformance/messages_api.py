"""A stand-in of the Messages API on loopback: it says one sentence or calls a tool, and keeps what it was asked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAID = "I will keep that in mind."


@dataclass(slots=True)
class MessagesApi:
    """Where it listens, the bodies of the requests so far, and the calls that it makes before it says anything."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def block(self, asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
        """Return the start of the block that it answers with, what is added to it, and why it then stops."""
        if self.calls and self.calls[0][0] in {each["name"] for each in asked.get("tools", [])}:
            name, given = self.calls.pop(0)
            block = {"type": "tool_use", "id": f"toolu_{len(self.asked)}", "name": name, "input": {}}
            return block, {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use"
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": SAID}, "end_turn"


def _events(model: str, start: dict[str, Any], added: dict[str, Any], reason: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": added}
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


@contextmanager
def messages_api() -> Iterator[MessagesApi]:
    """Serve it as long as the context lasts."""
    api = MessagesApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Be silent."""

        def _answer(self, type_: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", type_)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self._answer("application/json", b"")

        def do_GET(self) -> None:
            self._answer("application/json", b"{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
                return self._answer("application/json", b"{}")
            api.asked.append(body.decode())
            asked = json.loads(body)
            events = _events(asked["model"], *api.block(asked))
            stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
            return self._answer("text/event-stream", stream.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
