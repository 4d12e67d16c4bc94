"""Fits how a score joins the channels and the relevance (``app/retrieval/answering.py``), on scenes kept aside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.ports.reader import Reader
from app.retrieval import answering
from app.retrieval.search import Search
from app.retrieval.succession import succeeded
from app.services.gateway import LongTermMemoryGateway
from app.services.recall import Recaller
from app.settings import Settings
from app.storage import embedding_configs
from app.storage.migrations.runner import migrate
from training.reader.scenes import Question, Scene

_TENANT = "scenes"
_EACH = 3
"""One of so many scenes is asked: that takes some minutes."""
_STEPS, _TINY = 50, 1e-6


@dataclass(frozen=True, slots=True)
class Read:
    """A candidate of a recall that was read: what is known of it, and whether it answers the question."""

    relevance: float
    behind: float
    """How much lower the channels have scored it than the best that was read."""
    answers: bool
    stale: bool


async def gather(scenes: Sequence[Scene], reader: Reader, data_dir: Path) -> list[Read]:
    """Store scenes, ask their questions without a reader, and read the candidates.

    Each scene is stored for an agent of its own, and once more for one that has all scenes of a language: few memories
    and many have to be joined alike.
    """
    runtime = build_runtime(Settings(data_dir=data_dir, reader="none"))
    backends = runtime.backends
    await migrate(backends.database)
    await runtime.prepare_index(backends.embedder.config)
    await embedding_configs.begin(backends.database, backends.embedder.config)
    await backends.scales.find(backends.embedder.config, backends.embedder)
    tenant = backends.of_tenant(_TENANT, Author("administrator", "http", may_replace=True))
    gateway, recaller = LongTermMemoryGateway(tenant), Recaller(tenant)
    read: list[Read] = []
    try:
        agents = [(scene, agent) for number, scene in enumerate(scenes[::_EACH]) for agent in (number, scene.language)]
        stored = [(scene, str(agent), await _store(gateway, scene, str(agent))) for scene, agent in agents]
        for scene, agent, ids in stored:
            alone = agent != scene.language
            for question in scene.questions:
                if alone or question.answers:  # what no memory of its scene answers, one of another scene may
                    search = await recaller.search(Scope(_TENANT, agent), Query(question.text))
                    read += await _read(question, search, reader, ids)
    finally:
        await backends.deliveries.close(seconds=1.0)
        for close in runtime.closers:
            await close()
    return read


async def _store(gateway: LongTermMemoryGateway, scene: Scene, agent: str) -> Mapping[str, str]:
    """Store the memories of a scene, and return their names by their ids."""
    ids: dict[str, str] = {}
    for name, memory in scene.memories.items():
        said = int(datetime.fromisoformat(f"{memory.date}T09:00:00").replace(tzinfo=UTC).timestamp() * 1000)
        ids[await gateway.store(agent, NewMemory(memory.text, {}, None, said))] = name
    return ids


async def _read(question: Question, search: Search, reader: Reader, ids: Mapping[str, str]) -> list[Read]:
    chosen = answering.to_read(search.fusion, collapse=False)
    values = await reader.relevance(question.text, [each.text for each in chosen]) if chosen else []
    relevance = succeeded(search.fusion.pool, {each.id: value for each, value in zip(chosen, values, strict=True)})
    fused = search.fusion.scores
    best = max((fused[id_] for id_ in relevance), default=0.0)
    return [
        Read(value, best - fused[id_], ids.get(id_) in question.answers, ids.get(id_) in question.stale)
        for id_, value in relevance.items()
        if not search.fusion.pool.candidates[id_].superseded
    ]


def fitted(read: Sequence[Read]) -> Sequence[float]:
    """Return what the log odds of the relevance count, what it takes to be behind the best, and the base.

    It is the likeliest logistic regression, found by Newton's method. What is outdated is left out: whether something
    took its place is not a matter of scores.
    """
    rows = [one for one in read if not one.stale]
    values = np.array([_features(one) for one in rows])
    answers = np.array([one.answers for one in rows], np.float64)
    weights = np.zeros(values.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (answers - likely) - 1e-3 * weights
        curve = (values * (likely * (1 - likely))[:, None]).T @ values + 1e-3 * np.eye(len(weights))
        weights += np.linalg.solve(curve, slope)
    return [round(float(weight), 3) for weight in weights]


def _features(one: Read) -> npt.NDArray[np.float64]:
    return np.array([_logit(one.relevance), -one.behind, 1.0])


def _logit(probability: float) -> float:
    sure = min(max(probability, _TINY), 1 - _TINY)
    return float(np.log(sure / (1 - sure)))
