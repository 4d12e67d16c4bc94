"""Requests that name a run: its log tells of them, and one that there is not is refused by name."""

from typing import Any

import pytest

from app.runtime.recall_log import write_recalls
from tests.support.problem_shape import assert_problem
from tests.support.service import Service

RUN, ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB"
WRITES: dict[str, dict[str, Any]] = {
    "/store": {"agent_id": "bot", "content": "text"},
    "/profiles/bot/remember": {"content": "text"},
    "/profiles/bot/ingest": {"messages": [{"role": "user", "content": "text"}]},
}


async def begin(service: Service, agent_id: str = "bot", tenant: str = "acme") -> None:
    body = {"agent_id": agent_id, "agent_type": "t", "input": None, "run_id": RUN}
    assert (await service.post("/runs", body, tenant=tenant)).status_code == 201


async def test_a_run_has_a_state_and_a_log_without_another_request(service: Service) -> None:
    await begin(service)
    headers = service.credential()
    state = (await service.client.get(f"/runs/{RUN}/state", headers=headers)).json()
    assert state["value"]["status"] == "running"
    for path, body in WRITES.items():
        assert (await service.post(path, body | {"run_id": RUN})).status_code in {200, 201}
    assert (await service.post("/profiles/bot/recall", {"query": "text?", "run_id": RUN})).status_code == 200
    await service.post("/context/assemble", {"agent_id": "bot", "run_id": RUN})
    await service.post(f"/runs/{RUN}/complete", {"output": 1})
    await write_recalls(service.runtime.backends)
    log = (await service.client.get(f"/runs/{RUN}/log", headers=headers)).json()
    assert [each["entry"]["event"] for each in log["entries"]] == [
        *("started", "stored", "stored", "ended", "ingested", "recalled", "assembled")
    ]


@pytest.mark.parametrize("path", WRITES)
async def test_a_run_that_is_not_the_agents_is_not_found_and_nothing_is_written(service: Service, path: str) -> None:
    await begin(service, tenant="other")
    for run_id in (RUN, ABSENT):
        problem = assert_problem(await service.post(path, WRITES[path] | {"run_id": run_id}), 404, "not_found")
        assert [each["field"] for each in problem["errors"]] == ["run_id"]
    await begin(service, agent_id="someone-else")
    assert_problem(await service.post(path, WRITES[path] | {"run_id": RUN}), 404, "not_found")
    problem = assert_problem(await service.post(path, WRITES[path] | {"run_id": "mine"}), 422, "invalid_request")
    assert [each["field"] for each in problem["errors"]] == ["run_id"]
    assert await service.contents("text") == []


async def test_a_key_that_came_with_another_run_is_used(service: Service) -> None:
    await begin(service)
    headers = service.credential() | {"Idempotency-Key": "once"}
    body = WRITES["/store"]
    assert (await service.client.post("/store", json=body, headers=headers)).status_code == 201
    again = await service.client.post("/store", json=body | {"run_id": RUN}, headers=headers)
    assert_problem(again, 409, "idempotency_key_reused")


@pytest.mark.parametrize(("tenant", "agent_id"), [("other", "bot"), ("acme", "someone-else")])
async def test_no_other_tenant_and_no_other_agent_writes_into_the_log_of_a_run(
    service: Service, tenant: str, agent_id: str
) -> None:
    await begin(service)
    body: dict[str, Any] = {"agent_id": agent_id, "run_id": RUN}
    asked: dict[str, dict[str, Any]] = {
        "/recall": body | {"query": "text?"},
        "/context/assemble": body,
        f"/profiles/{agent_id}/recall": {"query": "text?", "run_id": RUN},
        f"/profiles/{agent_id}/remember": {"content": "text", "run_id": RUN},
        f"/profiles/{agent_id}/ingest": {"messages": [{"role": "user", "content": "text"}], "run_id": RUN},
        "/store": body | {"content": "text"},
        "/runs": {"agent_id": agent_id, "agent_type": "t", "input": None, "parent_run_id": RUN},
    }
    for path, sent in asked.items():
        answer = await service.post(path, sent, tenant=tenant, agent=agent_id)
        assert answer.status_code in {200, 404}, (path, answer.text)
    await write_recalls(service.runtime.backends)
    log = (await service.client.get(f"/runs/{RUN}/log", headers=service.credential())).json()
    assert [each["entry"]["event"] for each in log["entries"]] == ["started"]


