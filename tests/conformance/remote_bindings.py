"""The account of the tests, which also answers Cloudflare's bindings of Vectorize and of Workers AI.

No process stands between them.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from memory_gateway_double.account import Double
from memory_gateway_double.delivery import CUT, Message, Receive, Scope, Send

_METHODS = {"getByIds": "get_by_ids", "deleteByIds": "delete_by_ids"}
_OK, _NO_ANSWER = 200, 502


class WithRemoteBindings:
    """Serves the double, and what a remote binding asks (``MF-Binding``): the same over REST, in the binding's form.

    The form is a result without its envelope. An error is ``{code, error}`` of Vectorize, and of Workers AI
    ``{internalCode, description}``, of which its binding makes the message that it throws: ``5006: AiError: ...``.
    """

    def __init__(self, double: Double, indexes: Mapping[str, str] | None = None) -> None:
        """Take the account; the binding ``AI`` is its models, each other one an index of it.

        ``indexes`` has the index of a binding, whose name in lower case it is where none is given.
        """
        self._double = double
        self._indexes = indexes or {}
        self._base = f"/client/v4/accounts/{double.options.account_id}"
        self._authorization = f"Bearer {double.options.api_token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        told = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if "mf-binding" not in told:
            await self._double(scope, receive, send)
        elif "upgrade" in told:
            await _send(send, 426, b"")
        else:
            answer = _OfWorkersAI(receive) if told["mf-binding"] == "AI" else _Answer(receive)
            await self._double(self._as_rest(scope, told, answer), answer.receive, answer.take)
            await _send(send, *answer.of_binding())

    def _as_rest(self, scope: Scope, told: Mapping[str, str], answer: "_Answer") -> Scope:
        verb, path = _over_rest(told, self._indexes)
        headers = [(b"authorization", self._authorization)]
        if "mf-header-content-type" in told:
            headers.append((b"content-type", told["mf-header-content-type"].encode("latin-1")))
        whole = self._base + path
        return {
            **scope,
            "method": verb,
            "path": whole,
            "raw_path": whole.encode(),
            "headers": headers,
            "state": {CUT: answer.cut},
        }


def _over_rest(told: Mapping[str, str], indexes: Mapping[str, str]) -> tuple[str, str]:
    """Return what a binding's call is over REST: its method, and its path within the account."""
    if told["mf-binding"] == "AI":
        return "POST", f"/ai/run/{told['mf-header-cf-consn-model-id']}"
    method = told["mf-url"].rpartition("/")[2]
    index = f"/vectorize/v2/indexes/{indexes.get(told['mf-binding'], told['mf-binding'].lower())}"
    return "GET" if method == "info" else "POST", f"{index}/{_METHODS.get(method, method)}"


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
        return self._status, orjson.dumps(self._told_as(error.get("code"), error.get("message", "no answer")))

    def _told_as(self, code: int | None, message: str) -> dict[str, Any]:
        return {"code": code, "error": message}


class _OfWorkersAI(_Answer):
    """Is asked ``{inputs, options}``, of which the inputs are what is sent over REST."""

    async def receive(self) -> Message:
        body, message = b"", await super().receive()
        while message["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                return {"type": "http.request", "body": orjson.dumps(orjson.loads(body)["inputs"])}
            message = await super().receive()
        return message

    def _told_as(self, code: int | None, message: str) -> dict[str, Any]:
        return {"internalCode": code, "description": message, "name": "AiError"}


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
