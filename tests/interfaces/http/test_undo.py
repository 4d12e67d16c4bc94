"""The route that takes back what was taught."""

from typing import Any

import pytest

from app.domain.facts import Fact
from tests.support.problem_shape import assert_problem
from tests.support.service import Service

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def test_a_dry_run_comes_first_and_the_undo_does_what_it_said(service: Service) -> None:
    await service.store("I live in Rome", metadata=Fact("user", "lives in", "Rome", single=True).metadata)
    wrong = Fact("user", "lives in", "Oslo", single=True, learned_from_run_id=RUN)
    await service.store("I moved to Oslo", metadata=wrong.metadata)
    assert await service.contents("Where do I live?") == ["I moved to Oslo"]
    said = (await service.post("/undo", {"run_id": RUN}, admin=True)).json()
    assert (said["dry_run"], said["memories"], said["more"]) == (True, 1, False)
    forecast = said["forecast"]
    assert (forecast["agent_ids"], forecast["at_least"], forecast["holds_again"]) == (["bot"], False, 1)
    assert [each["content"] for each in forecast["holding"]] == ["I live in Rome"]
    done = (await service.post("/undo", {"run_id": RUN, "dry_run": False}, admin=True)).json()
    assert (done["dry_run"], done["memories"]) == (False, 1)
    assert "forecast" not in done
    assert await service.contents("Where do I live?") == ["I live in Rome"]
    assert_problem(await service.post("/undo", {"run_id": RUN}, admin=True), 404, "not_found")


async def test_only_an_administrator_of_all_agents_undoes(service: Service) -> None:
    assert_problem(await service.post("/undo", {"run_id": RUN}), 403, "forbidden")
    assert_problem(await service.post("/undo", {"run_id": RUN}, agent="bot", admin=True), 403, "forbidden")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"run_id": None},
        {"run_id": "x"},
        {"run_id": RUN, "credential_id": "a"},
        {"agent_id": "bot"},
        {"session_id": "s"},
        {"run_id": RUN, "dry_run": "false"},
    ],
)
async def test_what_is_not_one_selection_is_refused(shared_service: Service, body: dict[str, Any]) -> None:
    assert_problem(await shared_service.post("/undo", body, admin=True), 422, "invalid_request")


async def test_a_session_without_memories_is_no_error(service: Service) -> None:
    for dry_run in (True, False):
        body = {"agent_id": "bot", "session_id": "none", "dry_run": dry_run}
        answer = await service.post("/undo", body, admin=True)
        assert (answer.status_code, answer.json()["memories"]) == (200, 0)
