"""Commands on an account: those that may make many calls lease a share; behind an edge nothing is counted."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.adapters.cloudflare.call_budget import RESERVE, CallBudget
from app.adapters.cloudflare.command_budget import CommandBudget
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.bootstrap import build_shards, open_database, open_databases, open_tenant_database, read_shards
from app.domain.errors import ConfigurationError
from app.domain.shards import MAIN
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Row
from app.runtime.call_shares import CallShares
from app.settings import Settings
from tests.support.backends import Backend, running_on
from tests.support.edge import running_edge
from tests.support.service import serving, settings_for
from tests.support.tables import insert_rows, rows_of

SCALE = 100.0
LIMIT = 200
CLOUDFLARES = 218
"""As much more as 1,200 is than 1,100."""
CHUNK = 40
OLD_EVENT = {"tenant_id": "acme", "agent_id": "bot", "event": "stored", "detail": "{}", "created_at": 1}


async def add_old_rows(settings: Settings, count: int) -> None:
    database, close = await open_database(settings)
    await insert_rows(database, "audit", *[OLD_EVENT] * count)
    await close()


async def prune(settings: Settings) -> Pruned:
    """Do what the command does, as fast as it can."""
    async with open_databases(settings, leased=True) as databases:
        job = Prune(
            databases[MAIN], audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=lambda _: None
        )
        return await job.run()


async def shares(settings: Settings) -> list[Row]:
    database, close = await open_database(settings)
    rows = await rows_of(database, "call_share", "replica", "calls")
    await close()
    return rows


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """An account that blocks past fewer calls than Cloudflare, and whose clock is that of all budgets."""
    monkeypatch.setattr("memory_gateway_double.rate_limit.CALLS", CLOUDFLARES)
    monkeypatch.setattr("app.indexing.jobs.prune.MAX_CHUNK", CHUNK)
    with running_on("cloudflare", rate_limit=True, time_scale=SCALE) as account:
        account.settings(tmp_path)
        clock = account.doubles[tmp_path].double.clock.now

        async def sleep(seconds: float) -> None:
            await asyncio.sleep(seconds / SCALE)

        for name, made in {
            "CallBudget": partial(CallBudget, clock=clock),
            "CommandBudget": partial(CommandBudget, clock=clock, sleep=sleep),
            "TenantCalls": partial(TenantCalls, clock=clock),
            "CallShares": partial(CallShares, clock=clock, sleep=sleep),
        }.items():
            monkeypatch.setattr(f"app.bootstrap.account.{name}", made)
        yield account


@pytest.mark.long
async def test_a_prune_of_thousands_of_rows_beside_a_service_that_uses_its_share_never_meets_the_block(
    tmp_path: Path, limited: Backend
) -> None:
    given: dict[str, Any] = limited.settings(tmp_path) | {"cloudflare_calls_per_window": LIMIT}
    settings = settings_for(tmp_path, **given)
    await add_old_rows(settings, 3_000)
    with capture_logs() as logs:
        async with serving(tmp_path, on=limited, cloudflare_calls_per_window=LIMIT) as service:
            statuses: set[int] = set()
            pruning: asyncio.Task[Pruned] | None = None
            for number in range(10 * LIMIT):
                if number >= LIMIT and 429 in statuses:  # a slow machine takes longer to use its share up
                    break
                answer = await service.post("/recall", {"agent_id": "bot", "query": f"query {number}"})
                statuses.add(answer.status_code)
                if number == LIMIT // 10:
                    pruning = asyncio.create_task(prune(settings))
            assert pruning is not None
            pruned = await pruning
    assert pruned.audit_rows == 3_000
    assert statuses == {200, 429}
    assert "cloudflare_blocks" not in {entry["event"] for entry in logs}


async def test_a_prune_leases_a_share_and_gives_it_back(tmp_path: Path, account: Backend) -> None:
    given = account.settings(tmp_path) | {"cloudflare_calls_per_window": 1_100}
    settings = settings_for(tmp_path, **given)
    async with open_databases(settings, leased=True):
        (held,) = await shares(settings)
        assert int(held["calls"] or 0) > 0
    assert [row["calls"] for row in await shares(settings)] == [0]


async def test_a_command_of_few_calls_leases_nothing(tmp_path: Path, account: Backend) -> None:
    given = account.settings(tmp_path) | {"cloudflare_calls_per_window": 1_100}
    settings = settings_for(tmp_path, **given)
    assert list(await read_shards(settings)) == []
    _, close = await open_tenant_database(settings, "acme")
    await close()
    async with open_databases(settings):
        assert await shares(settings) == []
    assert await shares(settings) == []


async def test_a_command_that_leases_a_share_on_an_older_schema_says_what_to_run(
    tmp_path: Path, account: Backend
) -> None:
    given = account.settings(tmp_path) | {"cloudflare_calls_per_window": 1_100}
    given["cloudflare_d1_database_id"] = account.doubles[tmp_path].double.create_database("empty")
    settings = settings_for(tmp_path, **given)
    with pytest.raises(ConfigurationError, match="memory-gateway migrate"):
        async with open_databases(settings, leased=True):
            pass


async def all_is_leased(settings: Settings, limit: int) -> None:
    """Wait until the one server holds all calls that servers divide."""
    async with asyncio.timeout(30):
        while not any(int(row["calls"] or 0) >= limit for row in await shares(settings)):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("calls", [200, 1_100])
async def test_commands_beside_a_server_that_holds_all_calls_do_not_fail(
    tmp_path: Path, limited: Backend, calls: int
) -> None:
    given: dict[str, Any] = limited.settings(tmp_path) | {"cloudflare_calls_per_window": calls}
    settings = settings_for(tmp_path, **given)
    with capture_logs() as logs:
        async with serving(tmp_path, on=limited, cloudflare_calls_per_window=calls):
            for _ in range(2):
                await all_is_leased(settings, calls - RESERVE)
                commanded = build_shards(settings, command=True)
                try:
                    await commanded.prepare()
                finally:
                    await commanded.close()
    waits = [entry for entry in logs if entry["event"] == "command_waits_for_cloudflare_calls"]
    assert waits == [] or calls < 1_100
    assert "cloudflare_blocks" not in {entry["event"] for entry in logs}


async def test_commands_behind_an_edge_count_no_call_and_lease_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.indexing.jobs.prune.MAX_CHUNK", CHUNK)
    with running_edge(tmp_path) as edge:
        settings = settings_for(tmp_path, **edge.settings(cloudflare_calls_per_window=100))
        await add_old_rows(settings, 4_000)
        assert (await prune(settings)).audit_rows == 4_000
        database, close = await open_tenant_database(settings, "acme")
        for _ in range(200):
            await database.ping()
        await close()
        assert await shares(settings) == []
