"""What one tenant has under way keeps no other tenant waiting, and everyone comes to their turn."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.embedding import EmbeddingConfig
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.turns.shares import LONG_TEXT_CHARACTERS, READS, Share, Shares
from tests.support.gateways import bench_on


async def held(share: Share, size: int, peak: list[int], now: list[int], order: list[int], number: int) -> None:
    await share.acquire(size)
    try:
        order.append(number)
        now[0] += min(size, 10)
        peak[0] = max(peak[0], now[0])
        await asyncio.sleep(0)
    finally:
        now[0] -= min(size, 10)
        share.release(size)


@given(sizes=st.lists(st.integers(0, 15), max_size=30), gone=st.sets(st.integers(0, 29)))
def test_no_more_is_under_way_than_the_share_and_all_have_their_turn_in_order(sizes: list[int], gone: set[int]) -> None:
    async def run() -> None:
        share, peak, now, order = Share(10), [0], [0], list[int]()
        tasks = [asyncio.create_task(held(share, size, peak, now, order, number)) for number, size in enumerate(sizes)]
        await asyncio.sleep(0)
        for number in gone & set(range(len(sizes))):
            tasks[number].cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert peak[0] <= 10
        assert order == sorted(order)
        assert set(range(len(sizes))) - gone <= set(order)
        assert share.idle

    asyncio.run(run())


async def test_a_tenant_that_waits_keeps_no_other_waiting() -> None:
    shares = Shares(1)
    async with shares.take("busy", 1):
        waiting = asyncio.create_task(shares.take("busy", 1).__aenter__())
        await asyncio.sleep(0)
        async with asyncio.timeout(10), shares.take("other", 1):
            assert not waiting.done()
    await waiting


class Watching:
    """An embedder that answers when told to, and knows what it was given meanwhile."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.under_way = 0
        self.peak = 0
        self.may_answer = asyncio.Event()

    @property
    def config(self) -> EmbeddingConfig:
        return self.inner.config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        size = sum(map(len, texts))
        self.under_way += size
        self.peak = max(self.peak, self.under_way)
        if size > 1000:
            await self.may_answer.wait()
        self.under_way -= size
        return await self.inner.embed(texts, purpose, tenant_id=tenant_id)

    async def ping(self) -> None:
        await self.inner.ping()


@pytest.mark.parametrize("who", ["acme", "other"])
async def test_a_recall_does_not_wait_for_the_long_texts_of_its_tenant_or_another(tmp_path: Path, who: str) -> None:
    async with bench_on(tmp_path) as bench:
        await bench.tenant(who).store("asking", NewMemory("a red fox"))
        watching = Watching(bench.embedder.inner)
        bench.embedder.inner = watching
        texts = [f"{n} " + "x" * 30_000 for n in range(16)]
        stores = [asyncio.create_task(bench.gateway.store("bot", NewMemory(text))) for text in texts]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            asking: LongTermMemoryGateway = bench.tenant(who)
            found = (await asking.recall("asking", Query("red fox"))).entries
            assert [entry.content for entry in found] == ["a red fox"]
        assert 30_000 <= watching.peak <= LONG_TEXT_CHARACTERS + 1000
        watching.may_answer.set()
        assert len(set(await asyncio.gather(*stores))) == len(texts)


async def test_only_so_many_reads_of_a_tenant_are_under_way(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await bench.gateway.store("bot", NewMemory("a red fox"))
        inner, under_way, peak = bench.database.inner.run, 0, 0

        async def slowly(*arguments: object) -> object:
            nonlocal under_way, peak
            under_way += 1
            peak = max(peak, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1
            return await inner(*arguments)  # type: ignore[arg-type]

        bench.database.inner.run = slowly  # type: ignore[assignment, method-assign]
        found = await asyncio.gather(*(bench.gateway.recall("bot", Query(f"red fox {n}")) for n in range(40)))
        assert all(recall.entries for recall in found)
        assert peak == READS


async def test_one_who_leaves_takes_nothing_from_those_who_came_meanwhile() -> None:
    shares = Shares(1)
    first = shares.take("acme", 1)
    await first.__aenter__()
    leaving = asyncio.create_task(shares.take("acme", 1).__aenter__())
    await asyncio.sleep(0)
    leaving.cancel()
    await first.__aexit__()
    second = shares.take("acme", 1)
    await second.__aenter__()
    await asyncio.gather(leaving, return_exceptions=True)
    await second.__aexit__()
    async with asyncio.timeout(10), shares.take("acme", 1):
        pass
