"""Requests that begin and look at runs which other runs have delegated."""

from typing import Any

from app.domain import limits
from tests.support.problem_shape import assert_problem
from tests.support.service import Service

PARENT, CHILD, ABSENT = (f"01K2Z4M1V7Q8T3B5N6C7D8E9F{mark}" for mark in "ABC")


def body(run_id: str | None = None, agent_id: str = "bot", **fields: Any) -> dict[str, Any]:
    named = {} if run_id is None else {"run_id": run_id}
    return {"agent_id": agent_id, "agent_type": "t", "input": None, **named, **fields}


async def family(service: Service) -> None:
    """Have a run, and one of another agent that it has delegated."""
    handed_over = {"order": 17}
    for each in (body(PARENT), body(CHILD, "helper", parent_run_id=PARENT, handed_over=handed_over)):
        assert (await service.post("/runs", each)).status_code == 201


async def test_the_child_alone_reads_what_it_was_handed(service: Service) -> None:
    await family(service)
    headers = service.credential(agent="helper")
    run = (await service.client.get(f"/runs/{CHILD}", headers=headers)).json()
    assert (run["parent_run_id"], run["handed_over"]) == (PARENT, {"order": 17})
    assert (await service.client.get(f"/runs/{PARENT}", headers=headers)).status_code == 404
    assert (await service.client.get(f"/runs/{PARENT}/log", headers=headers)).status_code == 404
    assert (await service.client.get(f"/runs/{CHILD}", headers=service.credential(agent="bot"))).status_code == 404
    params = {"parent_run_id": PARENT}
    (listed,) = (await service.client.get("/runs", params=params, headers=service.credential())).json()["runs"]
    assert (listed["run_id"], "handed_over" in listed) == (CHILD, False)
    of_bot = (await service.client.get("/runs", params=params, headers=service.credential(agent="bot"))).json()
    assert of_bot["runs"] == []


async def test_a_listing_by_parent_goes_on_with_its_cursor_and_with_no_other(service: Service) -> None:
    await family(service)
    await service.post("/runs", body(parent_run_id=PARENT))
    params, headers = {"parent_run_id": PARENT, "limit": "1"}, service.credential()
    first = (await service.client.get("/runs", params=params, headers=headers)).json()
    again = {**params, "cursor": first["cursor"]}
    (second,) = (await service.client.get("/runs", params=again, headers=headers)).json()["runs"]
    assert second["run_id"] == CHILD
    other = {**again, "parent_run_id": CHILD}
    assert_problem(await service.client.get("/runs", params=other, headers=headers), 400, "invalid_cursor")


async def test_a_replay_shows_the_child(service: Service) -> None:
    await family(service)
    await service.post(f"/runs/{CHILD}/complete", {"output": 1})
    replay = (await service.client.get(f"/runs/{PARENT}/replay", headers=service.credential())).json()
    told = {"run_id": CHILD, "agent_id": "helper", "agent_type": "t"}
    assert [(step["kind"], step.get("child")) for step in replay["steps"]] == [
        *(("started", None), ("child_started", told), ("child_ended", told | {"status": "completed"})),
    ]


async def test_what_is_wrong_of_a_parent_is_named(service: Service) -> None:
    await family(service)
    for asked, status, code in (
        (body(ABSENT, parent_run_id=ABSENT), 422, "invalid_request"),
        (body(PARENT, parent_run_id=CHILD), 409, "conflict"),
        (body(parent_run_id=ABSENT), 404, "not_found"),
        (body(parent_run_id="mine"), 422, "invalid_request"),
        (body(parent_run_id=None), 422, "invalid_request"),
    ):
        problem = assert_problem(await service.post("/runs", asked), status, code)
        assert [each["field"] for each in problem["errors"]] == ["parent_run_id"]
    for handed_over in (None, "x" * limits.HANDED_OVER_BYTES):
        asked = body(parent_run_id=PARENT, handed_over=handed_over)
        problem = assert_problem(await service.post("/runs", asked), 422, "invalid_request")
        assert [each["field"] for each in problem["errors"]] == ["handed_over"]
    await service.post(f"/runs/{PARENT}/complete", {})
    problem = assert_problem(await service.post("/runs", body(parent_run_id=PARENT)), 409, "run_ended")
    assert [each["field"] for each in problem["errors"]] == ["parent_run_id"]


async def test_a_credential_of_an_agent_delegates_from_its_own_runs_to_itself(service: Service) -> None:
    await family(service)
    mine = await service.post("/runs", body(parent_run_id=PARENT), agent="bot")
    assert mine.status_code == 201
    to_another = await service.post("/runs", body(agent_id="helper", parent_run_id=PARENT), agent="bot")
    assert_problem(to_another, 403, "forbidden")
    of_another = await service.post("/runs", body(parent_run_id=CHILD), agent="bot")
    assert_problem(of_another, 404, "not_found")


async def test_a_thousand_children_are_too_many(service: Service) -> None:
    await family(service)
    statuses = [(await service.post("/runs", body(parent_run_id=PARENT))).status_code for _ in range(120)]
    assert statuses.count(201) == limits.MAX_RUN_CHILDREN - 1
    problem = assert_problem(await service.post("/runs", body(parent_run_id=PARENT)), 429, "quota_exceeded")
    assert str(limits.MAX_RUN_CHILDREN) in problem["detail"]
