"""What a server with the reader takes beside one without: for a recall, for a store, and of memory."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.reader_cost.texts import Texts
from bench.reader_cost.turns import RATIO, Columns, add
from bench.reading.asking import Asked, Asking, Target, Told, serving
from bench.reading.figure import Figure
from bench.report import CPU
from bench.server import Server

_HERE = Path(__file__).parents[2]
_AGENT = "cost"
_NONE, _LOCAL = "none", "local"
_MEMORIES, _RECALLS, _STORES = 300, 30, 10


async def recall(rounds: int) -> Columns:
    """Measure recalls of questions that are new, and of the same again."""
    texts, columns = Texts(), _columns()
    async with _both(texts) as servers:
        cold: list[dict[str, float]] = []
        warm: list[dict[str, float]] = []
        for number in range(rounds):
            order = _order(servers, number)
            questions = [Asked(_AGENT, question) for question in texts.questions(_RECALLS)]
            for costs in (cold, warm):
                costs.append({name: await _cost_of(servers[name], questions) for name in order})
        for name, costs in (("a recall, cold", cold), ("a recall, warm", warm)):
            add(columns, name, CPU, costs)
        for name, one in servers.items():
            columns[name].append(one.degraded())
    return columns


async def store(rounds: int) -> Columns:
    """Measure stores until their answer, one at a time, and with all that a server does in the background for them."""
    texts, columns = Texts(), _columns()
    async with _both(texts) as servers:
        whole: list[dict[str, float]] = []
        answered: list[dict[str, float]] = []
        taken: list[dict[str, float]] = []
        for number in range(rounds):
            memories = texts.memories(_STORES)
            found = {name: await _stores(servers[name], memories) for name in _order(servers, number)}
            for place, costs in enumerate((answered, taken, whole)):
                costs.append({name: figures[place] for name, figures in found.items()})
        add(columns, "a store until its answer", CPU, answered)
        add(columns, "a store until its answer, wall", "ms", taken)
        add(columns, "a store with all that follows", CPU, whole)
    return columns


async def memory(rounds: int) -> Columns:
    """Measure what a server keeps resident after its start, and after memories and recalls."""
    columns = _columns()
    fresh: list[dict[str, float]] = []
    used: list[dict[str, float]] = []
    for _ in range(max(1, rounds // 3)):
        async with serving(Target(_NONE, _HERE)) as none, serving(Target(_LOCAL, _HERE)) as local:
            servers, texts = {_NONE: none, _LOCAL: local}, Texts()
            fresh.append({name: one.server.resident() for name, one in servers.items()})
            await _fill(servers, texts)
            questions = [Asked(_AGENT, question) for question in texts.questions(_RECALLS)]
            for one in servers.values():
                await one.ask(questions)
            used.append({name: one.server.resident() for name, one in servers.items()})
    add(columns, "resident after the start", "MB", fresh)
    add(columns, f"resident after {_MEMORIES} stores and {_RECALLS} recalls", "MB", used)
    return columns


@asynccontextmanager
async def _both(texts: Texts) -> AsyncIterator[dict[str, Asking]]:
    """Serve the same memories with each reader until the block ends."""
    async with serving(Target(_NONE, _HERE)) as none, serving(Target(_LOCAL, _HERE)) as local:
        servers = {_NONE: none, _LOCAL: local}
        await _fill(servers, texts)
        warming = [Asked(_AGENT, question) for question in texts.questions(_RECALLS)]
        for one in servers.values():
            await one.ask(warming)
        yield servers


def _order(servers: Mapping[str, Asking], number: int) -> list[str]:
    """Return who goes first in a round, another one each time."""
    return list(servers) if number % 2 else list(servers)[::-1]


async def _fill(servers: Mapping[str, Asking], texts: Texts) -> None:
    told = [Told(_AGENT, text) for text in texts.memories(_MEMORIES)]
    for one in servers.values():
        await one.tell(told)


async def _cost_of(asking: Asking, questions: Sequence[Asked]) -> float:
    before = _cpu_seconds(asking.server)
    await asking.ask(questions, tries=1)
    return (_cpu_seconds(asking.server) - before) * 1000 / len(questions)


async def _stores(asking: Asking, memories: Sequence[str]) -> tuple[float, float, float]:
    """Store memories, each while the server rests; return CPU until the answer, wall time, and all CPU, in ms."""
    begun = _cpu_seconds(asking.server)
    answered = taken = 0.0
    for text in memories:
        cpu, clock = _cpu_seconds(asking.server), time.perf_counter()
        await asking.store([Told(_AGENT, text)])
        taken += time.perf_counter() - clock
        answered += _cpu_seconds(asking.server) - cpu
        await asking.server.rest(windows=1)
    whole = _cpu_seconds(asking.server) - begun
    answered, taken, whole = (1000 * total / len(memories) for total in (answered, taken, whole))
    return answered, taken, whole


def _cpu_seconds(server: Server) -> float:
    """Return what a process has used of the processor, to the nanosecond: /proc counts in steps of 10 ms.

    The clock is that of ``clock_getcpuclockid``, whose id Linux makes of the process's.
    """
    return time.clock_gettime((~server.process.pid << 3) | 2)


def _columns() -> Columns:
    columns: dict[str, list[Figure]] = {_NONE: [], _LOCAL: [], RATIO: []}
    return columns
