"""What assembling a context takes of Cloudflare, whatever of it is asked for."""

from typing import Any

import pytest

from memory_gateway_double.server import Handle
from tests.support.service import Service

pytestmark = pytest.mark.thorough

CLOUDFLARE_CALLS = 4
"""The most that an assembly may make, with an embedding, which may be one of Workers AI."""
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
WHOLE: dict[str, Any] = {"agent_id": "bot", "instance": "i", "agent_type": "support"}
SELECTING = {"task_type": "answer"}
PREFETCHING = {"query": "Where does the customer live?", "prefetch": True}


@pytest.fixture
async def furnished(service: Service, double: Handle) -> Service:
    """An agent that has something in every tier, with nothing of it remembered in the process."""
    admin = service.credential(admin=True)
    await service.client.put("/context/style", json={"content": "Answer briefly."}, headers=admin)
    workflow = {"agent_type": "support", "task_type": "answer", "spec": {"steps": ["look up"]}}
    await service.client.put("/workflows/look-up", json=workflow, headers=admin)
    await service.post("/runs", {"agent_id": "bot", "agent_type": "support", "input": None, "run_id": RUN})
    await service.post(f"/runs/{RUN}/episodes", {"episodes": [{"type": "note", "content": "the first"}]})
    said = {"messages": [{"role": "user", "content": "Where is my invoice?"}]}
    await service.post("/working/bot/i/messages", said)
    await service.store("The customer lives in Oslo")
    await service.post("/facts", {"agent_id": "bot", "subject": "customer", "predicate": "name", "object": "Ada"})
    await service.delivered()
    double.double.reset_calls()
    return service


async def assemble(service: Service, **more: Any) -> set[str]:
    """Assemble, and return which parts have something."""
    answer = await service.post("/context/assemble", WHOLE | more)
    assert (answer.status_code, answer.json()["missing"]) == (200, []), answer.text
    pieces = answer.json()["pieces"] + answer.json()["long_term"]["retrieved"]
    return {piece["part"] for piece in pieces}


@pytest.mark.parametrize(
    ("asked", "calls"),
    [
        ({}, {"d1.query": 1}),
        (SELECTING, {"d1.query": 2}),
        (SELECTING | {"run_id": RUN}, {"d1.query": 2}),
        (PREFETCHING, {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 2}),
        (SELECTING | PREFETCHING, {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 2}),
        (SELECTING | PREFETCHING | {"run_id": RUN}, {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 2}),
    ],
    ids=["tiers", "with a workflow", "of a run", "with prefetch", "with both", "with both of a run"],
)
async def test_an_assembly_takes_few_calls(
    furnished: Service, double: Handle, asked: dict[str, Any], calls: dict[str, int]
) -> None:
    found = await assemble(furnished, **asked)
    assert {"shared_context", "episodes", "window"} <= found
    assert ("workflow" in found, "long_term" in found) == ("task_type" in asked, "prefetch" in asked)
    assert double.double.calls() == calls
    assert sum(calls.values()) <= CLOUDFLARE_CALLS
