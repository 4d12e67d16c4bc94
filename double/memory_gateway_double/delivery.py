"""Takes requests off the wire and puts answers on it, or whatever a fault makes of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from memory_gateway_double.faults import Fault
from memory_gateway_double.wire import Reply, Request

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CUT = "memory_gateway.cut"
"""Where in the scope's state the function is which closes the connection."""

_INVALID = b'{"success": tru'


class ClientGone(Exception):
    """The client closed the connection before its request was whole."""


async def receive_request(scope: Scope, receive: Receive) -> Request:
    """Read a request whole; its operation and parameters are not known yet.

    Raises:
        ClientGone: it never became whole.
    """
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    return Request(
        operation="unknown",
        method=scope["method"],
        path=path,
        parameters={},
        query=dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=b"".join(parts),
    )


async def send_reply(send: Send, reply: Reply, headers: Mapping[str, str]) -> None:
    """Send a whole answer."""
    await send(_start(reply, headers))
    await send({"type": "http.response.body", "body": reply.body})


async def send_struck(scope: Scope, receive: Receive, send: Send, reply: Reply, fault: Fault | None) -> None:
    """Send an answer as a fault leaves it."""
    if fault is not None and fault.kind == "after_effect_cut":
        await cut(scope, receive)
    elif fault is not None and fault.kind == "half_body":
        await send(_start(reply, reply.headers))
        await send({"type": "http.response.body", "body": reply.body[: len(reply.body) // 2], "more_body": True})
        await cut(scope, receive, gently=True)
    elif fault is not None and fault.kind == "invalid_json":
        await send_reply(send, Reply(reply.status, _INVALID, reply.content_type), reply.headers)
    else:
        await send_reply(send, reply, reply.headers)


async def cut(scope: Scope, receive: Receive, *, gently: bool = False) -> None:
    """Close the connection; gently means after what was sent has left.

    Raises:
        ConnectionAbortedError: the server does not let its connections be closed (a test's ASGI transport).
    """
    close = scope.get("state", {}).get(CUT)
    if close is None:
        raise ConnectionAbortedError("the double closes the connection here")
    close(gently)
    while (await receive())["type"] != "http.disconnect":
        pass


async def wait_for_disconnect(receive: Receive, stopping: asyncio.Event) -> None:
    """Return once the client has gone, or the double stops."""
    gone = asyncio.ensure_future(_disconnected(receive))
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({gone, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        stopped.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(reply: Reply, headers: Mapping[str, str]) -> Message:
    told = {"content-type": reply.content_type, "content-length": str(len(reply.body))}
    told.update({name.lower(): value for name, value in headers.items()})
    listed = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
    return {"type": "http.response.start", "status": reply.status, "headers": listed}
