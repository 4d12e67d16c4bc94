"""Quotas: never more than the limit, whoever stores at the same time, and counts that are those of the tables."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import EmbeddingConfigMismatch, Erasing, IdempotencyKeyReused, QuotaExceeded
from app.domain.memory import NewMemory
from app.domain.quotas import UNLIMITED, Defaults, Limits, Use
from app.ports.database import Row, RunRefused, Statement
from app.services.memories.browse import Browser
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.transfer.importer import Import
from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record
from app.services.transfer.report import ImportReport
from app.storage.quotas import Quotas
from tests.support.backends import Backend
from tests.support.counts import counted, usage_of
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.tables import column_of, delete_rows, rows_of, set_rows

NONE = Defaults()


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def limited(
    bench: Bench, *, tenant: Limits | None = None, agent: Limits | None = None, of: str = "acme"
) -> LongTermMemoryGateway:
    quotas = Defaults(tenant or Limits(), agent or Limits())
    return LongTermMemoryGateway(with_changed(bench.backends, quotas=quotas).of_tenant(of, ADMINISTRATOR))


async def stores(bench: Bench) -> list[object]:
    return await column_of(bench, "usage", "stores", by="agent_id")


async def assert_counts_are_right(bench: Bench) -> None:
    assert await usage_of(bench) == await counted(bench)


@pytest.mark.parametrize(
    ("limits", "room"),
    [
        (Defaults(agent=Limits(memories=7)), 7),
        (Defaults(tenant=Limits(memories=7)), 7),
        (Defaults(agent=Limits(bytes=100)), 10),
        (Defaults(agent=Limits(stores_per_minute=9)), 9),
        (Defaults(Limits(stores_per_minute=9), Limits(stores_per_minute=100)), 9),
    ],
)
async def test_of_64_stores_at_the_limit_over_two_gateways_as_many_are_let_in_as_fit(
    bench: Bench, limits: Defaults, room: int
) -> None:
    if {limits.agent.stores_per_minute, limits.tenant.stores_per_minute} != {None}:
        await in_one_minute(bench)
    gateways = [limited(bench, tenant=limits.tenant, agent=limits.agent) for _ in range(2)]
    memories = [NewMemory(f"memory{n:02}") for n in range(64)]  # ten bytes each, with its metadata
    results = await asyncio.gather(
        *(gateways[n % 2].store("bot", memory) for n, memory in enumerate(memories)), return_exceptions=True
    )
    assert sum(isinstance(result, str) for result in results) == room
    assert all(isinstance(result, str | QuotaExceeded) for result in results)
    assert await bench.memories() == room
    await assert_counts_are_right(bench)


async def in_one_minute(bench: Bench) -> None:
    """Begin early in a minute of the database's clock, where little of this one is left."""
    second = bench.clock() // 1000 % 60
    if second >= 54:
        bench.later(61 - second)


async def test_a_store_over_a_limit_names_it_and_writes_nothing(bench: Bench) -> None:
    gateway = limited(bench, agent=Limits(memories=1), tenant=Limits(bytes=15))
    await gateway.store("bot", NewMemory("0123456789"))
    with pytest.raises(QuotaExceeded, match="agent's limit of 1 memories, of which 1") as caught:
        await gateway.store("bot", NewMemory("another"), idempotency_key="key")
    assert "memories;scope=agent;used=1;limit=1" in caught.value.reached
    assert "bytes;scope=tenant;used=12;limit=15" in caught.value.reached
    assert caught.value.retry_after is None
    for table in ("long_term_memory", "audit", "outbox"):
        assert len(await rows_of(bench, table)) <= 1
    assert await rows_of(bench, "idempotency") == []


async def test_only_where_the_minute_is_full_the_refusal_says_when_it_is_over(bench: Bench) -> None:
    await in_one_minute(bench)
    gateway = limited(bench, agent=Limits(stores_per_minute=1))
    await gateway.store("bot", NewMemory("one"))
    with pytest.raises(QuotaExceeded, match="1 stores per minute") as caught:
        await gateway.store("bot", NewMemory("two"))
    assert caught.value.retry_after is not None
    assert 1 <= caught.value.retry_after <= 60
    bench.later(60)
    await gateway.store("bot", NewMemory("two"))
    assert await stores(bench) == [1, 1]


async def test_what_is_refused_is_not_counted_as_a_store(bench: Bench) -> None:
    await in_one_minute(bench)
    gateway = limited(bench, agent=Limits(memories=1))
    await gateway.store("bot", NewMemory("one"), idempotency_key="key")
    await gateway.store("bot", NewMemory("one"), idempotency_key="key")
    with pytest.raises(IdempotencyKeyReused):
        await gateway.store("bot", NewMemory("two"), idempotency_key="key")
    with pytest.raises(QuotaExceeded):
        await gateway.store("bot", NewMemory("two"))
    assert await stores(bench) == [1, 1]


