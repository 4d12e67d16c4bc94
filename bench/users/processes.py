"""The second section: how many a second one process and two answer, and the memory that they take."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from bench.client import drive
from bench.data import Requests
from bench.report import Figure
from bench.server import Server, embedded
from bench.users.sections import Section, cell
from bench.users.shapes import MODEL, USUAL, Shape, first_request
from bench.users.table import filled

_ROUNDS = 3
_WORKERS = (1, 2)
_CLIENTS = (1, 16, 64)
_RECALLS, _STORES = 400, 150
_WARM_UP = 100
_SEED = 3
_RECALLS_A_SECOND, _MORE_MEMORY = 380.0, 1.5
_NOTES = """\
Both services run at once and take turns; each has a copy of the data of its own. The client that sends the requests
runs on the same processors. Memory is what the processes of a service keep resident, each page that they share
divided among them (PSS); 10,000 memories of 384 dimensions are asked, in a database of 20 agents."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is asked of the services, from so many clients."""

    name: str
    clients: int
    make: Callable[[Requests], list[bytes]]


def _recalls(clients: int) -> _Kind:
    def make(requests: Requests) -> list[bytes]:
        return requests.questions(_RECALLS if clients > 1 else _RECALLS // 2)

    return _Kind(f"recalls a second, {clients} client{'s' if clients > 1 else ''}", clients, make)


async def processes() -> Section:
    """Measure one process and two, with hashing and with MiniLM."""
    section = Section("processes", "One process and two", _NOTES)
    usual = [_recalls(clients) for clients in _CLIENTS]
    model = [_recalls(16), _Kind("stores a second, 16 clients", 16, lambda requests: requests.stores(_STORES))]
    with TemporaryDirectory(prefix="bench-processes-") as directory:
        folders = await asyncio.to_thread(filled, (USUAL, MODEL), Path(directory))
        rows = []
        for shape, kinds in ((USUAL, usual), (MODEL, model)):
            rows += await _both(section, shape, folders[shape.name], kinds)
    section.show("One process and two", [("", *(f"WORKERS={workers}" for workers in _WORKERS), "two over one"), *rows])
    return section


async def _both(section: Section, shape: Shape, folder: Path, kinds: Sequence[_Kind]) -> list[tuple[str, ...]]:
    requests, first = Requests(shape.asked, seed=_SEED), first_request(shape)
    rates: dict[str, dict[int, list[float]]] = {kind.name: {workers: [] for workers in _WORKERS} for kind in kinds}
    async with AsyncExitStack() as running:
        servers = {}
        for workers in _WORKERS:
            own = (
                folder
                if workers == _WORKERS[0]
                else Path(copytree(folder, folder.with_name(f"{folder.name}-{workers}")))
            )
            settings = {**shape.settings, "WORKERS": str(workers)}
            server = await running.enter_async_context(embedded(own, shape.embedder, first, **settings))
            await server.rest(windows=2)
            await drive(server.port, requests.questions(_WARM_UP), clients=16)
            servers[workers] = server
        for _ in range(_ROUNDS):
            for kind in kinds:
                for workers, server in servers.items():
                    rates[kind.name][workers].append(await _rate(server, kind.make(requests), kind.clients))
        memory = {workers: [server.memory()] for workers, server in servers.items()}
    rows = [_row(section, f"{kind.name}, {shape.embedder}", "a second", rates[kind.name]) for kind in kinds]
    return [*rows, _row(section, f"memory, {shape.embedder}", "MB", memory, most=_MORE_MEMORY)]


async def _rate(server: Server, requests: Sequence[bytes], clients: int) -> float:
    started = time.perf_counter()
    await drive(server.port, requests, clients=clients)
    return len(requests) / (time.perf_counter() - started)


def _row(
    section: Section, name: str, unit: str, values: Mapping[int, Sequence[float]], most: float | None = None
) -> tuple[str, ...]:
    one, two = (Figure(f"{name}, WORKERS={workers}", unit, values[workers]) for workers in _WORKERS)
    ratio = Figure(
        f"{name}: two processes over one", "x", [b / a for a, b in zip(one.values, two.values, strict=True)], limit=most
    )
    section.figures += [one, two, ratio]
    return name, cell(one), cell(two), f"{ratio.median:.2f}"
