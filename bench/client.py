"""A load client that costs the machine little: prebuilt HTTP/1.1 requests over keep-alive connections."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

HOST = "127.0.0.1"
CLIENTS = 16
"""How many ask at once, where nothing else is said."""
_OK = range(200, 300)


class RequestFailed(Exception):
    """The server did not answer with a 2xx."""


def post(path: str, body: BaseModel, headers: Mapping[str, str]) -> bytes:
    """Write one request as the bytes that go over the wire."""
    return _post(path, body.model_dump_json(exclude_unset=True).encode(), headers)


def post_json(path: str, body: object, headers: Mapping[str, str]) -> bytes:
    """Write one request with any JSON body."""
    return _post(path, json.dumps(body).encode(), headers)


def get(path: str, headers: Mapping[str, str]) -> bytes:
    """Write a request without a body."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def put_json(path: str, body: object, headers: Mapping[str, str]) -> bytes:
    """Write one request that puts any JSON body."""
    return _post(path, json.dumps(body).encode(), headers, "PUT")


def _post(path: str, content: bytes, headers: Mapping[str, str], method: str = "POST") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {HOST}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def drive(port: int, requests: Sequence[bytes], *, clients: int = CLIENTS) -> list[float]:
    """Send every request once, over as many connections as there are clients, each waiting for its answer.

    Returns the seconds that each took.

    Raises:
        RequestFailed: an answer was not a 2xx.
        OSError: the server cannot be reached.
    """
    waiting = iter(requests)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_client(port, waiting)) for _ in range(min(clients, len(requests)))]
    return [seconds for task in tasks for seconds in task.result()]


async def once(port: int, request: bytes) -> None:
    """Send one request over a connection of its own; raises as ``drive`` does."""
    await _client(port, iter([request]))


async def _client(port: int, waiting: Iterator[bytes]) -> list[float]:
    reader, writer = await asyncio.open_connection(HOST, port)
    taken: list[float] = []
    try:
        for request in waiting:
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(length_of_body(head))
            status = int(head[9:12])
            taken.append(time.perf_counter() - started)
            if status not in _OK:
                raise RequestFailed(f"{status}: {body.decode(errors='replace')[:500]}")
    finally:
        writer.close()
    return taken


def length_of_body(head: bytes) -> int:
    """Return the bytes of an answer's body, of its head; 0 where it names none."""
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0
