"""A service that this one calls hangs: recalls go on without it and say so, stores are answered, others do not wait."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.adapters.breaker import TIME_OUTS
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle
from tests.observability.samples import samples
from tests.support.backends import Backend
from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

_PART_SECONDS = 0.3
_MANY = 130
_INDEX = "lt-memory-openai-text-embedding-3-small-256"


def made(account: Backend, directory: Path) -> Handle:
    """The account of a directory, with the index that the service needs."""
    account.settings(directory)
    handle = account.doubles[directory]
    types = {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
    handle.double.create_index(_INDEX, 256, types)
    return handle


def settings(account: Backend, **more: Any) -> dict[str, Any]:
    return {"on": account, "embedder": "openai", "embedding_dimensions": 256, **more}


def hang(double: Handle, operation: str) -> None:
    double.double.reset_calls()
    double.double.faults.add(Fault(operation, kind="hang", times=None))


async def asked(service: Service, query: str, agent_id: str = "bot") -> dict[str, Any]:
    response = await service.post("/recall", {"agent_id": agent_id, "query": query})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def until(double: Handle, operation: str, times: int) -> None:
    while double.double.calls().get(operation, 0) < times:
        await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("operation", "degraded", "circuit"),
    [
        ("vectorize.query", "index_unavailable", "vectorize.query"),
        ("openai.embeddings", "embedder_unavailable", "openai.query"),
    ],
)
async def test_recalls_are_answered_without_what_hangs_and_after_three_no_longer_wait_for_it(
    tmp_path: Path, account: Backend, operation: str, degraded: str, circuit: str
) -> None:
    double = made(account, tmp_path)
    async with serving(tmp_path, **settings(account, recall_part_seconds=_PART_SECONDS)) as service:
        await service.store("The customer prefers invoices in Swedish")
        hang(double, operation)
        for number in range(TIME_OUTS + 2):
            answer = await asked(service, f"invoices {number}")
            assert [entry["content"] for entry in answer["entries"]] == ["The customer prefers invoices in Swedish"]
            assert answer["degraded"] == [degraded]
        assert double.double.calls()[operation] == TIME_OUTS
        told = await service.client.get("/readyz?details", headers=service.credential(admin=True))
        state = next(one for one in told.json()["circuits"] if one["name"] == circuit)
        assert (state["state"], state["opened"]) == ("open", 1)
        assert state["since"] is not None
        assert operation in state["error"]
        assert samples(service.runtime.metrics, "memory_gateway_circuit_state")[(circuit,)] == 2


async def test_a_store_is_answered_before_the_index_takes_its_vector(service: Service, double: Handle) -> None:
    hang(double, "vectorize.upsert")
    answer = await service.post("/store", {"agent_id": "bot", "content": "The customer prefers invoices in Swedish"})
    assert answer.status_code == 201
    await until(double, "vectorize.upsert", 1)
    assert len((await asked(service, "invoices"))["entries"]) == 1
    await service.runtime.backends.deliveries.close(0)


async def test_a_deletion_is_answered_before_the_index_removes_its_vector(service: Service, double: Handle) -> None:
    await service.store("The customer prefers invoices in Swedish")
    (entry,) = (await asked(service, "invoices"))["entries"]
    hang(double, "vectorize.get_by_ids")
    headers = service.credential(admin=True)
    answer = await service.client.delete(f"/memories/{entry['id']}", params={"agent_id": "bot"}, headers=headers)
    assert answer.status_code == 204
    assert (await asked(service, "invoices"))["entries"] == []
    await service.runtime.backends.deliveries.close(0)


@pytest.mark.parametrize("tenant", ["acme", "globex"], ids=["of the tenant", "of another"])
async def test_many_recalls_that_hang_keep_no_other_request_waiting(
    tmp_path: Path, account: Backend, tenant: str
) -> None:
    double = made(account, tmp_path)
    async with serving(tmp_path, **settings(account, recall_part_seconds=10)) as service:
        await service.store("The customer prefers invoices in Swedish")
        hang(double, "vectorize.query")
        recalls = [asyncio.create_task(asked(service, f"invoices {number}")) for number in range(_MANY)]
        await until(double, "vectorize.query", 32)
        await service.store("another agent's", agent_id="other", tenant=tenant)
        assert not any(recall.done() for recall in recalls)
        for recall in recalls:
            recall.cancel()
        await asyncio.gather(*recalls, return_exceptions=True)
