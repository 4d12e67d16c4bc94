"""What the indexer does with each row, on the embedded index and on one that shows writes late."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.delivery import Acknowledgement, OutboxKey
from app.domain.errors import DatabaseUnavailable, RateLimited, Unavailable, UpstreamTimeout, VectorRefused
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.indexing.delivery import Acknowledgements
from app.indexing.indexer import Indexer
from app.indexing.jobs.dead_letters import DeadLetters
from app.ports.vector_index import IndexedVector
from app.storage.system.leases import INDEXER
from tests.support.backends import Backend
from tests.support.doubles import FailingIndex
from tests.support.gateways import Bench, bench_on
from tests.support.memories import set_memories
from tests.support.tables import column_of, delete_rows, rows_of, set_rows, shift_rows

AWAY = Unavailable("The index is away.")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def undelivered(bench: Bench, *contents: str) -> list[str]:
    """Store while the index is away, and let the requests' time pass."""
    bench.index.error = AWAY
    ids = [await bench.gateway.store("bot", NewMemory(content)) for content in contents]
    await bench.delivered()
    bench.index.error = None
    bench.later(60)
    return ids


async def states(bench: Bench) -> list[str]:
    rows = await DeadLetters(bench.database.inner).list(only_dead=False, limit=100)
    return sorted(row.state for row in rows)


async def test_what_a_request_could_not_deliver_is_delivered_confirmed_and_after_a_minute_forgotten(
    bench: Bench,
) -> None:
    (memory_id,) = await undelivered(bench, "text")
    assert await states(bench) == ["undelivered"]
    await bench.deliver()
    assert (await states(bench))[0] in {"unconfirmed", "confirmed"}
    while await states(bench) != ["confirmed"]:  # an index that is not written to is, to be seen to go on
        bench.later(60)
        await bench.deliver()
    assert await bench.contents("text") == ["text"]  # still scored
    bench.later(59)
    await bench.deliver()
    assert await states(bench) == ["confirmed"]
    bench.later(1)
    await bench.indexer.round()
    assert await states(bench) == []
    assert set(await bench.index.held([memory_id])) == {memory_id}
    assert await bench.contents("text") == ["text"]


@pytest.mark.parametrize(("refused", "sent"), [("upsert", "index.delete"), ("delete", "index.upsert")])
async def test_what_an_index_refuses_keeps_nothing_else_from_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, refused: str, sent: str
) -> None:
    (forgotten,) = await undelivered(bench, "old")
    await bench.quiet()
    bench.index.error = AWAY
    new = await bench.gateway.store("bot", NewMemory("new"))
    await bench.delivered()
    await bench.gateway.delete("bot", forgotten)
    await bench.delivered()
    bench.index.error = None
    bench.later(60)
    with monkeypatch.context() as away:
        away.setattr(bench.index.inner, refused, getattr(FailingIndex(bench.index.inner, AWAY), refused))
        bench.index.journal.clear()
        with pytest.raises(Unavailable):
            await bench.indexer.round()
        assert sent in bench.index.journal
    await bench.quiet()
    assert set(await bench.index.held([forgotten, new])) == {new}
    assert await states(bench) == []
    assert await bench.contents("new") == ["new"]


async def test_a_younger_row_is_left_to_its_request(bench: Bench) -> None:
    bench.index.error = AWAY
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.delivered()
    bench.index.error = None
    bench.index.journal.clear()
    bench.later(59)
    await bench.indexer.round()
    assert "index.upsert" not in bench.index.journal


