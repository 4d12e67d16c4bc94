"""Of the queued vectors that a process has, the nearest are candidates, and it keeps no more than are queued."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.domain.embedding import encode
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.ports.database import Row, Statement
from app.services.memories.gateway import LongTermMemoryGateway
from app.storage.outbox import MAX_PENDING, PendingVectors, QueuedRows, name_of
from tests.services.memories.test_pending_vectors import Late, ReadVectors
from tests.support.gateways import ADMINISTRATOR, bench_on
from tests.support.tables import set_rows

MANY, MOST = 150, 125
DIMENSIONS = 8


@dataclass
class CountedCandidates(ReadVectors):
    """Runs as the inner one does, and counts the candidates that its rows are."""

    candidates: list[int] = field(default_factory=list)

    async def run(self, statements: list[Statement]) -> list[list[Row]]:  # type: ignore[override]
        rows = await super().run(statements)
        self.candidates += [len(each) for each in rows if each and "facts" in each[0]]
        return rows


async def test_of_vectors_of_one_moment_that_a_process_has_only_the_nearest_are_candidates(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        database: Any = CountedCandidates(bench.database)
        backends: Any = replace(bench.backends, database=database, index=Late(bench.index.inner))
        gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
        for n in range(MANY):
            await gateway.store("bot", NewMemory(f"note {n} tells of number {n * 37 % 101}"))
        await set_rows(bench, "outbox", {"revision": 9_000_000_000_000})
        for query in ("first", "something else"):
            assert (await gateway.recall("bot", Query(query))).entries
        first, *_, later = database.candidates
        assert first > MANY
        assert later < MOST


async def test_queued_memories_of_an_import_that_do_not_pass_a_filter_are_no_names(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        backends: Any = replace(bench.backends, index=Late(bench.index.inner))
        gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
        for topic in ("tea", "milk"):
            await gateway.store("bot", NewMemory(f"we ran out of {topic}", {"topic": topic}))
        await set_rows(bench, "outbox", {"in_bulk": 1})
        for topic, entries in (("tea", ["we ran out of tea"]), ("bread", [])):
            found = await gateway.recall("bot", Query("what is missing?", where=Filter(metadata={"topic": topic})))
            assert [entry.content for entry in found.entries] == entries


def _stored(pending: PendingVectors, numbers: range) -> list[str]:
    """Store vectors, and return their names, the newest first."""
    names = [name_of(f"{number:026}", 1_000 + number // 100) for number in numbers]
    for number, name in zip(numbers, names, strict=True):
        pending.add(name, encode(np.eye(DIMENSIONS, dtype=np.float32)[number % DIMENSIONS]))
    return names[::-1]


def test_a_process_that_stored_many_in_a_moment_keeps_those_that_are_listed() -> None:
    pending = PendingVectors(DIMENSIONS)
    names = _stored(pending, range(4_000))[:MAX_PENDING]
    rows = QueuedRows(names, {}, has_more=True, newest=2_000)
    assert pending.take(rows, pending.had, are_all=True) is not None
    expected = PendingVectors(DIMENSIONS)
    _stored(expected, range(4_000 - MAX_PENDING, 4_000))
    assert pending.size <= expected.size


def test_what_a_process_stored_while_it_asked_stays_and_what_was_delivered_goes() -> None:
    pending = PendingVectors(DIMENSIONS)
    _stored(pending, range(1_000))
    had = pending.had
    later = _stored(pending, range(1_000, 1_003))
    assert pending.take(QueuedRows([], {}, has_more=False, newest=0), had, are_all=True) is not None
    assert set(pending.had.names) == set(later)
    listed = pending.take(QueuedRows(later, {}, has_more=False, newest=1_010), pending.had, are_all=True)
    assert listed is not None
    assert len(listed.ids) == len(later)
