"""Where the records of a memory of CrewAI lie: in the memories of an agent of the service."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TypeVar

from crewai.memory.types import MemoryRecord, ScopeInfo
from crewai.memory.utils import normalize_scope_path

from memory_gateway_client import InvalidRequest, Memory, MemoryClient, MemoryGatewayError, NotFound, Page
from memory_gateway_client.adapters.asking import SWITCHED_OFF, Asking, OnOutage
from memory_gateway_client.adapters.crewai.records import below, levels, metadata, record, with_id
from memory_gateway_client.adapters.naming import session_name
from memory_gateway_client.adapters.recalling import MOST_ENTRIES
from memory_gateway_client.adapters.texts import pieces, query

T = TypeVar("T")

Found = list[tuple[MemoryRecord, float]]
"""Records with their scores, best first."""

_MOST_WAITING = 100
_PAGE = 100
_ULID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
"""The id of a memory; those that CrewAI makes are others."""


class GatewayStorage:
    """CrewAI's ``StorageBackend``, of one agent of the service.

    Records are found by words (``recall``), since the service makes the vectors of what it keeps itself.
    """

    def __init__(
        self,
        client: MemoryClient,
        *,
        agent_id: str | None = None,
        on_outage: OnOutage | None = None,
        strict: bool = False,
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks the service.
            agent_id: The agent whose memories the records are, where that is not the client's agent.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a recall that has no answer raises why.

        Raises:
            ValueError: neither the client nor ``agent_id`` names an agent.
        """
        self._asking = Asking(client, logging.getLogger(__name__), on_outage=on_outage, strict=strict)
        agent = agent_id or client.agent_id
        if agent is None:
            raise ValueError("No agent: say agent_id=, or give the client one (agent_id= or MEMORY_GATEWAY_AGENT).")
        self._agent_id = agent
        self._waiting: list[MemoryRecord] = []
        self._lock = Lock()

    def recall(
        self,
        words: str,
        *,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> Found | MemoryGatewayError:
        """Return what answers the words best, or why there is no answer.

        Raises:
            MemoryGatewayError: there is no answer, where that is to be raised.
        """
        asked = query(words)
        if not asked or limit < 1:
            return []
        conditions = {**(metadata_filter or {}), **below(scope_prefix)}
        top_k = MOST_ENTRIES if categories else min(limit, MOST_ENTRIES)
        found = self._asking.ask_waiting(
            lambda client: client.recall(
                asked, agent_id=self._agent_id, top_k=top_k, metadata=conditions or None, for_model=True
            )
        )
        if isinstance(found, MemoryGatewayError):
            return [] if found.code == SWITCHED_OFF else found
        records = [(record(entry), entry.score) for entry in found.entries if entry.score >= min_score]
        return [(each, score) for each, score in records if _of(each, categories)][:limit]

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> Found:
        """Refuse: the service takes no vectors.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("The service makes its own vectors: take GatewayMemory(client), or recall(words).")

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records. Those that could not be stored are stored with the next ones, up to 100 of them.

        Raises:
            MemoryGatewayError: not all are stored yet, or the service has refused one.
            TypeError, ValueError: the metadata of one is no JSON: it is let go of.
        """
        with self._lock:
            self._waiting += records
            while self._waiting:
                try:
                    self._store(self._waiting[0])
                except (InvalidRequest, TypeError, ValueError):
                    del self._waiting[0]  # it will be refused again, or is none that can be sent
                    raise
                except MemoryGatewayError:
                    del self._waiting[:-_MOST_WAITING]
                    raise
                del self._waiting[0]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records, so that no recall finds them, and return how many.

        Raises:
            MemoryGatewayError: there is no answer, or the credential may not list the memories.
        """
        if record_ids is None:
            found = list(self._memories(scope_prefix, metadata_filter))
        else:
            found = [memory for record_id in record_ids for memory in self._of_id(record_id)]
        before = None if older_than is None else older_than.replace(tzinfo=older_than.tzinfo or UTC)
        for memory in (chosen := [each for each in found if _of(record(each), categories) and _before(each, before)]):
            self._forget(memory)
        return len(chosen)

    def update(self, record: MemoryRecord) -> None:
        """Store the record as it is now, and forget what it was.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        before = self._of_id(record.id)
        self._store(record, occurred_at=datetime.now(UTC))
        for memory in before:
            self._forget(memory)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return the record of an id.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        return next((record(memory) for memory in self._of_id(record_id)), None)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return records of a scope, newest first.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        listed: list[MemoryRecord] = []
        for number, memory in enumerate(self._memories(scope_prefix)):
            if number >= offset + limit:
                break
            listed += [record(memory)] if number >= offset else []
        return listed

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Tell what is in a scope; all its records are read for that.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        records = [record(memory) for memory in self._memories(scope)]
        moments = [each.created_at for each in records]
        return ScopeInfo(
            path=normalize_scope_path(scope),
            record_count=len(records),
            categories=sorted({category for each in records for category in each.categories}),
            oldest_record=min(moments, default=None),
            newest_record=max(moments, default=None),
            child_scopes=_children(scope, records),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below one; all its records are read for that.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        return self.get_scope_info(parent).child_scopes

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories of a scope, each with how many records have it.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        counts: dict[str, int] = {}
        for memory in self._memories(scope_prefix):
            for category in record(memory).categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        """Count the records of a scope.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        return sum(1 for _ in self._memories(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope, those included that wait to be stored.

        Raises:
            MemoryGatewayError: there is no answer.
        """
        with self._lock:
            self._waiting.clear()
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Do as ``save`` does, in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> Found:
        """Refuse, as ``search`` does."""
        return self.search(query_embedding, scope_prefix, categories, metadata_filter, limit, min_score)

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Do as ``delete`` does, in a thread."""
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _answered(self, call: Callable[[MemoryClient], T]) -> T:
        answer = self._asking.ask_waiting(call)
        if isinstance(answer, MemoryGatewayError):
            raise answer
        return answer

    def _store(self, record: MemoryRecord, occurred_at: datetime | None = None) -> None:
        for piece in pieces(record.content):
            self._store_piece(piece, record, occurred_at)

    def _store_piece(self, content: str, record: MemoryRecord, occurred_at: datetime | None) -> None:
        # The same text of another scope or source is a memory of its own, since it has a session of its own.
        of = (normalize_scope_path(record.scope), record.source or "", str(record.private), content)
        self._answered(
            lambda client: client.store(
                content,
                agent_id=self._agent_id,
                metadata=metadata(record),
                session_id=session_name(*of),
                occurred_at=occurred_at,
            )
        )

    def _forget(self, memory: Memory) -> None:
        self._answered(lambda client: client.forget(memory.id, agent_id=self._agent_id))

    def _memories(self, scope: str | None, conditions: dict[str, Any] | None = None) -> Iterator[Memory]:
        where = {**(conditions or {}), **below(scope)} or None
        page = self._page(where, None)
        while True:
            yield from (memory for memory in page.memories if memory.forgotten_at is None)
            if page.cursor is None:
                return
            page = self._page(where, page.cursor)

    def _page(self, where: dict[str, Any] | None, cursor: str | None) -> Page:
        return self._answered(
            lambda client: client.list_memories(agent_id=self._agent_id, metadata=where, limit=_PAGE, cursor=cursor)
        )

    def _of_id(self, record_id: str) -> list[Memory]:
        """Return the memories of a record: those that have its id, and the one whose id it is."""
        found = list(self._memories(None, with_id(record_id)))
        if _ULID.fullmatch(record_id):
            with suppress(NotFound):
                memory = self._answered(lambda client: client.get_memory(record_id, agent_id=self._agent_id))
                found += [memory] if memory.forgotten_at is None else []
        return found


def _of(record: MemoryRecord, categories: list[str] | None) -> bool:
    return not categories or bool({*categories} & {*record.categories})


def _before(memory: Memory, moment: datetime | None) -> bool:
    return moment is None or (memory.occurred_at or memory.created_at) < moment


def _children(scope: str, records: list[MemoryRecord]) -> list[str]:
    depth = len(levels(scope)) + 1
    paths = (levels(each.scope) for each in records)
    return sorted({"/" + "/".join(path[:depth]) for path in paths if len(path) >= depth})
