"""Three times as many requests as the service can answer: what is served, how late, and how the rest is refused."""

import asyncio
import errno
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.client import HOST, drive, length_of_body
from bench.data import AUTH_SECRETS, Requests, tenants
from bench.open_loop import moments
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_TENANTS = 8
_WARM_UP = 400
_CLIENTS = 32
_CAPACITY_REQUESTS = 1600
_FACTOR = 3
_SECONDS = 10.0
_PATIENCE_SECONDS = 3.0
_OK = range(200, 300)
_RESET, _GAVE_UP = -1, 0
_BACKLOG = 1


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: int
    """Of HTTP, or one of the two above."""
    seconds: float


async def measure(checkout: Checkout) -> list[Measurement]:
    """Measure the capacity of the embedded default, then offer three times as much for ten seconds."""
    with TemporaryDirectory(prefix="overload-") as directory:
        settings = {"DATA_DIR": directory, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS, "LOG_LEVEL": "error"}
        requests = Requests(tenants(_TENANTS), seed=3)
        async with checkout.serve(Path(directory), settings) as server:
            await drive(server.port, requests.stores(_WARM_UP), clients=_CLIENTS)
            mixed = _mixed(requests, _CAPACITY_REQUESTS)
            started = time.perf_counter()
            await drive(server.port, mixed, clients=_CLIENTS)
            capacity = _CAPACITY_REQUESTS / (time.perf_counter() - started)
            rate = _FACTOR * capacity
            outcomes = await _offer(server.port, _mixed(requests, round(rate * _SECONDS)), rate)
    served = [each.seconds for each in outcomes if each.status in _OK]
    refused = [each for each in outcomes if each.status not in _OK and each.status != _GAVE_UP]
    resets = sum(each.status == _RESET for each in refused)
    return [
        Measurement("overload: capacity", "requests/s", capacity, ""),
        Measurement(
            "overload: served in time", "% of capacity", 100 * len(served) / _SECONDS / capacity, "at least 85"
        ),
        Measurement("overload: median wait of what is served", "s", median(served) if served else "none", "at most 1"),
        Measurement("overload: given up by the client", "% of all", 100 * _share(outcomes, _GAVE_UP), "few"),
        Measurement("overload: resets among refusals", "%", 100 * resets / max(1, len(refused)), "0"),
    ]


def _share(outcomes: Sequence[_Outcome], status: int) -> float:
    return sum(each.status == status for each in outcomes) / len(outcomes)


def _mixed(requests: Requests, count: int) -> list[bytes]:
    """Return three recalls for each store."""
    made = zip(*(iter(requests.recalls(count // 4 * 3)),) * 3, requests.stores(count // 4), strict=True)
    return [each for group in made for each in group]


async def _offer(port: int, requests: Sequence[bytes], rate: float) -> list[_Outcome]:
    """Send each request when it is due, on a connection that is free or a new one; its client waits three seconds."""
    free: list[_Client] = []
    loop, started = asyncio.get_running_loop(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        tasks = []
        for request, due in zip(requests, moments(rate, len(requests), 1), strict=True):
            if (pause := started + due - time.perf_counter()) > 0:
                await asyncio.sleep(pause)
            tasks.append(group.create_task(_ask(loop, port, free, request, started + due)))
    for client in free:
        client.transport.close()
    return [task.result() for task in tasks]


async def _ask(
    loop: asyncio.AbstractEventLoop, port: int, free: list["_Client"], request: bytes, due: float
) -> _Outcome:
    client: _Client | None = None
    try:
        async with asyncio.timeout(due + _PATIENCE_SECONDS - time.perf_counter()):
            while free and client is None:
                client = taken if not (taken := free.pop()).transport.is_closing() else None
            if client is None:
                _, client = await loop.create_connection(_Client, HOST, port)
            status = await client.ask(request)
    except TimeoutError:
        status = _GAVE_UP
    except OSError:
        status = _RESET
    if client is not None:
        if status > 0 and client.reusable:
            free.append(client)
        else:
            client.transport.close()
    return _Outcome(status, time.perf_counter() - due)


class _Client(asyncio.Protocol):
    """A connection on which one request at a time is answered."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[int] | None = None
        self.reusable = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    async def ask(self, request: bytes) -> int:
        self._received.clear()
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if end and len(body) >= length_of_body(bytes(head)) and self._answer is not None and not self._answer.done():
            self.reusable = b"connection: close" not in head.lower()
            self._answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError(errno.ECONNRESET, "no answer"))
