"""Work in the background stops before requests do when calls run low, and goes on by itself."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.bootstrap import build_runtime
from app.runtime.background import Pace
from app.runtime.call_shares import ProcessCalls
from app.runtime.runtime import Runtime
from tests.support import migrated
from tests.support.backends import running_on
from tests.support.doubles import FailingDatabase
from tests.support.service import serving, settings_for

_SOON = Pace(indexer_seconds=0.001, windows_seconds=0.001, words_seconds=0.001)
_ASKED = 50
"""By then each kind of work has asked whether calls are low, and the indexer and the index of words more than once."""
_BOUND_SECONDS = 30
_BY_OTHERS = 1_130
"""Of the 1,200 calls that Cloudflare allows."""


@dataclass
class Calls:
    """Calls that are low until a test says otherwise."""

    low: bool = True
    asked: int = 0

    def is_low(self) -> bool:
        self.asked += 1
        return self.low


@dataclass(frozen=True, slots=True)
class Working:
    """A runtime that does its work in the background, its database, and the calls that it has."""

    runtime: Runtime
    database: FailingDatabase
    calls: Calls


@pytest.fixture
async def working(tmp_path: Path) -> AsyncIterator[Working]:
    migrated.prepare(tmp_path)
    built, calls = build_runtime(settings_for(tmp_path)), Calls()
    database = FailingDatabase(built.backends.database)
    runtime = Runtime(
        replace(built.backends, database=database, calls=ProcessCalls(lambda _: None, low=calls.is_low)),
        built.credentials,
        built.metrics,
        name=built.name,
        prepare_index=built.prepare_index,
        closers=built.closers,
        pace=_SOON,
    )
    await runtime.start()
    database.runs.clear()
    yield Working(runtime, database, calls)
    await runtime.close()


async def test_no_work_in_the_background_asks_the_database_while_calls_are_low(working: Working) -> None:
    async with asyncio.timeout(_BOUND_SECONDS):
        while working.calls.asked < _ASKED and not working.database.runs:
            await asyncio.sleep(0.001)
    assert working.database.runs == []


async def test_the_indexer_goes_on_once_calls_are_not_low(working: Working) -> None:
    working.calls.low = False
    async with asyncio.timeout(_BOUND_SECONDS):
        while (await working.runtime.outbox_status()).lease_holder != working.runtime.name:
            await asyncio.sleep(0.001)


async def test_the_indexer_rests_and_a_request_is_served_where_others_have_used_up_most_calls(tmp_path: Path) -> None:
    with running_on("cloudflare", rate_limit=True) as account, capture_logs() as logs:
        account.settings(tmp_path)
        for _ in range(_BY_OTHERS):
            account.doubles[tmp_path].double.rate_limit.take()
        async with serving(tmp_path, on=account, cloudflare_calls_per_window=1_100) as service:
            holder = None
            async with asyncio.timeout(_BOUND_SECONDS):
                while holder is None and "indexer_rests" not in {entry["event"] for entry in logs}:
                    await asyncio.sleep(0.05)
                    holder = (await service.runtime.outbox_status()).lease_holder
            assert holder is None
            await service.store("The customer prefers invoices in Swedish")
            assert (await service.runtime.outbox_status()).lease_holder is None
