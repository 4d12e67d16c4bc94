"""Shared documents are as a plain model has them, with several writers at once and whatever answers are lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.errors import MemoryGatewayError, NotFound, PreconditionFailed, UpstreamTimeout
from app.domain.preconditions import Precondition
from app.ports.database import Row, Statement
from app.services.tenant.context_cache import ContextCache
from app.services.tiers.context import SharedContext
from tests.support.backends import Backend, BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.generation import ON_THE_DOUBLE, examples

SECONDS, KEPT = 30, 3
TENANTS, NAMES, PROCESSES = ("acme", "globex"), ("a", "b"), (0, 1)

tenants, names, processes = st.sampled_from(["acme", *TENANTS]), st.sampled_from(NAMES), st.sampled_from(PROCESSES)
conditions = st.sampled_from(["none", "none", "last", "any", "new", "other"])
writes = st.tuples(st.just("put"), tenants, names, processes, st.sampled_from("xyz"), conditions, st.booleans())
acts = st.one_of(
    writes,
    writes,
    st.tuples(st.just("delete"), tenants, names, processes, st.booleans()),
    st.tuples(st.just("get"), tenants, names, processes),
    st.tuples(st.just("wait"), st.sampled_from([1_000, 29_999, 30_000])),
)
Act: TypeAlias = tuple[Any, ...]


@dataclass
class Model:
    """What each tenant's documents are, and what they have been since when."""

    held: dict[tuple[str, str], list[tuple[int, str]]] = field(default_factory=dict)
    floor: dict[str, int] = field(default_factory=dict)
    past: dict[tuple[str, str], list[tuple[int, tuple[int, str] | None]]] = field(default_factory=dict)

    def put(self, key: tuple[str, str], content: str, only: Precondition) -> int:
        held = self.held.get(key, [])
        version = held[-1][0] if held else None
        if (only.absent and held) or (only.match is not None and not {"*", str(version)} & {*only.match}):
            raise PreconditionFailed("")
        if only.match is not None and version is None:
            raise PreconditionFailed("")
        if held and held[-1][1] == content:
            return held[-1][0]
        new = (version if version is not None else self.floor.get(key[0], 0)) + 1
        self.held[key] = [*held, (new, content)][-KEPT:]
        return new

    def delete(self, key: tuple[str, str]) -> None:
        held = self.held.pop(key, [])
        if held:
            self.floor[key[0]] = max(self.floor.get(key[0], 0), held[-1][0])

    def note(self, now: int) -> None:
        for tenant in TENANTS:
            for name in NAMES:
                key = (tenant, name)
                last = self.held[key][-1] if self.held.get(key) else None
                past = self.past.setdefault(key, [(0, None)])
                if past[-1][1] != last:
                    past.append((now, last))

    def may_be(self, key: tuple[str, str], since: int) -> set[tuple[int, str] | None]:
        """What a document has been at any moment since one."""
        past = self.past.get(key, [(0, None)])
        ends = [*(at for at, _ in past[1:]), None]
        return {what for (_, what), end in zip(past, ends, strict=True) if end is None or end > since}


