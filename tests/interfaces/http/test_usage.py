"""What is used, what a store is told of it, and what an agent is set to, over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.domain import limits
from app.storage.tiers.tables import TIER_TABLES
from tests.interfaces.http.test_operations import finish
from tests.support.backends import Backend
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

KINDS = [tier.kind for tier in TIER_TABLES if tier.counted]


@pytest.fixture
async def service(tmp_path: Path, backend: Backend) -> AsyncIterator[Service]:
    async with serving(tmp_path, on=backend, agent_memories=5, tenant_bytes=1000) as service:
        yield service


async def test_a_store_is_told_when_little_is_left_and_refused_when_nothing_is(service: Service) -> None:
    told = []
    for n in range(5):
        answer = await service.post("/store", {"agent_id": "bot", "content": f"text {n}"})
        assert answer.status_code == 201
        told.append(answer.headers.get("quota-warning"))
    assert told == [None] * 3 + [f"memories;scope=agent;used={used};limit=5" for used in (4, 5)]
    answer = await service.post("/store", {"agent_id": "bot", "content": "one more"})
    problem = assert_problem(answer, 429, "quota_exceeded")
    assert "the agent's limit of 5 memories, of which 5 are used" in problem["detail"]
    assert answer.headers["quota-warning"] == "memories;scope=agent;used=5;limit=5"
    assert "retry-after" not in answer.headers


async def test_a_store_too_many_in_a_minute_may_be_tried_again_in_the_next(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend, tenant_stores_per_minute=0) as service:
        answer = await service.post("/store", {"agent_id": "bot", "content": "text"})
        assert_problem(answer, 429, "quota_exceeded")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.headers["quota-warning"] == "stores_per_minute;scope=tenant;used=0;limit=0"


async def test_usage_is_told_of_the_tenant_and_of_each_agent(service: Service) -> None:
    await service.store("text", agent_id="little")
    await service.store("a longer text", agent_id="much", metadata={"k": "é"})
    await service.store("theirs", tenant="other")
    told = (await service.client.get("/usage", headers=service.credential(admin=True))).json()
    assert (told["tenant"]["memories"], told["tenant"]["bytes"]) == (2, 4 + 2 + 13 + 10)
    assert told["tenant"]["limits"] == {"memories": 1_000_000, "bytes": 1000, "stores_per_minute": 6_000}
    assert [(agent["agent_id"], agent["bytes"]) for agent in told["agents"]] == [("much", 23), ("little", 6)]
    assert told["agents"][0]["limits"] == {"memories": 5, "bytes": 1024**3, "stores_per_minute": 3_000}
    for headers, query in (
        (service.credential(agent="much"), {}),
        (service.credential(agent="much"), {"agent_id": "much"}),
        (service.credential(admin=True), {"agent_id": "much"}),
    ):
        of_one = (await service.client.get("/usage", params=query, headers=headers)).json()
        assert of_one == {"agents": told["agents"][:1]}
    kept = {"idempotency_keys": 0, "audit_rows": 2, "agent_settings": 0, "receipts": 0, "snapshot_bytes": 0}
    assert told["kept"] == kept | dict.fromkeys(KINDS, 0)
    nobody = await service.client.get("/usage?agent_id=nobody", headers=service.credential(admin=True))
    assert [agent["memories"] for agent in nobody.json()["agents"]] == [0]


async def test_an_administrator_sets_how_long_an_agents_memories_live(service: Service) -> None:
    headers = service.credential(admin=True)
    unset = await service.client.get("/agents/bot", headers=headers)
    assert unset.json() == {
        "agent_id": "bot",
        "retention_days": None,
        "long_term_enabled": True,
        "tools": "recall_store",
    }
    for days in (30, 36500, None, 1):
        answer = await service.client.put("/agents/bot", json={"retention_days": days}, headers=headers)
        assert (answer.status_code, answer.json()) == (200, unset.json() | {"retention_days": days})
        assert (await service.client.get("/agents/bot", headers=headers)).json() == answer.json()
    await service.store("text")
    (memory,) = (await service.client.get("/memories", headers=headers)).json()["memories"]
    assert memory["expires_at"] > memory["created_at"]
    others = await service.client.get("/agents/bot", headers=service.credential("other", admin=True))
    assert others.json()["retention_days"] is None


async def test_a_tenant_sets_so_many_agents_and_no_more(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_AGENT_SETTINGS", 2)
    headers = service.credential(admin=True)

    async def put(agent: str, days: int) -> httpx.Response:
        return await service.client.put(f"/agents/{agent}", json={"retention_days": days}, headers=headers)

    assert [(await put(agent, 1)).status_code for agent in ("one", "two")] == [200, 200]
    problem = assert_problem(await put("three", 1), 429, "quota_exceeded")
    assert "2 agents" in problem["detail"]
    assert (await put("one", 9)).json()["retention_days"] == 9
    kept = (await service.client.get("/usage", headers=headers)).json()["kept"]
    assert kept["agent_settings"] == 2
    theirs = service.credential("other", admin=True)
    answer = await service.client.put("/agents/three", json={"retention_days": 1}, headers=theirs)
    assert answer.status_code == 200


async def test_an_agent_is_set_by_an_administrator_of_it_alone_and_to_what_can_be(service: Service) -> None:
    body = {"retention_days": 1}
    for headers in (service.credential(), service.credential(agent="bot"), service.credential(agent="x", admin=True)):
        assert_problem(await service.client.put("/agents/bot", json=body, headers=headers), 403, "forbidden")
        assert_problem(await service.client.get("/agents/bot", headers=headers), 403, "forbidden")
    headers = service.credential(admin=True)
    for wrong in ({"retention_days": 0}, {"retention_days": "1"}, {"retention_days": 36501}, {"retention_days": 1.5}):
        answer = await service.client.put("/agents/bot", json=wrong, headers=headers)
        assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"retention_days"}
    answer = await service.client.put("/agents/bot", content="{}", headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")
    assert_problem(await service.client.put("/agents/bot", json={}, headers=headers), 422, "invalid_request")
    answer = await service.client.put("/agents/bot", json={"long_term_enabled": "no"}, headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"long_term_enabled"}
    for wrong_tools in ("", "both", "PROFILE", None, True, ["profile"]):
        answer = await service.client.put("/agents/bot", json={"tools": wrong_tools}, headers=headers)
        assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"tools"}


async def test_what_a_request_to_set_an_agent_leaves_out_stays_as_it_was(service: Service) -> None:
    headers = service.credential(admin=True)
    for body, settings in [
        ({"long_term_enabled": False}, (None, False, "recall_store")),
        ({"retention_days": 7}, (7, False, "recall_store")),
        ({"tools": "profile"}, (7, False, "profile")),
        ({"long_term_enabled": True}, (7, True, "profile")),
        ({"retention_days": None, "long_term_enabled": False}, (None, False, "profile")),
        ({"tools": "recall_store"}, (None, False, "recall_store")),
    ]:
        answer = (await service.client.put("/agents/bot", json=body, headers=headers)).json()
        assert (answer["retention_days"], answer["long_term_enabled"], answer["tools"]) == settings


async def test_an_agent_that_was_erased_has_the_tools_that_agents_have_at_first(service: Service) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.put("/agents/bot", json={"tools": "profile"}, headers=headers)
    assert answer.json()["tools"] == "profile"
    others = await service.client.get("/agents/bot", headers=service.credential("other", admin=True))
    assert others.json()["tools"] == "recall_store"
    erasure = (await service.client.delete("/agents/bot", headers=headers)).json()
    await finish(service, erasure["id"])
    assert (await service.client.get("/agents/bot", headers=headers)).json()["tools"] == "recall_store"


async def test_an_agent_whose_long_term_memory_is_switched_off_neither_stores_nor_recalls(service: Service) -> None:
    await service.store("before", metadata={"kind": "old"})
    (entry,) = await service.recall("before")
    headers = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=headers)
    for path, body in [
        ("/store", {"content": "after"}),
        ("/recall", {"query": "before"}),
        ("/recall/explain", {"query": "before", "memory_id": entry["id"]}),
    ]:
        assert_problem(await service.post(path, {"agent_id": "bot", **body}), 409, "long_term_disabled")
    await service.store("of another", agent_id="other")
    listed = (await service.client.get("/memories", params={"agent_id": "bot"}, headers=headers)).json()["memories"]
    assert [memory["content"] for memory in listed] == ["before"]
    await service.client.put("/agents/bot", json={"long_term_enabled": True}, headers=headers)
    assert await service.contents("before") == ["before"]


async def test_a_store_that_was_made_before_the_switch_is_answered_the_same_after_it(service: Service) -> None:
    body = {"agent_id": "bot", "content": "text"}
    headers = service.credential() | {"Idempotency-Key": "one"}
    assert (await service.client.post("/store", json=body, headers=headers)).status_code == 201
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=admin)
    assert (await service.client.post("/store", json=body, headers=headers)).status_code == 201
