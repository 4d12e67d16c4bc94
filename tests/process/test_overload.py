"""More than a server can answer: what is refused is told so, no connection is reset, and the server says it lives."""

import asyncio
from collections import Counter

import pytest

from tests.process.conftest import Start
from tests.process.server import Server, credential

CONNECTIONS = 12
CLIENTS = 100


def recall(number: int) -> bytes:
    """Return a recall whose body is too large to leave in one packet."""
    body = b'{"agent_id": "bot", "query": "what is case %d?%s"}' % (number, b" " * 20_000)
    return (
        b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (credential().encode(), len(body))
    ) + body


async def asked(server: Server, request: bytes) -> int:
    """Send a request on a connection of its own; return the status of its answer, read to the connection's end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    try:
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        status = int(head[9:12])
        assert status != 503 or b"retry-after: " in head.lower()
        return status
    finally:
        writer.close()


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.thorough)])
async def test_of_a_crowd_each_is_answered_or_told_to_come_again_and_none_is_reset(start: Start, workers: str) -> None:
    server = await start(MAX_CONNECTIONS=str(CONNECTIONS), WORKERS=workers, LOG_LEVEL="error")
    asking = [asyncio.create_task(asked(server, recall(number))) for number in range(CLIENTS)]
    living = [await asked(server, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") for _ in range(5)]
    statuses = Counter(await asyncio.gather(*asking))
    assert set(living) == {200}
    assert statuses.keys() == {200, 503}
    assert statuses.total() == CLIENTS
