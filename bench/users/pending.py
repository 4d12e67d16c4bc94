"""The third section: agents on Cloudflare whose newest memories the index does not show yet, and bursts of clients."""

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from bench.client import drive
from bench.data import Requests, agents
from bench.report import CPU, Figure
from bench.server import Server, floor, service
from bench.upstream import Calls, account, calls, set_clock, slow_down
from bench.users.sections import Section, cell, number
from bench.users.shapes import ALONE

_ROUNDS = 3
_PENDING = (0, 20, 400, 4_000)
_CLIENTS = 64
_RECALLS = 192
_BURST = 192
_SEED = 6
_SLOW, _STILL = 0.02, 0.001
"""How many seconds the account's clock counts in one, while memories are stored and then: the index shows nothing new.

While they are stored it goes on, because no agent is told thousands of memories within some milliseconds."""
_ADDED = {400: 1.5, 4_000: 4.0}
_TIMES_P50, _TIMES_P99 = 1.5, 2.0
_NOTES = """\
The account is the double's: an embedding takes 100 ms and every other call 40 ms, there is no limit of calls, and
its index shows nothing of what was stored meanwhile, so that every vector (1,536 dimensions) stays pending. 64
clients. "Its calls alone": the embedding, the query of the index and the run of the database, made without the
service, from as many clients. In a burst every second request is a store."""


async def pending() -> Section:
    """Measure recalls of agents with more and more pending vectors, and bursts of stores and recalls."""
    section = Section("pending", "Cloudflare: memories that the index does not show yet", _NOTES)
    scopes = agents(len(_PENDING) + 1)
    asked = {count: Requests([scope], seed=_SEED) for count, scope in zip(_PENDING, scopes, strict=False)}
    burst = Requests(scopes[-1:], seed=_SEED)
    (first,) = asked[0].recalls(1)
    with TemporaryDirectory(prefix="bench-pending-") as directory:
        async with (
            account(Path(directory)) as settings,
            service(Path(directory), {**settings, **ALONE}, first) as server,
            floor(first) as bare,
        ):
            url = settings["OPENAI_BASE_URL"].removesuffix("/v1")
            set_clock(url, _SLOW)
            for count, requests in asked.items():
                if count:
                    await drive(server.port, requests.stores(count), clients=_CLIENTS)
            slow_down(url, _STILL)
            path = calls(settings)
            costs: dict[int, list[float]] = {count: [] for count in _PENDING}
            floors, waited, bursts = [], list[list[float]](), list[list[float]]()
            for requests in (*asked.values(), burst):
                await drive(server.port, requests.recalls(_CLIENTS), clients=_CLIENTS)
            for _ in range(_ROUNDS):
                floors.append(await bare.cost(asked[0].recalls(1000), settle=0))
                for count, requests in asked.items():
                    costs[count].append(await server.cost(requests.recalls(_RECALLS)))
                waited.append(await _alone(path))
                bursts.append(await _burst(server, burst))
    _show_costs(section, costs, floors)
    _show_bursts(section, bursts, waited)
    return section


async def _burst(server: Server, requests: Requests) -> list[float]:
    both = list(chain.from_iterable(zip(requests.stores(_BURST), requests.recalls(_BURST), strict=True)))
    started = time.perf_counter()
    seconds = await drive(server.port, both, clients=_CLIENTS)
    return [len(both) / (time.perf_counter() - started), *_percentiles(seconds)]


async def _alone(path: Calls) -> list[float]:
    """Return p50 and p99 of the calls of a recall, one after the other: the sums of those of each."""
    each = [_percentiles(await drive(path.port, [call] * _BURST, clients=_CLIENTS)) for call in path.calls]
    return [sum(values) for values in zip(*each, strict=True)]


def _percentiles(seconds: Sequence[float]) -> list[float]:
    return [median(seconds) * 1000, quantiles(seconds, n=100, method="inclusive")[98] * 1000]


def _show_costs(section: Section, costs: Mapping[int, Sequence[float]], floors: Sequence[float]) -> None:
    rows = []
    for count, values in costs.items():
        figure = Figure(f"recall on Cloudflare, {count:,} pending vectors", CPU, values, floors)
        added = [value - without for value, without in zip(values, costs[0], strict=True)]
        more = Figure(f"what {count:,} pending vectors add to a recall", CPU, added, floors, _ADDED.get(count))
        section.figures += [figure, more] if count else [figure]
        rows.append((f"{count:,}", cell(figure), cell(more) if count else ""))
    section.show("CPU of a recall, ms", [("pending vectors of the agent", "ms CPU", "more than without"), *rows])


def _show_bursts(section: Section, bursts: Sequence[Sequence[float]], waited: Sequence[Sequence[float]]) -> None:
    rate = Figure("stores and recalls a second, a burst of 64 clients", "a second", [told[0] for told in bursts])
    rows = [("answered a second", number(rate.median), "", "")]
    section.figures.append(rate)
    for place, (name, limit) in enumerate((("p50", _TIMES_P50), ("p99", _TIMES_P99))):
        taken, alone = [told[place + 1] for told in bursts], [told[place] for told in waited]
        figure = Figure(f"{name} of a burst of 64 clients", "ms", taken, alone)
        ratio = Figure(
            f"{name} of a burst over its calls alone",
            "x",
            [a / b for a, b in zip(taken, alone, strict=True)],
            limit=limit,
        )
        section.figures += [figure, ratio]
        rows.append((f"{name}, ms", number(figure.median), number(median(alone)), f"{ratio.median:.2f}"))
    section.show("A burst of stores and recalls, 64 clients", [("", "service", "its calls alone", "times"), *rows])
