"""How many candidates a recall looks at where its entries are put together by their sessions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.memories.recall import Recall
from tests.support.gateways import Bench, bench_on

FOX = "the quick red fox"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        yield bench


async def put(bench: Bench, session: str | None, *contents: str) -> None:
    for content in contents:
        await bench.gateway.store("bot", NewMemory(content, {}, session))


async def grouped(bench: Bench, top_k: int) -> Recall:
    return await bench.gateway.recall("bot", Query(FOX, top_k=top_k, group_by="session"))


async def test_many_good_memories_of_one_session_take_no_place_of_other_sessions(bench: Bench) -> None:
    await put(bench, "long", *[f"{FOX} number {n}" for n in range(150)])
    for n in range(6):
        await put(bench, f"other {n}", f"an owl sings {n}")
    await bench.quiet()
    recall = await grouped(bench, 7)
    assert recall.groups is not None
    assert recall.groups[0].session_id == "long"
    assert sorted(str(group.session_id) for group in recall.groups) == ["long", *(f"other {n}" for n in range(6))]
    assert len(recall.entries) == 5 + 6


async def test_where_there_are_fewer_sessions_than_are_asked_for_all_are_groups(bench: Bench) -> None:
    await put(bench, "long", *[f"{FOX} number {n}" for n in range(60)])
    await put(bench, None, "an owl sings")
    await bench.quiet()
    recall = await grouped(bench, 50)
    assert recall.groups is not None
    assert [(group.session_id, len(group.entries)) for group in recall.groups] == [("long", 5), (None, 1)]


async def test_what_is_noted_of_a_recall_are_its_entries_in_their_order(bench: Bench) -> None:
    await put(bench, "a", FOX, "a red fox")
    await put(bench, "b", "an owl sings")
    recall = await grouped(bench, 5)
    assert recall.groups is not None
    ids = [entry.id for entry in recall.entries]
    assert ids == [id_ for group in recall.groups for id_ in group.entries]
    assert recall.note is not None
    assert list(recall.note.entries) == ids
