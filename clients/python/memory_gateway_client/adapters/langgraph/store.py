"""The memory of an agent as LangGraph's store."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from memory_gateway_client import Forbidden, Memory, MemoryClient
from memory_gateway_client.adapters.langgraph import conditions, items
from memory_gateway_client.adapters.langgraph.items import Place

_PAGE = 100
_APART_SECONDS = 0.002
_NO_MEMORY = "0" * 26
"""An id that no memory has."""


class MemoryStore(BaseStore):
    """A store over the memory of the client's agent; awaited, it waits in a thread.

    A put adds a value and keeps the older ones; a get gives the newest. Reading by key needs a credential for this
    agent alone or an administrator's, deleting an administrator's. What goes wrong is raised as the client raises it.

    A value with a ttl expires that many minutes after it was put. Reading does not extend its life: ``refresh_ttl`` is
    accepted and does nothing.
    """

    supports_ttl = True

    __slots__ = ("_client",)

    def __init__(self, client: MemoryClient) -> None:
        """Take the client whose agent's memory this is.

        Raises:
            ValueError: the client has no agent.
        """
        if client.agent_id is None:
            raise ValueError("The client has no agent: give it one (agent_id= or MEMORY_GATEWAY_AGENT).")
        self._client = client

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations: first what reads, then of each key the last put.

        All are checked before any is carried out. Where a put fails, those before it are done.

        Raises:
            NotImplementedError: one asks for what is not supported: nothing was done.
            TypeError, ValueError: a namespace, a value, a ttl or a filter is none: nothing was done.
            Forbidden: a put or a delete needs an administrator's credential: nothing of its key was changed.
            MemoryGatewayError: the service refused it, or does not answer.
        """
        asked = list(ops)
        for op in asked:
            items.check(op)
        results = [self._read(op) for op in asked]
        puts = {Place(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        for place, op in puts.items():
            self._write(place, op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations as ``batch`` does, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            newest = self._newest(Place(op.namespace, op.key))
            return None if newest is None else items.item(newest)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _write(self, place: Place, op: PutOp) -> None:
        if op.value is None:
            # The oldest first: as long as there is any value, it is the newest.
            for memory in reversed(list(self._listed(items.at(place)))):
                self._client.delete_memory(memory.id)
            return
        expires_at = None if op.ttl is None else items.expiry(op.ttl)
        older = [] if expires_at is None else self._to_delete(place, expires_at)
        # With a session of its own the same value again, or under another key, is a memory of its own.
        session = secrets.token_hex(16)
        text, metadata = items.content(op.value), items.metadata(place)
        self._client.store(text, metadata=metadata, session_id=session, expires_at=expires_at)
        for memory in older:
            self._client.delete_memory(memory.id)
        # The service tells the time in milliseconds: what is put after this is to be newer.
        time.sleep(_APART_SECONDS)

    def _to_delete(self, place: Place, expires_at: datetime) -> list[Memory]:
        """Return the values of the key that would show again once a newer one has expired, the oldest first.

        They are deleted after the newer one is stored, so that there is a value at any time. That they may be is asked
        before, by a deletion of nothing.

        Raises:
            Forbidden: there are some, and the credential does not allow to delete them.
        """
        older = [memory for memory in self._listed(items.at(place)) if items.outlives(memory, expires_at)][::-1]
        try:
            if older:
                self._client.delete_memory(_NO_MEMORY)
        except Forbidden as error:
            raise Forbidden(
                f"MemoryStore: {place.key[:80]!r} has an older value, which lives longer than the ttl and would show "
                "again. To delete it needs an administrator's credential. Nothing was stored.",
                code=error.code,
                request_id=error.request_id,
                advice="Put the value without a ttl, with a longer one, or under a key that has none yet.",
            ) from error
        return older

    def _search(self, op: SearchOp) -> list[SearchItem]:
        current = self._ranked(op.namespace_prefix, op.query) if op.query else self._listing(op.namespace_prefix)
        passing = (item for item in current if conditions.passes(item.value, op.filter or {}))
        return list(islice(passing, op.offset, op.offset + op.limit))

    def _ranked(self, prefix: tuple[str, ...], query: str) -> Iterator[SearchItem]:
        """Give what a recall finds, best first, and then what else there is, newest first and without a score.

        What a newer value has superseded is left out: one more call for each key that was found.
        """
        recalled = self._client.recall(query, top_k=items.MAX_FOUND, metadata=items.within(prefix))
        newest: dict[Place, Memory | None] = {}
        given: set[Place] = set()
        for entry in filter(items.is_value, recalled.entries):
            place = items.place(entry)
            if place not in newest:
                newest[place] = self._newest(place)
            current = newest[place]
            if current is not None and current.id == entry.id:
                given.add(place)
                yield items.search_item(entry)
        if len(recalled.entries) == items.MAX_FOUND or recalled.degraded:  # else these were all
            yield from (item for item in self._listing(prefix) if Place(item.namespace, item.key) not in given)

    def _listing(self, prefix: tuple[str, ...]) -> Iterator[SearchItem]:
        return map(items.search_item, self._current(prefix))

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        held = {items.place(memory).namespace for memory in self._listed(items.within(()))}
        matching = {each[: op.max_depth] for each in held if all(_matches(each, one) for one in conditions)}
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _newest(self, place: Place) -> Memory | None:
        return next(self._listed(items.at(place), limit=1), None)

    def _current(self, prefix: tuple[str, ...]) -> Iterator[Memory]:
        """Give the newest value of each key under the prefix, newest first."""
        seen: set[Place] = set()
        for memory in self._listed(items.within(prefix)):
            place = items.place(memory)
            if place not in seen:
                seen.add(place)
                yield memory

    def _listed(self, where: dict[str, str], *, limit: int | None = None) -> Iterator[Memory]:
        cursor: str | None = None
        while True:
            page = self._client.list_memories(metadata=where, limit=limit or _PAGE, cursor=cursor)
            yield from filter(items.is_value, page.memories)
            if page.cursor is None:
                return
            cursor = page.cursor


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    wanted, held = condition.path, namespace
    if condition.match_type == "suffix":
        wanted, held = wanted[::-1], held[::-1]
    return len(wanted) <= len(held) and all(label in {"*", one} for label, one in zip(wanted, held, strict=False))
