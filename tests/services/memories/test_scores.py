"""Scores that an agent can cut at, over a whole recall."""

import json
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.adapters.local.transformer import packaged_model_dir
from app.domain.limits import CONTENT_BYTES, MAX_ANSWER_BYTES
from app.domain.memory import NewMemory
from app.domain.query import Query
from tests.support.gateways import Bench, bench_on

pytestmark = pytest.mark.thorough

CUT = 0.3
"""The ``min_score`` that docs/retrieval.md names."""
OTHERS = Path(__file__).parents[3] / "bench/quality/everyday/agent-open.jsonl"
INVOICES = "The customer prefers invoices in Swedish"
BILLS = "which language should bills be in?"


@pytest.fixture
async def words(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as made:
        yield made


@pytest.fixture
async def meaning(tmp_path: Path) -> AsyncIterator[Bench]:
    if packaged_model_dir() is None:
        pytest.skip("the model's weights are not installed")
    async with bench_on(tmp_path, embedder="local") as made:
        yield made


@pytest.fixture(scope="module")
async def hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data with a hundred memories, to be copied: their vectors take seconds."""
    if packaged_model_dir() is None:
        pytest.skip("the model's weights are not installed")
    folder = tmp_path_factory.mktemp("hundred")
    async with bench_on(folder, embedder="local") as made:
        for content in others(100):
            await made.gateway.store("bot", NewMemory(content))
    return folder


@pytest.fixture
async def beside_hundred(tmp_path: Path, hundred: Path) -> AsyncIterator[Bench]:
    async with bench_on(shutil.copytree(hundred, tmp_path / "hundred"), embedder="local") as made:
        yield made


def others(number: int) -> list[str]:
    stores = [json.loads(line) for line in OTHERS.read_text("utf-8").splitlines()]
    return [memory["text"] for store in stores for memory in store["turns"]][:number]


def ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


async def score(bench: Bench, content: str, query: str) -> float:
    entries = (await bench.gateway.recall("bot", Query(query, top_k=20))).entries
    return next(entry.score for entry in entries if entry.content == content)


async def test_the_first_example_scores_above_the_cut_alone_and_beside_a_hundred_others(
    meaning: Bench, beside_hundred: Bench
) -> None:
    for bench in (meaning, beside_hundred):
        await bench.gateway.store("bot", NewMemory(INVOICES))
    alone = await score(meaning, INVOICES, BILLS)
    assert alone > CUT
    assert CUT < await score(beside_hundred, INVOICES, BILLS) < alone
    recall = await beside_hundred.gateway.recall("bot", Query(BILLS, min_score=CUT))
    assert INVOICES in [entry.content for entry in recall.entries]


async def test_of_a_subject_that_nothing_is_stored_about_nothing_reaches_the_cut(beside_hundred: Bench) -> None:
    recall = await beside_hundred.gateway.recall("bot", Query("How tall is the volcano on Iceland's coat of arms?"))
    assert recall.confidence < CUT
    assert recall.confidence == recall.entries[0].score


async def test_scores_are_the_same_before_and_after_indexing(meaning: Bench) -> None:
    for content in (INVOICES, *others(20)):
        await meaning.gateway.store("bot", NewMemory(content))
    before = {entry.content: entry.score for entry in (await meaning.gateway.recall("bot", Query(BILLS))).entries}
    await meaning.quiet()
    assert await meaning.queued() == {}
    after = {entry.content: entry.score for entry in (await meaning.gateway.recall("bot", Query(BILLS))).entries}
    assert after == pytest.approx(before, abs=0.01)


async def test_a_month_without_a_year_is_the_latest_one_that_holds_memories(words: Bench) -> None:
    for year in (2018, 2019):
        for month in ("03", "06"):
            day = ms(f"{year}-{month}-12")
            await words.gateway.store("bot", NewMemory(f"ran by the river, {year}-{month}", occurred_at=day))
    for query, found in (("Where did I run in March?", "2019-03"), ("in June 2018", "2018-06"), ("in June", "2019-06")):
        first = (await words.gateway.recall("bot", Query(query))).entries[0]
        assert first.content.endswith(found)
    at = ms("2019-05-01")
    first = (await words.gateway.recall("bot", Query("in June", reference_time=at))).entries[0]
    assert first.content.endswith("2018-06")


async def test_a_program_is_given_fifty_entries_where_it_asks_for_them(words: Bench) -> None:
    for number in range(60):
        await words.gateway.store("bot", NewMemory(f"note {number} of the fox"))
    assert len((await words.gateway.recall("bot", Query("fox", top_k=50))).entries) == 50


async def test_fifty_of_the_largest_memories_are_no_larger_an_answer_than_twenty(words: Bench) -> None:
    for number in range(24):
        head = f"fox {number} "
        await words.gateway.store("bot", NewMemory(head + "x" * (CONTENT_BYTES - len(head))))
    entries = (await words.gateway.recall("bot", Query("fox", top_k=50))).entries
    assert len(entries) == 20
    assert sum(len(entry.content) for entry in entries) <= MAX_ANSWER_BYTES
