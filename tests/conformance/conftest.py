"""What the proofs against software of others stand on. ``make conformance`` installs it."""

import os
from collections import defaultdict
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.bootstrap import build_runtime
from app.observability.metrics import Metrics
from app.ports.database import Database
from app.runtime.runtime import Runtime
from app.settings import Settings
from tests.conformance.d1_engine import ClockedDatabase, D1Engine, EngineDatabase, running_engine
from tests.conformance.edge import ENTRIES, Edge, EdgeBackend, running_edge
from tests.conformance.scheduling import SharedOnce
from tests.conformance.toolchain import missing
from tests.contracts.conftest import Opened, database, double
from tests.support.backends import Backend, running_on
from tests.support.clock import clock_of

__all__ = ["database", "double"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedOnce | None:
    """Take the place of xdist's own scheduler of scopes."""
    return SharedOnce(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: a proof that was left out proves nothing."""
    report = yield
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{call.excinfo and call.excinfo.value}: with CI set, a skip is a failure"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is thorough elsewhere to make soak: it has run embedded, and each step takes longer here."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    if tools := missing():
        pytest.skip(f"not installed: {', '.join(tools)}; run make conformance on a machine with npm")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[D1Engine]:
    with running_engine(tmp_path_factory.mktemp("d1-engine")) as engine:
        yield engine


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    with running_edge(tmp_path_factory.mktemp("edge")) as edge:
        yield edge


@pytest.fixture(params=ENTRIES)
def edge_backend(request: pytest.FixtureRequest, edge: Edge) -> Iterator[Backend]:
    """What a suite runs on in the place of its own backends: the service behind each entry of the edge."""
    backend = EdgeBackend(edge, request.param)
    yield backend
    backend.close()


def client_of(database: EngineDatabase) -> CloudflareClient:
    return CloudflareClient(
        account_id="0" * 32,
        api_token="no token is asked for",
        base_url=f"{database.url}/client/v4",
        call_budget=CallBudget(limit=None),
        metrics=Metrics(),
    )


@asynccontextmanager
async def engine_database(database: EngineDatabase) -> AsyncIterator[Database]:
    client = client_of(database)
    yield D1Database(client, database.id)
    await client.close()


@pytest.fixture
def open_database(engine: D1Engine) -> Opened:
    """Each call opens the same database anew, as another process would."""
    return partial(engine_database, engine.empty_database())


@contextmanager
def databases_under_gateways(engine: D1Engine) -> Iterator[None]:
    """Put a database of the engine under every gateway that tests make meanwhile, one for each data directory.

    A directory stands for a database, so that what opens it anew finds what it kept.
    """
    databases: defaultdict[Path, EngineDatabase] = defaultdict(engine.migrated_database)

    def build(settings: Settings) -> Runtime:
        runtime = build_runtime(settings)
        database = databases[settings.data_dir]
        client = client_of(database)
        runtime.backends = replace(
            runtime.backends, database=ClockedDatabase(client, database.id, clock_of(settings.data_dir))
        )
        runtime.closers = [*runtime.closers, client.close]
        return runtime

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.support.gateways.build_runtime", build)
        yield


@pytest.fixture(params=["cloudflare"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """What a suite that is run again here has its gateways on: D1 never stands beside a local index."""
    with running_on(request.param) as backend:
        yield backend


@pytest.fixture
def on_the_engine(engine: D1Engine, request: pytest.FixtureRequest) -> Iterator[None]:
    """Put a database of the engine under every gateway that the test makes.

    A test that is not a coroutine is left as it is: it has no gateway, or a law that makes one for each of its
    examples. ``test_tier_laws_on_d1_engine.py`` has such laws, with fewer examples.
    """
    with databases_under_gateways(engine) if "anyio_backend" in request.fixturenames else nullcontext():
        yield
