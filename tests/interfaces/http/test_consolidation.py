"""The routes that tell what a consolidation has merged, or would, and take it back."""

from typing import Any

import pytest

from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from tests.support.problem_shape import assert_problem
from tests.support.service import Service

ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def consolidate(service: Service) -> None:
    database, rate_limiter = service.runtime.backends.database, RateLimiter(1e9)
    await Consolidate(database, None, holder="one", rate_limiter=rate_limiter, report=lambda _: None, pause=0).run()


async def reports(service: Service) -> list[dict[str, Any]]:
    answer = await service.client.get("/consolidations", headers=service.credential(admin=True))
    found: list[dict[str, Any]] = answer.json()["consolidations"]
    return found


async def test_what_would_be_merged_is_told_then_merged_reported_and_taken_back(service: Service) -> None:
    for session in "ab":
        await service.store("I like tea", session_id=session)
    assert await reports(service) == []
    told = (await service.post("/consolidations/dry-run", {"agent_id": "bot"}, admin=True)).json()
    assert (told["memories"], told["facts"], told["at_least"]) == (1, 0, False)
    await consolidate(service)
    assert len(await service.contents("tea")) == 1
    (report,) = await reports(service)
    assert (report["memories"], report["facts"], "undone_at" in report) == (1, 0, False)
    body = {"consolidation_id": report["id"]}
    said = (await service.post("/consolidations/undo", body, admin=True)).json()
    assert (said["dry_run"], said["memories"], said["merges"]) == (True, 1, told["merges"])
    done = (await service.post("/consolidations/undo", body | {"dry_run": False}, admin=True)).json()
    assert (done["dry_run"], done["memories"], done["more"]) == (False, 1, False)
    listed = await service.client.get("/memories", headers=service.credential(admin=True))
    assert [memory.get("superseded_at") for memory in listed.json()["memories"]] == [None, None]
    assert "undone_at" in (await reports(service))[0]


async def test_only_an_administrator_of_all_agents_is_told_and_takes_back(service: Service) -> None:
    for body in ({"consolidation_id": ID}, {"consolidation_id": ID, "dry_run": False}):
        assert_problem(await service.post("/consolidations/undo", body), 403, "forbidden")
        assert_problem(await service.post("/consolidations/undo", body, agent="bot", admin=True), 403, "forbidden")
        assert_problem(await service.post("/consolidations/undo", body, admin=True), 404, "not_found")
    for headers in (service.credential(), service.credential("acme", "bot", admin=True)):
        assert_problem(await service.client.get("/consolidations", headers=headers), 403, "forbidden")
    body = {"agent_id": "other"}
    assert_problem(await service.post("/consolidations/dry-run", body, agent="bot", admin=True), 403, "forbidden")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("undo", {}, "consolidation_id"),
        ("undo", {"consolidation_id": "x"}, "consolidation_id"),
        ("undo", {"consolidation_id": ID, "dry_run": "no"}, "dry_run"),
        ("dry-run", {"agent_id": ""}, "agent_id"),
    ],
)
async def test_what_is_outside_its_bounds_is_named(
    shared_service: Service, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await shared_service.post(f"/consolidations/{path}", body, admin=True)
    assert_problem(answer, 422, "invalid_request")
    assert [error["field"] for error in answer.json()["errors"]] == [field]