async def test_at_the_limit_what_is_there_may_be_stored_again_with_less_or_as_much_metadata(bench: Bench) -> None:
    gateway = limited(bench, agent=Limits(memories=1, bytes=11))
    memory_id = await gateway.store("bot", NewMemory("text", {"a": 1}))
    assert await gateway.store("bot", NewMemory("text", {"b": 2})) == memory_id
    assert await gateway.store("bot", NewMemory("text")) == memory_id
    assert await gateway.store("bot", NewMemory("text", {"b": 2})) == memory_id
    with pytest.raises(QuotaExceeded, match="11 bytes"):
        await gateway.store("bot", NewMemory("text", {"b": 22}))
    await set_rows(bench, "usage", {"memories": 5, "bytes": 500})  # as if the limits had been lowered
    assert await gateway.store("bot", NewMemory("text", {"a": 3})) == memory_id


async def test_an_agent_over_its_limit_leaves_the_others_and_other_tenants_alone(bench: Bench) -> None:
    limits = Limits(memories=1)
    gateway = limited(bench, agent=limits)
    await gateway.store("bot", NewMemory("one"))
    with pytest.raises(QuotaExceeded):
        await gateway.store("bot", NewMemory("two"))
    await gateway.store("other", NewMemory("two"))
    await limited(bench, agent=limits, of="neighbour").store("bot", NewMemory("two"))


async def test_a_limit_the_operator_sets_takes_the_place_of_the_default_until_it_is_cleared(bench: Bench) -> None:
    gateway, quotas = limited(bench, agent=Limits(memories=1)), Quotas("acme", NONE)
    await gateway.store("bot", NewMemory("one"))
    await bench.database.run([quotas.set("bot", {"memories": 2})])
    await gateway.store("bot", NewMemory("two"))
    with pytest.raises(QuotaExceeded):
        await gateway.store("bot", NewMemory("three"))
    await bench.database.run([quotas.set("bot", {"memories": UNLIMITED})])
    await gateway.store("bot", NewMemory("three"))
    await bench.database.run([quotas.set("bot", {"bytes": 0})])  # the other limit stays as it is
    with pytest.raises(QuotaExceeded, match="limit of 0 bytes"):
        await gateway.store("bot", NewMemory("four"))
    await bench.database.run([quotas.set("bot", {"bytes": None})])
    await gateway.store("bot", NewMemory("four"))
    await bench.database.run([quotas.clear("bot")])
    with pytest.raises(QuotaExceeded, match="limit of 1 memories"):
        await gateway.store("bot", NewMemory("five"))


async def test_from_four_fifths_of_a_limit_a_store_is_told(bench: Bench) -> None:
    told: list[list[str]] = []

    def warn(uses: Sequence[Use]) -> None:
        told.append([use.header for use in uses])

    gateway = limited(bench, agent=Limits(memories=5), tenant=Limits(memories=6))
    for n in range(5):
        await gateway.store("bot", NewMemory(str(n)), warn=warn)
    of_agent = [f"memories;scope=agent;used={used};limit=5" for used in (4, 5)]
    assert told == [[], [], [], of_agent[:1], [of_agent[1], "memories;scope=tenant;used=5;limit=6"]]


async def again(bench: Bench, run: Sequence[Statement]) -> list[list[Row]]:
    """Make a run again, as an adapter does that does not know how it ended."""
    return await bench.database.inner.run(run)


async def last_store(bench: Bench) -> list[Statement]:
    return next(run for run in reversed(bench.database.runs) if "INTO long_term_memory" in run[2].sql)


async def test_a_run_made_again_is_neither_counted_nor_refused_a_second_time(bench: Bench) -> None:
    await in_one_minute(bench)
    gateway = limited(bench, agent=Limits(memories=2, bytes=20, stores_per_minute=2))
    await gateway.store("bot", NewMemory("one"))
    run = await last_store(bench)
    assert len((await again(bench, run))[2]) == 1
    await gateway.store("bot", NewMemory("two"))
    assert len((await again(bench, run))[2]) == 1  # though the limits are reached by now
    assert await stores(bench) == [2, 2]
    await assert_counts_are_right(bench)


async def test_a_run_made_again_does_not_bring_back_what_was_deleted(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("one"))
    run = await last_store(bench)
    await bench.gateway.delete("bot", memory_id)
    for reason in ("deleted", "erasing"):
        with pytest.raises(RunRefused, match=reason):
            await again(bench, run)
        assert await bench.memories() == 0
        await bench.gateway.erase("bot")
    await assert_counts_are_right(bench)


@pytest.mark.parametrize("number", range(6))
async def test_a_run_that_stops_anywhere_and_is_made_again_is_done_once(bench: Bench, number: int) -> None:
    await in_one_minute(bench)
    gateway = limited(bench, agent=Limits(memories=2, stores_per_minute=2))
    await gateway.store("bot", NewMemory("one"), idempotency_key="key")
    run = await last_store(bench)
    for table in ("long_term_memory", "outbox", "audit", "idempotency", "usage"):
        await delete_rows(bench, table)
    if number:
        await again(bench, run[:number])
        await assert_counts_are_right(bench)
    done = number == len(run) - 1  # what is left of the run only reads
    with pytest.raises(RunRefused, match="key_used") if done else nullcontext():
        await again(bench, run)
    assert await bench.memories() == 1
    assert await stores(bench) == [1, 1]
    assert len(await rows_of(bench, "idempotency")) == 1
    await assert_counts_are_right(bench)


