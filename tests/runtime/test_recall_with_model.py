"""Recall with a language model on Cloudflare, through the double: what it calls, and for whom."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_gateway_double.faults import Fault
from memory_gateway_double.models.language import Step
from memory_gateway_double.server import Handle
from tests.support.backends import Backend, running_on
from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

THINKING = ["low", "medium", "high"]


@pytest.fixture
def account() -> Iterator[Backend]:
    with running_on("cloudflare") as backend:
        yield backend


@pytest.fixture
async def service(tmp_path: Path, account: Backend) -> AsyncIterator[Service]:
    """With embeddings from OpenAI and models from Workers AI, so that every call can be told from the others."""
    account.settings(tmp_path)
    index = "lt-memory-openai-text-embedding-3-small-256"
    account.doubles[tmp_path].double.create_index(
        index, 256, {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
    )
    model: dict[str, Any] = {"embedder": "openai", "embedding_dimensions": 256, "language_model": "workers-ai"}
    async with serving(tmp_path, on=account, **model) as service:
        yield service


@pytest.fixture
def double(service: Service, account: Backend, tmp_path: Path) -> Handle:
    del service
    return account.doubles[tmp_path]


async def ask(service: Service, profile: str, **asked: Any) -> dict[str, Any]:
    response = await service.post(f"/profiles/{profile}/recall", asked)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize("thinking", THINKING)
async def test_a_recall_is_four_cloudflare_calls_with_hyde_and_two_of_the_model(
    service: Service, double: Handle, thinking: str
) -> None:
    for number in range(50):
        await service.store(f"Memory of a walk, the {number}th, along the river", agent_id="bot")
    double.double.reset_calls()
    answer = await ask(service, "bot", query="Which walk was along the river?", thinking_level=thinking)
    calls = double.double.calls()
    models = {name: count for name, count in calls.items() if name.startswith("ai.")}
    assert {name: count for name, count in calls.items() if name not in models} == {
        "openai.embeddings": 2,
        "vectorize.query": 2,
        "d1.query": 2,  # the second reads the standing instructions
    }
    assert sum(models.values()) == 2
    assert answer["answer"]
    assert answer.get("degraded") is None


async def test_all_calls_of_a_profile_carry_one_session_affinity_and_those_of_another_another(
    service: Service, double: Handle
) -> None:
    for profile in ("ann", "bob"):
        await service.store("The walk along the river was long", agent_id=profile)
    seen = []
    for profile in ("ann", "ann", "bob"):
        double.double.reset_calls()
        await ask(service, profile, query="Which walk was along the river?")
        requests = [each for each in double.double.requests() if each.operation.startswith("ai.")]
        assert len(requests) == 2
        assert all(json.loads(each.body)["max_tokens"] > 0 for each in requests)
        seen.append({each.headers["x-session-affinity"] for each in requests})
    assert seen[0] == seen[1]
    assert seen[0].isdisjoint(seen[2])
    assert [len(each) for each in seen] == [1, 1, 1]


@pytest.fixture
async def tools(service: Service) -> Service:
    """With an agent of the four tools, and a memory for each agent."""
    headers = service.credential(admin=True)
    given = await service.client.put("/agents/profile", json={"tools": "profile"}, headers=headers)
    assert given.status_code == 200
    for agent in ("bot", "profile"):
        await service.store("The walk along the river was long", agent_id=agent)
    return service


async def call(service: Service, tool: str) -> str:
    """Ask by a tool, and return what a model reads."""
    agent, argument = ("bot", "query") if tool == "recall_memory" else ("profile", "question")
    answer = await service.call(tool, {argument: "Which walk was along the river?"}, agent_id=agent)
    assert answer.json()["result"]["isError"] is False, answer.text
    text: str = answer.json()["result"]["content"][0]["text"]
    return text


def asked(double: Handle) -> int:
    return sum(count for name, count in double.double.calls().items() if name.startswith("ai."))


TOOLS = ["recall_memory", "recall"]


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tool_asks_for_an_analysis_and_by_its_statement(tools: Service, double: Handle, tool: str) -> None:
    double.double.reset_calls()
    assert "analysis_unavailable" not in await call(tools, tool)
    assert asked(double) == (1 if tool == "recall_memory" else 2)
    assert double.double.calls()["openai.embeddings"] == double.double.calls()["vectorize.query"] == 2


FAULTS: list[tuple[dict[str, Any], bool]] = [
    ({"status": 500}, False),
    ({"status": 429}, False),
    ({"status": 402}, False),
    ({"kind": "cut"}, False),
    ({"status": 200, "body": b"<html>"}, True),
    ({"kind": "hang"}, True),
    ({"delay_seconds": 60.0}, True),
]


@pytest.mark.parametrize(("fault", "costs"), FAULTS, ids=str)
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tool_answers_without_an_analysis_where_workers_ai_fails_and_says_so(
    tools: Service, double: Handle, tool: str, fault: dict[str, Any], *, costs: bool
) -> None:
    backends = tools.runtime.backends
    double.double.faults.add(Fault("ai.chat", times=None, **fault))
    async with asyncio.timeout(20):
        answer = await call(tools, tool)
    assert "analysis_unavailable" in answer
    assert "The walk along the river was long" in answer
    assert (backends.model_spend.used("acme", backends.clock())[0] > 0) == costs


NO_ANALYSIS = [
    Step({"poem": "roses are red"}, times=None),
    Step("Roses are red.", times=None),
    Step("", refusal="I cannot.", times=None),
    Step("x" * 4_000_000, times=None),
]


@pytest.mark.parametrize("step", NO_ANALYSIS, ids=["another form", "no JSON", "a refusal", "far too long"])
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tool_answers_without_an_analysis_that_is_none(
    tools: Service, double: Handle, tool: str, step: Step
) -> None:
    double.double.models.script("analyse", step)
    answer = await call(tools, tool)
    assert "analysis_unavailable" in answer
    assert "The walk along the river was long" in answer
