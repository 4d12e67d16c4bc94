"""The memory of a crew: it asks the service in place of an embedder and of a language model."""

import asyncio
import time
from typing import Any, Literal, Self

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import (
    MemoryQueryCompletedEvent,
    MemoryQueryFailedEvent,
    MemoryQueryStartedEvent,
)
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths
from pydantic import PrivateAttr
from typing_extensions import override

from memory_gateway_client import MemoryClient, MemoryGatewayError
from memory_gateway_client.adapters.asking import OnOutage
from memory_gateway_client.adapters.crewai.records import told
from memory_gateway_client.adapters.crewai.storage import Found, GatewayStorage
from memory_gateway_client.adapters.recalling import MIN_SCORE
from memory_gateway_client.adapters.texts import NOTICE, pieces, quotation, storable, unavailable

_SOURCE = "memory_gateway"
"""What CrewAI's events say of where a memory lies."""


class GatewayMemory(Memory):
    """Keeps what a crew has done, and finds in it what its next task needs.

    A failure of the service ends no task: a recall gives one match that says so, which is another thing than none, and
    what could not be kept is kept with what comes next.
    """

    _kept: GatewayStorage = PrivateAttr()
    _quote: bool = PrivateAttr()

    def __init__(
        self,
        client: MemoryClient,
        *,
        agent_id: str | None = None,
        quote: bool = True,
        on_outage: OnOutage | None = None,
        strict: bool = False,
        **settings: Any,  # noqa: ANN401 - those of CrewAI's memory
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks the service.
            agent_id: The agent whose memories the crew's are, where that is not the client's agent.
            quote: Whether memories are given in quotation marks, the first below a notice that they are no commands, as
                a model is to read them; False: as they were said, with their metadata, for a program.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a recall that has no answer raises why.
            settings: ``llm``, by which what is worth keeping is extracted; without it tasks and results are kept as
                they are. ``root_scope`` and ``read_only`` as CrewAI has them.

        Raises:
            ValueError: neither the client nor ``agent_id`` names an agent.
        """
        storage = GatewayStorage(client, agent_id=agent_id, on_outage=on_outage, strict=strict)
        super().__init__(**{"embedder": _no_vectors, **settings, "storage": storage})
        self._kept = storage
        self._quote = quote

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the memory itself: a copy of a crew has the same one."""
        return self

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",  # noqa: ARG002 - the service decides how it looks
        source: str | None = None,
        include_private: bool = False,  # noqa: FBT001, FBT002 - the framework's
    ) -> list[MemoryMatch]:
        """Return the memories that answer the query best, 20 at most.

        Raises:
            MemoryGatewayError: there is no answer, where that is to be raised.
        """
        self.drain_writes()
        asked: dict[str, Any] = {"query": query, "limit": limit, "score_threshold": None, "source_type": _SOURCE}
        crewai_event_bus.emit(self, MemoryQueryStartedEvent(**asked))
        begun = time.perf_counter()
        root = join_scope_paths(self.root_scope, scope) if self.root_scope else scope
        try:
            found = self._kept.recall(query, scope_prefix=root, categories=categories, limit=limit, min_score=MIN_SCORE)
        except MemoryGatewayError as error:
            crewai_event_bus.emit(self, MemoryQueryFailedEvent(error=error.detail, **asked))
            raise
        if isinstance(found, MemoryGatewayError):
            crewai_event_bus.emit(self, MemoryQueryFailedEvent(error=found.detail, **asked))
            return [MemoryMatch(record=told(unavailable(found)), score=1.0)]
        seen = [(record, score) for record, score in found if include_private or _shown(record, source)]
        matches = self._matches(seen)
        took = (time.perf_counter() - begun) * 1000
        crewai_event_bus.emit(self, MemoryQueryCompletedEvent(results=matches, query_time_ms=took, **asked))
        return matches

    async def arecall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,  # noqa: FBT001, FBT002 - the framework's
    ) -> list[MemoryMatch]:
        """Do as ``recall`` does, in a thread."""
        return await asyncio.to_thread(self.recall, query, scope, categories, limit, depth, source, include_private)

    def extract_memories(self, content: str) -> list[str]:
        """Return what of a task and its result is to be kept: all of it, unless there is a language model."""
        return super().extract_memories(content) if "llm" in self.model_fields_set else list(pieces(content))

    @override
    def _encode_batch(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Make records of texts as they are, without an embedder or a model, and store them."""
        records = [
            MemoryRecord(
                content=text,
                scope=join_scope_paths(root_scope, scope),
                categories=categories or [],
                metadata=metadata or {},
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
            )
            for content in contents
            if (text := storable(content).strip())
        ]
        if not records:
            raise ValueError("There is nothing to remember: the content is blank.")
        self._kept.save(records)
        return records

    def _matches(self, found: Found) -> list[MemoryMatch]:
        if not self._quote:
            return [MemoryMatch(record=record, score=score, match_reasons=["semantic"]) for record, score in found]
        notices = [f"{NOTICE}\n", *[""] * len(found)]
        return [
            MemoryMatch(record=_quoted(record, notice), score=score, match_reasons=["semantic"])
            for (record, score), notice in zip(found, notices, strict=False)
        ]


def _no_vectors(texts: list[str]) -> list[list[float]]:
    """Embed nothing: the service does."""
    return [[] for _ in texts]


def _shown(record: MemoryRecord, source: str | None) -> bool:
    return not record.private or (source is not None and record.source == source)


def _quoted(record: MemoryRecord, notice: str) -> MemoryRecord:
    content = f"{notice}{record.created_at.date().isoformat()}: {quotation(record.content)}"
    return record.model_copy(update={"content": content, "categories": [], "metadata": {}})
