"""Services on one account divide Cloudflare's calls among them, and give them back."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.bootstrap import build_runtime, open_database
from app.ports.database import Row
from tests.support.backends import Backend
from tests.support.service import serving, settings_for
from tests.support.tables import rows_of


async def shares(tmp_path: Path, account: Backend) -> list[Row]:
    """What the database knows of shares."""
    database, close = await open_database(settings_for(tmp_path, **account.settings(tmp_path)))
    rows = await rows_of(database, "call_share", "replica", "calls", by="calls DESC")
    await close()
    return rows


async def test_a_second_service_has_a_share_of_its_own_and_both_give_theirs_back(
    tmp_path: Path, account: Backend
) -> None:
    calls: dict[str, Any] = {"cloudflare_calls_per_window": 1_100}
    async with serving(tmp_path, on=account, **calls) as first, serving(tmp_path, on=account, **calls) as second:
        await first.store("The customer prefers invoices in Swedish")
        assert await second.contents("invoices") == ["The customer prefers invoices in Swedish"]
        held = [int(row["calls"] or 0) for row in await shares(tmp_path, account)]
        assert len(held) == 2
        assert 500 <= sum(held) <= 1_100
    assert [row["calls"] for row in await shares(tmp_path, account)] == [0, 0]


async def test_two_services_that_begin_at_once_on_an_empty_database_both_become_ready(
    tmp_path: Path, account: Backend
) -> None:
    settings = account.settings(tmp_path) | {"cloudflare_calls_per_window": 1_100}
    settings["cloudflare_d1_database_id"] = account.doubles[tmp_path].double.create_database("empty")
    both = [build_runtime(settings_for(tmp_path, **settings)) for _ in range(2)]
    await asyncio.gather(*(each.start() for each in both))
    ready = [each.not_ready is None for each in both]
    await asyncio.gather(*(each.close() for each in both))
    assert ready == [True, True]


@pytest.mark.parametrize(("calls", "said"), [(1_100, r"\d+ of 1080 in 300 s"), (0, "not counted")])
async def test_a_service_that_is_ready_says_what_it_may_call(
    tmp_path: Path, account: Backend, calls: int, said: str
) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path, on=account, cloudflare_calls_per_window=calls):
            pass
    (ready,) = [entry for entry in logs if entry["event"] == "ready"]
    assert re.fullmatch(said, ready["cloudflare_calls"])


async def test_where_no_calls_are_counted_no_share_is_leased(tmp_path: Path, account: Backend) -> None:
    async with serving(tmp_path, on=account, cloudflare_calls_per_window=0) as service:
        await service.store("The customer prefers invoices in Swedish")
        assert await shares(tmp_path, account) == []


def test_the_embedded_default_has_no_calls_to_divide(tmp_path: Path) -> None:
    assert build_runtime(settings_for(tmp_path)).backends.calls is None
