"""Workers that share a socket have connections alike, and one that takes none keeps no connection waiting."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import pytest

from app.interfaces.server.accepting import Acceptor
from app.interfaces.server.connections import ConnectionLimits, Connections
from app.interfaces.server.worker_loads import WorkerLoad, WorkerLoads


class Counted(asyncio.Protocol):
    """A connection that its worker counts, as the server's protocol does."""

    def __init__(self, open_: Connections) -> None:
        self.transport: asyncio.Transport
        self._open = open_

    @property
    def is_silent(self) -> bool:
        return True

    def give_way(self) -> None:
        raise AssertionError

    def end_now(self) -> None:
        raise AssertionError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._open.opened(self, "here")

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._open.closed(self)


class FullSocket(socket.socket):
    """A socket whose first connection finds no room for a file."""

    refused = 0

    def accept(self) -> tuple[socket.socket, object]:
        if not FullSocket.refused:
            FullSocket.refused += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


@asynccontextmanager
async def workers(count: int, loads: WorkerLoads) -> AsyncIterator[tuple[str, int]]:
    """Have so many workers accept on one socket, in this process; give its address."""
    with ExitStack() as closing:
        first = closing.enter_context(socket.socket())
        first.bind(("127.0.0.1", 0))
        acceptors = []
        for number in range(count):
            load = WorkerLoad(loads, number)
            open_ = Connections(ConnectionLimits(), load.opened)
            acceptors.append(Acceptor(lambda open_=open_: Counted(open_), load))  # type: ignore[misc]
            acceptors[-1].start(closing.enter_context(first.dup()), 100)
        yield first.getsockname()
        for acceptor in acceptors:
            acceptor.close()


async def until_open(loads: WorkerLoads, count: int) -> list[int]:
    async with asyncio.timeout(10):
        while sum(each for each in loads.connections() if each < 2**60) != count:
            await asyncio.sleep(0.005)
    return sorted(loads.connections())


async def test_connections_that_come_together_and_those_after_some_have_closed_are_spread_alike() -> None:
    loads = WorkerLoads(2)
    async with workers(2, loads) as address:
        streams = await asyncio.gather(*(asyncio.open_connection(*address) for _ in range(16)))
        assert await until_open(loads, 16) == [8, 8]
        for _, writer in streams[:10]:
            writer.close()
        await until_open(loads, 6)
        streams = streams[10:] + await asyncio.gather(*(asyncio.open_connection(*address) for _ in range(10)))
        assert await until_open(loads, 16) == [8, 8]
        for _, writer in streams:
            writer.close()
        assert await until_open(loads, 0) == [0, 0]


async def test_a_connection_is_taken_although_a_worker_with_fewer_does_not_take_it() -> None:
    loads = WorkerLoads(2)
    async with workers(1, loads) as address:
        loads.show(1, 0)
        streams = [await asyncio.open_connection(*address) for _ in range(3)]
        async with asyncio.timeout(5):
            while list(loads.connections()) != [3, 0]:
                await asyncio.sleep(0.005)
        for _, writer in streams:
            writer.close()
        await until_open(loads, 0)


async def test_nothing_is_left_to_a_worker_that_has_ended() -> None:
    loads = WorkerLoads(2)
    load = WorkerLoad(loads, 0)
    loads.show(1, 0)
    load.opened(1)
    assert load.exceeds_others
    loads.clear(1)
    assert not load.exceeds_others


async def test_without_room_for_files_the_failure_is_reported_and_the_connection_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.interfaces.server.accepting._ROOM_SECONDS", 0.01)
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    loads = WorkerLoads(1)
    load = WorkerLoad(loads, 0)
    open_ = Connections(ConnectionLimits(), load.opened)
    with FullSocket() as listening:
        listening.bind(("127.0.0.1", 0))
        acceptor = Acceptor(lambda: Counted(open_), load)
        acceptor.start(listening, 100)
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await until_open(loads, 1) == [1]
        assert [(each["socket"], getattr(each["exception"], "errno", 0)) for each in reported] == [
            (listening, errno.EMFILE)
        ]
        writer.close()
        await until_open(loads, 0)
        acceptor.close()


async def test_a_worker_tells_that_its_event_loop_goes_round() -> None:
    loads = WorkerLoads(2)
    beating = asyncio.create_task(WorkerLoad(loads, 1).keep_beating())
    await asyncio.sleep(0)
    beating.cancel()
    assert [loads.beats(number) for number in range(2)] == [0, 1]
