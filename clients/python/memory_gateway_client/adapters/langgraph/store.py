"""The memory of an agent as LangGraph's store."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Iterator
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

from memory_gateway_client import Memory, MemoryClient
from memory_gateway_client.adapters.langgraph import items
from memory_gateway_client.adapters.langgraph.items import Place

_PAGE = 100
_APART_SECONDS = 0.002


class MemoryStore(BaseStore):
    """A store over the memory of the client's agent; awaited, it waits in a thread.

    A put adds a value and keeps the older ones; a get gives the newest. Reading by key needs a credential for this
    agent alone or an administrator's, deleting an administrator's. What goes wrong is raised as the client raises it.
    """

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
            ValueError: a namespace or a value cannot be kept: nothing was done.
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
            if op.query:
                return self._found(op, op.query)
            return [items.search_item(memory) for memory in islice(self._current(op.namespace_prefix), op.limit)]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _write(self, place: Place, op: PutOp) -> None:
        if op.value is None:
            # The oldest first: as long as there is any value, it is the newest.
            for memory in reversed(list(self._listed(items.at(place)))):
                self._client.delete_memory(memory.id)
            return
        # With a session of its own the same value again, or under another key, is a memory of its own.
        session = secrets.token_hex(16)
        self._client.store(items.content(op.value), metadata=items.metadata(place), session_id=session)
        # The service tells the time in milliseconds: what is put after this is to be newer.
        time.sleep(_APART_SECONDS)

    def _found(self, op: SearchOp, query: str) -> list[SearchItem]:
        """Recall, and leave out what a newer value has superseded: one more call for each key that was found."""
        where = items.within(op.namespace_prefix)
        recalled = self._client.recall(query, top_k=items.MAX_FOUND, metadata=where)
        newest: dict[Place, Memory | None] = {}
        found: list[SearchItem] = []
        for entry in filter(items.is_value, recalled.entries):
            if len(found) == op.limit:
                break
            place = items.place(entry)
            if place not in newest:
                newest[place] = self._newest(place)
            current = newest[place]
            if current is not None and current.id == entry.id:
                found.append(items.search_item(entry))
        return found

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
