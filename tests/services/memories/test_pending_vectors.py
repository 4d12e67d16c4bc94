"""A process reads a queued vector once: later recalls compare what it has, and answer as if they had read it."""

import base64
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.embedding import Vector
from app.domain.errors import Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter, Query
from app.ports.database import Database, Row, Statement
from app.ports.vector_index import Hits, IndexedVector
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.tenant.caches import TenantCaches
from app.services.tenant.tenant_cache import TenantCache
from tests.support.doubles import FailingIndex
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import column_of, set_rows

AWAY = Unavailable("The index is away.")
MANY = 130


@dataclass
class ReadVectors:
    """Runs as the inner one does, and counts what its rows have that is as long as a vector."""

    inner: Any
    read: list[int] = field(default_factory=list)
    shortest: int = 300

    @property
    def backend(self) -> str:
        return str(self.inner.backend)

    @property
    def history_days(self) -> int:
        return int(self.inner.history_days)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        rows = await self.inner.run(statements)
        texts = (str(value) for each in rows for row in each for name, value in row.items() if name == "queued")
        self.read.append(sum(len(text) > self.shortest for text in texts))
        return list(rows)

    async def ping(self) -> None:
        await self.inner.ping()

    async def purge_log(self) -> bool:
        return bool(await self.inner.purge_log())

    def newly(self) -> int:
        """Return how many vectors were read since this was asked last."""
        read, self.read = sum(self.read), []
        return read


class Late(FailingIndex):
    """An index that takes everything and shows nothing yet."""

    @property
    def visible_at_once(self) -> bool:
        return False

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        return len(vectors)

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        del scope, vector, top_k, where
        return Hits([], filtered=True)


@dataclass
class Processes:
    """Processes over one database, each with caches of its own."""

    bench: Bench
    database: ReadVectors
    backends: Any

    def begin(self, caches: TenantCaches | None = None, tenant_id: str = "acme") -> LongTermMemoryGateway:
        backends = replace(self.backends, caches=caches or TenantCaches())
        return LongTermMemoryGateway(backends.of_tenant(tenant_id, ADMINISTRATOR))


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[Processes]:
    async with bench_on(tmp_path) as bench:
        inner: Database = bench.database
        database = ReadVectors(inner)
        backends = replace(bench.backends, database=database, index=Late(bench.index.inner))
        yield Processes(bench, database, backends)


async def contents(gateway: LongTermMemoryGateway, query: str = "jotting", **options: Any) -> list[str]:
    return [entry.content for entry in (await gateway.recall("bot", Query(query, **options))).entries]


async def test_a_queued_vector_is_read_by_a_process_once_and_what_is_new_beside_it(processes: Processes) -> None:
    one, other = processes.begin(), processes.begin()
    for n in range(4):
        await one.store("bot", NewMemory(f"note {n}"))
    expected = await contents(other)
    assert len(expected) == 4
    assert processes.database.newly() == 4
    assert await contents(other) == expected
    assert processes.database.newly() == 0
    await one.store("bot", NewMemory("note 4"))
    assert set(await contents(other)) == {*expected, "note 4"}
    assert processes.database.newly() == 1


async def test_a_process_does_not_read_the_vectors_that_it_has_stored(processes: Processes) -> None:
    gateway = processes.begin()
    for n in range(4):
        await gateway.store("bot", NewMemory(f"note {n}"))
    assert len(await contents(gateway)) == 4
    assert processes.database.newly() == 0


async def test_what_another_process_has_queued_by_a_clock_that_was_set_back_is_found(processes: Processes) -> None:
    one, other = processes.begin(), processes.begin()
    for n in range(MANY):
        await one.store("bot", NewMemory(f"note {n}"))
    assert len(await contents(other, top_k=50)) == 50
    hidden = await one.store("bot", NewMemory("put away unseen"))
    await set_rows(processes.bench, "outbox", {"revision": 1_000}, id=hidden)
    processes.database.newly()
    assert (await contents(other, "put away unseen", top_k=1)) == ["put away unseen"]
    assert processes.database.newly() == 1


async def test_a_vector_that_is_queued_anew_takes_the_place_of_the_old_one(processes: Processes) -> None:
    gateway = processes.begin()
    ids = [await gateway.store("bot", NewMemory(text)) for text in ("green tea", "blue whale")]
    assert (await contents(gateway, "green tea"))[0] == "green tea"
    green, blue = [(await column_of(processes.bench, "outbox", "vector", id=id_))[0] for id_ in ids]
    for id_, vector in zip(ids, (blue, green), strict=True):
        (revision,) = await column_of(processes.bench, "outbox", "revision", id=id_)
        await set_rows(processes.bench, "outbox", {"vector": vector, "revision": revision + 9}, id=id_)
    found = (await gateway.recall("bot", Query("a cup of green tea"))).entries
    fresh = (await processes.begin().recall("bot", Query("a cup of green tea"))).entries
    assert [(each.id, round(each.score, 5)) for each in found] == [(each.id, round(each.score, 5)) for each in fresh]


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"top_k": 50}, marks=pytest.mark.thorough),
        pytest.param({"where": Filter(metadata={"half": 1})}, marks=pytest.mark.thorough),
    ],
)
async def test_of_many_that_a_process_has_it_answers_as_one_that_has_none(
    processes: Processes, options: dict[str, Any]
) -> None:
    gateway = processes.begin()
    for n in range(MANY):
        words = ("heron", "otter", "lynx", "stoat")[n % 4]
        await gateway.store("bot", NewMemory(f"the {words} of day {n} ate {n * 7 % 31} fish", {"half": n % 2}))
    for query in ("which heron ate fish on day 12", "lynx", "day 99", "nothing of the kind"):
        fresh = processes.begin()
        expected = await contents(fresh, query, **options)
        assert processes.database.newly() > 0
        assert await contents(gateway, query, **options) == expected
        assert processes.database.newly() == 0


