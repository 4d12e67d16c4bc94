"""An erasure takes the rows of every tier, a bounded number at a time, and its receipt counts each kind."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.indexing.jobs import erase
from app.services.memories.browse import Browser
from app.storage import quotas
from app.storage.erasures import KINDS
from app.storage.tiers.tables import TIER_TABLES
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.tables import count_of, set_rows
from tests.support.tier_rows import added, row_of, scopes

OF_AGENTS = [tier for tier in TIER_TABLES if tier.of_agent]
OF_ALL = [tier for tier in TIER_TABLES if not tier.of_agent]


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def fill(bench: Bench, count: int = 3) -> None:
    """Give two agents of two tenants rows in every table."""
    for tenant, agent in (("acme", "bot"), ("acme", "other"), ("globex", "bot")):
        await bench.tenant(tenant).store(agent, NewMemory("red"))
        for tier in TIER_TABLES:
            if tier.key:
                await added(bench, tenant, tier, [row_of(tier, n, agent) for n in range(count)])


async def left(bench: Bench) -> Counter[tuple[str, str, str]]:
    """Count the rows by table, tenant and agent."""
    found: Counter[tuple[str, str, str]] = Counter()
    for tier in TIER_TABLES:
        for row in await scopes(bench, tier):
            found[tier.kind, str(row["tenant_id"]), str(row["agent_id"])] += int(row["n"] or 0)
    return found


async def receipt_of(bench: Bench, erasure_id: str) -> dict[str, int]:
    await bench.quiet(rounds=40)
    done = await bench.gateway.erasure(erasure_id)
    assert done.receipt is not None
    return dict(done.receipt["erased"])


async def test_an_agents_erasure_takes_its_rows_of_every_tier_and_no_others(bench: Bench) -> None:
    await fill(bench)
    before = await left(bench)
    erased = await receipt_of(bench, (await bench.gateway.erase("bot")).id)
    after = await left(bench)
    assert after == Counter(
        {
            (kind, tenant, agent): count
            for (kind, tenant, agent), count in before.items()
            if (tenant, agent) != ("acme", "bot")
        }
    )
    assert erased["memories"] == 1
    assert {tier.kind: erased[tier.kind] for tier in OF_AGENTS if tier.counted} == {
        tier.kind: 3 for tier in OF_AGENTS if tier.counted
    }
    assert all(erased[tier.kind] == 0 for tier in OF_ALL if tier.counted)


async def test_a_tenants_erasure_takes_what_belongs_to_all_its_agents_too(bench: Bench) -> None:
    await fill(bench)
    before = await left(bench)
    erased = await receipt_of(bench, (await bench.gateway.erase(None)).id)
    assert await left(bench) == Counter({key: count for key, count in before.items() if key[1] == "globex"})
    for tier in TIER_TABLES:
        if tier.counted and tier.key:
            assert erased[tier.kind] == sum(
                n for (kind, tenant, _), n in before.items() if (kind, tenant) == (tier.kind, "acme")
            )
    assert set(erased) == set(KINDS)


async def test_an_erasure_is_not_done_at_once_where_a_tier_has_a_row(bench: Bench) -> None:
    for tier in (tier for tier in TIER_TABLES if tier.key):
        await added(bench, "acme", tier, [row_of(tier, 1, "bot")])
        assert (await bench.gateway.erase("bot")).status == ("running" if tier.of_agent else "done"), tier.kind
        whole = await bench.gateway.erase(None)
        assert whole.status == "running", tier.kind
        await bench.quiet(rounds=40)
        assert (await bench.gateway.erasure(whole.id)).status == "done", tier.kind
        assert await left(bench) == Counter(), tier.kind


async def test_rows_go_a_bounded_number_at_a_time_and_are_counted_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = next(tier for tier in TIER_TABLES if tier.kind == "episodes")
    await added(bench, "acme", episodes, [row_of(episodes, n, "bot") for n in range(23)])
    for name, value in {"MAX_CHUNK": 5, "MAX_CHUNKS": 1}.items():
        monkeypatch.setattr(erase, name, value)
    accepted = await bench.gateway.erase("bot")
    seen = []
    for _ in range(6):
        await bench.indexer.round()
        seen.append(await count_of(bench, "memory_episodes"))
    assert seen == [18, 13, 8, 3, 0, 0]
    assert (await receipt_of(bench, accepted.id))["episodes"] == 23


async def test_a_receipt_from_before_the_tiers_is_shown_as_it_was(bench: Bench) -> None:
    accepted = await bench.gateway.erase("bot")
    erased = {"memories": 1, "outbox_rows": 0, "dead_letters": 0, "idempotency_keys": 0}
    receipt = {"finished_at": 1, "erased": erased, "found_by_id": 0, "found_by_search": 0, "history_until": None}
    await set_rows(bench, "erasure", {"receipt": json.dumps(receipt)})
    shown = (await bench.gateway.erasure(accepted.id)).receipt
    assert shown is not None
    assert shown["erased"] == erased


async def test_the_rows_of_each_counted_kind_are_counted_of_the_tenant_alone_and_no_further_than_so_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(bench)
    before = await left(bench)
    counted = (await Browser(bench.backends.of_tenant("acme")).usage())[2].rows
    assert counted == {
        tier.kind: sum(n for (kind, tenant, _), n in before.items() if (kind, tenant) == (tier.kind, "acme"))
        for tier in TIER_TABLES
        if tier.counted
    }
    counting = quotas._ROW_COUNTS.replace(f"LIMIT {quotas.MAX_ROWS}", "LIMIT 2")  # noqa: SLF001
    monkeypatch.setattr(quotas, "_ROW_COUNTS", counting)
    assert set((await Browser(bench.backends.of_tenant("acme")).usage())[2].rows.values()) == {2}
