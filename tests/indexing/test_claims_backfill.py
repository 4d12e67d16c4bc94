"""What older versions have kept gets, after the start, the keys that it would get now."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.facts import Fact
from app.domain.memory import NewMemory
from app.indexing.jobs.backfill import backfill_claims
from app.ports.database import Row
from app.storage.migrations.runner import known_migrations
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.memories import claim, mark_read, memory_column, memory_rows, set_memories, superseded
from tests.support.tables import column_of, count_of, delete_rows, insert_rows, rows_of, set_rows

DAY = 86_400_000
HOMES = [Fact("user", "lives in", place, single=True) for place in ("Rome", "Oslo")]


async def hidden(bench: Bench) -> list[str]:
    return await superseded(bench, by="id")


async def claims_rows(bench: Bench) -> list[Row]:
    return await rows_of(
        bench, "claim", "key", "value", "whole", "opens", "superseded_by", "memory_id", by="key, happened_at, memory_id"
    )


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def tell(bench: Bench, fact: Fact, day: int) -> str:
    return await bench.gateway.store("bot", NewMemory(fact.sentence, fact.metadata, occurred_at=day * DAY))


async def as_an_older_version_left_it(bench: Bench, key: str) -> None:
    """Give all claims a key that rules have made, and take from facts what older versions did not know."""
    for row in await memory_rows(bench, "id", "metadata"):
        fields = json.loads(str(row["metadata"]))
        fields.get("fact", {}).pop("single", None)
        await set_memories(bench, {"metadata": json.dumps(fields)}, id=row["id"])
    claims = await rows_of(bench, "claim", "tenant_id", "agent_id", "happened_at", "memory_id", "value")
    await delete_rows(bench, "claim")
    await insert_rows(bench, "claim", *({**claim, "key": key, "whole": 1} for claim in claims))
    (migration,) = (each for each in known_migrations() if each.name == "0043_keys_as_told.sql")
    await mark_read(bench)
    await bench.change(migration.statements[-1])


async def test_facts_of_an_older_version_get_their_keys_and_what_they_replaced_stays_replaced(bench: Bench) -> None:
    for day, home in enumerate(HOMES):
        await tell(bench, home, day)
    before, replaced = await claims_rows(bench), await hidden(bench)
    assert replaced == ["user lives in - Rome"]
    await as_an_older_version_left_it(bench, "user/home town")
    assert await hidden(bench) == replaced
    assert await backfill_claims(bench.database) == 2
    assert await claims_rows(bench) == before
    assert await hidden(bench) == replaced
    assert await memory_column(bench, "statements_read") == [0, 0]
    assert await backfill_claims(bench.database) == 0


async def test_facts_that_hold_together_do_so_afterwards(bench: Bench) -> None:
    for day, said in enumerate(("tea", "figs")):
        await tell(bench, Fact("user", "likes", said), day)
    before = await claims_rows(bench)
    for key in await column_of(bench, "claim", "key"):
        await set_rows(bench, "claim", {"key": key.replace("user/", "the user/")}, key=key)
    await mark_read(bench, read=None)
    assert await backfill_claims(bench.database) == 2
    assert await claims_rows(bench) == before
    assert await hidden(bench) == []


async def test_what_rules_have_read_in_texts_stays_until_a_reader_reads_them(bench: Bench) -> None:
    for day, place in enumerate(("Rome", "Oslo")):
        content = f"I live in {place}"
        id_ = await bench.gateway.store("bot", NewMemory(content, occurred_at=day * DAY))
        await claim(bench, "user/lives_in", place, id_, day * DAY)
    await mark_read(bench, read=None)
    before = await claims_rows(bench)
    assert await backfill_claims(bench.database) == 2
    assert await claims_rows(bench) == before
    assert await hidden(bench) == ["I live in Rome"]
    assert await memory_column(bench, "statements_read") == [0, 0]


async def test_what_its_writer_may_not_say_for_somebody_claims_nothing_afterwards_either(bench: Bench) -> None:
    await tell(bench, HOMES[0], 1)
    await delete_rows(bench, "claim")
    await set_memories(bench, {"statements_read": None, "speaker_holds": 0})
    assert await backfill_claims(bench.database) == 1
    assert await claims_rows(bench) == []


async def test_many_memories_are_read_batch_by_batch(bench: Bench) -> None:
    for number in range(130):
        await tell(bench, Fact("user", "phone", f"555-{number:04d}", single=True), number)
    await delete_rows(bench, "claim")
    await set_memories(bench, {"statements_read": None, "superseded_at": None})
    assert await backfill_claims(bench.database) == 130
    assert await count_of(bench, "claim", opens=1, superseded_by=None) == 1
