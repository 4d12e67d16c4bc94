"""A model that needs no key: it speaks as the Messages API does, on this machine, and follows a script."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Script: TypeAlias = Callable[[dict[str, Any]], str | tuple[str, dict[str, Any]]]
"""Takes the body of a request; returns what the model says, or the tool that it calls and with what."""


@contextmanager
def scripted(script: Script) -> Iterator[dict[str, str]]:
    """Serve the model; gives the variables by which Claude finds it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Be silent."""

        def do_HEAD(self) -> None:
            self._answer("application/json", b"")

        def do_GET(self) -> None:
            self._answer("application/json", b"{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.partition("?")[0] != "/v1/messages":
                return self._answer("application/json", b"{}")
            asked = json.loads(body)
            events = _events(asked["model"], script(asked), f"toolu_{secrets.token_hex(4)}")
            stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
            return self._answer("text/event-stream", stream.encode())

        def _answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
    finally:
        server.shutdown()
        server.server_close()


def texts(asked: dict[str, Any]) -> str:
    """Return all that a request says beside its instructions, one text after another."""
    said: list[str] = []
    for message in asked["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            told: Any = block.get("content", [])
            said += [block["text"]] if block["type"] == "text" else []
            said += [told] if isinstance(told, str) else [each.get("text", "") for each in told]
    return "\n".join(said)


def _events(model: str, said: str | tuple[str, dict[str, Any]], call: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    if isinstance(said, str):
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": said}, "end_turn"
    else:
        name, given = said
        block = {"type": "tool_use", "id": call, "name": name, "input": {}}  # type: ignore[dict-item]
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}