async def another_config(bench: Bench) -> None:
    """Have the data be embedded with another config."""
    for table in ("embedding_in_use", "embedding_config"):
        await set_rows(bench, table, {"model": "other", "index_name": "other"})


async def test_a_config_that_is_claimed_first_costs_no_second_store(bench: Bench) -> None:
    await in_one_minute(bench)
    await another_config(bench)
    await limited(bench, agent=Limits(stores_per_minute=1)).store("bot", NewMemory("one"))
    assert await stores(bench) == [1, 1]
    await another_config(bench)
    with pytest.raises(EmbeddingConfigMismatch):
        await bench.gateway.store("bot", NewMemory("two"))
    assert await stores(bench) == [1, 1]


async def test_an_erased_agent_leaves_no_count_and_no_setting_but_what_the_operator_has_set(bench: Bench) -> None:
    quotas = Quotas("acme", NONE)
    browser = Browser(with_changed(bench.backends, quotas=NONE).of_tenant("acme"))
    for agent in ("bot", "other"):
        await bench.gateway.store(agent, NewMemory("one"))
        await bench.database.run([quotas.set(agent, {"memories": 9})])
        await browser.set_agent(agent, {"retention_days": 3})
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await bench.gateway.store("bot", NewMemory("two"))
    await bench.quiet()
    for table in ("usage", "agent"):
        agents = await column_of(bench, table, "agent_id", by="agent_id")
        assert [agent for agent in agents if agent] == ["other"]
    assert (await browser.usage_of("bot")).memories == 0
    assert (await browser.usage())[0].memories == 1
    assert len(await rows_of(bench, "quota")) == 2
    await bench.gateway.erase(None)
    await bench.quiet()
    assert await rows_of(bench, "usage") == []
    assert await rows_of(bench, "agent") == []


async def imported(bench: Bench, contents: list[str], agents: list[str], quotas: Defaults) -> list[dict[str, Any]]:
    """Import memories in one batch and return the lines of the report."""
    report = ImportReport()
    try:
        taking = Import(with_changed(bench.backends, quotas=quotas).of_tenant("acme"), report)
        await taking.begin()
        for number, (content, agent_id) in enumerate(zip(contents, agents, strict=True), start=1):
            await taking.add(number, memory_line(Record(agent_id=agent_id, content=content)))
        await taking.finish()
        return [json.loads(line) for chunk in report.chunks() for line in chunk.splitlines()][: len(contents)]
    finally:
        report.close()


async def test_an_import_takes_in_what_there_is_room_for_and_names_the_lines_there_is_none_for(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("0123456789"))
    quotas = Defaults(tenant=Limits(memories=5), agent=Limits(memories=3, bytes=100))
    contents = [f"content {n}" for n in range(7)]
    lines = await imported(bench, contents, ["bot"] * 4 + ["other"] * 3, quotas)
    assert [line["status"] for line in lines] == ["imported"] * 2 + ["rejected"] * 5
    assert {line["detail"] for line in lines[2:]} == {"is over a limit of its agent or of the tenant (GET /usage)"}
    again = await imported(bench, contents, ["bot"] * 4 + ["other"] * 3, quotas)
    assert [line["status"] for line in again[:2]] == ["unchanged"] * 2
    assert (await Browser(with_changed(bench.backends, quotas=NONE).of_tenant("acme")).usage())[0].memories <= 5
    await assert_counts_are_right(bench)


async def test_an_import_is_held_to_the_bytes_that_are_left(bench: Bench) -> None:
    quotas = Defaults(agent=Limits(bytes=30))
    lines = await imported(bench, ["x" * 20, "y" * 8, "z"], ["bot"] * 3, quotas)
    assert [line["status"] for line in lines] == ["imported", "rejected", "rejected"]


@pytest.mark.parametrize("seed", range(3))
async def test_the_counts_are_those_of_the_tables_after_anything_done_at_the_same_time(bench: Bench, seed: int) -> None:
    dice = random.Random(seed)
    stored: list[tuple[str, str, str]] = []

    async def act() -> None:
        tenant, agent = dice.choice(("acme", "globex")), dice.choice(("a", "b"))
        gateway = bench.tenant(tenant)
        kind = dice.choices(("store", "delete", "erase", "batch"), (70, 20, 3, 7))[0]
        if kind == "delete" and stored:
            tenant, agent, id_ = dice.choice(stored)
            await bench.tenant(tenant).delete(agent, id_)
        elif kind == "erase":
            await gateway.erase(dice.choice((agent, None)))
        elif kind == "batch":
            await bench.indexer.round()
        else:
            metadata = {"k": "é" * dice.randrange(4)} if dice.random() < 0.5 else {}
            content = f"ü {dice.randrange(6)}"
            try:
                stored.append((tenant, agent, await gateway.store(agent, NewMemory(content, metadata))))
            except Erasing:
                bench.later(300)

    for _ in range(12):
        await asyncio.gather(*(act() for _ in range(6)))
        await assert_counts_are_right(bench)
