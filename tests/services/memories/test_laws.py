"""Random stores, recalls and deletes over several tenants and agents, against a memory of plain Python.

Stores and recalls are made by the routes and by the MCP tools in turn: they are two ways to one memory.
"""

import asyncio
import tempfile
from collections.abc import Awaitable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.backends import BackendName, running_on
from tests.support.damage import check_words
from tests.support.generation import LONG, examples
from tests.support.service import serving

T = TypeVar("T")

WORDS = ["red", "green", "blue", "fox", "bear", "owl", "runs", "sleeps", "sings", "north", "south"]
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
scopes = st.tuples(st.sampled_from(["acme", "bolt"]), st.sampled_from(["a", "b"]))
metadata = st.dictionaries(st.sampled_from(["k", "k.a", "$", ""]), st.sampled_from([1, "1", True, None]), max_size=2)
sessions = st.none() | st.sampled_from(["s", "t"])
ways = st.sampled_from(["route", "tool"])


class Memory(RuleBasedStateMachine):
    """The model: for each scope, what was stored by what makes it the same memory."""

    on: BackendName = "embedded"

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], dict[tuple[str, str | None], dict[str, Any]]] = {}
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.backends = ExitStack()
        self.folder = tempfile.TemporaryDirectory()
        backend = self.backends.enter_context(running_on(self.on))
        self.service = self.run(self.stack.enter_async_context(serving(Path(self.folder.name), on=backend)))

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(_awaited(work))

    def of(self, scope: tuple[str, str]) -> dict[tuple[str, str | None], dict[str, Any]]:
        return self.held.setdefault(scope, {})

    def hold(self, scope: tuple[str, str], key: tuple[str, str | None], metadata: dict[str, Any]) -> None:
        """What is there keeps its values: whoever stores the content again only adds."""
        self.of(scope)[key] = metadata | self.of(scope).get(key, {})

    def recall(
        self, scope: tuple[str, str], query: str, top_k: int, where: dict[str, Any], way: str = "route"
    ) -> list[dict[str, Any]]:
        tenant, agent_id = scope
        asked: dict[str, Any] = {"query": query, "top_k": top_k, "filter": {"metadata": where}}
        if way == "route":
            return self.run(self.service.recall(**asked, tenant=tenant, agent_id=agent_id))
        answer = self.run(self.service.call("recall_memory", asked, tenant=tenant, agent_id=agent_id))
        entries: list[dict[str, Any]] = answer.json()["result"]["structuredContent"]["entries"]
        return entries

    @rule(scope=scopes, content=contents, session=sessions, metadata=metadata)
    def store(self, scope: tuple[str, str], content: str, session: str | None, metadata: dict[str, Any]) -> None:
        fields = {"metadata": metadata, "session_id": session}
        self.run(self.service.store(content, tenant=scope[0], agent_id=scope[1], **fields))
        self.hold(scope, (content, session), metadata)

    @rule(scope=scopes, content=contents, metadata=metadata)
    def store_by_tool(self, scope: tuple[str, str], content: str, metadata: dict[str, Any]) -> None:
        arguments = {"content": content, "metadata": metadata}
        self.run(self.service.call("store_memory", arguments, tenant=scope[0], agent_id=scope[1]))
        self.hold(scope, (content, None), metadata)

    @rule(scope=scopes, query=contents, top_k=st.integers(1, 20), where=metadata, way=ways)
    def recalled_is_what_is_held(
        self, scope: tuple[str, str], query: str, top_k: int, where: dict[str, Any], way: str
    ) -> None:
        entries = self.recall(scope, query, top_k, where, way)
        passing = [
            (content, metadata)
            for (content, _), metadata in self.of(scope).items()
            if all(key in metadata and _same(metadata[key], value) for key, value in where.items())
        ]
        assert len(entries) == min(top_k, len(passing))
        assert all((entry["content"], entry["metadata"]) in passing for entry in entries)
        assert len({entry["id"] for entry in entries}) == len(entries)
        assert [entry["score"] for entry in entries] == sorted((entry["score"] for entry in entries), reverse=True)
        if query in (content for content, _ in passing):
            assert entries[0]["content"] == query or entries[0]["score"] > 0.999

    @rule(scope=scopes, content=contents, through=scopes)
    def delete(self, scope: tuple[str, str], content: str, through: tuple[str, str]) -> None:
        entries = [entry for entry in self.recall(scope, content, 20, {}) if entry["content"] == content]
        for entry in entries:
            self.run(self.service.delete(entry["id"], tenant=through[0], agent_id=through[1]))
        if scope == through and entries:
            for session in (None, "s", "t"):
                if len(entries) >= len([key for key in self.of(scope) if key[0] == content]):
                    self.of(scope).pop((content, session), None)

    @invariant()
    def everything_held_is_recalled(self) -> None:
        for scope, held in self.held.items():
            if len(held) <= 20:
                found = sorted(entry["content"] for entry in self.recall(scope, "red fox", 20, {}))
                assert found == sorted(content for content, _ in held)

    def teardown(self) -> None:
        self.run(check_words(self.service))
        self.run(self.stack.aclose())
        self.backends.close()
        self.loop.close()
        self.folder.cleanup()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _same(held: object, wanted: object) -> bool:
    return held is wanted if isinstance(held, bool) or isinstance(wanted, bool) else held == wanted


class MemoryOnCloudflare(Memory):
    """The same laws, through the double."""

    on: BackendName = "cloudflare"


TestMemory = Memory.TestCase
TestMemory.settings = settings(
    max_examples=examples(25),
    stateful_step_count=30 if LONG else 10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestMemoryOnCloudflare = pytest.mark.cloudflare(MemoryOnCloudflare.TestCase)
TestMemoryOnCloudflare.settings = settings(
    max_examples=8 if LONG else 2,
    stateful_step_count=30 if LONG else 15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
