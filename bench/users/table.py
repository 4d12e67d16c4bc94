"""The first section: what recalls and stores cost, by what is stored and what is asked."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.data import Requests
from bench.report import CPU, Figure
from bench.server import Server, embedded, floor
from bench.users.sections import Section, cell
from bench.users.shapes import (
    ALL,
    COLUMNS,
    EMPTY,
    HALF,
    LARGE,
    LONG,
    NONE,
    OTHERS,
    RARE,
    ROWS,
    SHORT,
    TIME,
    USUAL,
    Shape,
    first_request,
)

_ROUNDS = 3
_FLOOR_OPERATIONS = 1000
_SETTLE_SECONDS = 0.25
_WARM_UP = 20
_LONGEST_SECONDS = 120.0
"""So long a server may read what it was given, before it is measured."""
_SEED = 2
_FILTERS = (ALL, HALF, RARE, NONE, TIME)
_LIMITS: Mapping[str, Mapping[str, float]] = {
    USUAL.name: {SHORT: 2.5, EMPTY: 0.7, **dict.fromkeys(_FILTERS, 4.0)},
    LARGE.name: {SHORT: 6.0, LONG: 8.0, **dict.fromkeys(_FILTERS, 8.0)},
    "10k in one of 20 agents, MiniLM": {SHORT: 5.0},
}
"""The CPU milliseconds that are aimed at, on a machine whose floor takes 0.1."""
_NOTES = """\
The embedded default, in one process, with the hashing embedder (384 dimensions) and no reader where nothing else is
said; 16 clients. "10k in one of 20 agents": the agent that is asked has 10,000 memories, the others of its database
10,000 together. A recall behind a store is what a recall costs whose agent has just been written to."""


async def cpu() -> Section:
    """Fill the stores, serve each and measure every row of its, in turn with the floor."""
    section = Section("cpu", "CPU of a request", _NOTES)
    with TemporaryDirectory(prefix="bench-table-") as directory:
        shapes = (*COLUMNS, *OTHERS)
        folders = await asyncio.to_thread(filled, shapes, Path(directory))
        measured = {}
        for shape in shapes:
            print(f"{time.strftime('%H:%M:%S')} {shape.name}", file=sys.stderr, flush=True)
            measured[shape.name] = await measure(shape, folders[shape.name])
    for shape in shapes:
        section.figures += measured[shape.name].values()
    names = [name for name in ROWS if any(name in measured[shape.name] for shape in COLUMNS)]
    rows = [(name, *(_cell(measured[shape.name], name) for shape in COLUMNS)) for name in names]
    floors = [value for figure in section.figures for value in figure.floor]
    floor_ = f"the floor: {median(floors):.3g} ms"
    section.show(f"Milliseconds of CPU ({floor_})", [("", *(shape.name for shape in COLUMNS)), *rows])
    others = [(shape.name, name, cell(figure)) for shape in OTHERS for name, figure in measured[shape.name].items()]
    section.show("Other stores", [("store", "request", "ms CPU"), *others])
    return section


def filled(shapes: Sequence[Shape], directory: Path) -> Mapping[str, Path]:
    """Fill a directory for each shape, on as many processes as there are processors; equal fills share one."""
    folders: dict[str, Path] = {}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        building = {}
        for number, shape in enumerate(shapes):
            same = next((other for other in shapes[:number] if other.fill is shape.fill), None)
            folders[shape.name] = directory / str(number) if same is None else folders[same.name]
            if same is None:
                building[shape.name] = pool.submit(shape.fill, folders[shape.name])
        for future in building.values():
            future.result()
    return folders


async def measure(shape: Shape, folder: Path) -> dict[str, Figure]:
    """Measure the rows of a shape, in rounds; what changes the data comes last in each."""
    requests, first = Requests(shape.asked, seed=_SEED), first_request(shape)
    costs: dict[str, list[float]] = {name: [] for name in shape.rows}
    floors: list[float] = []
    async with embedded(folder, shape.embedder, first, **shape.settings) as server, floor(first) as bare:
        await server.rest(windows=2, longest=_LONGEST_SECONDS)
        for name in shape.rows:
            await server.cost(ROWS[name].make(requests, min(_WARM_UP, ROWS[name].operations)), settle=0)
        await bare.cost(requests.recalls(_FLOOR_OPERATIONS), settle=0)
        for _ in range(_ROUNDS):
            floors.append(await bare.cost(requests.recalls(_FLOOR_OPERATIONS), settle=0))
            for name, values in costs.items():
                values.append(await _cost(server, requests, name, costs))
    limits = _LIMITS.get(shape.name, {})
    return {
        name: Figure(f"{name}: {shape.name}", CPU, values, floors, limits.get(name)) for name, values in costs.items()
    }


async def _cost(server: Server, requests: Requests, name: str, costs: Mapping[str, Sequence[float]]) -> float:
    row = ROWS[name]
    cost = await server.cost(row.make(requests, row.operations), settle=_SETTLE_SECONDS)
    return 2 * cost - costs["store"][-1] if row.behind_stores else cost


def _cell(figures: Mapping[str, Figure], name: str) -> str:
    return cell(figures[name]) if name in figures else ""
