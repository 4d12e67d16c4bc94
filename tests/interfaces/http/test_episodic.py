"""Runs and episodes over HTTP."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

RUN, OTHER, EPISODE = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB", "01K2Z4M1V7Q8T3B5N6C7D8E9FC"


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def start(service: Service, agent_id: str = "bot", **fields: Any) -> dict[str, Any]:
    who = {"agent": fields.pop("agent", None), "tenant": fields.pop("tenant", "acme")}
    answer = await service.post("/runs", {"agent_id": agent_id, "agent_type": "t", "input": None, **fields}, **who)
    assert answer.status_code == 201, answer.text
    started: dict[str, Any] = answer.json()
    return started


async def append(service: Service, run: str, *contents: str, **who: Any) -> httpx.Response:
    episodes = [{"type": "note", "content": content} for content in contents]
    return await service.post(f"/runs/{run}/episodes", {"episodes": episodes}, **who)


async def get(service: Service, path: str, agent: str | None = None, **query: Any) -> httpx.Response:
    return await service.client.get(path, params=query, headers=service.credential(agent=agent))


async def test_a_large_input_and_output_come_back_and_a_lost_one_is_gone(service: Service) -> None:
    large = {"text": "é" * 90_000}
    started = await start(service, run_id=RUN, input=large)
    assert started["input"] == large
    ended = await service.post(f"/runs/{RUN}/complete", {"output": large})
    assert (ended.status_code, ended.json()["output"]) == (200, large)
    run = (await get(service, f"/runs/{RUN}")).json()
    assert (run["input"], run["output"]) == (large, large)
    (listed,) = (await get(service, "/runs")).json()["runs"]
    steps = (await get(service, f"/runs/{RUN}/replay")).json()["steps"]
    for held in (listed["input"], listed["output"], steps[0]["run"]["input"], steps[-1]["run"]["output"]):
        assert (held["blob"]["size"], held["blob"]["media_type"]) == (180_011, "application/json")
    for name in ("input", "output"):
        blob = await get(service, f"/blobs/{listed[name]['blob']['id']}", agent_id="bot")
        assert json.loads(blob.content) == large
    deleted = await service.client.delete(
        f"/blobs/{listed['output']['blob']['id']}", params={"agent_id": "bot"}, headers=service.credential(admin=True)
    )
    assert deleted.status_code == 204
    assert_problem(await get(service, f"/runs/{RUN}"), 410, "blob_gone")
    assert (await get(service, "/runs")).json()["runs"] == [listed]


async def test_a_run_goes_from_its_start_over_its_episodes_to_its_end(service: Service) -> None:
    started = await start(service, run_id=RUN, input={"a": None, "b": [1, 2.5]})
    assert started == {
        "run_id": RUN,
        "agent_id": "bot",
        "agent_type": "t",
        "status": "running",
        "started_at": started["started_at"],
        "input": {"a": None, "b": [1, 2.5]},
        "episodes": [],
    }
    moment = "2026-05-01T10:00:00.000Z"
    episode = {"episode_id": EPISODE, "type": "note", "content": "c", "data": {"k": None}, "occurred_at": moment}
    for expected in ({"written": 1, "known": 0}, {"written": 0, "known": 1}):
        answer = await service.post(f"/runs/{RUN}/episodes", {"episodes": [episode]})
        assert (answer.status_code, answer.json()) == (201, expected)
    (found,) = (await get(service, "/episodes", agent_type="t")).json()["episodes"]
    assert found == {
        "id": EPISODE,
        "run_id": RUN,
        "agent_id": "bot",
        "agent_type": "t",
        "type": "note",
        "content": "c",
        "data": {"k": None},
        "occurred_at": moment,
        "created_at": found["created_at"],
    }
    assert (await start(service))["episodes"] == [found]
    running = (await get(service, f"/runs/{RUN}")).json()
    assert running == {**{k: v for k, v in started.items() if k != "episodes"}, "episode_ids": []}
    for _ in range(2):
        done = await service.post(f"/runs/{RUN}/complete", {"output": {"x": None}})
        assert done.status_code == 200
        ended = done.json()
        assert ended == {**running, "status": "completed", "output": {"x": None}, "ended_at": ended["ended_at"]}
    assert_problem(await service.post(f"/runs/{RUN}/fail", {"error": "e"}), 409, "run_ended")
    assert_problem(await append(service, RUN, "late"), 409, "run_ended")
    assert (await service.post(f"/runs/{RUN}/episodes", {"episodes": [episode]})).json()["known"] == 1


async def test_an_agent_s_credential_reaches_its_own_runs_and_episodes_alone(service: Service) -> None:
    for agent in ("bot", "other"):
        await append(service, (await start(service, agent, run_id=RUN if agent == "bot" else OTHER))["run_id"], agent)
    (given,) = (await start(service, agent="bot"))["episodes"]
    assert given["content"] == "bot"
    assert len((await start(service))["episodes"]) == 2
    assert [
        each["content"] for each in (await get(service, "/episodes", "bot", agent_type="t")).json()["episodes"]
    ] == ["bot"]
    assert {each["agent_id"] for each in (await get(service, "/runs", "bot")).json()["runs"]} == {"bot"}
    assert (await get(service, "/episodes", "bot", run_id=OTHER)).json() == {"episodes": []}
    assert_problem(await get(service, f"/runs/{OTHER}", "bot"), 404, "not_found")
    assert_problem(await append(service, OTHER, "x", agent="bot"), 404, "not_found")
    assert_problem(await service.post(f"/runs/{OTHER}/complete", {}, agent="bot"), 404, "not_found")
    assert_problem(await service.post(f"/runs/{OTHER}/fail", {"error": ""}, agent="bot"), 404, "not_found")
    for path in ("/runs", "/episodes"):
        assert_problem(await get(service, path, "bot", agent_id="other"), 403, "forbidden")
    body = {"agent_id": "other", "agent_type": "t", "input": None}
    assert_problem(await service.post("/runs", body, agent="bot"), 403, "forbidden")


async def test_what_is_listed_goes_on_with_a_cursor_of_the_same_question_alone(service: Service) -> None:
    for _ in range(3):
        assert (await append(service, (await start(service))["run_id"], "x")).status_code == 201
    for path, members in (("/runs", "runs"), ("/episodes", "episodes")):
        first = (await get(service, path, limit=2, agent_type="t")).json()
        last = (await get(service, path, limit=2, agent_type="t", cursor=first["cursor"])).json()
        assert len(first[members]) == 2
        assert len(last[members]) == 1
        assert "cursor" not in last
        for other in ({"agent_type": "u"}, {}, {"agent_type": "t", "agent_id": "bot"}):
            assert_problem(await get(service, path, cursor=first["cursor"], **other), 400, "invalid_cursor")
        assert_problem(await get(service, path, "bot", agent_type="t", cursor=first["cursor"]), 400, "invalid_cursor")


async def test_from_eighty_percent_a_write_is_answered_with_a_warning_and_over_the_limit_refused(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, tenant_episodes=5) as service:
        run = (await start(service))["run_id"]
        assert "quota-warning" not in (await append(service, run, *"123")).headers
        assert (await append(service, run, "4")).headers["quota-warning"] == "episodes;scope=tenant;used=4;limit=5"
        refused = await append(service, run, "5", "6")
        assert_problem(refused, 429, "quota_exceeded")
        assert refused.headers["quota-warning"] == "episodes;scope=tenant;used=4;limit=5"
        metrics = (await service.client.get("/metrics")).text
        assert "memory_gateway_episodes_near_limit_total 1.0" in metrics


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/runs", {"agent_id": "bot", "agent_type": "t"}, "input"),
        ("/runs", {"agent_id": "bot", "agent_type": "t", "input": "x" * 205_000}, "input"),
        ("/runs", {"agent_id": "bot", "agent_type": "t", "input": "\0"}, "input"),
        ("/runs", {"agent_id": "bot", "agent_type": "t", "input": 1, "episodes": 51}, "episodes"),
        ("/runs", {"agent_id": "bot", "agent_type": "t", "input": 1, "run_id": "1"}, "run_id"),
        ("/runs", {"agent_id": "bot", "agent_type": "a b", "input": 1}, "agent_type"),
        (f"/runs/{RUN}/episodes", {"episodes": []}, "episodes"),
        (f"/runs/{RUN}/episodes", {"episodes": [{"type": "t", "content": "c"}] * 101}, "episodes"),
        (f"/runs/{RUN}/episodes", {"episodes": [{"type": "t", "content": "x" * 33_000}]}, "episodes.0.content"),
        (f"/runs/{RUN}/episodes", {"episodes": [{"type": "", "content": "x"}]}, "episodes.0.type"),
        (f"/runs/{RUN}/episodes", {"episodes": [{"type": "t", "content": "", "data": []}]}, "episodes.0.data"),
        (f"/runs/{RUN}/complete", {"output": ["\ud800"]}, "output"),
        (f"/runs/{RUN}/fail", {"error": "x" * 4097}, "error"),
        (f"/runs/{RUN}/fail", {}, "error"),
    ],
)
async def test_a_field_that_is_wrong_is_named(shared_service: Service, path: str, body: Any, field: str) -> None:
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    answer = await shared_service.client.post(path, content=json.dumps(body), headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_a_number_that_json_does_not_have_is_refused(shared_service: Service, number: str) -> None:
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    body = f'{{"agent_id": "bot", "agent_type": "t", "input": [{number}]}}'
    answer = await shared_service.client.post("/runs", content=body, headers=headers)
    assert answer.status_code in {400, 422}, answer.text
    assert "input" in answer.text or answer.status_code == 400
