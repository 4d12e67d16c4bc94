"""What the other channels of a recall cost beside the vector channel: two services over the same data, in turn."""

from bench.ablation import PARTS
from bench.data import Requests
from bench.report import Figure
from bench.scenarios import Load
from bench.server import embedded

_ROUNDS = 5
_WARM_UP = 100
_SEED = 3
_MOST = 1.6

_ALL_BUT_VECTOR = ",".join(part for part in PARTS if part != "vector")


async def channels(load: Load) -> Figure:
    """Measure how many times the CPU of a recall by the vector channel alone a whole recall takes."""
    requests = Requests(load.scopes, seed=_SEED)
    (first,) = requests.recalls(1)
    ratios = []
    async with (
        embedded(load.data_dir, load.embedder, first, without="") as whole,
        embedded(load.data_dir, load.embedder, first, without=_ALL_BUT_VECTOR) as alone,
    ):
        for server in (whole, alone):
            await server.cost(requests.recalls(_WARM_UP))
        for _ in range(_ROUNDS):
            asked = requests.recalls(load.recalls)
            ratios.append(await whole.cost(asked) / await alone.cost(asked))
    return Figure(f"recall over its vector channel alone, {load.name}, {load.embedder}", "x", ratios, limit=_MOST)
