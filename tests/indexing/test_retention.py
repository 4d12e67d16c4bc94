"""Memories that expire: never seen again, whoever looks, and deleted by prune."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.errors import InvalidRequest, NotFound, Unavailable
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.domain.quotas import RowCounts
from app.indexing.jobs import prune
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.browse import Browser
from app.storage.system.pruning import delete_expired
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.ingestions import ingestion, learning_pass, model_spend, proposal
from tests.support.memories import expire, memory_ids
from tests.support.tables import Like, column_of, rows_of, shift_rows

DAY_MS = 24 * 3600 * 1000
NOW_MS = 4_000_000_000_000
"""Later than any machine that runs this."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def browser(bench: Bench, tenant: str = "acme") -> Browser:
    return Browser(bench.backends.of_tenant(tenant))


def soon(bench: Bench) -> int:
    return int(bench.backends.clock()) + DAY_MS


async def listed(bench: Bench) -> list[str]:
    page = await browser(bench).list(None, Filter(), limit=100, after=None)
    return [memory.content for memory in page.items]


async def prune_all(bench: Bench, told: list[int]) -> Pruned:
    return await Prune(
        bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=told.append
    ).run()


async def pruned(bench: Bench, told: list[int] | None = None) -> int:
    counts: list[int] = [] if told is None else told
    return (await prune_all(bench, counts)).memories


async def test_what_expires_at_once_is_refused_by_name(bench: Bench) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await bench.gateway.store("bot", NewMemory("text", expires_at=bench.backends.clock() - 1))
    assert [error.field for error in caught.value.errors] == ["expires_at"]
    assert (await bench.memories(), bench.embedder.calls) == (0, [])


@pytest.mark.parametrize("delivered", [True, False])
async def test_an_expired_memory_is_found_by_no_read_in_the_outbox_and_beyond(bench: Bench, *, delivered: bool) -> None:
    if not delivered:
        bench.index.error = Unavailable("The index is away.")
    memory_id = await bench.gateway.store("bot", NewMemory("text", {"k": 1}, expires_at=soon(bench)))
    bench.index.error = None
    if delivered:
        await bench.quiet()
    assert await bench.contents("text") == await listed(bench) == ["text"]
    await expire(bench)
    assert await bench.contents("text") == await listed(bench) == []
    assert (await bench.gateway.recall("bot", Query("text", where=Filter(metadata={"k": 1})))).entries == []
    with pytest.raises(NotFound):
        await browser(bench).get("bot", memory_id)


async def test_an_expired_memory_that_is_stored_again_lives_again_under_its_id(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("text", expires_at=soon(bench)))
    await bench.quiet()
    await expire(bench)
    assert await bench.gateway.store("bot", NewMemory("text")) == memory_id
    assert await bench.contents("text") == await listed(bench) == ["text"]
    assert (await browser(bench).get("bot", memory_id)).expires_at is None
    assert await pruned(bench) == 0


async def test_an_agents_default_holds_where_a_store_says_nothing_and_from_now_on(bench: Bench) -> None:
    before = await bench.gateway.store("bot", NewMemory("before"))
    await browser(bench).set_agent("bot", {"retention_days": 30})
    given = soon(bench)
    ids = [
        await bench.gateway.store("bot", NewMemory("by default")),
        await bench.gateway.store("bot", NewMemory("given", expires_at=given)),
        await bench.gateway.store("other", NewMemory("of another agent")),
    ]
    by_default = (await browser(bench).get("bot", ids[0])).expires_at or 0
    assert abs(by_default - bench.backends.clock() - 30 * DAY_MS) < 60_000
    assert (await browser(bench).get("bot", ids[1])).expires_at == given
    assert (await browser(bench).get("other", ids[2])).expires_at is None
    assert (await browser(bench).get("bot", before)).expires_at is None
    assert await bench.gateway.store("bot", NewMemory("given")) == ids[1]
    assert ((await browser(bench).get("bot", ids[1])).expires_at or 0) >= by_default
    await browser(bench).set_agent("bot", {"retention_days": None})
    await bench.gateway.store("bot", NewMemory("by default"))
    assert (await browser(bench).get("bot", ids[0])).expires_at is None


