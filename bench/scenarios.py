"""What is measured: a service and the floor beside it, under the same requests, in turn."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bootstrap import build_runtime
from app.domain.memory import Scope
from app.settings import load_settings
from bench.data import SECRETS, Requests, one_agent, questions
from bench.report import CPU, Figure
from bench.server import Server, embedded, floor

_ROUNDS = 5
_STARTS = 3
_FLOOR_OPERATIONS = 2000
_WARM_UP = 200
_CACHED = 100
_SHORT_TEXTS = 60
_SEED = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What a data set's figures may be: CPU milliseconds an operation, resident MB. None sets no limit.

    ``message``: how many times a short query's recall the one of a message of 60 words may take.
    """

    recall: float | None = None
    message: float | None = None
    store: float | None = None
    memory: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """A data set under load: how many memories it has and how many operations make a round."""

    name: str
    data_dir: Path
    embedder: str
    scopes: Sequence[Scope]
    memories: int
    limits: Limits
    recalls: int
    stores: int
    other_queries: bool = False
    """Whether to measure messages, and for information queries that were asked before, as well."""


@dataclass(frozen=True, slots=True)
class Start:
    """A data set the service is started on, a new one each time where there is no directory."""

    name: str
    embedder: str
    limit: float
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """The service and the floor."""

    server: Server
    bare: Server

    async def warm_up(self, requests: Sequence[bytes]) -> None:
        await self.server.cost(requests)
        await self.bare.cost(requests)

    async def figure(
        self, name: str, make: Callable[[int], list[bytes]], operations: int, limit: float | None = None
    ) -> Figure:
        """Measure both in turn; ``make`` gives as many requests as it is asked for."""
        await self.warm_up(make(min(operations, _WARM_UP)))
        costs, floors = [], []
        for _ in range(_ROUNDS):
            costs.append(await self.server.cost(make(operations)))
            floors.append(await self.bare.cost(make(_FLOOR_OPERATIONS)))
        return Figure(name, CPU, costs, floors, limit)

    async def message(self, name: str, requests: Requests, operations: int, limit: float | None) -> Figure:
        """Measure what a message of 60 words takes, beside a short query."""
        await self.server.cost(requests.recalls_of_messages(min(operations, _WARM_UP)))
        ratios = []
        for _ in range(_ROUNDS):
            long = await self.server.cost(requests.recalls_of_messages(operations))
            ratios.append(long / await self.server.cost(requests.recalls(operations)))
        return Figure(name, "x", ratios, limit=limit)


async def under_load(load: Load) -> list[Figure]:
    """Measure recalls and memory first, then stores: they change the data."""
    requests = Requests(load.scopes, seed=_SEED)
    (first,) = requests.recalls(1)
    where = f"{load.name}, {load.embedder}"
    async with embedded(load.data_dir, load.embedder, first) as server, floor(first) as bare:
        pair = _Pair(server, bare)
        figures = [await pair.figure(f"recall, {where}", requests.recalls, load.recalls, load.limits.recall)]
        resident = [server.resident()], [bare.resident()]
        if load.other_queries:
            told = f"recall of a message of 60 words over a short query's, {where}"
            figures.append(await pair.message(told, requests, load.recalls // 2, load.limits.message))
            again = cycle(requests.recalls(_CACHED))
            figures.append(
                await pair.figure(
                    f"recall, cached query, {where}", lambda count: list(islice(again, count)), load.recalls
                )
            )
        if load.stores:
            figures.append(await pair.figure(f"store, {where}", requests.stores, load.stores, load.limits.store))
    return [*figures, Figure(f"resident memory, {where}", "MB", *resident, load.limits.memory)]


async def starting(starts: Sequence[Start]) -> list[Figure]:
    """Measure the wall time from a process's start to its first answer."""
    (first,) = Requests(one_agent(), seed=_SEED).recalls(1)
    floors: list[float] = []
    seconds: list[list[float]] = [[] for _ in starts]
    for _ in range(_STARTS):
        async with floor(first) as bare:
            floors.append(bare.first_answer)
        for start, values in zip(starts, seconds, strict=True):
            values.append(await _first_answer(start, first))
    return [
        Figure(f"first answer, {start.name}, {start.embedder}", "s", values, floors, start.limit)
        for start, values in zip(starts, seconds, strict=True)
    ]


async def _first_answer(start: Start, first: bytes) -> float:
    with TemporaryDirectory() as empty:
        async with embedded(start.data_dir or Path(empty), start.embedder, first) as server:
            return server.first_answer


async def embedding(data_dir: Path, limit: float) -> Figure:
    """Measure the model alone, in this process set up as the service is: one short text at a time, each another."""
    runtime = build_runtime(load_settings(data_dir=data_dir, embedder="local", auth_secrets=SECRETS))
    model = runtime.backends.embedder
    asked = questions(_SEED)
    values = []
    try:
        await model.embed(list(islice(asked, 1)), "query")
        for _ in range(_ROUNDS):
            texts = list(islice(asked, _SHORT_TEXTS))
            before = time.process_time()
            for text in texts:
                await model.embed([text], "query")
            values.append((time.process_time() - before) * 1000 / len(texts))
    finally:
        await runtime.close()
    return Figure("embedding one short text, local", CPU, values, limit=limit)
