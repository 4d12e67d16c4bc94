"""What the reader takes for each thing that it is asked, beside one embedding, in this process."""

import time
from collections.abc import Awaitable, Callable

from app.adapters.local.reader.local_reader import LocalReader
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.domain.errors import ConfigurationError
from bench.reader_cost.texts import Texts
from bench.reader_cost.turns import RATIO, Columns, Turn, add, in_turn
from bench.report import CPU

_TOGETHER = 8
"""Pairs that are read for one memory that was stored."""
_CANDIDATES = 10
"""Texts that a recall has rated."""
_TIMES = 12
"""How often each is done in a round."""


async def measure(rounds: int) -> Columns:
    """Measure CPU time; every text is new, so that nothing is cached."""
    trunk = packaged_model_dir()
    if trunk is None:
        raise ConfigurationError("The embedding model is not installed: make run installs it.")
    texts = Texts()
    embedder, reader = TransformerEmbedder(trunk), LocalReader(trunk)

    async def embed() -> None:
        await embedder.embed(texts.memories(1), "document")

    async def relate(count: int) -> None:
        await reader.relations(texts.pairs(count))

    async def rate() -> None:
        await reader.relevance(texts.questions(1)[0], texts.memories(_CANDIDATES))

    async def ground() -> None:
        await reader.follows(texts.claims(1))

    async def classify() -> None:
        await reader.kinds(texts.memories(1))

    reads: dict[str, Callable[[], Awaitable[None]]] = {
        "one pair": lambda: relate(1),
        f"{_TOGETHER} pairs together": lambda: relate(_TOGETHER),
        f"a question and {_CANDIDATES} texts": rate,
        "a claim": ground,
        "a kind": classify,
    }
    columns: Columns = {"an embedding": [], "the reader": [], RATIO: []}
    try:
        await classify()  # the first call loads the weights
        for name, read in reads.items():
            turns = {"an embedding": _turn(embed), "the reader": _turn(read)}
            add(columns, name, CPU, await in_turn(turns, rounds))
    finally:
        await reader.close()
        await embedder.close()
    return columns


def _turn(work: Callable[[], Awaitable[None]]) -> Turn:
    async def turn() -> float:
        before = time.process_time()
        for _ in range(_TIMES):
            await work()
        return (time.process_time() - before) * 1000 / _TIMES

    return turn
