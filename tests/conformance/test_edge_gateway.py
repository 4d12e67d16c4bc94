"""The whole suite of the gateway, and so every statement it makes, through both entries of the edge."""

from dataclasses import replace
from functools import partial

import pytest

from app.bootstrap import build_runtime
from app.ports.database import Database
from app.runtime.runtime import Runtime
from app.settings import Settings
from tests.conformance.edge import ENTRIES, Edge
from tests.conformance.test_edge_database import edge_database
from tests.contracts.conftest import Opened
from tests.services.memories.test_gateway import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.clock import FixedClock


@pytest.fixture(params=ENTRIES)
def open_database(request: pytest.FixtureRequest, edge: Edge) -> Opened:
    return partial(edge_database, edge, request.param, edge.slot())


@pytest.fixture(autouse=True)
def _on_the_edge(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    def build(settings: Settings) -> Runtime:
        runtime = build_runtime(settings)
        runtime.backends = replace(runtime.backends, database=database)
        return runtime

    monkeypatch.setattr("tests.support.gateways.build_runtime", build)
    monkeypatch.setattr("tests.support.gateways.clock_of", lambda _: FixedClock())
