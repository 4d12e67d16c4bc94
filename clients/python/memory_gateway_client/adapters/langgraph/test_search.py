"""A search of the store: its filter, its offset and what follows the values that a recall finds."""

import asyncio
from typing import Any

import pytest
from langgraph.store.base import SearchOp

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.langgraph import MemoryStore

HOME = ("users", "ann")


@pytest.fixture
def store(client: MemoryClient) -> MemoryStore:
    return MemoryStore(client)


async def put(store: MemoryStore, many: int) -> None:
    """Put so many values, each under a key of its own."""
    for number in range(many):
        await store.aput(HOME, f"key {number}", {"drink": "tea", "cups": number})


async def cups(store: MemoryStore, **asked: Any) -> list[int]:
    return [item.value["cups"] for item in await store.asearch(HOME, **asked)]


@pytest.mark.parametrize("query", [None, "tea"])
async def test_a_filter_narrows_a_search_before_anything_is_counted(store: MemoryStore, query: str | None) -> None:
    await put(store, 30)
    asked: dict[str, Any] = {"query": query, "filter": {"drink": "tea", "cups": {"$gte": 4, "$lt": 7}}}
    assert sorted(await cups(store, **asked)) == [4, 5, 6]
    assert len(await cups(store, limit=2, **asked)) == 2
    assert await cups(store, query=query, filter={"cups": {"$eq": 29}}) == [29]
    assert await cups(store, query=query, filter={"drink": {"$ne": "tea"}}) == []


async def test_a_filter_looks_at_the_newest_value_of_a_key_alone(store: MemoryStore) -> None:
    await store.aput(HOME, "key", {"cups": None})
    await store.aput(HOME, "key", {"cups": 1})
    for query in (None, "cups"):
        assert await cups(store, query=query, filter={"cups": {"$lt": 2}}) == [1]
        assert await cups(store, query=query, filter={"cups": None}) == []


@pytest.mark.parametrize("query", [None, "tea"])
async def test_offsets_divide_a_search_into_parts(store: MemoryStore, query: str | None) -> None:
    await put(store, 25)
    every = await cups(store, query=query, limit=99)
    assert sorted(every) == list(range(25))
    parts = [await cups(store, query=query, limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert parts == [every[:10], every[10:20], every[20:], []]


async def test_behind_what_a_recall_finds_come_the_other_values_newest_first_and_without_a_score(
    store: MemoryStore,
) -> None:
    await put(store, 25)
    found = await store.asearch(HOME, query="tea", limit=30)
    scores = [item.score for item in found]
    recalled = [score for score in scores[:20] if score is not None]
    assert recalled == sorted(recalled, reverse=True)
    assert (len(recalled), scores[20:]) == (20, [None] * 5)
    others = [item.value["cups"] for item in found[20:]]
    assert others == sorted(others, reverse=True)
    assert len({item.key for item in found}) == 25


async def test_many_older_values_of_a_key_crowd_no_other_out(store: MemoryStore) -> None:
    await store.aput(HOME, "quiet", {"cups": 0})
    for number in range(25):
        await store.aput(HOME, "loud", {"drink": "tea", "cups": number})
    assert sorted(await cups(store, query="tea")) == [0, 24]


async def test_a_refresh_of_a_life_is_accepted_by_every_read(store: MemoryStore) -> None:
    await put(store, 1)
    for refresh in (True, False):
        assert await store.aget(HOME, "key 0", refresh_ttl=refresh) is not None
        assert await store.asearch(HOME, refresh_ttl=refresh) != []
    (found,) = await asyncio.to_thread(store.batch, [SearchOp(HOME, refresh_ttl=True)])
    assert found
