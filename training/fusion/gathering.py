"""Asks stores their questions, in this process, and keeps what each recall has found."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.ports.database import Statement
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery
from app.runtime.runtime import Runtime
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.recall import search
from app.settings import Settings
from app.storage import embedding_configs
from app.storage.migrations.runner import migrate
from bench.quality.dataset import Conversation, Memory, Question
from training.fusion.sets import LabelledSet

_TENANT, _AGENT = "fusion", "store"
_FOREIGN = 5
"""One of so many questions is asked another store too, where nothing answers it."""
_FEW = 4
"""Others, at most, of a scope of a few memories."""
_OF_FEW = 0.2
"""What a case of such a scope counts beside the case that it is made of."""
_ROUNDS = 60
"""Rounds of the indexer, at most."""
_WAITING = Statement("SELECT count(*) AS waiting FROM outbox")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the candidates that a recall found for it, and which of these answer."""

    query: ParsedQuery
    pool: Pool
    answers: frozenset[str]
    outdated: frozenset[str]
    """Which did: whether they still do is not a matter of scores, so that they are not judged."""
    weight: float = 1.0
    """What it counts beside the cases of all sets."""

    @property
    def judged(self) -> frozenset[str]:
        """The candidates that may be entries and are judged."""
        candidates = self.pool.candidates.values()
        may_be = (one.id for one in candidates if one.whole and not one.superseded)
        return frozenset(may_be) - self.outdated


async def gather(labelled: LabelledSet) -> list[Case]:
    """Store what a set has, each store for an agent and a database of its own, and ask its questions."""
    found: list[Case] = []
    for store in labelled.stores:
        async with _running() as runtime:
            found += await _asked(runtime, store)
            drawn = Random(store.conv_id)  # noqa: S311 - the same each time
            count = min(len(store.questions) // _FOREIGN, len(labelled.foreign))
            found += [await _case(runtime, text) for text in drawn.sample(labelled.foreign, count)]
    return [replace(case, weight=labelled.weight / len(found)) for case in found]


def few(case: Case, draw: Random) -> Case:
    """Return a case as it would be in a scope of a few memories: what answers and some others, or some others alone."""
    others = sorted(case.judged - case.answers)
    kept = {*case.answers, *draw.sample(others, min(draw.randint(not case.answers, _FEW), len(others)))}
    candidates = [replace(one, before=None, after=None) for one in case.pool.candidates.values() if one.id in kept]
    pool = Pool.of(
        candidates,
        replace(case.pool.stats, memories=len(candidates)),
        {id_: cosine for id_, cosine in case.pool.cosines.items() if id_ in kept},
        case.pool.scale,
    )
    return replace(case, pool=pool, weight=case.weight * _OF_FEW)


@asynccontextmanager
async def _running() -> AsyncIterator[Runtime]:
    with TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder),
            reader="none",
            tenant_stores_per_minute="unlimited",
            agent_stores_per_minute="unlimited",
        )
        runtime = build_runtime(settings)
        backends = runtime.backends
        await migrate(backends.database)
        await runtime.prepare_index(backends.embedder.config)
        await embedding_configs.begin(backends.database, backends.embedder.config)
        await backends.scales.find(backends.embedder.config, backends.embedder)
        try:
            yield runtime
        finally:
            await backends.deliveries.close(seconds=1.0)
            for close in runtime.closers:
                await close()


async def _asked(runtime: Runtime, store: Conversation) -> list[Case]:
    """Store the memories in their order, and ask each question when it is to be asked."""
    gateway = LongTermMemoryGateway(runtime.backends.of_tenant(_TENANT, _author()))
    ids: dict[str, str] = {}
    found: list[Case] = []
    due: dict[int, list[Question]] = {}
    for question in store.questions:
        due.setdefault(len(store.memories) if question.told is None else question.told, []).append(question)
    for told in range(len(store.memories) + 1):
        if told in due:
            await _shown(runtime)
        for question in due.get(told, ()):
            answers = frozenset(ids[id_] for id_ in question.gold if id_ in ids)
            outdated = frozenset(ids[id_] for id_ in question.stated if id_ in ids) - answers
            found.append(await _case(runtime, question.text, answers, outdated))
        if told < len(store.memories):
            memory = store.memories[told]
            ids[memory.turn_id] = await gateway.store(_AGENT, _stored(memory))
    return found


def _author() -> Author:
    return Author("administrator", "http", may_replace=True)


def _stored(memory: Memory) -> NewMemory:
    said = memory.occurred_at
    moment = None if said is None else int(datetime.fromisoformat(said).timestamp() * 1000)
    return NewMemory(memory.content, {}, memory.session_id, moment)


async def _shown(runtime: Runtime) -> None:
    """Send to the index what waits for it, as far as that becomes less."""
    last: object = None
    for _ in range(_ROUNDS):
        await runtime.indexer.round()
        (rows,) = await runtime.backends.database.run([_WAITING])
        waiting = rows[0]["waiting"]
        if waiting in (0, last):
            return
        last = waiting


async def _case(
    runtime: Runtime, text: str, answers: frozenset[str] = frozenset(), outdated: frozenset[str] = frozenset()
) -> Case:
    found = await search(runtime.backends.of_tenant(_TENANT, _author()), Scope(_TENANT, _AGENT), Query(text))
    return Case(found.fusion.query, found.fusion.pool, answers, outdated)
