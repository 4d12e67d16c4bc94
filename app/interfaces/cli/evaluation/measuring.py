"""Tells an own service of this process the conversations of a set, and asks it the questions."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bootstrap import build_runtime
from app.domain.errors import Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.moments import milliseconds, parse_moment
from app.domain.query import Query
from app.interfaces.cli.evaluation.dataset import SetConversation, SetQuestion
from app.interfaces.cli.evaluation.figures import FoundTurns
from app.interfaces.cli.evaluation.published import has_evidence
from app.interfaces.cli.parameters import indexing
from app.runtime.relating import read_left_over, relating
from app.runtime.runtime import Runtime
from app.services.golden.questions import uncounted_recall
from app.services.memories.recall import Recall
from app.settings import Settings

FEWEST_ENTRIES = 20
"""The entries that each question asks for at least: sessions are counted among the sessions of all of them."""
_TENANT = "evaluation"
_READER_SECONDS = 60.0
"""How long a recall waits for the reader: what is measured is not how busy the machine is."""
_INDEX_SECONDS, _POLL_SECONDS = 1800.0, 0.2
"""How long a question waits for the index to have what was told, and between two looks."""
_PARALLEL = 4
"""The conversations that are told at once: their texts are embedded together."""
_UNLIMITED = {
    f"{holder}_{limit}": "unlimited"
    for holder in ("tenant", "agent")
    for limit in ("memories", "bytes", "stores_per_minute")
}


@dataclass(frozen=True, slots=True)
class SetMeasurement:
    """What was found, and by which models."""

    found: Sequence[FoundTurns]
    embedder: str
    reader: str | None


async def measure_set(
    settings: Settings, conversations: Sequence[SetConversation], top_k: int, report: Callable[[], None]
) -> SetMeasurement:
    """Tell each conversation to an agent of its own, and ask the questions that have evidence.

    Nothing touches other data: all is kept in a folder that is deleted in the end. The embedder, the reranker and the
    reader are those of the settings; no language model is asked. ``report`` is called for each
    memory that was told.

    Raises:
        ConfigurationError: the settings cannot be served.
        Unavailable: a part does not answer; there is no half of a measurement.
    """
    with TemporaryDirectory(prefix="memory-gateway-eval-") as folder:
        own = {"data_dir": Path(folder), "language_model": "none", **_UNLIMITED}
        runtime = build_runtime(settings.model_copy(update=own), embedded=True)
        try:
            await runtime.prepare()
            await runtime.backends.embedder.ping()
            async with indexing(runtime):
                found = await _Measured(runtime, top_k, report).all_of(conversations)
            reader = runtime.backends.reader
            return SetMeasurement(found, str(runtime.config), None if reader is None else reader.version)
        finally:
            await runtime.close()


class _Measured:
    """A service that is told and asked."""

    def __init__(self, runtime: Runtime, top_k: int, report: Callable[[], None]) -> None:
        self._backends = replace(runtime.backends, reader_seconds=_READER_SECONDS).of_tenant(_TENANT)
        self._gateway = runtime.services(_TENANT).gateway
        self._top_k = max(top_k, FEWEST_ENTRIES)
        self._report = report
        reader = runtime.backends.reader
        self._relating = None if reader is None else relating(runtime.backends, reader)
        self._reading = asyncio.Lock()

    async def all_of(self, conversations: Sequence[SetConversation]) -> list[FoundTurns]:
        """Tell all and ask all, in the order of the conversations."""
        if self._relating is not None:
            await self._relating.begin()
        gate = asyncio.Semaphore(_PARALLEL)

        async def gated(number: int, conversation: SetConversation) -> list[FoundTurns]:
            async with gate:
                return await self._one(f"conversation-{number}", conversation)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(gated(number, each)) for number, each in enumerate(conversations)]
        except ExceptionGroup as failed:  # conversations under way at once fail alike: the first says it
            raise failed.exceptions[0] from failed
        return [found for task in tasks for found in task.result()]

    async def _one(self, agent_id: str, conversation: SetConversation) -> list[FoundTurns]:
        """Tell a conversation, and ask each question when what it may know has been told and read."""
        asked = [question for question in conversation.questions if has_evidence(question)]
        scope, turns, found = Scope(_TENANT, agent_id), dict[str, str](), list[FoundTurns]()
        for number, memory in enumerate(conversation.memories):
            if due := [question for question in asked if question.told == number]:
                found += await self._ask(scope, conversation, due, turns)
            moment = None if memory.occurred_at is None else milliseconds(parse_moment(memory.occurred_at))
            new = NewMemory(memory.content, {}, memory.session_id, moment)
            turns[await self._gateway.store(agent_id, new)] = memory.turn_id
            self._report()
        last = [question for question in asked if question.told is None]
        return found + await self._ask(scope, conversation, last, turns)

    async def _ask(
        self, scope: Scope, conversation: SetConversation, questions: Sequence[SetQuestion], turns: dict[str, str]
    ) -> list[FoundTurns]:
        await self._read()
        moment = conversation.asked_at
        at = None if moment is None else milliseconds(parse_moment(moment))
        found = []
        for question in questions:
            query = Query(question.text, top_k=self._top_k, reference_time=at, strict=True)
            recall = await self._whole(scope, query, question.qid)
            found.append(FoundTurns(conversation, question, [turns[entry.id] for entry in recall.entries]))
        return found

    async def _whole(self, scope: Scope, query: Query, qid: str) -> Recall:
        """Recall with every part, once the index has what was told; raises Unavailable."""
        ends = time.monotonic() + _INDEX_SECONDS
        while True:
            recall = await uncounted_recall(self._backends, scope, query)
            if not recall.degraded:
                return recall
            if [*recall.degraded] != ["pending_bound"] or time.monotonic() > ends:
                raise Unavailable(f"The recall of {qid} was without a part: {', '.join(recall.degraded)}.")
            await asyncio.sleep(_POLL_SECONDS)

    async def _read(self) -> None:
        """Let the reader compare what was stored, as a service does within a second."""
        if self._relating is not None:
            async with self._reading:
                while await read_left_over(self._relating):
                    pass
