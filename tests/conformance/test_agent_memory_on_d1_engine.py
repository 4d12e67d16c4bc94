"""The suites of namespaces and profiles by name, and so every statement they make, on the engine that D1 runs on."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.ports.database import Database
from tests.conformance.conftest import engine_database
from tests.conformance.d1_engine import D1Engine
from tests.contracts.conftest import Opened
from tests.interfaces.http.test_agent_memory import *  # noqa: F403 - the same suite, not a copy of it
from tests.interfaces.http.test_namespaces import *  # type: ignore[assignment]  # noqa: F403 - the same
from tests.support.service import Service, serving


@pytest.fixture
def open_database(engine: D1Engine) -> Opened:
    return partial(engine_database, engine.migrated_database())


@pytest.fixture
async def service(tmp_path: Path, database: Database) -> AsyncIterator[Service]:
    async with serving(tmp_path, change=lambda backends: replace(backends, database=database)) as service:
        yield service


@pytest.fixture
def any_service(service: Service) -> Service:
    return service
