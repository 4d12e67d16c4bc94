"""The gate of every tier: nothing is written in a scope that is being erased, whichever tier it is."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import Erasing
from app.domain.memory import NewMemory, Scope, Tenant
from app.services.tenant.writing import write
from app.storage.tiers.rows import TierRows
from app.storage.tiers.tables import TIER_TABLES, TierTable
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.tables import rows_of
from tests.support.tier_rows import row_of


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


@pytest.mark.parametrize("tier", [tier for tier in TIER_TABLES if tier.key], ids=lambda tier: tier.kind)
async def test_no_row_of_a_tier_is_written_while_its_scope_is_erased(bench: Bench, tier: TierTable) -> None:
    backends = bench.backends.of_tenant("acme")
    insert = TierRows("acme", replace(tier, parent=None, limits=())).insert([row_of(tier, 1)], [])
    await bench.gateway.store("bot", NewMemory("red"))
    await bench.gateway.erase("bot" if tier.of_agent else None)
    with pytest.raises(Erasing):
        await write(backends, Scope("acme", "bot") if tier.of_agent else Tenant("acme"), [insert])
    assert await rows_of(bench, tier.table) == []
    await bench.quiet()
    await write(backends, Scope("acme", "bot") if tier.of_agent else Tenant("acme"), [insert])
    assert len(await rows_of(bench, tier.table)) == 1
