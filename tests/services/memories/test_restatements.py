"""Recalls that give memories once that say the same."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import ReaderUnavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.memories.recall import Recall
from tests.services.memories.test_recall_read import set_reader
from tests.services.scripted_reader import RESTATES, ScriptedReader
from tests.support.gateways import Bench, bench_on

FIRST = "The meetings are held in Oslo"
SECOND = "The meetings get held in the city of Oslo"
OTHER = "The meetings in Rome are short"


@pytest.fixture
def reader() -> ScriptedReader:
    return ScriptedReader({(FIRST, SECOND): RESTATES, (SECOND, FIRST): RESTATES})


@pytest.fixture
async def bench(tmp_path: Path, reader: ScriptedReader) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        set_reader(bench, reader)
        yield bench


async def put(bench: Bench, *contents: str) -> list[str]:
    return [
        await bench.gateway.store("bot", NewMemory(content, session_id=str(n))) for n, content in enumerate(contents)
    ]


async def recalled(bench: Bench, **query: object) -> Recall:
    return await bench.gateway.recall("bot", Query("When are the meetings?", **query))  # type: ignore[arg-type]


def shown(recall: Recall) -> list[tuple[str, list[str]]]:
    return sorted((entry.id, [other.id for other in entry.also]) for entry in recall.entries)


async def test_what_a_reader_finds_to_say_the_same_is_given_once_the_newest_with_the_others(bench: Bench) -> None:
    first, second, other, again = await put(bench, FIRST, SECOND, OTHER, FIRST)
    recall = await recalled(bench, collapse="restatements")
    assert shown(recall) == sorted([(again, [second, first]), (other, [])])
    assert shown(await recalled(bench, collapse="copies")) == sorted([(again, [first]), (second, []), (other, [])])
    assert shown(await recalled(bench)) == sorted((id_, []) for id_ in (first, second, other, again))


async def test_while_the_reader_is_away_copies_are_given_once_and_the_answer_says_so(
    bench: Bench, reader: ScriptedReader
) -> None:
    first, second, again = await put(bench, FIRST, SECOND, FIRST)
    reader.error = ReaderUnavailable("Closed.")
    recall = await recalled(bench, collapse="restatements")
    assert shown(recall) == sorted([(again, [first]), (second, [])])
    assert "reader_unavailable" in recall.degraded
    set_reader(bench, None)
    recall = await recalled(bench, collapse="restatements")
    assert shown(recall) == sorted([(again, [first]), (second, [])])
    assert list(recall.degraded) == []


async def test_it_is_read_again_as_of_a_day_before_the_newest_was_said(bench: Bench) -> None:
    day = 86_400_000
    first, second = [
        await bench.gateway.store("bot", NewMemory(text, occurred_at=at))
        for text, at in ((FIRST, 10 * day), (SECOND, 20 * day))
    ]
    assert shown(await recalled(bench, collapse="restatements")) == [(second, [first])]
    assert shown(await recalled(bench, collapse="restatements", as_of=15 * day)) == [(first, [])]


async def test_an_entry_that_scores_less_than_what_it_restates_has_that_score(
    bench: Bench, reader: ScriptedReader
) -> None:
    first, second = await put(bench, FIRST, SECOND)
    reader.answers = {("When are the meetings?", FIRST): 0.9, ("When are the meetings?", SECOND): 0.1}
    alone = {entry.id: entry.score for entry in (await recalled(bench)).entries}
    (entry,) = (await recalled(bench, collapse="restatements", min_score=alone[first])).entries
    assert (entry.id, entry.score) == (second, alone[first])
    assert alone[second] < alone[first]


async def test_a_group_counts_once_what_says_the_same(bench: Bench) -> None:
    same = replace(NewMemory(FIRST), session_id="s")
    first = await bench.gateway.store("bot", same)
    second = await bench.gateway.store("bot", replace(same, content=SECOND))
    recall = await recalled(bench, collapse="restatements", group_by="session")
    assert recall.groups is not None
    assert [list(group.entries) for group in recall.groups] == [[second]]
    assert shown(recall) == [(second, [first])]
