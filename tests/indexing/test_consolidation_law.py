"""A consolidation loses nothing, wherever it is killed, and ends alike."""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.facts import MOST_AGREED, MOST_DOUBTFUL, FactSource, agreed
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.reading import Relation
from app.grounding.restating import says_all, tells
from app.grounding.source import Source
from app.indexing.jobs import consolidate
from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.services.memories import consolidation
from app.services.memories.consolidation import Consolidations
from app.services.memories.gateway import LongTermMemoryGateway
from tests.services.compared import compare
from tests.services.scripted_reader import REPLACES, RESTATES, ScriptedReader
from tests.support.backends import Backend, BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import LONG, ON_THE_DOUBLE, examples
from tests.support.memories import memory_rows
from tests.support.tables import column_of, delete_rows, rows_of

DAY_MS = 86_400_000
_DETAIL = re.compile(r"-?\d+(?:[.:]\d+)*|\b[A-Z]\w+|tomorrow|two")
ROWS = {
    "consolidated": ("other_id", "kept_id", "kind", "said_again_at"),
    "shortcut": ("other_id", "kept_id"),
    "claim": ("key", "memory_id", "superseded_by"),
    "long_term_memory": ("id", "superseded_at"),
}


async def held(bench: Bench) -> list[Row]:
    return await memory_rows(bench, "content", superseded_at=None)


class BelievesAll(ScriptedReader):
    """Takes every pair for a restatement, in both directions: nothing but code keeps texts apart."""

    def relation(self, older: str, newer: str) -> Relation:
        return self.pairs.get((older, newer), RESTATES)


class KilledError(BaseException):
    """The process is gone."""


@dataclass
class Killing:
    """A database whose process is killed at a call: before it, after so many of its statements, or after it."""

    inner: Database
    number: int
    done: float
    calls: int = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.calls += 1
        if self.calls > self.number:
            raise KilledError
        if self.calls < self.number:
            return await self.inner.run(statements)
        whole = statements if self.done == inf else statements[: int(self.done)]
        if whole:
            await self.inner.run(whole)
        raise KilledError


def job(bench: Bench, reader: ScriptedReader, database: Database | None = None) -> Consolidate:
    return Consolidate(
        bench.database if database is None else database,
        reader,
        holder="one",
        rate_limiter=RateLimiter(1e9),
        pause=0,
        report=lambda _: None,
    )


async def stored(bench: Bench, reader: ScriptedReader, said: Sequence[tuple[str, int | None]]) -> list[str]:
    backends = replace(bench.backends, reader=reader)
    gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
    ids = []
    for number, (content, day) in enumerate(said):
        at = None if day is None else day * DAY_MS
        ids.append(await gateway.store("bot", NewMemory(content, occurred_at=at, session_id=f"s{number}")))
    await compare(backends, reader)
    return ids


async def state(bench: Bench) -> dict[str, list[Row]]:
    return {table: await rows_of(bench, table, *columns, by="1, 2") for table, columns in ROWS.items()}


names = st.sampled_from(["Anna", "Tom", "Lisbon", "PLU-4711", "NASA"])
numbers = st.sampled_from(["3", "4", "-3", "3.5", "12 euros", "12", "two", "17:00"])
dates = st.sampled_from(["2026-03-12", "on 12 March 2026", "tomorrow", "on Friday", "in March"])
parts = st.lists(st.one_of(names, numbers, dates), max_size=3)
texts = st.builds(
    lambda start, told, end: " ".join([start, *told]) + end,
    st.sampled_from(["I pay", "we pay", "The user pays", "Anna pays", "they don't pay"]),
    parts,
    st.sampled_from(["", ".", " !"]),
)
said = st.lists(st.tuples(texts, st.one_of(st.none(), st.integers(1, 6))), min_size=2, max_size=10)


@given(texts, texts)
def test_what_says_all_of_another_text_has_its_numbers_its_dates_and_its_names(kept: str, other: str) -> None:
    if says_all(Source(kept, 0), Source(other, 0)):
        assert details([other]) <= details([kept])


def test_a_capital_that_begins_a_sentence_makes_nothing_more_complete_and_is_not_lost() -> None:
    the, our = "The standup is at 9:30", "Our standup starts at 9:30"
    assert tells(the) == tells(our) == 1
    assert not says_all(Source(our, 0), Source(the, 0))
    assert tells("Anna met Tom at 5") > tells("Anna met him at 5")


def test_a_number_is_told_by_the_same_number_alone() -> None:
    assert says_all(Source("I pay 3 euros on 2026-03-12", 0), Source("I pay 3 euros", 0))
    assert not says_all(Source("I pay -3 2026-03-12", 0), Source("I pay 3", 0))


def details(contents: Sequence[str]) -> set[str]:
    return {detail.lower() for content in contents for detail in _DETAIL.findall(content)}


