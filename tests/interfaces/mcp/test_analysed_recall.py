"""What the tools of a model find by what a language model makes of a query, and without it where it is of no use."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from app.domain.errors import UpstreamUnavailable
from app.domain.quotas import ModelLimits
from app.interfaces.tools.profile_answers import NOTHING, QUOTED, UNSURE
from app.runtime.backends import Backends
from app.services.models.spend import ModelSpend
from tests.interfaces.mcp.answers import answered
from tests.interfaces.mcp.connections import over_http
from tests.services.scripted_reader import ScriptedReader
from tests.support.models import ScriptedModel, analysis
from tests.support.service import Service, serving

KITTEN = "The tabby kitten naps upon a woollen blanket"
LIMOUSINE = "Her limousine needs a garage"
QUESTION = "quartz xylophone"
"""Nothing is near it."""
LEFT_OUT = "Not everything could be searched (analysis_unavailable): there may be more, or better."
BOUND = 0.3


@asynccontextmanager
async def running(tmp_path: Path, model: ScriptedModel | None, **changes: Any) -> AsyncIterator[Service]:
    """Serve an agent `bot` with the two tools and an agent `profile` with the four, without a reader."""

    def change(backends: Backends) -> Backends:
        return replace(backends, model=model, reader=None, **changes)

    async with serving(tmp_path, change=change) as service:
        await give(service)
        for agent in ("bot", "profile"):
            for content in (KITTEN, LIMOUSINE, "Ivar said that the ferry to Visby is late again"):
                await service.store(content, agent_id=agent)
        yield service


async def give(service: Service) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.put("/agents/profile", json={"tools": "profile"}, headers=headers)
    assert answer.status_code == 200


@asynccontextmanager
async def of(service: Service, agent: str) -> AsyncIterator[Client]:
    async with over_http(service, service.credential(agent=agent)) as client:
        yield client


async def contents(service: Service, query: str) -> tuple[list[str], Sequence[str]]:
    """Call `recall_memory`; return the contents that it found something of, best first, and what was degraded."""
    async with of(service, "bot") as client:
        answer = await answered(client, "recall_memory", query=query)
    return [entry["content"] for entry in answer["entries"] if entry["score"]], answer.get("degraded", [])


async def told(service: Service, question: str) -> str:
    """Call `recall`."""
    async with of(service, "profile") as client:
        text: str = (await answered(client, "recall", query=question))["answer"]
    return text


async def test_by_default_both_tools_find_what_only_the_statement_is_near(tmp_path: Path) -> None:
    model = ScriptedModel({"analyse": analysis(statement=KITTEN)})
    async with running(tmp_path, model) as service:
        found, degraded = await contents(service, QUESTION)
        assert (found[0], degraded) == (KITTEN, [])
        text = await told(service, QUESTION)
        assert text == _unsure(text, KITTEN)
    assert [call.stage for call in model.calls] == ["analyse", "analyse", "synthesise"]


async def test_by_default_both_tools_find_what_only_a_synonym_names(tmp_path: Path) -> None:
    async with running(tmp_path, ScriptedModel({"analyse": analysis(synonyms=["limousine"])})) as service:
        assert await contents(service, QUESTION) == ([LIMOUSINE], [])
        text = await told(service, QUESTION)
        assert text == _unsure(text, LIMOUSINE)


async def test_without_a_language_model_nothing_is_asked_and_nothing_is_missing(tmp_path: Path) -> None:
    async with running(tmp_path, None) as service:
        assert await contents(service, QUESTION) == ([], [])
        assert await told(service, QUESTION) == NOTHING


async def test_what_is_switched_off_is_not_asked_and_not_missing(tmp_path: Path) -> None:
    model = ScriptedModel({"analyse": analysis(statement=KITTEN)})
    async with running(tmp_path, model, recall_analysis_seconds=0.0) as service:
        assert await contents(service, QUESTION) == ([], [])
        assert await told(service, QUESTION) == NOTHING
    assert not model.calls


FAILURES: Mapping[str, Mapping[str, Any]] = {
    "away": {"answers": {"analyse": UpstreamUnavailable("gone")}},
    "slow": {"delays": {"analyse": 60.0}},
    "nonsense": {"answers": {"analyse": {"poem": "roses are red"}}},
    "over its limit": {},
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_where_the_model_is_of_no_use_both_tools_answer_without_it_and_say_so(
    tmp_path: Path, failure: str
) -> None:
    model = ScriptedModel(**FAILURES[failure])
    limits = ModelLimits(calls_per_day=0) if failure == "over its limit" else ModelLimits()
    changes = {"recall_analysis_seconds": BOUND, "model_spend": ModelSpend(limits)}
    async with running(tmp_path, model, **changes) as service:
        async with asyncio.timeout(10):  # and not the minute that the slow one takes
            found, degraded = await contents(service, LIMOUSINE)
            assert (found[0], degraded) == (LIMOUSINE, ["analysis_unavailable"])
            text = await told(service, QUESTION)
        assert text.splitlines() == ["Nothing was found about that.", LEFT_OUT]
    assert bool(model.calls) == (failure != "over its limit")


async def test_an_agents_recalls_cost_its_tenant_no_more_than_its_limit(tmp_path: Path) -> None:
    model = ScriptedModel({"analyse": analysis(statement=KITTEN)})
    async with running(tmp_path, model, model_spend=ModelSpend(ModelLimits(calls_per_day=3))) as service:
        done = await asyncio.gather(*(contents(service, QUESTION) for number in range(9)))
        assert sorted(list(degraded) for _, degraded in done) == [[]] * 3 + [["analysis_unavailable"]] * 6
        assert await contents(service, QUESTION) == ([], ["analysis_unavailable"])
        assert LEFT_OUT in await told(service, QUESTION)
    assert len(model.calls) == 3


async def test_words_that_forget_are_the_callers_and_no_models(tmp_path: Path) -> None:
    model = ScriptedModel({"analyse": analysis(synonyms=["limousine"], statement=KITTEN)})
    async with running(tmp_path, model) as service, of(service, "profile") as client:
        answer = await answered(client, "forget", memory="automobile")
        assert answer["answer"].startswith("Nothing was forgotten: no memory is meant.")
    assert not model.calls


# The right memory comes first, and nothing is sure of it.


async def test_the_right_memory_is_shown_though_it_scores_next_to_nothing(tmp_path: Path) -> None:
    question = "Which of the many quays, harbours, ports, piers, boats, ships, liners and steamers is the ferry at?"
    async with running(tmp_path, None) as service:
        headers = service.credential(agent="profile")
        recall = await service.client.post("/profiles/profile/recall", json={"query": question}, headers=headers)
        first = recall.json()["entries"][0]
        assert "ferry to Visby" in first["content"]
        assert 0 < first["score"] < 0.2
        text = await told(service, question)
        assert text == _unsure(text, first["content"])


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("relevance", [0.0, 0.2])
async def test_the_right_memory_is_shown_though_a_reader_finds_that_it_does_not_answer(
    tmp_path: Path, relevance: float, session: str | None
) -> None:
    content, question = "Ivar keeps the spare key under the birch", "Where is the spare key of Ivar?"
    reader = ScriptedReader(answers={(question, content): relevance})
    async with serving(tmp_path, change=lambda found: replace(found, reader=reader)) as service:
        await give(service)
        given = {} if session is None else {"session_id": session}
        await service.store(content, agent_id="profile", **given)
        text = await told(service, question)
        assert text == _unsure(text, content)


async def test_the_right_memory_is_shown_though_the_model_finds_that_nothing_answers(tmp_path: Path) -> None:
    async with running(tmp_path, ScriptedModel()) as service:
        text = await told(service, "What does her limousine need?")
        assert text == _unsure(text, LIMOUSINE)


def _unsure(text: str, first: str) -> str:
    """Return a text if it says that nothing is sure, and shows this memory first."""
    head, unsure, line, *_ = text.splitlines()
    assert (head, unsure) == (QUOTED, UNSURE)
    assert line.endswith(f'"{first}"')
    return text
