"""A retry of an ingestion whose run was undone brings nothing back."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import UpstreamUnavailable
from app.ports.language_model import Stage
from app.services.ingest.ingester import Ingester
from app.services.models import model_calls
from tests.services.ingest.learning.scenes import Scene, scene, user
from tests.services.ingest.test_erased_meanwhile import OTHER, RUN
from tests.services.ingest.test_runs_undone import begin, undo
from tests.support.scripted_model import ScriptedModel, at_once, failing


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_calls, "_FIRST_PAUSE", 0.01)


def under(made: Scene, run_id: str) -> Ingester:
    return Ingester(replace(made.of_tenant(), run_id=run_id))


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("stage", ["extract", "verify", "classify"])
async def test_a_retry_of_an_ingestion_whose_run_was_undone_brings_nothing_back(tmp_path: Path, stage: Stage) -> None:
    async with scene(tmp_path, ScriptedModel({stage: failing(at_once(UpstreamUnavailable("It is down.")))})) as made:
        await begin(made.bench)
        of_other = await under(made, OTHER).ingest("bot", user("I like coffee"), "s")
        await made.ended(of_other)
        told = await under(made, RUN).ingest("bot", user("I like coffee", "I live in Oslo"), "s")
        await made.ended(told)
        assert (await undo(made.bench, RUN)).memories == 1
        made.model.answers = {}
        await made.ingester.retry("bot", str(told.id))
        await made.ended(told)
        assert await made.texts(agent_id="bot") == ["I like coffee"]
        await made.ingester.retry("bot", str(of_other.id))
        await made.ended(of_other)
        assert await made.texts(agent_id="bot") == ["I like coffee", "The user like coffee"]


@pytest.mark.usefixtures("_at_once")
async def test_what_an_undo_has_ended_is_not_begun_again(tmp_path: Path) -> None:
    async with scene(tmp_path, ScriptedModel(seconds=0.3)) as made:
        await begin(made.bench)
        told = await under(made, RUN).ingest("bot", user("I live in Oslo"), "s")
        assert (await made.ingester.ingestion("bot", str(told.id))).status == "running"
        await undo(made.bench, RUN)
        for _ in range(2):
            again = await made.ingester.retry("bot", str(told.id))
            assert (again.status, again.failure) == ("failed", "conflict")
        await asyncio.sleep(1)
        assert await made.texts(agent_id="bot") == []
        report = await made.ingester.learning(again)
        assert report is None or not {"waiting", "done"} & report.counts.passes.keys()
