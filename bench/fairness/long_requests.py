"""The process that asks for work that takes long: ``python -m bench.fairness.long_requests NAME PORT``, until ended.

It writes a line once it begins, then the status of each answer. It is a process of its own, and keeps no answer, so
that what it reads does not hold up whoever measures.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from itertools import islice

from ulid import ULID

from app.domain.moments import wall_clock
from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record
from bench.client import HOST, get, post_json
from bench.data import credential, notes
from bench.fairness import attacker
from bench.fairness.wire import request

_LONG_BYTES = 32 * 1024
_IMPORTED_LINES = 2000
_AT_ONCE = 2
_ADMIN = credential(attacker.SCOPE, admin=True)


def _texts(path: str, field: str) -> Iterator[bytes]:
    texts = notes(11)
    while True:
        text = "".join(islice(texts, 400))[:_LONG_BYTES]
        yield post_json(path, {"agent_id": attacker.SCOPE.agent_id, field: text}, _ADMIN)


def _imports() -> Iterator[bytes]:
    texts = notes(12)
    while True:
        records = [
            Record(agent_id=attacker.SCOPE.agent_id, content=text, metadata={}, id=str(ULID()), created_at=wall_clock())
            for text in islice(texts, _IMPORTED_LINES)
        ]
        content = b"".join(memory_line(record).data for record in records)
        yield request("POST", "/import", content, {**_ADMIN, "Content-Type": "application/x-ndjson"})


WORKS: dict[str, Callable[[], Iterator[bytes]]] = {
    "stores of 32 KiB": lambda: _texts("/store", "content"),
    "recalls of 32 KiB": lambda: _texts("/recall", "query"),
    "exports of 10,000 memories with vectors": lambda: iter(lambda: get("/export?vectors=true", _ADMIN), b""),
    "imports of 2,000 lines": _imports,
}
"""Requests of the loud tenant that take long, each kind without end and never the same; imports last, because what they
have stored is embedded for some time after them."""


async def _send(port: int, requests: Iterator[bytes]) -> None:
    """Send requests one after the other, and write the status of each answer."""
    reader, writer = await asyncio.open_connection(HOST, port)
    for sent in requests:
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                await _pass_over(reader, size + 2)
            await _pass_over(reader, 2)
        else:
            await _pass_over(reader, int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
        print(int(head[9:12]), flush=True)


async def _pass_over(reader: asyncio.StreamReader, size: int) -> None:
    while size:
        size -= len(await reader.read(size)) or _cut_off()


def _cut_off() -> int:
    raise EOFError("The answer was cut off.")


async def _main(name: str, port: int) -> None:
    requests = WORKS[name]()
    print("begun", flush=True)
    await asyncio.gather(*(_send(port, requests) for _ in range(_AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