async def test_a_vector_the_index_has_lost_is_sent_again(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    await bench.indexer.round()
    await bench.index.inner.delete(Scope("acme", "bot"), [memory_id])
    await bench.quiet()
    assert set(await bench.index.held([memory_id])) == {memory_id}
    assert await states(bench) == []


async def test_a_vector_the_index_shows_in_an_older_revision_is_sent_again(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    await bench.deliver()
    await shift_rows(bench, "outbox", {"revision": 5})
    await bench.quiet()
    (row,) = [*(await bench.index.held([memory_id])).values()]
    assert await states(bench) == []
    assert row.scope == Scope("acme", "bot")


async def test_a_deletion_stays_until_the_vector_is_known_to_be_gone(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    await bench.quiet()
    await bench.gateway.delete("bot", memory_id)
    await bench.delivered()
    bench.later(59)
    await bench.deliver()
    assert await bench.queued() == ({"delete": 1} if bench.index.removal_grace_ms else {})
    bench.later(1)
    await bench.indexer.round()  # sends it once more: no upsert can be under way by now
    await bench.indexer.round()
    await bench.quiet(rounds=4)
    assert await bench.queued() == {}
    assert await bench.index.held([memory_id]) == {}


async def test_a_vector_that_comes_back_after_its_deletion_is_deleted_again(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    (row,) = await rows_of(bench, "outbox", "revision")
    await bench.gateway.delete("bot", memory_id)
    await bench.delivered()
    bench.later(50)
    await bench.indexer.round()
    vector = (await bench.embedder.inner.embed(["text"], "document")).vectors[0]
    late = IndexedVector(Scope("acme", "bot"), memory_id, vector, 1, int(row["revision"] or 0))
    await bench.index.inner.upsert([late])
    assert await bench.contents("text") == []
    await bench.quiet()
    assert await bench.index.held([memory_id]) == {}
    assert await bench.queued() == {}


@pytest.mark.parametrize(
    "error", [UpstreamTimeout("late"), RateLimited("blocked", retry_after=1), Unavailable("away")], ids=str
)
async def test_an_outage_never_makes_a_dead_letter(bench: Bench, error: Unavailable) -> None:
    await undelivered(bench, "text")
    bench.index.error = error
    for _ in range(10):
        with pytest.raises(type(error)):
            await bench.indexer.round()
    bench.index.error = None
    assert await states(bench) == ["undelivered"]
    await bench.quiet()
    assert await states(bench) == []


async def refused_one(bench: Bench, content: str) -> str:
    """Make one memory whose vector the index refuses, among others that it takes."""
    ids = await undelivered(bench, *(f"good {n}" for n in range(6)), content)
    refused = ids[-1]
    upsert = bench.index.inner.upsert

    async def picky(vectors: object) -> int:
        if any(vector.id == refused for vector in vectors):  # type: ignore[attr-defined]
            raise VectorRefused("The vector is not to its taste.")
        return await upsert(vectors)  # type: ignore[arg-type]

    bench.index.inner.upsert = picky  # type: ignore[method-assign]
    return refused


async def test_a_refused_vector_becomes_a_dead_letter_and_holds_up_no_other(bench: Bench) -> None:
    refused = await refused_one(bench, "bad")
    await bench.quiet()
    (row,) = await DeadLetters(bench.database.inner).list(only_dead=False, limit=100)
    assert (row.id, row.state, row.refusals) == (refused, "dead", 3)
    assert row.dead == "The vector is not to its taste."
    bench.index.journal.clear()
    await bench.quiet()
    assert "index.upsert" not in bench.index.journal  # no longer sent
    assert (await bench.contents("bad"))[0] == "bad"  # but still scored


async def test_a_dead_letter_is_sent_again_on_request_or_when_it_is_stored_again(bench: Bench) -> None:
    await refused_one(bench, "bad")
    await bench.quiet()
    del bench.index.inner.upsert  # what it refused it takes from now on
    letters = DeadLetters(bench.database.inner)
    assert await letters.retry(["01K2Z4M1V7Q8T3B5N6C7D8E9FA"]) == []
    assert len(await letters.retry([])) == 1
    await bench.quiet()
    assert await states(bench) == []
    await set_memories(bench, {"metadata": "{}"})
    assert (await bench.contents("bad"))[0] == "bad"


async def test_a_dropped_dead_letter_leaves_its_memory_and_an_audit_row(bench: Bench) -> None:
    refused = await refused_one(bench, "bad")
    await bench.quiet()
    letters = DeadLetters(bench.database.inner)
    assert await letters.drop([refused]) == [refused]
    assert await letters.drop([refused]) == []
    assert await states(bench) == []
    audit = await rows_of(bench, "audit", "tenant_id", "memory_id", "detail", event="outbox_dropped")
    assert [(row["tenant_id"], row["memory_id"]) for row in audit] == [("acme", refused)]
    assert await bench.memories() == 7


async def test_a_memory_deleted_half_way_is_deleted_whole(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    await set_rows(bench, "outbox", {"operation": "delete", "vector": None})
    await bench.quiet()
    assert (await bench.memories(), await bench.queued(), await bench.index.held([memory_id])) == (0, {}, {})


async def test_a_vector_queued_half_way_is_removed(bench: Bench) -> None:
    (memory_id,) = await undelivered(bench, "text")
    await delete_rows(bench, "long_term_memory")
    await bench.quiet()
    assert (await bench.queued(), await bench.index.held([memory_id])) == ({}, {})


async def test_one_indexer_works_at_a_time_and_another_takes_over_when_its_lease_ends(bench: Bench) -> None:
    second = Indexer(bench.database, bench.backends.index_of, Acknowledgements(), holder="second")
    await bench.indexer.round()
    await undelivered(bench, "text")
    await second.round()
    assert await states(bench) == ["undelivered"]
    bench.later(60)
    await second.round()
    await second.round()
    assert (await states(bench))[0] != "undelivered"
    assert await column_of(bench, "lease", "holder") == ["second"]


async def test_an_indexer_that_closes_gives_its_lease_back_and_loses_no_mark(bench: Bench) -> None:
    await bench.indexer.round()
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.delivered()
    await bench.indexer.close()
    assert await rows_of(bench, "lease") == []
    assert "undelivered" not in await states(bench)


async def test_overdue_work_that_nobody_does_wakes_the_indexer_of_whoever_serves(bench: Bench) -> None:
    await undelivered(bench, "text")
    bench.later(30)
    waiting = asyncio.create_task(bench.backends.acknowledgements.wait(60))
    await asyncio.sleep(0)
    await bench.gateway.recall("bot", Query("text"))
    await asyncio.wait_for(waiting, 5)


async def test_no_recall_wakes_the_indexer_while_another_holds_the_lease(bench: Bench) -> None:
    await undelivered(bench, "text")
    bench.later(30)
    await bench.database.run([INDEXER.hold("another")])
    waiting = asyncio.create_task(bench.backends.acknowledgements.wait(600))
    await asyncio.sleep(0)
    await bench.gateway.recall("bot", Query("text"))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    waiting.cancel()


async def test_marks_that_could_not_be_written_are_kept(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.delivered()
    assert len(bench.backends.acknowledgements) == 1
    bench.database.error = DatabaseUnavailable("The database is away.")
    with pytest.raises(DatabaseUnavailable):
        await bench.indexer.round()
    bench.database.error = None
    assert len(bench.backends.acknowledgements) == 1
    await bench.indexer.round()
    assert len(bench.backends.acknowledgements) == 0


async def test_a_run_that_fails_is_made_again_less_and_less_often(bench: Bench) -> None:
    bench.database.error = DatabaseUnavailable("The database is away.")
    bench.database.error.retry_after = None
    bench.database.runs.clear()
    running = asyncio.create_task(bench.indexer.run(0.01))
    await asyncio.sleep(0.5)
    tried = len(bench.database.runs)
    running.cancel()
    assert 3 <= tried <= 8


async def test_no_round_begins_while_requests_need_the_calls(bench: Bench) -> None:
    low = True
    backends = bench.backends
    indexer = Indexer(bench.database, backends.index_of, backends.acknowledgements, holder="resting", rests=lambda: low)
    bench.database.runs.clear()
    running = asyncio.create_task(indexer.run(0.001))
    await asyncio.sleep(0.05)
    assert len(bench.database.runs) == 0
    low = False
    async with asyncio.timeout(10):
        while not bench.database.runs:
            await asyncio.sleep(0.001)
    running.cancel()


def test_of_one_revision_the_first_acknowledgement_counts_and_a_later_mark_of_another_kind() -> None:
    acknowledgements, row = Acknowledgements(), OutboxKey(Scope("acme", "bot"), "1", "index", 7)
    acknowledgements.add(Acknowledgement(row, "acknowledged", 5))
    acknowledgements.add(Acknowledgement(row, "acknowledged", 9))
    assert acknowledgements.take(10) == [Acknowledgement(row, "acknowledged", 5)]
    acknowledgements.add(Acknowledgement(row, "acknowledged", 5))
    acknowledgements.add(Acknowledgement(row, "confirmed"))
    acknowledgements.put_back([Acknowledgement(row, "acknowledged", 1)])
    assert acknowledgements.take(10) == [Acknowledgement(row, "confirmed")]


async def test_rows_of_before_vectors_were_kept_in_half_the_bytes_are_still_read(bench: Bench) -> None:
    bench.index.error = AWAY
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.delivered()
    vector = (await bench.embedder.inner.embed(["text"], "document")).vectors[0]
    old = base64.b64encode(vector.tobytes()).decode()
    await set_rows(bench, "outbox", {"vector": old})
    (entry,) = (await bench.gateway.recall("bot", Query("text"))).entries
    assert entry.similarity == pytest.approx(1, abs=1e-4)
