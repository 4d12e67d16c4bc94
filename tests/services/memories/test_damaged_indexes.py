"""The index of words and that of vectors are made of the memories: damaged, they keep no memory from being used."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.errors import UpstreamUnavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.findings import Findings
from app.indexing.jobs.merge_words import merge_words
from app.indexing.jobs.prune import Prune
from app.indexing.jobs.rebuild_words import count_missing_words, rebuild_words
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from tests.support.backends import Backend
from tests.support.damage import WORDS, damage, indexed_half, with_word
from tests.support.gateways import Bench, bench_on
from tests.support.memories import expire
from tests.support.tables import rows_of, shift_rows

COUNT = 24


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def filled(bench: Bench) -> list[str]:
    ids = [await bench.gateway.store("bot", NewMemory(f"parcel {number} reached Lisbon")) for number in range(COUNT)]
    await bench.quiet(rounds=3)
    return ids


async def reconcile(bench: Bench, *, repair: bool = True) -> Findings:
    return await Reconcile(
        bench.database,
        bench.index,
        bench.embedder,
        holder="test",
        rate_limiter=RateLimiter(1e9),
        repair=repair,
        report=lambda _: None,
    ).run()


async def degraded(bench: Bench, query: str = "parcel 7 Lisbon") -> list[str]:
    recall = await bench.gateway.recall("bot", Query(query))
    assert recall.entries
    return list(recall.degraded)


async def check_deletes_and_stores_go_on(bench: Bench, ids: list[str]) -> None:
    for id_ in ids[:10]:
        await bench.gateway.delete("bot", id_)
    assert await bench.memories() == COUNT - 10
    await bench.gateway.store("bot", NewMemory("a zeppelin was sighted"))
    assert await degraded(bench) == ["lexical_unavailable"]
    assert (await bench.contents("was a zeppelin sighted?"))[0] == "a zeppelin was sighted"


async def check_all_is_found_again(bench: Bench) -> None:
    await merge_words(bench.database, pause=1e-6)
    assert await count_missing_words(bench.database.run) == 0
    assert await degraded(bench) == []
    assert await with_word(bench, "zeppelin")
    assert await with_word(bench, "parcel") == COUNT - 10


async def test_an_emptied_index_of_words_keeps_no_memory_from_being_deleted_or_stored(bench: Bench) -> None:
    ids = await filled(bench)
    await damage(bench, "emptied")
    await check_deletes_and_stores_go_on(bench, ids)
    await check_all_is_found_again(bench)


@pytest.mark.parametrize("how", WORDS)
async def test_recalls_stores_and_deletes_go_on_whatever_is_damaged(tmp_path: Path, how: str) -> None:
    async with bench_on(tmp_path) as bench:
        ids = await filled(bench)
        await damage(bench, how)
        answers = await asyncio.gather(*(bench.gateway.recall("bot", Query(f"parcel {n}")) for n in range(10)))
        assert all(answer.entries for answer in answers)
        await check_deletes_and_stores_go_on(bench, ids)
        await check_all_is_found_again(bench)


async def test_writes_that_are_committed_together_all_succeed_where_the_words_are_damaged(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        ids = await filled(bench)
        await damage(bench, "no averages")
        await asyncio.gather(
            *(bench.gateway.store("bot", NewMemory(f"a letter {number}")) for number in range(8)),
            *(bench.gateway.delete("bot", id_) for id_ in ids[:8]),
        )
        assert await bench.memories() == COUNT
        await merge_words(bench.database, pause=1e-6)
        assert await count_missing_words(bench.database.run) == 0


async def test_an_erasure_and_a_prune_end_where_the_words_are_damaged(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await filled(bench)
        await bench.gateway.store("other", NewMemory("Zanzibarquux is here"))
        await bench.gateway.store("third", NewMemory("it has expired"))
        await expire(bench, agent_id="third")
        await damage(bench, "blocks of zeros")
        accepted = await bench.gateway.erase("other")
        await bench.quiet(rounds=3)
        assert (await bench.gateway.erasure(accepted.id)).receipt is None  # the blocks are as they are
        limiter = RateLimiter(1e9)
        await Prune(bench.database, audit_days=1, episode_days=1, rate_limiter=limiter, report=lambda _: None).run()
        await bench.quiet(rounds=3)
        assert (await bench.gateway.erasure(accepted.id)).receipt is not None
        assert await count_missing_words(bench.database.run) == 0
        assert await degraded(bench) == []


async def test_words_that_were_lost_unnoticed_are_found_missing_and_made_again(bench: Bench) -> None:
    await filled(bench)
    await damage(bench, "emptied")
    assert await count_missing_words(bench.database.run) == COUNT
    found = await reconcile(bench, repair=False)
    assert found.words == COUNT
    assert await count_missing_words(bench.database.run) == COUNT
    await merge_words(bench.database, pause=1e-6)
    assert await count_missing_words(bench.database.run) == 0
    await damage(bench, "emptied")
    assert (await reconcile(bench)).words == COUNT
    assert (await reconcile(bench)).words == 0
    assert await with_word(bench, "parcel")


async def test_what_is_stored_and_deleted_while_words_are_made_again_is_as_it_should_be(bench: Bench) -> None:
    ids = await filled(bench)
    await rebuild_words(bench.database.run, anew=True)
    await indexed_half(bench, ids[11])
    assert await degraded(bench) == ["lexical_unavailable"]
    await bench.gateway.delete("bot", ids[2])
    await bench.gateway.delete("bot", ids[20])
    await bench.gateway.store("bot", NewMemory("a zeppelin was sighted"))
    await merge_words(bench.database, pause=1e-6)
    assert await count_missing_words(bench.database.run) == 0
    assert await with_word(bench, "parcel") == COUNT - 2
    assert await with_word(bench, "zeppelin")


async def made_as(bench: Bench) -> list[str]:
    (made,) = await rows_of(bench, "sqlite_schema", "sql", name="memory_words")
    return [
        " ".join(str(made["sql"]).split()),
        *(str([*row.values()]) for row in await rows_of(bench, "memory_words_config")),
    ]


async def test_an_index_of_words_that_was_made_again_is_as_the_migrations_make_it(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        before = await made_as(bench)
        assert len(before) == 5
        await rebuild_words(bench.database.run, anew=True)
        assert await made_as(bench) == before


async def test_a_vector_that_is_cut_short_is_left_out_and_made_again_by_a_repair(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        ids = await filled(bench)
        bench.later(300)
        await bench.quiet()
        await degraded(bench)  # it has the vectors in memory
        await damage(bench, "cut vector", id_=ids[7])
        await shift_rows(bench, "local_vector_removals", {"removals": 1})
    async with bench_on(tmp_path) as bench:  # one that has none in memory
        assert await degraded(bench) == ["vectors_unreadable"]
        assert await degraded(bench, "parcel 3") == ["vectors_unreadable"]
        assert (await reconcile(bench, repair=False)).unreadable == 1
        found = await reconcile(bench)
        assert (found.unreadable, found.repaired) == (1, 1)
        await bench.quiet()
        assert await degraded(bench) == []
        assert (await reconcile(bench)).unreadable == 0


@pytest.mark.parametrize("memories", [range(3, 4), range(COUNT)], ids=["one", "all"])
async def test_a_vector_whose_bytes_are_no_numbers_keeps_no_memory_from_being_found(
    tmp_path: Path, memories: range
) -> None:
    async with bench_on(tmp_path) as bench:
        ids = await filled(bench)
        for number in memories:
            await damage(bench, "vector of no numbers", id_=ids[number])
    async with bench_on(tmp_path) as bench:
        assert len(await bench.contents("parcel 7 Lisbon", top_k=COUNT)) == COUNT


@pytest.mark.parametrize("how", ["vector of no numbers", "vector with an infinite number"])
async def test_a_vector_that_is_not_all_finite_numbers_is_found_and_made_again_by_a_repair(
    tmp_path: Path, how: str
) -> None:
    async with bench_on(tmp_path) as bench:
        ids = await filled(bench)
        bench.later(300)
        await bench.quiet()
        before = await bench.index.vectors("acme", ids)
        for number in (3, 7):
            await damage(bench, how, id_=ids[number])
        found = await reconcile(bench, repair=False)
        assert (found.unreadable, found.repaired, found.examples["unreadable"]) == (2, 0, sorted([ids[3], ids[7]]))
        found = await reconcile(bench)
        assert (found.unreadable, found.repaired) == (2, 2)
        await bench.quiet()
        after = await bench.index.vectors("acme", ids)
        assert {id_: vector.tolist() for id_, vector in after.items()} == {
            id_: pytest.approx(vector.tolist(), abs=1e-3) for id_, vector in before.items()
        }
        assert (await reconcile(bench)).unreadable == 0


async def test_a_queued_vector_that_is_cut_short_keeps_no_other_from_the_index(bench: Bench) -> None:
    bench.index.error = UpstreamUnavailable("away")
    ids = [await bench.gateway.store("bot", NewMemory(f"parcel {number} reached Lisbon")) for number in range(4)]
    bench.index.error = None
    await damage(bench, "cut vector in the outbox", id_=ids[1])
    bench.backends.caches.pending.forget("acme")  # the process that has stored it has it whole
    assert await degraded(bench) == ["vectors_unreadable"]
    await bench.quiet()
    assert await bench.queued() == {"upsert": 1}  # the others were delivered
    assert (await reconcile(bench, repair=False)).unreadable == 1
    found = await reconcile(bench)
    assert (found.unreadable, found.repaired) == (1, 1)
    await bench.quiet()
    assert await degraded(bench) == []
    assert await bench.queued() == {}
