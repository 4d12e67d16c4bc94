"""Answers messages with the protocol's SDK, which is loaded with the first message.

The SDK's models of each version of the protocol take 19 MB of memory, and a quarter
of a second to load. A server that nobody asks over MCP needs neither.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from starlette.types import Receive, Scope, Send

from app.domain.errors import Unavailable

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpSessions:
    """The SDK's sessions, of one message each."""

    def __init__(self) -> None:
        """Create them; they answer nothing before ``running``."""
        self._wanted = asyncio.Event()
        self._begun: asyncio.Future[StreamableHTTPSessionManager] | None = None
        """What messages wait for; None before the first one, and where the sessions have ended with an error."""

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
        """Answer one message.

        Raises:
            Unavailable: the service ends before the sessions have begun.
            Exception: what else kept them from beginning; the next message has them begin anew.
        """
        if self._begun is None:
            self._begun = asyncio.get_running_loop().create_future()
            self._wanted.set()
        manager = await asyncio.shield(self._begun)  # one that is given up takes nothing from the others
        await manager.handle_request(scope, receive, send)

    async def _run(self) -> None:
        """Run the sessions from the first message on. One task begins and ends them, which the SDK asks for."""
        while await self._wanted.wait():
            self._wanted.clear()
            begun = self._begun
            assert begun is not None  # noqa: S101 - it is wanted
            try:
                manager = await asyncio.to_thread(_loaded)  # other requests are answered meanwhile
                async with manager.run():
                    begun.set_result(manager)
                    await asyncio.Event().wait()
            except Exception as error:  # noqa: BLE001 - every message that waits gets it
                structlog.get_logger().warning("mcp_sessions_failed", exc_info=error)
                if not begun.done():
                    begun.set_exception(error)
                    begun.exception()  # that it was read: those who waited may be gone
                self._begun = None
            finally:
                if not begun.done():
                    begun.set_exception(Unavailable("The service ends."))
                    begun.exception()


def _loaded() -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - see above

    from app.interfaces.mcp.server import Context, tool_server  # noqa: PLC0415 - the same
    from app.interfaces.tools.calls import Toolbox  # noqa: PLC0415 - of the next function

    def toolbox_of(context: Context) -> Toolbox:
        toolbox: Toolbox = context.request.state.toolbox  # type: ignore[union-attr]  # every message comes by a request
        return toolbox

    return StreamableHTTPSessionManager(tool_server(toolbox_of), json_response=True, stateless=True)