class Losing:
    """A database whose answer to a write is lost once, though it was made; the adapter makes the run again."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.lost = inner, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if self.lost and any(each.writes for each in statements):
            self.lost = False
            await self.inner.run(statements)
        rows: list[list[Row]] = await self.inner.run(statements)
        return rows


class World:
    """The services of two processes over one database, and the model of it."""

    def __init__(self, bench: Bench) -> None:
        self.now, self.model, self.losing = 1_790_000_000_000, Model(), Losing(bench.backends.database)
        self.of = {}
        for process in PROCESSES:
            backends = with_changed(
                bench.backends, database=self.losing, clock=lambda: self.now, context=ContextCache(10**6, SECONDS)
            )
            for tenant in TENANTS:
                self.of[process, tenant] = SharedContext(backends.of_tenant(tenant, ADMINISTRATOR))
        self.own: dict[tuple[int, str, str], int] = {}

    async def act(self, name: str, *said: Any) -> None:
        if name == "wait":
            self.now += said[0]
            return
        tenant, document, process, *rest = said
        key, service = (tenant, document), self.of[process, tenant]
        if name == "get":
            await self.read(service, key, process)
            return
        self.losing.lost = rest[-1]
        if name == "delete":
            await service.delete(document)
            self.model.delete(key)
        else:
            only = self.only(key, rest[1])
            expected: int | type[MemoryGatewayError]
            try:
                expected = self.model.put(key, rest[0], only)
            except PreconditionFailed:
                expected = PreconditionFailed
            try:
                assert (await service.put(document, rest[0], "text/plain", only)).version == expected
            except PreconditionFailed:
                assert expected is PreconditionFailed
        self.losing.lost = False
        self.own[process, tenant, document] = self.now
        self.model.note(self.now)

    def only(self, key: tuple[str, str], what: str) -> Precondition:
        last = self.model.held[key][-1][0] if self.model.held.get(key) else 0
        return {
            "none": Precondition(),
            "last": Precondition([str(last)]),
            "any": Precondition(["*"]),
            "new": Precondition(absent=True),
            "other": Precondition([str(last + 1), "x"]),
        }[what]

    async def read(self, service: SharedContext, key: tuple[str, str], process: int) -> None:
        """What is read is what the tenant's document is, or was so long ago, but not before this process wrote it."""
        found: tuple[int, str] | None
        try:
            read = await service.get(key[1])
        except NotFound:
            assert not self.model.held.get(key)
            return
        found = (read.document.version, read.document.content)
        assert 0 <= read.age < SECONDS * 1000
        since = max(self.now - read.age, self.own.get((process, *key), 0))
        assert found in self.model.may_be(key, since - 1)
        if self.own.get((process, *key)) == self.now or read.age == 0:
            assert found in self.model.may_be(key, self.now - 1)

    async def compared(self) -> None:
        for tenant in TENANTS:
            fresh = self.of[0, tenant]
            listed = {each.name: each.version for each in await fresh.listed()}
            held = {name: rows for (owner, name), rows in self.model.held.items() if owner == tenant}
            assert listed == {name: rows[-1][0] for name, rows in held.items()}
            for name, rows in held.items():
                assert [each.version for each in await fresh.versions(name)] == [at for at, _ in reversed(rows)]
                for version, content in rows:
                    assert (await fresh.get(name, version)).document.content == content


def as_the_model(done: list[Act], directory: Path, on: BackendName) -> None:
    async def all_of_it() -> None:
        with running_on(on) as backend:
            async with bench_on(directory, backend) as bench:
                world = World(bench)
                for act in done:
                    await world.act(*act)
                await world.compared()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_CONTEXT_VERSIONS", KEPT)
        asyncio.run(all_of_it())


@settings(deadline=None, max_examples=examples(160))
@given(done=st.lists(acts, min_size=4, max_size=30))
def test_documents_are_as_the_model_has_them(done: list[Act], tmp_path_factory: pytest.TempPathFactory) -> None:
    as_the_model(done, tmp_path_factory.mktemp("law"), "embedded")


@pytest.mark.cloudflare
@settings(deadline=None, max_examples=ON_THE_DOUBLE)
@given(done=st.lists(acts, min_size=4, max_size=30))
def test_documents_are_as_the_model_has_them_on_the_double(
    done: list[Act], tmp_path_factory: pytest.TempPathFactory
) -> None:
    as_the_model(done, tmp_path_factory.mktemp("law"), "cloudflare")


class Broken:
    """A database that executes only the first statements of a write, once."""

    def __init__(self, inner: Any, executed: int) -> None:
        self.inner, self.executed = inner, executed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if self.executed and any(each.writes for each in statements):
            done, self.executed = statements[: self.executed], 0
            await self.inner.run(done)
            raise UpstreamTimeout("The connection broke.")
        rows: list[list[Row]] = await self.inner.run(statements)
        return rows


@pytest.mark.parametrize("executed", [1, 2, 3, 4])
async def test_a_write_of_which_only_the_beginning_was_executed_can_be_made_again(
    executed: int, tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        whole = SharedContext(bench.backends.of_tenant("acme", ADMINISTRATOR))
        await whole.put("a", "1", "text/plain")
        backends = replace(bench.backends, database=Broken(bench.backends.database, executed))
        service = SharedContext(backends.of_tenant("acme", ADMINISTRATOR))
        with pytest.raises(UpstreamTimeout):
            await service.put("a", "2", "text/plain")
        assert (await service.put("a", "2", "text/plain")).version == 2
        backends.database.executed = executed
        with pytest.raises(UpstreamTimeout):
            await service.delete("a")
        await service.delete("a")
        assert (await service.put("a", "3", "text/plain")).version == 3
