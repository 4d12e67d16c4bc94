"""Memories that were stored before statements were read get their claims afterwards."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.backfill import backfill_claims
from app.storage.migrations.runner import known_migrations
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on

CLAIMS = "SELECT key, value, whole, opens, superseded_by, memory_id FROM claim ORDER BY key, happened_at, memory_id"
HIDDEN = "SELECT content FROM long_term_memory WHERE superseded_at IS NOT NULL ORDER BY id"
UNREAD = "SELECT count(*) AS n FROM long_term_memory WHERE statements_read IS NULL"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def forget_what_was_read(bench: Bench) -> None:
    """Make the memories as an older version has left them."""
    await bench.change("DELETE FROM claim")
    await bench.change("UPDATE long_term_memory SET statements_read = NULL, superseded_at = NULL")


async def test_older_memories_get_the_claims_that_they_would_have_got(bench: Bench) -> None:
    for day, content in enumerate(
        ("I live in Rome", "It rained on Monday", "I moved to Oslo", "My phone number is 555-0101")
    ):
        await bench.gateway.store("bot", NewMemory(content, occurred_at=day * 86_400_000))
    await bench.gateway.store("other", NewMemory("I live in Lima"))
    before = await bench.rows(CLAIMS)
    assert len(before) == 4
    await forget_what_was_read(bench)
    assert await backfill_claims(bench.database) == 5
    assert await bench.rows(CLAIMS) == before
    assert await bench.rows(UNREAD) == [{"n": 0}]
    entries = (await bench.gateway.recall("bot", Query("Where do I live?", top_k=1))).entries
    assert [entry.content for entry in entries] == ["I moved to Oslo"]
    assert await backfill_claims(bench.database) == 0


async def test_what_its_writer_may_not_say_for_somebody_claims_nothing_afterwards_either(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("I live in Rome"))
    await forget_what_was_read(bench)
    await bench.change("UPDATE long_term_memory SET speaker_holds = 0")
    assert await backfill_claims(bench.database) == 1
    assert await bench.rows(CLAIMS) == []


async def test_many_memories_are_read_batch_by_batch(bench: Bench) -> None:
    for number in range(130):
        await bench.gateway.store("bot", NewMemory(f"My phone number is 555-{number:04d}"))
    await forget_what_was_read(bench)
    assert await backfill_claims(bench.database) == 130
    (holding,) = await bench.rows("SELECT sum(opens AND superseded_by IS NULL) AS n FROM claim")
    assert holding["n"] == 1


async def test_days_that_an_older_version_took_for_corrections_hold_again(bench: Bench) -> None:
    for content in ("Yoga is on Tuesdays.", "Yoga is on Sundays.", "I live in Rome"):
        await bench.gateway.store("bot", NewMemory(content))
    first, last = await bench.rows("SELECT memory_id FROM claim WHERE key = 'yoga/day' ORDER BY memory_id")
    await bench.change("DELETE FROM claim WHERE key = 'yoga/day'")
    for memory, value in ((first, "weekday 2"), (last, "weekday 7")):
        await bench.change(
            "INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole) "
            f"SELECT tenant_id, agent_id, 'yoga/day', happened_at, id, '{value}', 1 FROM long_term_memory "
            f"WHERE id = '{memory['memory_id']}'"
        )
    assert await bench.rows(HIDDEN) == [{"content": "Yoga is on Tuesdays."}]
    (migration,) = (each for each in known_migrations() if each.name == "0038_moments_read_again.sql")
    for statement in migration.statements[:-1]:
        await bench.change(statement)
    assert await backfill_claims(bench.database) == 2
    assert await bench.rows(HIDDEN) == []
    await bench.gateway.store("bot", NewMemory("Yoga has moved to Fridays."))
    assert len(await bench.rows(HIDDEN)) == 2
