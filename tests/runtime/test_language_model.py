"""What the process does for its language model: spend that is written, models that are named when they are gone."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.domain.errors import DatabaseUnavailable, QuotaExceeded, UpstreamRejected
from app.domain.quotas import ModelLimits
from app.ports.language_model import Spent
from app.runtime.backends import Backends
from app.runtime.language_model import model_names, name_missing_models, write_spend
from app.services.models.spend import DAY_MS, ModelSpend
from tests.support.backends import Backend
from tests.support.doubles import FailingDatabase
from tests.support.language_models import ScriptedLanguageModel
from tests.support.periodic import periodically
from tests.support.service import NOW, serving
from tests.support.tables import delete_rows, rows_of

TODAY = NOW // DAY_MS
CALL = Spent("extract", "http/model", 100)


@pytest.fixture
async def backends(tmp_path: Path, backend: Backend) -> AsyncIterator[Backends]:
    async with serving(tmp_path, on=backend) as service:
        yield replace(service.runtime.backends, model_spend=ModelSpend(ModelLimits(calls_per_day=5)), clock=lambda: NOW)


async def rows(backends: Backends) -> list[tuple[object, ...]]:
    columns = ("tenant_id", "day", "stage", "calls", "tokens")
    return [tuple(row.values()) for row in await rows_of(backends, "model_spend", *columns, by=", ".join(columns))]


async def test_what_calls_have_cost_is_added_by_tenant_day_and_stage(backends: Backends) -> None:
    spend = backends.model_spend
    spend.add("a", CALL, NOW - DAY_MS)
    for _ in range(2):
        spend.add("a", CALL, NOW)
        spend.add("a", Spent("verify", "http/model", 7), NOW)
        spend.add("b", CALL, NOW)
        await write_spend(backends)
    assert await rows(backends) == [
        ("a", TODAY - 1, "extract", 1, 100),
        ("a", TODAY, "extract", 2, 200),
        ("a", TODAY, "verify", 2, 14),
        ("b", TODAY, "extract", 2, 200),
    ]


async def test_where_nothing_was_spent_and_nothing_asked_there_is_no_call(backends: Backends) -> None:
    database = FailingDatabase(backends.database)
    watched = replace(backends, database=database)
    await write_spend(watched)
    assert database.runs == []
    watched.model_spend.add("a", CALL, NOW)
    await write_spend(watched)
    await write_spend(watched)
    assert len(database.runs) == 1


async def test_what_could_not_be_written_is_written_the_next_time(backends: Backends) -> None:
    database = FailingDatabase(backends.database, DatabaseUnavailable("away"))
    watched = replace(backends, database=database)
    watched.model_spend.add("a", CALL, NOW)
    with pytest.raises(DatabaseUnavailable):
        await write_spend(watched)
    assert watched.model_spend.used("a", NOW) == (1, 100)
    database.error = None
    await write_spend(watched)
    await write_spend(watched)
    assert await rows(backends) == [("a", TODAY, "extract", 1, 100)]


async def test_a_limit_holds_for_what_all_processes_have_spent_once_they_have_written_it(backends: Backends) -> None:
    other = replace(backends, model_spend=ModelSpend(ModelLimits(calls_per_day=5)))
    for _ in range(5):
        other.model_spend.add("a", CALL, NOW)
    backends.model_spend.check("a", NOW)
    await write_spend(other)
    await write_spend(backends)
    with pytest.raises(QuotaExceeded):
        backends.model_spend.check("a", NOW)
    backends.model_spend.check("b", NOW)
    backends.model_spend.check("a", NOW + DAY_MS)


async def test_a_tenant_that_has_spent_nothing_has_used_nothing(backends: Backends) -> None:
    backends.model_spend.check("a", NOW)
    await write_spend(backends)
    assert backends.model_spend.used("a", NOW) == (0, 0)


async def test_what_was_erased_is_not_used_any_more(backends: Backends) -> None:
    backends.model_spend.add("a", CALL, NOW)
    await write_spend(backends)
    await delete_rows(backends.database, "model_spend")
    backends.model_spend.check("a", NOW)
    await write_spend(backends)
    assert backends.model_spend.used("a", NOW) == (0, 0)


async def test_what_calls_have_cost_is_written_every_so_often_once_the_service_is_ready(backends: Backends) -> None:
    database = FailingDatabase(backends.database, DatabaseUnavailable("away"))
    watched = replace(backends, database=database, model=ScriptedLanguageModel())
    watched.model_spend.add("a", CALL, NOW)
    ready: list[bool] = []
    with capture_logs() as logs:
        async with periodically(watched, "model spend", lambda: bool(ready)):
            await asyncio.sleep(0.02)
            assert database.runs == []
            ready.append(True)
            async with asyncio.timeout(5):
                while len(database.runs) < 2:
                    await asyncio.sleep(0.001)
                database.error = None
                while not await rows(backends):
                    await asyncio.sleep(0.001)
    assert await rows(backends) == [("a", TODAY, "extract", 1, 100)]
    assert {entry["event"] for entry in logs} == {"model_spend_waits"}


async def test_a_process_that_stops_writes_what_it_has_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        service.runtime.backends.model_spend.add("a", CALL, NOW)
    async with serving(tmp_path) as service:
        assert await rows(service.runtime.backends) == [("a", TODAY, "extract", 1, 100)]


async def test_a_model_that_is_gone_is_named_in_the_log_and_one_that_answers_is_not() -> None:
    model = ScriptedLanguageModel(errors={"verify": UpstreamRejected("There is no model scripted/verify.")})
    with capture_logs() as logs:
        await name_missing_models(model)
        await name_missing_models(ScriptedLanguageModel())
    (entry,) = logs
    assert (entry["event"], entry["log_level"], entry["code"]) == (
        "language_model_away",
        "warning",
        "upstream_rejected",
    )
    assert "scripted/verify" in entry["reason"]


def test_models_are_named_each_once() -> None:
    class OneName(ScriptedLanguageModel):
        def name(self, stage: str) -> str:
            return "http/large" if stage == "synthesise" else "http/small"

    assert model_names(OneName()) == "http/small, http/large"