async def test_queued_vectors_that_pass_a_filter_are_found_where_many_nearer_ones_do_not_pass(
    processes: Processes,
) -> None:
    gateway = processes.begin()
    for n in range(6):
        await gateway.store("bot", NewMemory(f"lakes of region {n}", {"half": 1}))
    for n in range(MANY):
        await gateway.store("bot", NewMemory(f"otter lynx heron {n}", {"half": 0}))
    await contents(gateway, "otter lynx heron")
    assert len(await contents(gateway, "otter lynx heron", top_k=6, where=Filter(metadata={"half": 1}))) == 6


@pytest.mark.thorough
async def test_deleted_vectors_that_were_nearer_keep_no_queued_ones_from_being_found(processes: Processes) -> None:
    one, other = processes.begin(), processes.begin()
    for n in range(6):
        await other.store("bot", NewMemory(f"lakes and otters of region {n}"))
    nearer = [await other.store("bot", NewMemory(f"otter lynx heron {n}")) for n in range(MANY)]
    await set_rows(processes.bench, "outbox", {"revision": 2_000})
    await other.store("bot", NewMemory("zebra"))
    await contents(one, "lynx heron")
    for id_ in nearer:
        await other.delete("bot", id_)
    for _ in range(2):
        expected = await contents(processes.begin(), "lynx heron", top_k=6)
        assert len(expected) == 6
        runs = len(processes.database.read)
        assert await contents(one, "lynx heron", top_k=6) == expected
    assert len(processes.database.read) == runs + 1


async def test_a_memory_that_expired_or_left_is_found_no_more(processes: Processes) -> None:
    gateway = processes.begin()
    ids = [await gateway.store("bot", NewMemory(f"note {n}")) for n in range(3)]
    assert len(await contents(gateway)) == 3
    await gateway.delete("bot", ids[0])
    assert await contents(gateway) == ["note 2", "note 1"]


async def test_an_agent_of_the_same_name_in_another_tenant_has_vectors_of_its_own(processes: Processes) -> None:
    caches = TenantCaches()
    one, other = (processes.begin(caches, tenant_id) for tenant_id in ("acme", "beta"))
    await one.store("bot", NewMemory("a secret of acme"))
    await other.store("bot", NewMemory("a secret of beta"))
    assert await contents(one, "secret") == ["a secret of acme"]
    assert await contents(other, "secret") == ["a secret of beta"]
    caches.seen("acme", 1)
    keys = [(Scope(tenant_id, "bot"), processes.bench.embedder.config.index_name) for tenant_id in ("acme", "beta")]
    assert [caches.pending.find(key) is not None for key in keys] == [False, True]
    assert await contents(one, "secret") == ["a secret of acme"]


async def test_a_damaged_vector_is_left_out_each_time_and_said(processes: Processes) -> None:
    gateway = processes.begin()
    ids = [await gateway.store("bot", NewMemory(f"note {n}")) for n in range(3)]
    await set_rows(processes.bench, "outbox", {"vector": "", "revision": 9_000_000_000_000}, id=ids[0])
    for _ in range(3):
        found = await gateway.recall("bot", Query("jotting"))
        assert found.degraded == ["vectors_unreadable"]
        assert "note 1" in [entry.content for entry in found.entries]


async def test_where_the_vectors_do_not_fit_into_the_process_each_recall_reads_them(processes: Processes) -> None:
    gateway = processes.begin(TenantCaches(pending=TenantCache(1)))
    for n in range(3):
        await gateway.store("bot", NewMemory(f"note {n}"))
    for _ in range(2):
        assert len(await contents(gateway)) == 3
        assert processes.database.newly() == 3


async def test_a_vector_of_an_earlier_version_in_32_bits_a_number_is_compared(processes: Processes) -> None:
    gateway = processes.begin()
    id_ = await gateway.store("bot", NewMemory("green tea"))
    expected = (await gateway.recall("bot", Query("tea"))).entries[0].score
    (text,) = await column_of(processes.bench, "outbox", "vector", id=id_)
    wide = base64.b64encode(np.frombuffer(base64.b64decode(text), "<f2").astype("<f4").tobytes()).decode()
    await set_rows(processes.bench, "outbox", {"vector": wide}, id=id_)
    fresh = processes.begin()
    assert (await fresh.recall("bot", Query("tea"))).entries[0].score == pytest.approx(expected, abs=1e-6)
