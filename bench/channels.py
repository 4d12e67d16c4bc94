"""What the other channels of a recall cost beside the vector channel: two services over the same data, in turn."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.ablation import PARTS
from bench.data import Requests
from bench.report import Figure
from bench.server import embedded
from bench.users.shapes import MODEL, first_request
from bench.users.table import filled

_ROUNDS = 3
_RECALLS, _WARM_UP = 150, 50
_SEED = 3
_MOST = 1.6

_ALL_BUT_VECTOR = ",".join(part for part in PARTS if part != "vector")


async def channels() -> list[Figure]:
    """Measure how many times the CPU of a recall by the vector channel alone a whole recall takes, with MiniLM."""
    requests, first = Requests(MODEL.asked, seed=_SEED), first_request(MODEL)
    ratios = []
    with TemporaryDirectory(prefix="bench-channels-") as directory:
        folder = (await asyncio.to_thread(filled, [MODEL], Path(directory)))[MODEL.name]
        async with (
            embedded(folder, MODEL.embedder, first, without="", **MODEL.settings) as whole,
            embedded(folder, MODEL.embedder, first, without=_ALL_BUT_VECTOR, **MODEL.settings) as alone,
        ):
            for server in (whole, alone):
                await server.cost(requests.recalls(_WARM_UP))
            for _ in range(_ROUNDS):
                asked = requests.recalls(_RECALLS)
                ratios.append(await whole.cost(asked) / await alone.cost(asked))
    return [Figure(f"recall over its vector channel alone, {MODEL.name}", "x", ratios, limit=_MOST)]
