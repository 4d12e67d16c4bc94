"""Store, recall and delete when a part fails, and the order in which the ports are used."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnavailable, EmbeddingUnavailable, InvalidRequest, StorageFull, Unavailable
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.ports.database import RunRefused
from app.services.memories.gateway import LongTermMemoryGateway
from app.storage import outbox
from tests.support.damage import drop_table
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import delete_rows


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        yield bench


async def test_a_store_embeds_once_then_writes_the_database_then_the_index(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    assert bench.embedder.calls == [(["text"], "document")]
    assert bench.database.journal == ["database.run", "index.upsert"]


async def test_a_recall_embeds_once_then_asks_the_index_then_the_database(bench: Bench) -> None:
    for _ in range(2):
        await bench.gateway.recall("bot", Query("query"))
    assert bench.embedder.calls == [(["query"], "query")]
    assert bench.database.journal == ["index.query", "database.run"] * 2


async def test_a_delete_writes_the_database_then_the_index(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("text"))
    bench.database.journal.clear()
    await bench.gateway.delete("bot", memory_id)
    assert bench.database.journal == ["database.run", "index.delete"]
    assert await bench.queued() == {"delete": 1}


async def test_a_fresh_gateway_recalls_what_another_has_stored_and_none_of_another_tenant(bench: Bench) -> None:
    def fresh(tenant_id: str) -> LongTermMemoryGateway:
        return LongTermMemoryGateway(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))

    await fresh("acme").store("bot", NewMemory("The green house is sold"))
    found = [await fresh(tenant).recall("bot", Query("Which house is green?")) for tenant in ("acme", "globex")]
    assert [[entry.content for entry in each.entries] for each in found] == [["The green house is sold"], []]


async def test_a_gateway_goes_by_the_clock_that_it_is_given(bench: Bench) -> None:
    now = bench.backends.clock()
    late = replace(bench.backends, clock=lambda: now + 120_000).of_tenant("acme", ADMINISTRATOR)
    with pytest.raises(InvalidRequest, match="expires_at"):
        await LongTermMemoryGateway(late).store("bot", NewMemory("text", expires_at=now + 60_000))
    await bench.gateway.store("bot", NewMemory("text", expires_at=now + 60_000))


async def test_what_is_refused_touches_nothing(bench: Bench) -> None:
    with pytest.raises(InvalidRequest):
        await bench.gateway.store("bot", NewMemory(" "))
    with pytest.raises(InvalidRequest):
        await bench.gateway.recall("bot", Query("query", top_k=0))
    with pytest.raises(InvalidRequest):
        await bench.gateway.delete("bot", "no ulid")
    assert (bench.embedder.calls, bench.database.journal) == ([], [])


async def test_when_embedding_fails_nothing_is_written(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The model is away.")
    with pytest.raises(EmbeddingUnavailable):
        await bench.gateway.store("bot", NewMemory("text"))
    assert (bench.database.journal, await bench.memories()) == ([], 0)
    assert len(bench.embedder.calls) == 1  # never tried again


async def test_when_embedding_fails_a_recall_goes_by_words_and_says_so(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("The green house is sold"))
    await bench.deliver()
    bench.embedder.error = EmbeddingUnavailable("The model is away.")
    found = await bench.gateway.recall("bot", Query("Which house is green?"))
    assert [(entry.content, entry.similarity) for entry in found.entries] == [("The green house is sold", None)]
    assert found.degraded == ["embedder_unavailable"]
    with pytest.raises(EmbeddingUnavailable):
        await bench.gateway.recall("bot", Query("other words"))
    with pytest.raises(EmbeddingUnavailable):
        await bench.gateway.recall("bot", Query("what is it?"))  # nothing to look for
    nothing = await bench.gateway.recall("nobody", Query("Which house is green?"))
    assert (nothing.entries, nothing.degraded) == ([], ["embedder_unavailable"])


async def test_when_the_words_cannot_be_searched_a_recall_goes_by_meaning_and_says_so(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("The green house is sold"))
    await bench.deliver()
    await drop_table(bench, "memory_words")
    found = await bench.gateway.recall("bot", Query("Which house is green?"))
    assert [entry.content for entry in found.entries] == ["The green house is sold"]
    assert found.degraded == ["lexical_unavailable"]


async def test_when_the_index_is_away_a_recall_goes_by_words_and_says_so(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("The green house is sold"))
    await bench.deliver()
    bench.later(3600)
    await bench.deliver()
    bench.index.error = Unavailable("The index is away.")
    found = await bench.gateway.recall("bot", Query("Which house is green?"))
    assert [entry.content for entry in found.entries] == ["The green house is sold"]
    assert found.degraded == ["index_unavailable"]


async def test_when_the_index_is_away_a_period_that_several_questions_name_is_looked_for_among_all_that_pass(
    bench: Bench,
) -> None:
    sold = NewMemory("The green house is sold", {"place": "oslo"}, occurred_at=1_772_539_200_000)
    await bench.gateway.store("bot", sold)
    await bench.deliver()
    bench.later(3600)
    await bench.deliver()
    bench.index.error = Unavailable("The index is away.")
    asked = Query(
        "What happened on March 3, 2026? Where does my sister Emma live?", where=Filter(metadata={"place": "oslo"})
    )
    found = await bench.gateway.recall("bot", asked)
    assert [entry.content for entry in found.entries] == ["The green house is sold"]
    assert found.degraded == ["index_unavailable"]


async def test_when_the_database_fails_nothing_is_acknowledged_or_indexed(bench: Bench) -> None:
    bench.database.error = StorageFull("There is no room.")
    with pytest.raises(StorageFull):
        await bench.gateway.store("bot", NewMemory("text"))
    assert bench.database.journal == ["database.run"]
    bench.database.error = None
    assert (await bench.memories(), await bench.queued(), await bench.contents("text")) == (0, {}, [])


async def test_an_outage_is_never_an_empty_answer(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.deliver()
    bench.index.error = Unavailable("The index is away.")
    with pytest.raises(Unavailable, match="The index is away"):
        await bench.gateway.recall("bot", Query("other words"))
    nothing = await bench.gateway.recall("nobody", Query("text"))
    assert nothing.entries == []  # the database knows that there is nothing
    bench.index.error, bench.database.error = None, DatabaseUnavailable("The database is away.")
    with pytest.raises(DatabaseUnavailable):
        await bench.gateway.recall("bot", Query("text"))


async def test_a_memory_the_index_did_not_take_is_recalled_at_once_and_delivered_later(bench: Bench) -> None:
    bench.index.error = Unavailable("The index is away.")
    memory_id = await bench.gateway.store("bot", NewMemory("kept in the outbox", {"k": 1}))
    await bench.gateway.store("other", NewMemory("kept in the outbox"))
    bench.index.error = None
    (entry,) = (await bench.gateway.recall("bot", Query("kept in the outbox"))).entries
    assert (entry.id, entry.metadata) == (memory_id, {"k": 1})
    assert entry.similarity == pytest.approx(1, abs=1e-5)
    where = Filter(metadata={"k": 2})
    assert (await bench.gateway.recall("bot", Query("kept in the outbox", where=where))).entries == []
    await bench.deliver()
    assert await bench.queued() == {"upsert": 2}  # its request may still be at it
    bench.later(60)
    await bench.deliver()
    await bench.deliver()
    assert await bench.queued() == {"upsert": 2}  # confirmed, and scored for a minute more
    bench.later(60)
    await bench.deliver()
    assert await bench.queued() == {}
    assert await bench.contents("kept in the outbox") == ["kept in the outbox"]


async def test_while_the_index_is_away_what_is_pending_is_found_and_the_answer_says_so(bench: Bench) -> None:
    bench.index.error = Unavailable("The index is away.")
    await bench.gateway.store("bot", NewMemory("pending"))
    found = await bench.gateway.recall("bot", Query("pending"))
    assert ([entry.content for entry in found.entries], found.degraded) == (["pending"], ["index_unavailable"])


async def test_the_outbox_and_the_index_together_show_a_memory_once(bench: Bench) -> None:
    for n in range(5):
        await bench.gateway.store("bot", NewMemory(f"note {n}"))
    assert await bench.queued() == {"upsert": 5}
    assert sorted(await bench.contents("note")) == [f"note {n}" for n in range(5)]
    await bench.indexer.round()
    assert await bench.queued() == {}
    assert sorted(await bench.contents("note")) == [f"note {n}" for n in range(5)]


async def test_a_memory_stored_again_meanwhile_is_not_confirmed_by_the_earlier_delivery(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    bench.index.error = Unavailable("The index is away.")
    await bench.gateway.store("bot", NewMemory("text", {"new": True}))
    bench.index.error = None
    await bench.indexer.round()
    assert await bench.queued() == {"upsert": 1}
    bench.later(60)
    await bench.deliver()
    assert len((await bench.gateway.recall("bot", Query("text", where=Filter(metadata={"new": True})))).entries) == 1


async def test_a_deletion_the_index_did_not_take_holds_at_once_and_is_delivered_later(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("text"))
    bench.index.error = Unavailable("The index is away.")
    await bench.gateway.delete("bot", memory_id)
    bench.index.error = None
    assert (await bench.memories(), await bench.contents("text")) == (0, [])
    await bench.deliver()
    assert await bench.queued() == {"delete": 1}  # a slow upsert may still be under way
    bench.later(60)
    await bench.deliver()
    await bench.deliver()
    assert await bench.queued() == {}


async def test_vectors_whose_memory_is_gone_do_not_take_the_place_of_others(bench: Bench) -> None:
    gone = [await bench.gateway.store("bot", NewMemory(f"text {n}")) for n in range(150)]
    await bench.gateway.store("bot", NewMemory("something else"))
    bench.index.error = Unavailable("The index is away.")
    for memory_id in gone:
        await bench.gateway.delete("bot", memory_id)
    bench.index.error = None
    assert await bench.contents("text", top_k=1) == ["something else"]


async def test_beyond_the_bound_the_newest_pending_are_scored_and_the_answer_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_PENDING", 3)
    bench.index.error = Unavailable("The index is away.")
    for n in range(5):
        await bench.gateway.store("bot", NewMemory(f"note {n}"))
    bench.index.error = None
    found = await bench.gateway.recall("bot", Query("jotting"))
    assert (len(found.entries), found.degraded) == (3, ["pending_bound"])
    found = await bench.gateway.recall("bot", Query("note"))  # the words of all are known
    assert (len(found.entries), found.degraded) == (5, ["pending_bound"])
    for _ in range(3):
        bench.later(60)
        await bench.deliver()
    found = await bench.gateway.recall("bot", Query("note"))
    assert (len(found.entries), found.degraded) == (5, [])


async def test_of_equally_similar_memories_the_newest_comes_first(bench: Bench) -> None:
    for session in ("a", "b", "c"):
        await bench.gateway.store("bot", NewMemory("same", {"session": session}, session))
    entries = (await bench.gateway.recall("bot", Query("same"))).entries
    assert len({entry.score for entry in entries}) == 1
    assert [entry.id for entry in entries] == sorted((entry.id for entry in entries), reverse=True)


async def test_the_indexer_loses_no_delivery_when_the_database_is_away(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    bench.database.error = DatabaseUnavailable("The database is away.")
    with pytest.raises(DatabaseUnavailable):
        await bench.indexer.round()
    bench.database.error = None
    await bench.indexer.round()
    assert await bench.queued() == {}


async def test_a_run_made_again_does_not_bring_back_what_was_deleted_meanwhile(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once")
    made_again = bench.database.runs[-1]
    await delete_rows(bench, "idempotency")  # as without a key
    await bench.gateway.delete("bot", memory_id)
    with pytest.raises(RunRefused, match="deleted"):
        await bench.database.inner.run(made_again)
    assert (await bench.memories(), await bench.queued()) == (0, {"delete": 1})
    assert await bench.contents("text") == []
