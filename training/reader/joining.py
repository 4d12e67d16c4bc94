"""Fits how a score joins the channels and the relevance (``app/retrieval/answering.py``), on scenes kept aside."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.ports.reader import Reader
from app.retrieval import answering
from app.retrieval.answering import ReadFit, Standing, UnreadFit
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
_PLACES = 20
"""So many candidates of a question are judged."""
_STEPS, _TINY = 50, 1e-3


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of a candidate of a recall, and whether it answers the question."""

    standing: Standing
    answers: bool


async def gather(scenes: Sequence[Scene], reader: Reader, data_dir: Path) -> list[Judged]:
    """Store scenes, ask their questions without a reader, and read the candidates.

    Each scene is stored for an agent of its own, and once more for one that has all scenes of a language: few memories
    and many have to be joined alike.
    """
    runtime = build_runtime(Settings(data_dir=data_dir, reader="none", tenant_stores_per_minute="unlimited"))
    backends = runtime.backends
    await migrate(backends.database)
    await runtime.prepare_index(backends.embedder.config)
    await embedding_configs.begin(backends.database, backends.embedder.config)
    await backends.scales.find(backends.embedder.config, backends.embedder)
    tenant = backends.of_tenant(_TENANT, Author("administrator", "http", may_replace=True))
    gateway, recaller = LongTermMemoryGateway(tenant), Recaller(tenant)
    judged: list[Judged] = []
    try:
        agents = [(scene, agent) for number, scene in enumerate(scenes[::_EACH]) for agent in (number, scene.language)]
        stored = [(scene, str(agent), await _store(gateway, scene, str(agent))) for scene, agent in agents]
        for scene, agent, ids in stored:
            alone = agent != scene.language
            for question in scene.questions:
                if alone or question.answers:  # what no memory of its scene answers, one of another scene may
                    search = await recaller.search(Scope(_TENANT, agent), Query(question.text))
                    judged += await _judged(question, search, reader, ids)
    finally:
        await backends.deliveries.close(seconds=1.0)
        for close in runtime.closers:
            await close()
    return judged


async def _store(gateway: LongTermMemoryGateway, scene: Scene, agent: str) -> Mapping[str, str]:
    """Store the memories of a scene, and return their names by their ids."""
    ids: dict[str, str] = {}
    for name, memory in scene.memories.items():
        said = int(datetime.fromisoformat(f"{memory.date}T09:00:00").replace(tzinfo=UTC).timestamp() * 1000)
        ids[await gateway.store(agent, NewMemory(memory.text, {}, None, said))] = name
    return ids


async def _judged(question: Question, search: Search, reader: Reader, ids: Mapping[str, str]) -> list[Judged]:
    """Return the first candidates; what is outdated is left out: whether it is is not a matter of scores."""
    chosen = answering.to_read(search.fusion, collapse=False)
    values = await reader.relevance(question.text, list(chosen.values())) if chosen else []
    relevance = succeeded(search.fusion.pool, dict(zip(chosen, values, strict=True)))
    first = islice(answering.standings(search.fusion, relevance), _PLACES)
    return [Judged(one, ids.get(one.id) in question.answers) for one in first if ids.get(one.id) not in question.stale]


def fitted(judged: Sequence[Judged]) -> tuple[ReadFit, UnreadFit]:
    """Return what counts of candidates that were read, and of all as if nobody had read them."""
    read = [
        ((answering.log_odds(each.relevance), each.behind, 1.0), one.answers)
        for one in judged
        if (each := one.standing).relevance is not None
    ]
    unread = [((math.log(one.standing.place), 1.0), one.answers) for one in judged]
    return ReadFit(*_likeliest(read)), UnreadFit(*_likeliest(unread))


def _likeliest(rows: Sequence[tuple[Sequence[float], bool]]) -> Sequence[float]:
    """Return the weights of the likeliest logistic regression, found by Newton's method."""
    values = np.array([features for features, _ in rows])
    answers = np.array([right for _, right in rows], np.float64)
    weights = np.zeros(values.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (answers - likely) - _TINY * weights
        curve = (values * (likely * (1 - likely))[:, None]).T @ values + _TINY * np.eye(len(weights))
        weights += np.linalg.solve(curve, slope)
    return [round(float(weight), 2) for weight in weights]
