"""Erasing over HTTP, keys on stores, and what an operator is told."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def erase(service: Service, path: str = "/agents/bot", **whose: Any) -> httpx.Response:
    return await service.client.delete(path, headers=service.credential(admin=True, **whose))


async def store_with_key(service: Service, key: str, content: str = "text", **fields: Any) -> httpx.Response:
    headers = service.credential() | {"Idempotency-Key": key}
    return await service.client.post("/store", json={"agent_id": "bot", "content": content, **fields}, headers=headers)


async def finish(service: Service, operation_id: str) -> dict[str, Any]:
    """Let the outbox's time pass until the erasure is done."""
    while True:
        service.later(300)
        await service.runtime.indexer.round()
        answer = await service.client.get(f"/operations/{operation_id}", headers=service.credential(admin=True))
        assert answer.status_code == 200
        operation: dict[str, Any] = answer.json()
        if operation["status"] == "done":
            return operation


async def test_an_erasure_is_accepted_can_be_followed_and_ends_with_a_receipt(service: Service) -> None:
    await service.store("one")
    await service.store("two")
    answer = await erase(service)
    operation = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/operations/{operation['id']}"
    assert (operation["kind"], operation["status"], operation["agent_id"]) == ("erase", "running", "bot")
    assert_problem(await service.post("/store", {"agent_id": "bot", "content": "x"}), 409, "erasing")
    done = await finish(service, operation["id"])
    assert done["receipt"]["erased"]["memories"] == done["memories"] == 2
    assert await service.recall("one") == []
    await service.store("three")


async def test_a_tenant_is_erased_by_its_own_credential_and_named_nowhere_else(service: Service) -> None:
    await service.store("mine")
    await service.store("theirs", tenant="other")
    operation = (await erase(service, "/tenant?confirm=acme")).json()
    assert "agent_id" not in operation
    assert (await erase(service, "/tenant?confirm=acme")).json()["id"] == operation["id"]
    await finish(service, operation["id"])
    assert await service.contents("theirs", tenant="other") == ["theirs"]


@pytest.mark.parametrize("query", ["", "?confirm=", "?confirm=other", "?confirm=acm", "?confirm=acme&confirm=acme"])
async def test_a_tenant_that_is_not_confirmed_by_its_name_is_not_erased(service: Service, query: str) -> None:
    await service.store("kept")
    answer = await erase(service, f"/tenant{query}")
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"confirm"}
    assert await service.contents("kept") == ["kept"]


async def test_who_lacks_the_admin_scope_is_told_how_a_credential_with_it_is_minted(service: Service) -> None:
    problem = assert_problem(await service.client.delete("/agents/bot", headers=service.credential()), 403, "forbidden")
    assert "memory-gateway token --tenant acme --scope admin" in problem["detail"]


@pytest.mark.parametrize("path", ["/agents/bot", "/tenant?confirm=acme"])
async def test_erasing_needs_the_admin_scope_and_reaches_no_other_agent(service: Service, path: str) -> None:
    answer = await service.client.delete(path, headers=service.credential())
    assert_problem(answer, 403, "forbidden")
    assert_problem(await service.client.delete(path), 401, "unauthenticated")
    assert_problem(await erase(service, path, agent="other"), 403, "forbidden")


async def test_an_operation_of_another_tenant_or_agent_and_one_that_never_was_look_the_same(service: Service) -> None:
    operation_id = (await erase(service)).json()["id"]
    bodies = set()
    asked: list[tuple[str, dict[str, Any]]] = [
        (operation_id, {"tenant": "other"}),
        (operation_id, {"agent": "other"}),
        ("01K2Z4M1V7Q8T3B5N6C7D8E9FA", {}),
    ]
    for id_, whose in asked:
        headers = service.credential(admin=True, **whose) | {"X-Request-Id": "same"}
        answer = await service.client.get(f"/operations/{id_}", headers=headers)
        assert_problem(answer, 404, "not_found")
        bodies.add(answer.text)
    assert len(bodies) == 1
    forged = await service.client.get("/operations/forged", headers=service.credential(admin=True))
    assert named_fields(assert_problem(forged, 422, "invalid_request")) == {"operation_id"}


