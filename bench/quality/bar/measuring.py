"""Asks each method the same questions over the same memories, in stores of each size."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from bench.quality.asking import Asked, Plan, ask, tell
from bench.quality.bar.figures import Row, rows
from bench.quality.bar.stores import neighbours, sized
from bench.quality.dataset import Conversation
from bench.quality.measuring import READER, say
from bench.quality.service import Service
from bench.quality.services.bm25 import Bm25
from bench.quality.services.cosine import Cosine
from bench.quality.services.fused import Fused
from bench.quality.variants import serving
from training.reader.examples import Vectors

EMBEDDER = "local"
_LONGEST_WORK_SECONDS = 4 * 3600.0
"""A reader compares each memory with others in the background, and the stores of one size are many memories."""

Stores: TypeAlias = Sequence[Conversation]
Answers: TypeAlias = Callable[[Stores, Plan], Awaitable[list[Asked]]]
"""Tells some stores, and asks their questions."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to find memories."""

    name: str
    answers: Answers
    plain: bool
    """Whether it is one of those that the product is compared with."""


def product(reader: str) -> Method:
    """Return this checkout's service, over HTTP, with a value of READER."""

    async def answers(stores: Stores, plan: Plan) -> list[Asked]:
        with TemporaryDirectory(prefix="bar-") as directory:
            data_dir, settings = Path(directory), {READER: reader}
            async with serving(data_dir, EMBEDDER, settings, longest=_LONGEST_WORK_SECONDS) as service:
                between = await tell(service, stores, plan)
            async with serving(data_dir, EMBEDDER, settings) as service:
                return [*between, *await ask(service, stores, plan)]

    return Method(f"READER={reader}", answers, plain=False)


def plain(vectors: Vectors) -> list[Method]:
    """Return vectors alone, plain BM25, and the fusion of the two."""
    return [
        in_process("vectors", lambda: Cosine(vectors)),
        in_process("BM25", Bm25),
        in_process("RRF of both", lambda: Fused([Cosine(vectors), Bm25()])),
    ]


def in_process(name: str, make: Callable[[], Service], *, plain: bool = True) -> Method:
    """Return a method that needs no server; it begins empty for each size."""

    async def answers(stores: Stores, plan: Plan) -> list[Asked]:
        service = make()
        return [*await tell(service, stores, plan), *await ask(service, stores, plan)]

    return Method(name, answers, plain)


def texts(stores: Mapping[int, Stores]) -> list[str]:
    """Return every text that is stored or asked in any size, once."""
    return list(
        dict.fromkeys(
            text
            for of_size in stores.values()
            for one in of_size
            for text in (
                *(memory.content for memory in one.memories),
                *(question.text for question in one.questions),
            )
        )
    )


def stores(conversations: Sequence[Conversation], sizes: Sequence[int]) -> dict[int, Stores]:
    """Return the stores of each size; raises DataInvalid where there are not so many neighbours."""
    return {size: sized(conversations, neighbours(size)) for size in sizes}


async def measured(of_size: Mapping[int, Stores], methods: Sequence[Method], plan: Plan) -> list[Row]:
    """Measure every method in every size; the rows of a data set stand together, smaller stores first.

    Raises:
        ServiceFailed: a service refuses what it is told or asked.
        ServerFailed: a server does not start.
    """
    found = []
    for size, held in of_size.items():
        for method in methods:
            started = time.monotonic()
            answers = await method.answers(held, plan)
            say(f"{method.name}, {size} neighbours: {len(answers)} answers in {time.monotonic() - started:.0f} s")
            found += rows(method.name, size, answers, plain=method.plain)
    datasets = list(dict.fromkeys(row.dataset for row in found))
    return sorted(found, key=lambda row: (datasets.index(row.dataset), row.size))
