"""uvicorn's server, as this service runs it: alone, or as one of several workers that share its sockets."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from app.interfaces.server.accepting import Acceptor
from app.interfaces.server.open_files import AcceptFailures
from app.interfaces.server.worker_group import url_of
from app.interfaces.server.worker_loads import WorkerLoad
from app.interfaces.server.worker_processes import ParentConnection

_BACKLOG = 2048
"""Connections that wait in the system until they are accepted."""

Announce = Callable[[str], object]
"""Prints the text with the first commands to try."""


class Server(uvicorn.Server):
    """Prints what to try once the socket listens; a worker tells its parent that it listens, and stops with it."""

    def __init__(
        self,
        config: uvicorn.Config,
        announce: Announce | None,
        parent: ParentConnection | None,
        load: WorkerLoad | None,
    ) -> None:
        """Take the function that is called with the URL, and a worker's connection to its parent, and its load."""
        super().__init__(config)
        self._announce = announce
        self._parent = parent
        self._load = load
        self._acceptor: Acceptor | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the sockets, with other workers where there are some; say so when it listens."""
        asyncio.get_running_loop().set_exception_handler(AcceptFailures())
        if self._load is None or sockets is None:
            await super().startup(sockets)
        else:
            await super().startup([])
            self._acceptor = Acceptor(self._protocol, self._load)
            for shared in sockets:
                self._acceptor.start(shared, _BACKLOG)
        for server in self.servers:
            for listening in server.sockets:
                with listening.dup() as same:  # asyncio accepts as many at once as its backlog, which is set smaller
                    same.listen(_BACKLOG)
        if self._parent is not None and self.started:
            self._parent.listens()
            self._parent.on_end(self._stop)
        if self._announce is not None and self.started:
            self._announce(url_of(sockets[0] if sockets else self.servers[0].sockets[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and end when requests under way are answered."""
        if self._acceptor is not None:
            self._acceptor.close()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        """Return the protocol of a connection, as uvicorn makes it for those that it accepts itself."""
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def _stop(self) -> None:
        self.should_exit = True