@pytest.mark.parametrize(
    "on", ["embedded", pytest.param("cloudflare", marks=[pytest.mark.cloudflare, pytest.mark.thorough])]
)
@given(data=said)
@settings(max_examples=examples(120), deadline=None)
def test_every_number_date_and_name_that_holds_before_holds_after_and_an_undo_brings_all_back(
    on: BackendName, data: list[tuple[str, int | None]]
) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as directory, running_on(on) as backend:
            async with bench_on(Path(directory), backend) as bench:
                reader = BelievesAll()
                await stored(bench, reader, data)
                before = [str(row["content"]) for row in await held(bench)]
                await job(bench, reader).run()
                after = [str(row["content"]) for row in await held(bench)]
                assert details(after) == details(before)
                assert set(after) <= set(before)
                recall = await bench.gateway.recall("bot", Query("who pays?", top_k=20))  # it comes to an end
                assert {entry.content for entry in recall.entries} <= set(after)
                first = await state(bench)
                again = await job(bench, reader).run()
                assert (again.memories, again.facts, await state(bench)) == (0, 0, first)
                reports = Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR))
                for report in await reports.latest(10):
                    await reports.undo(report.id)
                assert [str(row["content"]) for row in await held(bench)] == before

    asyncio.run(live())


SAID = (
    *(("I like tea", 7), ("I  like tea", 8), ("I LIKE tea", 9)),
    *(("we met Anna at 5", 2), ("we met Anna", 3), ("met Anna at 5", 1), ("Rome", 4), ("Oslo", 5), ("Paris", 6)),
)
CHAIN = {("Rome", "Oslo"): REPLACES, ("Oslo", "Paris"): REPLACES}


def moments(statements: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Give each moment of calls with so many statements: before one, after each of its statements, and after it."""
    for number, of_call in enumerate(statements, 1):
        yield from ((number, done) for done in (0, *range(1, of_call), inf))


@dataclass
class Counting:
    inner: Database
    statements: list[int]

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.statements.append(len(statements))
        return await self.inner.run(statements)


async def test_killed_at_any_moment_and_made_again_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate, "CHUNK", 1)
    reader = BelievesAll(CHAIN)
    places = count()

    async def ended(number: int | None, done: float) -> tuple[object, list[int]]:
        """Consolidate, killed at a moment if one is given, and once more; return the end by places, not by ids."""
        async with bench_on(tmp_path / str(next(places)), backend) as bench:
            ids = await stored(bench, reader, SAID)
            counting = Counting(bench.database, [])
            if number is not None:
                with pytest.raises(KilledError):
                    await job(bench, reader, Killing(bench.database, number, done)).run()  # type: ignore[arg-type]
                await delete_rows(bench, "lease", name="consolidation")  # it ends by itself
            await job(bench, reader, counting).run()  # type: ignore[arg-type]
            reports = await Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR)).latest(9)
            assert all(report.finished_at is not None for report in reports)
            merged = sum(report.memories for report in reports)
            return (await by_places(bench, ids), merged), counting.statements

    wanted, calls = await ended(None, 0)
    every = list(moments(calls))
    for number, done in every[:: max(1, len(every) // runs_on(backend))]:
        assert (await ended(number, done))[0] == wanted, (number, done)


async def test_an_undo_that_is_killed_at_any_moment_and_made_again_ends_as_one_that_is_not(
    tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "CHUNK", 1)
    reader = BelievesAll(CHAIN)
    places = count()

    async def ended(number: int | None, done: float) -> tuple[object, list[int]]:
        async with bench_on(tmp_path / str(next(places)), backend) as bench:
            ids = await stored(bench, reader, SAID)
            before = await by_places(bench, ids)
            await job(bench, reader).run()
            (report,) = await Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR)).latest(9)
            counting = Counting(bench.database, [])
            if number is not None:
                with pytest.raises(KilledError):
                    await reports_on(bench, Killing(bench.database, number, done)).undo(report.id)
            await reports_on(bench, counting).undo(report.id)
            after = await by_places(bench, ids)
            assert [row for row in after if row[0] == "long_term_memory"] == [
                row for row in before if row[0] == "long_term_memory"
            ]
            undone = {*await column_of(bench, "consolidated", "undone")}
            (report,) = await reports_on(bench, bench.database).latest(9)
            return (after, undone, report.undone_at is not None), counting.statements

    wanted, calls = await ended(None, 0)
    assert len(calls) > 2  # one merge in each
    every = list(moments(calls))
    for number, done in every[:: max(1, len(every) // runs_on(backend))]:
        assert (await ended(number, done))[0] == wanted, (number, done)


def runs_on(backend: Backend) -> int:
    return examples(300) if LONG or backend.name == "embedded" else ON_THE_DOUBLE


def reports_on(bench: Bench, database: object) -> Consolidations:
    backends = replace(bench.backends, database=database)
    return Consolidations(backends.of_tenant("acme", ADMINISTRATOR))


async def by_places(bench: Bench, ids: Sequence[str]) -> list[tuple[str, str]]:
    """Return all that a consolidation writes, with the places of memories for their ids."""
    places = {id_: place for place, id_ in enumerate(ids)}
    return sorted(
        (table, re.sub("[0-9A-Z]{26}", lambda found: f"<{places[found[0]]}>", repr(dict(row))))
        for table, rows in (await state(bench)).items()
        for row in rows
    )


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), max_size=6), st.floats(0, 1))
def test_agreement_never_makes_less_sure_nor_surer_than_its_cap_and_no_source_counts_twice(
    told: list[tuple[str, float]], own: float
) -> None:
    sources = [FactSource(source, confidence) for source, confidence in told]
    sure = agreed(own, sources)
    assert sure >= own
    assert sure <= max(own, MOST_AGREED if own >= 0.5 else MOST_DOUBTFUL)
    assert agreed(own, [*sources, *sources]) == sure
    assert agreed(own, sources[:1]) == own
    assert (own >= 0.5) == (sure >= 0.5)
