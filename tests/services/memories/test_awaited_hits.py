"""A recall whose run asks the index finds what one finds that asks the index first."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain.embedding import Vector
from app.domain.errors import UpstreamUnavailable
from app.domain.json_types import to_json
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter, Query
from app.ports.database import Row, Statement
from app.ports.vector_index import AsksWithin, AwaitedHits, Hits
from app.retrieval.channels.vector import points
from app.services.memories.gateway import LongTermMemoryGateway
from tests.support.doubles import FailingDatabase, FailingIndex
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

COLORS, ANIMALS, PLACES = ("red", "green", "blue"), ("fox", "owl", "bear"), ("barn", "wood", "town")
TEXTS = [f"The {color} {animal} sleeps in the {place}" for color in COLORS for animal in ANIMALS for place in PLACES]


@dataclass(slots=True, eq=False, kw_only=True)
class AskedHits(AwaitedHits):
    """Hits that a database asks for by the arguments of a query."""

    scope: Scope
    vector: Vector
    top_k: int
    where: Filter


class IndexAskedWithin(FailingIndex, AsksWithin):
    """An index that the run of a database may ask."""

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        return AskedHits(scope=scope, vector=vector, top_k=top_k, where=where)


@dataclass
class DatabaseThatAsks(FailingDatabase):
    """Asks for the hits that statements await, as an edge does."""

    index: FailingIndex | None = None

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        return await super().run([await self._completed(each) for each in statements])

    async def _completed(self, statement: Statement) -> Statement:
        awaited = statement.awaits
        if not isinstance(awaited, AskedHits) or self.index is None:
            return statement
        try:
            awaited.hits = await self.index.query(
                awaited.scope, awaited.vector, top_k=awaited.top_k, where=awaited.where
            )
        except UpstreamUnavailable as error:
            awaited.error = error
            return statement
        (parameter,) = statement.parameters
        stands_in, found = (to_json(points(hits.hits)) for hits in (awaited.until_then, awaited.hits))
        assert parameter.count(stands_in) == 1
        return replace(statement, argument=json.loads(parameter.replace(stands_in, found)))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        for n, text in enumerate(TEXTS):
            await bench.gateway.store("bot", NewMemory(text, metadata={"n": n % 3}, session_id=f"s{n % 4}"))
        await bench.quiet()
        yield bench


def within(bench: Bench, *, asks: bool = True) -> tuple[LongTermMemoryGateway, IndexAskedWithin, DatabaseThatAsks]:
    index = IndexAskedWithin(bench.index.inner, journal=bench.database.journal)
    database = DatabaseThatAsks(bench.database.inner, journal=bench.database.journal, index=index if asks else None)
    backends = replace(bench.backends, index=index, database=database)
    bench.database.journal.clear()
    return LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR)), index, database


QUERIES = [
    Query("Where does the green owl sleep?"),
    Query("red fox", top_k=1),
    Query("blue bear in a town", top_k=25),
    Query("owl", where=Filter(metadata={"n": 1}), explain=True),
    Query("nothing of that"),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.text)
async def test_it_finds_the_same_in_one_run(bench: Bench, query: Query) -> None:
    plain = await bench.gateway.recall("bot", query)
    gateway, _, database = within(bench)
    found = await gateway.recall("bot", query)
    assert found.entries == plain.entries
    assert (found.degraded, found.confidence) == (plain.degraded, plain.confidence)
    assert bench.database.journal == ["index.query", "database.run"]
    assert len(database.runs) == 1


async def test_an_index_that_is_away_is_said_and_costs_no_answer(bench: Bench) -> None:
    gateway, index, _ = within(bench)
    index.error = UpstreamUnavailable("The index is away.")
    found = await gateway.recall("bot", Query("green owl", top_k=3))
    assert found.degraded == ["index_unavailable"]
    assert {entry.similarity for entry in found.entries} == {None}
    bench.index.error = UpstreamUnavailable("The index is away.")
    plain = await bench.gateway.recall("bot", Query("green owl", top_k=3))
    assert [entry.content for entry in found.entries] == [entry.content for entry in plain.entries]
    with pytest.raises(UpstreamUnavailable, match="The index is away"):
        await gateway.recall("bot", Query("green owl", top_k=3, strict=True))


async def test_hits_that_the_filter_was_not_applied_to_are_followed_by_another_run(bench: Bench) -> None:
    class Partial(IndexAskedWithin):
        async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
            return replace(await super().query(scope, vector, top_k=top_k, where=where), filtered=False)

    gateway, _, database = within(bench)
    index = Partial(bench.index.inner, journal=bench.database.journal)
    database.index = index
    found = await gateway.recall("bot", Query("zzz", top_k=4, where=Filter(metadata={"n": 2})))
    assert len(database.runs) == 2
    assert len(found.entries) == 4


async def test_a_database_that_does_not_ask_is_followed_by_a_question_of_the_index(bench: Bench) -> None:
    plain = await bench.gateway.recall("bot", QUERIES[0])
    gateway, _, _ = within(bench, asks=False)
    assert (await gateway.recall("bot", QUERIES[0])).entries == plain.entries
    assert bench.database.journal == ["database.run", "index.query", "database.run"]
