"""Values of the store that expire, and never show an older one again."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.base import PutOp

from memory_gateway_client import Forbidden, Memory, MemoryClient, Unavailable
from memory_gateway_client.adapters.langgraph import MemoryStore
from memory_gateway_client.adapters.langgraph.conftest import Connect

HOME = ("users", "ann")
TEA, COFFEE, WATER = {"drink": "tea"}, {"drink": "coffee"}, {"drink": "water"}
SHORT = 0.7 / 60
"""Minutes in which a value is put and read, and after which a test goes on."""


@pytest.fixture
def store(client: MemoryClient) -> MemoryStore:
    return MemoryStore(client)


async def memories(client: MemoryClient) -> tuple[Memory, ...]:
    return (await asyncio.to_thread(client.list_memories)).memories


async def drinks(client: MemoryClient) -> list[str]:
    return [memory.content for memory in await memories(client)]


async def test_a_value_expires_after_its_minutes_and_no_older_one_shows_again(
    store: MemoryStore, client: MemoryClient
) -> None:
    await store.aput(HOME, "likes", TEA)
    await store.aput(HOME, "likes", COFFEE)
    await store.aput(HOME, "other", TEA)
    await store.aput(HOME, "likes", WATER, ttl=SHORT)
    item = await store.aget(HOME, "likes")
    assert item is not None
    assert item.value == WATER
    await asyncio.sleep(SHORT * 60)
    assert await store.aget(HOME, "likes") is None
    assert [item.key for item in await store.asearch(HOME)] == ["other"]
    assert [item.key for item in await store.asearch(HOME, query="drink")] == ["other"]
    assert await drinks(client) == ['{"drink": "tea"}']


async def test_reading_does_not_extend_the_life_of_a_value(store: MemoryStore, client: MemoryClient) -> None:
    before = datetime.now(UTC)
    await store.aput(HOME, "likes", TEA, ttl=5)
    (put,) = await memories(client)
    assert put.expires_at is not None
    assert timedelta(minutes=5) <= put.expires_at - before + timedelta(milliseconds=1) < timedelta(minutes=6)
    await store.aget(HOME, "likes", refresh_ttl=True)
    await store.asearch(HOME, query="tea", refresh_ttl=True)
    assert await memories(client) == (put,)


async def test_a_ttl_that_would_bring_an_older_value_back_is_refused_without_the_right_to_delete(
    connect: Connect, client: MemoryClient
) -> None:
    agents = MemoryStore(connect(agent="bot", admin=False))
    await agents.aput(HOME, "likes", TEA)
    await agents.aput(HOME, "shorter", TEA, ttl=9)
    for key, ttl in (("likes", 9), ("shorter", 8)):
        with pytest.raises(Forbidden, match=f"'{key}' has an older value.*Nothing was stored") as caught:
            await agents.abatch([PutOp(HOME, key, COFFEE, ttl=ttl)])
        assert "without a ttl" in caught.value.advice
    assert await drinks(client) == ['{"drink": "tea"}'] * 2


async def test_a_ttl_needs_no_right_to_delete_where_nothing_older_lives_longer(
    connect: Connect, client: MemoryClient
) -> None:
    agents = MemoryStore(connect(agent="bot", admin=False))
    await agents.aput(HOME, "likes", TEA, ttl=5)
    await agents.aput(HOME, "likes", COFFEE, ttl=6)
    await agents.aput(HOME, "likes", WATER)
    item = await agents.aget(HOME, "likes")
    assert item is not None
    assert item.value == WATER
    assert len(await drinks(client)) == 3


async def test_a_put_that_fails_while_it_deletes_leaves_the_new_value_and_is_finished_by_the_next(
    store: MemoryStore, client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (TEA, COFFEE):
        await store.aput(HOME, "likes", value)
    refused = [memory.id for memory in await memories(client)]

    def fails(self: MemoryClient, memory_id: str) -> None:  # noqa: ARG001 - a method
        if memory_id in refused:
            raise Unavailable("The database does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryClient, "delete_memory", fails)
        with pytest.raises(Unavailable):
            await store.aput(HOME, "likes", WATER, ttl=5)
    item = await store.aget(HOME, "likes")
    assert item is not None
    assert item.value == WATER
    await store.aput(HOME, "likes", WATER, ttl=6)
    assert await drinks(client) == ['{"drink": "water"}'] * 2


async def test_a_delete_takes_no_ttl_into_account(store: MemoryStore, client: MemoryClient) -> None:
    await store.aput(HOME, "likes", TEA, ttl=5)
    await store.abatch([PutOp(HOME, "likes", None, ttl=-1.0)])
    assert await drinks(client) == []
