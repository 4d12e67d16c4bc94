"""The process that attacks: ``python -m bench.fairness.attacker KIND PORT [MEMORY_ID]``, until it is ended."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from app.domain.memory import Scope
from bench.client import HOST
from bench.fairness.adversary import worst
from bench.fairness.wire import Connection

SCOPE = Scope("loud", "bot")
_CONNECTIONS, _HALF_OPEN = 256, 1000
_HEADER_BYTES, _BODY_BYTES = 300 * 1024 * 1024, 1024**3
_SENDERS = 8
_CHUNK = b"x" * 64 * 1024
_OTHER_ADDRESS = ("127.0.0.2", 0)
"""Connections are counted by address, and the quiet tenant has another."""


async def crowd(port: int, memory_id: str) -> None:
    """Send the worst requests over many connections of one tenant."""

    async def one(number: int) -> None:
        connection = Connection(port)
        for skipped, request in enumerate(worst(SCOPE, memory_id, seed=number + 10)):
            if skipped >= number % 6:  # so that not all begin with the same
                await connection.ask(request)

    await asyncio.gather(*(one(number) for number in range(_CONNECTIONS)))


async def half_open(port: int, _: str) -> None:
    """Open connections that begin a request and say no more; what the service closes is opened again."""

    async def one() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(HOST, port, local_addr=_OTHER_ADDRESS)
                writer.write(b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
                await reader.read()
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(0.5)

    await asyncio.gather(*(one() for _ in range(_HALF_OPEN)))


async def headers(port: int, _: str) -> None:
    """Send requests whose headers do not end."""
    await _pour(port, b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", _HEADER_BYTES)


async def body(port: int, _: str) -> None:
    """Send requests whose bodies hold a gibibyte together."""
    length = _BODY_BYTES // _SENDERS
    head = (
        f"POST /store HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    await _pour(port, head.encode(), _BODY_BYTES)


async def _pour(port: int, head: bytes, most: int) -> None:
    """Send bytes over some connections, each as far as the service takes them, until all are sent; then again."""

    async def one() -> None:
        sent = 0
        while sent < most // _SENDERS:
            try:
                _, writer = await asyncio.open_connection(HOST, port, local_addr=_OTHER_ADDRESS)
                writer.write(head)
                while sent < most // _SENDERS:
                    writer.write(_CHUNK)
                    await writer.drain()
                    sent += len(_CHUNK)
                writer.close()
            except OSError:
                sent += len(_CHUNK)

    while True:
        await asyncio.gather(*(one() for _ in range(_SENDERS)))


KINDS: dict[str, Callable[[int, str], Coroutine[Any, Any, None]]] = {
    "crowd": crowd,
    "half-open": half_open,
    "headers": headers,
    "body": body,
}


if __name__ == "__main__":
    asyncio.run(KINDS[sys.argv[1]](int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))  # noqa: PLR2004
