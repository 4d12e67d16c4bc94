"""Measures memories of others beside this one, prints the table and writes ``bench/results/rivals.md``.

Each is served by one process and embeds by the same stub over loopback; the same clients store and ask the same texts.
It takes about five minutes, most of it to fill the rivals.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from bench.client import drive
from bench.data import Requests, notes, one_agent, questions
from bench.report import CPU, RESULTS, Figure, aligned, circumstances, listed, table
from bench.rivals.serving import RIVALS, Rival, packages, stub
from bench.server import Server, floor
from bench.users.sections import cell, number

_ROUNDS = 3
_CLIENTS = 8
_RECALLS, _WARM_UP, _FLOOR = 100, 30, 1000
_SEED = 9
_OURS = "this service"
_NOTES = """\
CPU is that of the server's process, user and system, all threads, for each request; a figure is the median of three
rounds, which all take in turn. All embed by one stub that answers with vectors of 384 dimensions over loopback, and
pay for asking it: this service as OpenAI's API, mcp-memory-service as its external embedding API, and SqliteStore, a
library, by a function that asks it, behind two bare routes of FastAPI. No cache of answers is asked twice. "x floor"
is against a bare FastAPI application of the same run. mcp-memory-service needs no model of its own then, so neither
PyTorch nor ONNX is installed."""


@click.command(help=__doc__)
@click.option("--memories", default=9_900, show_default=True)
@click.option("--write/--no-write", "keep", default=True, help="Whether the results are kept.")
def main(memories: int, *, keep: bool) -> None:
    """Fill, measure, print."""
    told, started = circumstances(), time.monotonic()
    figures = asyncio.run(_measure(memories))
    rows = _rows(figures)
    print(aligned(rows))
    if keep:
        measured = {
            **told,
            "memories": memories,
            "the others": packages(),
            "seconds": round(time.monotonic() - started),
        }
        text = f"# Beside others\n\n{aligned(rows)}\n\n{_NOTES}\n\n{table(figures)}\n\n{listed(measured)}\n"
        (RESULTS / "rivals.md").write_text(text, "utf-8")
        data = {**measured, "figures": [figure.record() for figure in figures]}
        (RESULTS / "rivals.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")


async def _measure(memories: int) -> list[Figure]:
    (first,) = Requests(one_agent(), seed=_SEED).recalls(1)
    with TemporaryDirectory(prefix="bench-rivals-") as directory:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(stub())
            bare = await stack.enter_async_context(floor(first))
            rivals: dict[str, Rival] = {}
            for name, serve in RIVALS.items():
                folder = Path(directory) / name.replace(" ", "-")
                folder.mkdir()
                rivals[name] = await stack.enter_async_context(serve(folder, url))
            a_round = memories // 30
            texts = list(islice(notes(_SEED), memories))
            filling = texts[: memories - _ROUNDS * a_round]
            print(f"{time.strftime('%H:%M:%S')} filling", file=sys.stderr, flush=True)
            await asyncio.gather(
                *(
                    drive(rival.server.port, list(map(rival.store, filling)), clients=_CLIENTS)
                    for rival in rivals.values()
                )
            )
            print(f"{time.strftime('%H:%M:%S')} measuring", file=sys.stderr, flush=True)
            return await _rounds(rivals, texts[len(filling) :], bare)


async def _rounds(rivals: Mapping[str, Rival], stored: Sequence[str], bare: Server) -> list[Figure]:
    """Measure stores up to the last memory, then recalls, all in turn."""
    asked, floors = questions(_SEED), list[float]()
    costs: dict[tuple[str, str], list[float]] = {}
    requests = Requests(one_agent(), seed=_SEED)
    for kind in ("store", "recall"):
        if kind == "recall":
            for rival in rivals.values():
                await rival.server.rest(windows=2)
                await rival.server.cost([rival.ask(text) for text in islice(asked, _WARM_UP)])
        for turn in range(_ROUNDS):
            floors.append(await bare.cost(requests.recalls(_FLOOR), clients=_CLIENTS))
            texts = stored[turn::_ROUNDS] if kind == "store" else list(islice(asked, _RECALLS))
            for name, rival in rivals.items():
                make = rival.store if kind == "store" else rival.ask
                cost = await rival.server.cost(list(map(make, texts)), clients=_CLIENTS)
                costs.setdefault((name, kind), []).append(cost)
    floor_of = {"store": floors[:_ROUNDS], "recall": floors[_ROUNDS:]}
    figures = [Figure(f"{kind}, {name}", CPU, values, floor_of[kind]) for (name, kind), values in costs.items()]
    memory = [Figure(f"resident memory, {name}", "MB", [rival.server.resident()]) for name, rival in rivals.items()]
    return [*figures, _margin(costs), *memory]


def _margin(costs: Mapping[tuple[str, str], Sequence[float]]) -> Figure:
    """Return how many times ours the recall of the cheapest rival costs."""
    others = [values for (name, kind), values in costs.items() if kind == "recall" and name != _OURS]
    cheapest = min(others, key=median)
    ratios = [other / own for other, own in zip(cheapest, costs[_OURS, "recall"], strict=True)]
    return Figure("recall, the cheapest of the others over this service", "x", ratios)


def _rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    found = {figure.name: figure for figure in figures}
    rows: list[tuple[str, ...]] = [("", "ms CPU a store", "over ours", "ms CPU a recall", "over ours", "MB")]
    for name in RIVALS:
        told = [name]
        for kind in ("store", "recall"):
            own, one = found[f"{kind}, {_OURS}"], found[f"{kind}, {name}"]
            over = median(other / mine for other, mine in zip(one.values, own.values, strict=True))
            told += [cell(one), f"{over:.2f}"]
        rows.append((*told, number(found[f"resident memory, {name}"].median)))
    return rows


if __name__ == "__main__":
    main()