async def test_no_other_tenant_and_no_other_agent_reads_writes_ends_or_undoes_a_run(service: Service) -> None:
    await begin(service)
    child = {"agent_id": "helper", "agent_type": "t", "input": 1, "parent_run_id": RUN, "handed_over": {"canary": 17}}
    child_id = (await service.post("/runs", child)).json()["run_id"]
    for run_id in (RUN, child_id):
        asked = [
            *(("GET", f"/runs/{run_id}{path}", None) for path in ("", "/state", "/log", "/replay")),
            ("PUT", f"/runs/{run_id}/state", {"value": 1}),
            ("POST", f"/runs/{run_id}/log", {"entries": [{"entry": 1}]}),
            ("POST", f"/runs/{run_id}/complete", {"output": 1}),
            ("POST", f"/runs/{run_id}/fail", {"error": "no"}),
        ]
        for headers in (
            *(service.credential("other"), service.credential("other", "bot")),
            service.credential(agent="someone-else"),
            service.credential(agent="bot" if run_id == child_id else "helper"),
        ):
            for method, path, body in asked:
                answer = await service.client.request(method, path, json=body, headers=headers)
                assert_problem(answer, 404, "not_found")
                assert "canary" not in answer.text
        for undo in ({"run_id": run_id}, {"run_id": run_id, "dry_run": False}):
            assert_problem(await service.post("/undo", undo, tenant="other", admin=True), 404, "not_found")
    for headers in (service.credential("other"), service.credential(agent="someone-else")):
        for params in ({}, {"parent_run_id": RUN}, {"status": "running"}):
            listed = await service.client.get("/runs", params=params, headers=headers)
            assert listed.json()["runs"] == []
    for run_id in (RUN, child_id):
        run = (await service.client.get(f"/runs/{run_id}", headers=service.credential())).json()
        log = (await service.client.get(f"/runs/{run_id}/log", headers=service.credential())).json()
        assert (run["status"], {each["entry"]["event"] for each in log["entries"]} - {"child_started"}) == (
            *("running", {"started"}),
        )


async def test_two_runs_of_one_agent_have_nothing_of_each_other(service: Service) -> None:
    headers, other_id = service.credential(agent="bot"), ABSENT
    for run_id in (RUN, other_id):
        body = {"agent_id": "bot", "agent_type": "t", "input": run_id, "run_id": run_id}
        assert (await service.post("/runs", body)).status_code == 201

    async def seen(run_id: str) -> list[Any]:
        await write_recalls(service.runtime.backends)
        paths = (f"/runs/{run_id}/state", f"/runs/{run_id}/log", f"/working/bot/{run_id}", f"/runs/{run_id}")
        return [(await service.client.get(path, headers=headers)).json() for path in paths]

    put = {"value": "of the other", "ttl_seconds": 600}
    assert (await service.client.put(f"/working/bot/{other_id}/plan", json=put, headers=headers)).is_success
    assert (await service.post("/store", {"agent_id": "bot", "content": "of the other", "run_id": other_id})).is_success
    before = await seen(other_id)
    put["value"] = "of the run"
    for path in (f"/working/bot/{RUN}/plan", f"/runs/{RUN}/state"):
        assert (await service.client.put(path, json=put, headers=headers)).is_success
    assert (await service.post(f"/runs/{RUN}/log", {"entries": [{"entry": "of the run"}]})).is_success
    for path, body in WRITES.items():
        assert (await service.post(path, body | {"run_id": RUN})).is_success
    assert (await service.post("/profiles/bot/recall", {"query": "text?", "run_id": RUN})).is_success
    # What the one had stored first stays the first one's, though the other stores it too.
    assert (await service.post("/store", {"agent_id": "bot", "content": "of the other", "run_id": RUN})).is_success
    assert (await service.post("/undo", {"run_id": RUN, "dry_run": False}, admin=True)).json()["memories"] >= 1
    assert (await service.post(f"/runs/{RUN}/complete", {"output": 1})).is_success
    assert await seen(other_id) == before
    assert "of the run" not in str(before)
    assert await service.contents("of the other text") == ["of the other"]