@pytest.mark.parametrize("days", [0, -1, 36501])
async def test_an_agent_cannot_be_set_to_what_is_no_span(bench: Bench, days: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await browser(bench).set_agent("bot", {"retention_days": days})
    assert [error.field for error in caught.value.errors] == ["retention_days"]


async def test_prune_deletes_what_has_expired_of_all_tenants_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "MAX_CHUNK", 2)
    for tenant in ("acme", "globex"):
        for n in range(3):
            await bench.tenant(tenant).store("bot", NewMemory(f"old {n}", expires_at=soon(bench)))
        await bench.tenant(tenant).store("bot", NewMemory("kept", expires_at=soon(bench)))
        await bench.tenant(tenant).store("bot", NewMemory("kept for ever"))
    await expire(bench, content=Like("old%"))
    told: list[int] = []
    assert await pruned(bench, told) == 6
    assert told == [2, 4, 6]
    assert await bench.memories() == 4
    assert (await bench.queued())["delete"] == 6
    assert await column_of(bench, "audit", "detail", event="expired") == ["{}"] * 6
    await bench.quiet()
    assert await bench.queued() == {}
    assert len(await bench.index.sample("acme", "bot")) == 2
    assert [(await browser(bench, tenant).usage())[0].memories for tenant in ("acme", "globex")] == [2, 2]
    assert await pruned(bench) == 0


@pytest.mark.parametrize("statements", [1, 2, 3, 4])
async def test_a_prune_that_stops_anywhere_is_finished_by_the_next_and_spares_what_was_stored_again(
    bench: Bench, statements: int
) -> None:
    for content in ("one", "two"):
        await bench.gateway.store("bot", NewMemory(content, expires_at=soon(bench)))
    await bench.quiet()
    await expire(bench)
    await bench.database.inner.run(delete_expired(until=2, limit=500)[:statements])
    await bench.gateway.store("bot", NewMemory("two"))
    await bench.quiet()
    await pruned(bench)
    await bench.quiet()
    assert await bench.contents("two") == await listed(bench) == ["two"]
    assert len(await bench.index.sample("acme", "bot")) == 1
    assert await bench.queued() == {}


async def test_prune_deletes_old_keys_audit_rows_receipts_ingestions_and_spend_of_all_tenants_and_no_younger_ones(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "MAX_CHUNK", 2)
    for tenant in ("acme", "globex"):
        for age in ("old", "young"):
            for n in range(3):
                await bench.tenant(tenant).store("bot", NewMemory(f"{age} {n}"), idempotency_key=f"{age}-{n}")
        await bench.tenant(tenant).erase("never")
        await bench.tenant(tenant).erase("never-either")
    await shift_rows(bench, "idempotency", {"created_at": -DAY_MS}, key=Like("old%"))
    for memory_id in await memory_ids(bench, content=Like("old%")):
        await shift_rows(bench, "audit", {"created_at": -400 * DAY_MS}, memory_id=memory_id)
    await shift_rows(bench, "erasure", {"accepted_at": -400 * DAY_MS}, agent_id="never")
    for number, finished_at in enumerate((1, 1, NOW_MS, None)):
        await ingestion(bench, str(number), finished_at=finished_at)
        await proposal(bench, str(number), f"{number:032d}", state="dropped")
        await learning_pass(bench, str(number))
    for day in (1, NOW_MS // DAY_MS):
        await model_spend(bench, day)
    told: list[int] = []
    assert await prune_all(bench, told) == Pruned(
        memories=0,
        idempotency_keys=6,
        audit_rows=6,
        receipts=2,
        ingestions=2,
        model_spend=1,
        episodes=0,
        runs=0,
        working=0,
        workflow_outcomes=0,
        tool_calls=0,
        recalls=0,
        blobs=0,
    )
    assert told == [2, 4, 6, 8, 10, 12, 14, 16, 17]
    assert await prune_all(bench, []) == Pruned(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    for table in ("pass", "proposal"):
        left = await rows_of(bench, table, "ingestion_id", by="ingestion_id")
        assert [row["ingestion_id"] for row in left] == ["2", "3"]
    assert await bench.memories() == 12
    for tenant in ("acme", "globex"):
        _, _, kept = await browser(bench, tenant).usage()
        assert kept == RowCounts(3, 3, 0, 1, rows=dict.fromkeys(kept.rows, 0))


async def test_an_erasure_under_way_is_not_pruned_however_old(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    running = await bench.gateway.erase("bot")
    bench.later(500 * 86_400)
    assert (await prune_all(bench, [])).receipts == 0
    assert (await bench.gateway.erasure(running.id)).status == "running"