@pytest.mark.parametrize("agent", ["b" * 65, "a b", "%00"])
async def test_an_agent_that_cannot_be_is_not_erased(shared_service: Service, agent: str) -> None:
    answer = await erase(shared_service, f"/agents/{agent}")
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"agent_id"}


async def test_a_key_makes_a_store_happen_once(service: Service) -> None:
    for _ in range(3):
        assert (await store_with_key(service, "once")).status_code == 201
    assert_problem(await store_with_key(service, "once", "other"), 409, "idempotency_key_reused")
    assert await service.contents("text", top_k=20) == ["text"]


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "x" * 1_000_000])
async def test_a_key_of_another_form_is_refused_by_name(shared_service: Service, key: str) -> None:
    answer = await store_with_key(shared_service, key)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"Idempotency-Key"}
    assert len(answer.content) < 1000


async def test_only_an_administrator_is_told_how_the_outbox_stands(service: Service) -> None:
    await service.store("text")
    assert "outbox" not in (await service.client.get("/readyz")).json()
    assert_problem(await service.client.get("/readyz?details"), 401, "unauthenticated")
    headers = service.credential()
    assert_problem(await service.client.get("/readyz?details", headers=headers), 403, "forbidden")
    told = (await service.client.get("/readyz?details", headers=service.credential(admin=True))).json()["outbox"]
    assert set(told) == {
        "undelivered",
        "unconfirmed",
        "confirmed",
        "dead_letters",
        "oldest_undelivered_seconds",
        "delivery_lag_seconds",
        "erasures",
        "lease_holder",
    }
    assert_problem(await service.client.get("/readyz?other"), 422, "invalid_request")


async def test_details_that_are_not_wanted_are_not_told_and_need_no_credential(service: Service) -> None:
    for headers in ({}, service.credential(), service.credential(admin=True)):
        answer = await service.client.get("/readyz?details=false", headers=headers)
        assert (answer.status_code, "outbox" in answer.json()) == (200, False)
    answer = await service.client.get("/readyz?details=no", headers=service.credential(admin=True))
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"details"}


async def test_metrics_tell_how_the_outbox_stands(service: Service) -> None:
    await service.runtime.indexer.round()
    await asyncio.sleep(0)
    metrics = (await service.client.get("/metrics")).text
    for state in ("undelivered", "unconfirmed", "confirmed", "dead_letters"):
        assert f'memory_gateway_outbox_rows{{state="{state}"}}' in metrics
    for name in ("outbox_oldest_undelivered_seconds", "outbox_delivery_lag_seconds", "erasures"):
        assert f"memory_gateway_{name} " in metrics
    assert f'memory_gateway_indexer_lease{{holder="{service.runtime.name}"}} 1.0' in metrics


async def test_metrics_count_requests_by_route_and_outcome_and_name_no_tenant(service: Service) -> None:
    await service.store("counted", agent_id="of-metrics")
    await service.recall("counted", agent_id="of-metrics")
    await service.client.get("/memories/x", params={"agent_id": "of-metrics"}, headers=service.credential(admin=True))
    await service.client.get("/of/no/route")
    await service.client.request("BREW", "/store")
    shown = (await service.client.get("/metrics")).text
    counted = set(re.findall(r"^memory_gateway_requests_total\{(.*?)\} [1-9]", shown, re.MULTILINE))
    assert {
        'method="POST",outcome="ok",route="/store"',
        'method="POST",outcome="ok",route="/recall"',
        'method="GET",outcome="refused",route=""',
        'method="other",outcome="refused",route=""',
    } <= counted
    assert "acme" not in shown
    assert "of-metrics" not in shown
