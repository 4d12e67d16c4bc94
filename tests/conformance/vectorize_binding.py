"""The account of the tests, which also answers Cloudflare's binding of Vectorize: no process stands between them."""

from collections.abc import Mapping
from typing import Any

import orjson

from memory_gateway_double.account import Double
from memory_gateway_double.delivery import CUT, Message, Receive, Scope, Send

_METHODS = {"getByIds": "get_by_ids", "deleteByIds": "delete_by_ids"}
_OK, _NO_ANSWER = 200, 502


class WithVectorizeBinding:
    """Serves the double, and what a remote binding asks (``MF-Binding``): the same over REST, in the binding's form.

    The form is a result without its envelope, and an error as ``{code, error}``.
    """

    def __init__(self, double: Double) -> None:
        """Take the account; each binding's name in lower case is an index of it."""
        self._double = double
        self._base = f"/client/v4/accounts/{double.options.account_id}/vectorize/v2/indexes"
        self._authorization = f"Bearer {double.options.api_token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        told = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if "mf-binding" not in told:
            await self._double(scope, receive, send)
        elif "upgrade" in told:
            await _send(send, 426, b"")
        else:
            answer = _Answer(receive)
            await self._double(self._as_rest(scope, told, answer), answer.receive, answer.take)
            await _send(send, *answer.of_binding())

    def _as_rest(self, scope: Scope, told: Mapping[str, str], answer: "_Answer") -> Scope:
        method = told["mf-url"].rpartition("/")[2]
        path = f"{self._base}/{told['mf-binding'].lower()}/{_METHODS.get(method, method)}"
        headers = [(b"authorization", self._authorization)]
        if "mf-header-content-type" in told:
            headers.append((b"content-type", told["mf-header-content-type"].encode("latin-1")))
        return {
            **scope,
            "method": "GET" if method == "info" else "POST",
            "path": path,
            "raw_path": path.encode(),
            "headers": headers,
            "state": {CUT: answer.cut},
        }


class _Answer:
    """What the double says, kept until it is whole; a connection that it cuts is one without an answer."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._status = 0
        self._body = b""
        self._is_cut = False

    async def receive(self) -> Message:
        return {"type": "http.disconnect"} if self._is_cut else await self._receive()

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        else:
            self._body += message.get("body", b"")

    def cut(self, gently: bool) -> None:  # noqa: FBT001 - called by the double with a flag
        del gently
        self._is_cut = True

    def of_binding(self) -> tuple[int, bytes]:
        """Return its status and its body, as a binding reads them."""
        told: Any = {}
        if self._is_cut:
            self._status = _NO_ANSWER
        else:
            try:
                told = orjson.loads(self._body)
            except orjson.JSONDecodeError:
                self._status = _NO_ANSWER
        if self._status == _OK:
            return self._status, orjson.dumps(told["result"])
        error: Any = next(iter(told.get("errors") or []), {})
        return self._status, orjson.dumps({"code": error.get("code"), "error": error.get("message", "no answer")})


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
