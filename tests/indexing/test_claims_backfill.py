"""What older versions have kept gets, after the start, the keys that it would get now."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.facts import Fact
from app.domain.memory import NewMemory
from app.indexing.jobs.backfill import backfill_claims
from app.storage.migrations.runner import known_migrations
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on

DAY = 86_400_000
CLAIMS = "SELECT key, value, whole, opens, superseded_by, memory_id FROM claim ORDER BY key, happened_at, memory_id"
HIDDEN = "SELECT content FROM long_term_memory WHERE superseded_at IS NOT NULL ORDER BY id"
STATES = "SELECT statements_read AS state, count(*) AS n FROM long_term_memory GROUP BY statements_read"
HOMES = [Fact("user", "lives in", place, single=True) for place in ("Rome", "Oslo")]


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def tell(bench: Bench, fact: Fact, day: int) -> str:
    return await bench.gateway.store("bot", NewMemory(fact.sentence, fact.metadata, occurred_at=day * DAY))


async def as_an_older_version_left_it(bench: Bench, key: str) -> None:
    """Give all claims a key that rules have made, and take from facts what older versions did not know."""
    ids = {
        str(row["id"]): str(row["metadata"]) for row in await bench.rows("SELECT id, metadata FROM long_term_memory")
    }
    claims = await bench.rows("SELECT * FROM claim ORDER BY happened_at")
    await bench.change("DELETE FROM claim")
    for id_, metadata in ids.items():
        fields = json.loads(metadata)
        fields.get("fact", {}).pop("single", None)
        await bench.change(f"UPDATE long_term_memory SET metadata = '{json.dumps(fields)}' WHERE id = '{id_}'")
    for claim in claims:
        values = (
            claim["tenant_id"],
            claim["agent_id"],
            key,
            claim["happened_at"],
            claim["memory_id"],
            claim["value"],
            1,
        )
        columns = "tenant_id, agent_id, key, happened_at, memory_id, value, whole"
        await bench.change(f"INSERT INTO claim ({columns}) VALUES {values}")
    (migration,) = (each for each in known_migrations() if each.name == "0043_keys_as_told.sql")
    await bench.change("UPDATE long_term_memory SET statements_read = 1")
    await bench.change(migration.statements[-1])


async def test_facts_of_an_older_version_get_their_keys_and_what_they_replaced_stays_replaced(bench: Bench) -> None:
    for day, home in enumerate(HOMES):
        await tell(bench, home, day)
    before, hidden = await bench.rows(CLAIMS), await bench.rows(HIDDEN)
    assert [row["content"] for row in hidden] == ["user lives in - Rome"]
    await as_an_older_version_left_it(bench, "user/home town")
    assert await bench.rows(HIDDEN) == hidden
    assert await backfill_claims(bench.database) == 2
    assert await bench.rows(CLAIMS) == before
    assert await bench.rows(HIDDEN) == hidden
    assert await bench.rows(STATES) == [{"state": 0, "n": 2}]
    assert await backfill_claims(bench.database) == 0


async def test_facts_that_hold_together_do_so_afterwards(bench: Bench) -> None:
    for day, said in enumerate(("tea", "figs")):
        await tell(bench, Fact("user", "likes", said), day)
    before = await bench.rows(CLAIMS)
    await bench.change("UPDATE claim SET key = replace(key, 'user/', 'the user/')")
    await bench.change("UPDATE long_term_memory SET statements_read = NULL")
    assert await backfill_claims(bench.database) == 2
    assert await bench.rows(CLAIMS) == before
    assert await bench.rows(HIDDEN) == []


async def test_what_rules_have_read_in_texts_stays_until_a_reader_reads_them(bench: Bench) -> None:
    for day, place in enumerate(("Rome", "Oslo")):
        content = f"I live in {place}"
        id_ = await bench.gateway.store("bot", NewMemory(content, occurred_at=day * DAY))
        await bench.change(
            "INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole) "
            f"VALUES ('acme', 'bot', 'user/lives_in', {day * DAY}, '{id_}', '{place}', 1)"
        )
    await bench.change("UPDATE long_term_memory SET statements_read = NULL")
    before = await bench.rows(CLAIMS)
    assert await backfill_claims(bench.database) == 2
    assert await bench.rows(CLAIMS) == before
    assert await bench.rows(HIDDEN) == [{"content": "I live in Rome"}]
    assert await bench.rows(STATES) == [{"state": 0, "n": 2}]


async def test_what_its_writer_may_not_say_for_somebody_claims_nothing_afterwards_either(bench: Bench) -> None:
    await tell(bench, HOMES[0], 1)
    await bench.change("DELETE FROM claim")
    await bench.change("UPDATE long_term_memory SET statements_read = NULL, speaker_holds = 0")
    assert await backfill_claims(bench.database) == 1
    assert await bench.rows(CLAIMS) == []


async def test_many_memories_are_read_batch_by_batch(bench: Bench) -> None:
    for number in range(130):
        await tell(bench, Fact("user", "phone", f"555-{number:04d}", single=True), number)
    await bench.change("DELETE FROM claim")
    await bench.change("UPDATE long_term_memory SET statements_read = NULL, superseded_at = NULL")
    assert await backfill_claims(bench.database) == 130
    (holding,) = await bench.rows("SELECT sum(opens AND superseded_by IS NULL) AS n FROM claim")
    assert holding["n"] == 1
