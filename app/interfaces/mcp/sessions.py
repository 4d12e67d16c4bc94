"""Answers messages with the protocol's SDK, which is loaded with the first message.

The SDK's models of each version of the protocol take 19 MB of memory, and a quarter
of a second to load. A server that nobody asks over MCP needs neither.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpSessions:
    """The SDK's sessions, of one message each."""

    def __init__(self) -> None:
        """Create them; they answer nothing before ``running``."""
        self._loading = asyncio.Lock()
        self._wanted = asyncio.Event()
        self._runs = asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer for as long as the context lasts; it can be entered once."""
        keeping = asyncio.create_task(self._run())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message."""
        if not self._runs.is_set():
            await self._load()
        assert self._manager is not None  # noqa: S101 - it runs
        await self._manager.handle_request(scope, receive, send)

    async def _load(self) -> None:
        """Load the SDK on a thread, while other requests are answered."""
        async with self._loading:
            if self._manager is None:
                self._manager = await asyncio.to_thread(_loaded)
            self._wanted.set()
            await self._runs.wait()

    async def _run(self) -> None:
        """Run the sessions from the first message on. One task begins and ends them, which the SDK asks for."""
        await self._wanted.wait()
        assert self._manager is not None  # noqa: S101 - it was loaded
        async with self._manager.run():
            self._runs.set()
            await asyncio.Event().wait()


def _loaded() -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - see above

    from app.interfaces.mcp.server import Context, tool_server  # noqa: PLC0415 - the same
    from app.interfaces.tools.calls import Toolbox  # noqa: PLC0415 - of the next function

    def toolbox_of(context: Context) -> Toolbox:
        toolbox: Toolbox = context.request.state.toolbox  # type: ignore[union-attr]  # every message comes by a request
        return toolbox

    return StreamableHTTPSessionManager(tool_server(toolbox_of), json_response=True, stateless=True)
