"""Strict recalls through the double: what OpenAI and Vectorize say reaches the caller, and nothing is asked again."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle
from tests.support.backends import Backend
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

HELD = "The customer prefers invoices in Swedish"
INDEX = "lt-memory-openai-text-embedding-3-small-256"
PART_SECONDS = 0.3
FAULTS: list[tuple[Fault, int, str, str | None]] = [
    (Fault("openai.embeddings", status=429, headers={"retry-after": "7"}, times=None), 429, "rate_limited", "7"),
    (Fault("openai.embeddings", status=503, times=None), 503, "upstream_overloaded", "5"),
    (Fault("openai.embeddings", status=500, times=None), 503, "upstream_unavailable", "1"),
    (Fault("openai.embeddings", kind="cut", times=None), 503, "upstream_unavailable", "1"),
    (Fault("openai.embeddings", kind="hang", times=None), 504, "upstream_timeout", "1"),
    (Fault("vectorize.query", status=500, times=None), 503, "upstream_unavailable", "1"),
    (Fault("vectorize.query", kind="hang", times=None), 504, "upstream_timeout", "1"),
]


@dataclass(frozen=True, slots=True)
class Strict:
    """A service whose recalls are strict, by what they say or by what the operator has set."""

    service: Service
    double: Handle
    said: dict[str, bool]

    async def recall(self, query: str, **said: bool) -> httpx.Response:
        return await self.service.post("/recall", {"agent_id": "bot", "query": query, **(said or self.said)})


@pytest.fixture(params=["request", "setting"])
async def strict(request: pytest.FixtureRequest, tmp_path: Path, account: Backend) -> AsyncIterator[Strict]:
    account.settings(tmp_path)
    double = account.doubles[tmp_path]
    types = {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
    double.double.create_index(INDEX, 256, types)
    by_request = request.param == "request"
    settings: dict[str, Any] = {"embedder": "openai", "embedding_dimensions": 256, "recall_part_seconds": PART_SECONDS}
    async with serving(tmp_path, on=account, **settings, recall_strict=not by_request) as service:
        await service.store(HELD)
        yield Strict(service, double, {"strict": True} if by_request else {})


@pytest.mark.parametrize(
    ("fault", "status", "code", "wait"),
    FAULTS,
    ids=[f"{fault.operation} {fault.kind} {code}" for fault, _, code, _ in FAULTS],
)
async def test_an_outage_reaches_the_caller_as_what_it_is(
    strict: Strict, fault: Fault, status: int, code: str, wait: str | None
) -> None:
    strict.double.double.reset_calls()
    strict.double.double.faults.add(fault)
    answer = await strict.recall("which invoices in Swedish?")
    problem = assert_problem(answer, status, code)
    assert "Swedish" not in problem["detail"]
    assert answer.headers.get("retry-after") == wait
    assert strict.double.double.calls()[fault.operation] == 1  # whether to ask again is the caller's
    degraded = (await strict.recall("and invoices in Swedish?", strict=False)).json()
    assert [entry["content"] for entry in degraded["entries"]] == [HELD]
    assert degraded["degraded"] in (["embedder_unavailable"], ["index_unavailable"])
    strict.double.double.faults.clear()
    assert "degraded" not in (await strict.recall("which invoices then?")).json()


async def test_a_caller_who_waits_as_long_as_he_is_told_is_answered(strict: Strict) -> None:
    strict.double.double.faults.add(Fault("openai.embeddings", status=429, headers={"retry-after": "1"}))
    refused = await strict.recall("which invoices?")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    answer = (await strict.recall("which invoices?")).json()
    assert [entry["content"] for entry in answer["entries"]] == [HELD]


async def test_a_circuit_that_is_open_says_when_the_next_call_is_made(strict: Strict) -> None:
    strict.double.double.faults.add(Fault("openai.embeddings", kind="hang", times=None))
    for number in range(3):
        assert_problem(await strict.recall(f"invoices {number}"), 504, "upstream_timeout")
    answer = await strict.recall("invoices of today")
    assert_problem(answer, 503, "circuit_open")
    assert 1 <= int(answer.headers["retry-after"]) <= 5
