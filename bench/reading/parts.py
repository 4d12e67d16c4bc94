"""The parts of the measurement: for each column what measures it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.adapters.local.reader.local_reader import PACKAGED, LocalReader
from app.adapters.local.transformer import packaged_model_dir
from app.domain.errors import ConfigurationError
from bench.reading import claims, dialogues, facts, pairs, scenes, vectors
from bench.reading.asking import Asking, Target, serving
from bench.reading.figure import Figure
from training.reader.computed import ComputedReader
from training.reader.measuring import Embedded, by_language, divided
from training.reader.scenes import TRAINING, Scene, files, read_scenes

NONE, LOCAL, VECTORS, BEFORE = "none", "local", "vectors", "before"
"""Columns: values of READER; the order by cosine alone; an older checkout. Where the reader is alone: languages."""
WITHOUT = (NONE, VECTORS, BEFORE)
"""Columns of what no reader has a part in."""
_HERE = Path(__file__).parents[2]
_AGENTS: dict[str, scenes.AgentOf] = {"scenes": scenes.alone, "together": scenes.together}
_SEALED, _ASIDE, _CLAIMS = "sealed", "aside", "claims"
PARTS = ("pairs", _CLAIMS, "facts", *_AGENTS, _SEALED, _ASIDE, "dialogues")

Measured = Mapping[str, Sequence[Figure]]
"""Figures by their column."""
_Served = Callable[[Asking], Awaitable[Sequence[Figure]]]


@dataclass(frozen=True, slots=True)
class Given:
    """What is measured with, and on."""

    readers: Sequence[str]
    scenes: Path
    """A folder."""
    facts: Path | None
    dialogues: Sequence[Path]
    before: Path | None
    """An older checkout, which is asked too."""
    few: int | None
    """Of each only so many, for a trial."""


def lacks(part: str, given: Given) -> str:
    """Return the option without which a part has no data; empty where it has."""
    missing = {"facts": given.facts is None, "dialogues": not given.dialogues}
    return f"--{part}" if missing.get(part) else ""


def measured(part: str, given: Given) -> Iterator[Measured]:
    """Give the figures of a part as they are measured, one or more columns at a time."""
    if part in {_SEALED, _ASIDE}:
        if LOCAL in given.readers:
            yield _alone(part, given)
        return
    if part == _CLAIMS:
        for reader in given.readers:
            yield {reader: asyncio.run(_claims(reader))}
        return
    ask = _served(part, given)
    for reader in given.readers:
        yield {reader: asyncio.run(_over_http(Target(reader, _HERE), ask))}
    if given.before is not None:
        yield {BEFORE: asyncio.run(_over_http(Target(NONE, given.before.resolve()), ask))}
    if part in _AGENTS:
        yield {VECTORS: vectors.measure(_scenes(given), _AGENTS[part], Embedded(_trunk()))}


def _served(part: str, given: Given) -> _Served:
    """Return what a part asks a service."""
    if part == "pairs":
        return lambda asking: pairs.measure(asking, given.few)
    if part == "facts" and given.facts is not None:
        lines = facts.read(given.facts)
        return lambda asking: facts.measure(asking, lines, given.few)
    if part == "dialogues":
        held = [dialogues.read(path) for path in given.dialogues]
        return lambda asking: dialogues.measure(asking, held, given.few)
    chosen = _scenes(given)
    return lambda asking: scenes.measure(asking, chosen, _AGENTS[part])


async def _over_http(target: Target, measure: _Served) -> Sequence[Figure]:
    async with serving(target) as asking:
        return await measure(asking)


async def _claims(reader: str) -> Sequence[Figure]:
    if reader == NONE:
        return await claims.measure(None)
    local = LocalReader(_trunk())
    try:
        return await claims.measure(local)
    finally:
        await local.close()


def _alone(part: str, given: Given) -> Measured:
    """Ask the reader about the scenes that are sealed, or that its thresholds are set with."""
    paths = files(given.scenes) if part == _SEALED else divided(TRAINING)[1]
    trunk = _trunk()
    found = by_language(_spread(read_scenes(paths), given.few), ComputedReader(trunk, PACKAGED), Embedded(trunk))
    return {language: [Figure(name, value) for name, value in of.items()] for language, of in found.items()}


def _scenes(given: Given) -> Sequence[Scene]:
    return _spread(read_scenes(files(given.scenes)), given.few)


def _spread(found: Sequence[Scene], few: int | None) -> Sequence[Scene]:
    """Return all scenes, or few of many files."""
    return found if few is None else found[:: max(1, len(found) // few)][:few]


def _trunk() -> Path:
    directory = packaged_model_dir()
    if directory is None:
        raise ConfigurationError("The embedding model is not installed: make run installs it.")
    return directory
