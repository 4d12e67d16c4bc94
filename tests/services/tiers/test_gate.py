"""The gate of every tier: nothing is written in a scope that is being erased, whichever tier it is."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import Erasing
from app.domain.memory import NewMemory, Scope, Tenant
from app.services.tenant.writing import write
from app.storage.tiers.rows import TierRows
from app.storage.tiers.tables import TIER_TABLES
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.tables import rows_of
from tests.support.tier_rows import row_of


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def test_no_row_of_a_tier_is_written_while_its_scope_is_erased(bench: Bench) -> None:
    for tier in (tier for tier in TIER_TABLES if tier.key):
        tenant = tier.kind.replace("_", "-")
        gateway = bench.tenant(tenant)
        backends = bench.backends.of_tenant(tenant)
        insert = TierRows(tenant, replace(tier, parent=None, limits=())).insert([row_of(tier, 1)], [])
        await gateway.store("bot", NewMemory("red"))
        await gateway.erase("bot" if tier.of_agent else None)
        with pytest.raises(Erasing):
            await write(backends, Scope(tenant, "bot") if tier.of_agent else Tenant(tenant), [insert])
        assert await rows_of(bench, tier.table) == [], tier.kind
        await bench.quiet()
        await write(backends, Scope(tenant, "bot") if tier.of_agent else Tenant(tenant), [insert])
        assert len(await rows_of(bench, tier.table)) == 1, tier.kind
