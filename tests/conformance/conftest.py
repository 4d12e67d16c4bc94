"""What the proofs against software of others stand on. ``make conformance`` installs it."""

import os
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.observability.metrics import Metrics
from app.ports.database import Database
from tests.conformance.d1_engine import D1Engine, running_engine
from tests.conformance.toolchain import missing
from tests.contracts.conftest import Opened, database, double

__all__ = ["database", "double"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: a proof that was left out proves nothing."""
    report = yield
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{call.excinfo and call.excinfo.value}: with CI set, a skip is a failure"
    return report


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    if tools := missing():
        pytest.skip(f"not installed: {', '.join(tools)}; run make conformance on a machine with npm")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[D1Engine]:
    with running_engine(tmp_path_factory.mktemp("d1-engine")) as engine:
        yield engine


@asynccontextmanager
async def engine_database(engine: D1Engine, database_id: str) -> AsyncIterator[Database]:
    client = CloudflareClient(
        account_id="0" * 32,
        api_token="no token is asked for",
        base_url=f"{engine.url}/client/v4",
        call_budget=CallBudget(limit=None),
        metrics=Metrics(),
    )
    yield D1Database(client, database_id)
    await client.close()


@pytest.fixture
def open_database(engine: D1Engine) -> Opened:
    """Each call opens the same database anew, as another process would."""
    return partial(engine_database, engine, engine.empty_database())
