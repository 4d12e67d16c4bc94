"""Large values of runs and of working memory, on the engine that D1 runs on."""

from dataclasses import replace

import pytest

from app.bootstrap import build_runtime
from app.ports.database import Database
from app.runtime.runtime import Runtime
from app.settings import Settings
from tests.services.tiers.test_large_values import *  # noqa: F403 - the same suite, not a copy of it


@pytest.fixture(autouse=True)
def _on_the_engine(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    def build(settings: Settings) -> Runtime:
        runtime = build_runtime(settings)
        runtime.backends = replace(runtime.backends, database=database)
        return runtime

    monkeypatch.setattr("tests.support.gateways.build_runtime", build)
