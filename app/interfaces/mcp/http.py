"""MCP over streamable HTTP, without sessions: every message carries its credential, and any replica answers it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from app.domain.errors import (
    Forbidden,
    InvalidRequest,
    MalformedRequest,
    MemoryGatewayError,
    QuotaExceeded,
    Unavailable,
)
from app.domain.request_note import RequestNote
from app.interfaces.mcp.error_text import error_text, quiet_sdk, trace
from app.interfaces.mcp.sessions import McpSessions
from app.interfaces.request_state import NOTE, VERIFIED
from app.interfaces.tools.calls import Toolbox
from app.runtime.entry import admit, principal_of
from app.runtime.shards import Shards
from app.services.access.delegation import MCP, Delegation

PATH = MCP
AGENT_HEADER = "X-Agent-Id"
RUN_HEADER = "X-Run-Id"
_SMALL_BYTES = 4096
_INVALID_REQUEST = -32600
"""JSON-RPC's code of a request that is refused."""
_MEMBERS = {"jsonrpc", "id", "method", "params"}
# What the protocol's requests have as params, of those that this server answers.
_TEXTS = {"name", "uri", "cursor", "protocolVersion", "requestState"}
_OBJECTS = {"arguments", "_meta", "capabilities", "clientInfo", "task", "inputResponses"}


class McpEndpoint:
    """The ASGI application behind ``/mcp``, over shards that have started."""

    def __init__(self, shards: Shards) -> None:
        """Create the endpoint; it serves nothing before ``running``."""
        self._shards = shards
        self.route = Route(PATH, self, methods=["POST"], name="mcp")
        """Only POST: there are no sessions to listen to or to end."""
        self.routes = [self.route]
        self._sessions = McpSessions()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for as long as the context lasts; it can be entered once."""
        quiet_sdk()
        async with self._sessions.running():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message; refuse a wrong credential or a body that is too large with an error of the protocol."""
        scope["route"] = self.route
        note: RequestNote = scope["state"][NOTE]
        try:
            toolbox = scope["state"]["toolbox"] = await self._toolbox(Headers(scope=scope), note)
            scope["state"][VERIFIED] = True
            answer = HeldAnswer(send, toolbox if self._steps_up(toolbox) else None)
            await self._sessions.answer(scope, await _checked(receive), answer.send)
            if answer.refusal is not None:
                await self._refused(answer.refusal)(scope, receive, send)
        except MemoryGatewayError as error:
            note.code = error.code
            await self._refused(error)(scope, receive, send)

    async def _toolbox(self, headers: Headers, note: RequestNote) -> Toolbox:
        principal = await principal_of(self._shards, headers.getlist)
        entry = await admit(self._shards, principal, note, "mcp")
        if "origin" in headers:  # the specification wants it checked; no page has a reason to call this
            raise Forbidden("This is not for web pages: a request may not have an Origin.")
        return Toolbox(entry, _only(headers, AGENT_HEADER), _only(headers, RUN_HEADER))

    def _steps_up(self, toolbox: Toolbox) -> bool:
        """Tell whether the caller can ask the issuer for further scopes: a tool's result would not have it do so."""
        return toolbox.principal.token_id is not None and bool(self._delegation.words)

    def _refused(self, error: MemoryGatewayError) -> JSONResponse:
        refusal = {"code": _INVALID_REQUEST, "message": error_text(error), "data": {"code": error.code, **trace()}}
        challenge = self._delegation.challenge(error)
        headers = {} if challenge is None else {"WWW-Authenticate": challenge}
        if isinstance(error, QuotaExceeded | Unavailable) and error.retry_after is not None:
            headers["Retry-After"] = str(error.retry_after)
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": refusal}, error.status, headers)

    @property
    def _delegation(self) -> Delegation:
        return self._shards.main.backends.delegation


class HeldAnswer:
    """The answer to one message, which is not sent where its tool lacked a scope that its caller can ask for."""

    def __init__(self, send: Send, toolbox: Toolbox | None) -> None:
        """Take the toolbox that is called; None: every answer is sent."""
        self._send = send
        self._toolbox = toolbox

    @property
    def refusal(self) -> Forbidden | None:
        """The refusal that is to be answered instead."""
        return None if self._toolbox is None else self._toolbox.lacking

    async def send(self, message: Message) -> None:
        """Send a part of the answer, unless a refusal is to be answered instead."""
        if self.refusal is None:
            await self._send(message)


def _only(headers: Headers, name: str) -> str | None:
    """Return the value of a header; raises ``InvalidRequest`` where it comes more than once."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} is sent more than once: which one is meant?")
    return values[0] if values else None


async def _checked(receive: Receive) -> Receive:
    """Read a message, and return what gives it once more.

    The SDK writes what is wrong with a message many times over into its answer. So a large one that has not the form of
    a message is refused here.

    Raises:
        MalformedRequest: it has not.
    """
    part = await receive()
    body = bytearray(part.get("body", b""))
    while part.get("more_body", False):
        part = await receive()
        body += part.get("body", b"")
    if len(body) > _SMALL_BYTES and not _is_message(body):
        raise MalformedRequest("This is no message of JSON-RPC.")
    messages: list[Message] = [{**part, "body": bytes(body)}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def _is_message(body: bytes | bytearray) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or not message.keys() <= _MEMBERS:
        return False
    params = message.get("params", {})
    return (
        isinstance(message.get("jsonrpc"), str)
        and isinstance(message.get("method"), str)
        and isinstance(message.get("id"), str | int | None)
        and isinstance(params, dict)
        and params.keys() <= _TEXTS | _OBJECTS
        and all(isinstance(params.get(name), str | None) for name in _TEXTS)
        and all(isinstance(params.get(name), dict | None) for name in _OBJECTS)
    )
