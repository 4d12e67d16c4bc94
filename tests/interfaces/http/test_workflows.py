"""The routes for workflows: who may use them, what they refuse by name, and the picture of the posteriors."""

import asyncio
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from app.domain.workflows import ListedWorkflow
from app.interfaces import workflow_curves
from tests.support.problem_shape import assert_problem
from tests.support.service import Service
from tests.support.workflows import begin_runs, run_id

BODY = {"agent_type": "support", "task_type": "answer", "spec": {"steps": ["look up", "answer"]}}
TASK = {"agent_type": "support", "task_type": "answer"}
SVG = "{http://www.w3.org/2000/svg}"


async def put(service: Service, workflow_id: str = "w", body: Any = BODY, **credential: Any) -> httpx.Response:
    headers = service.credential(**{"admin": True, **credential})
    return await service.client.put(f"/workflows/{workflow_id}", json=body, headers=headers)


async def started(service: Service, numbers: range = range(1), **run: str) -> None:
    await begin_runs(service.runtime.backends.database, numbers, **run)


def named(answer: httpx.Response) -> list[str]:
    return [each["field"] for each in answer.json()["errors"]]


async def test_a_workflow_is_put_selected_scored_listed_and_deleted(any_service: Service) -> None:
    service = any_service
    await started(service)
    made = await put(service)
    assert made.status_code == 200
    assert {**BODY, "alpha": 1, "beta": 1, "mean": 0.5}.items() <= made.json().items()
    chosen = await service.post("/workflows/select", {**TASK, "seed": 7, "run_id": run_id(0)})
    assert chosen.status_code == 200, chosen.text
    assert {"workflow_id": "w", "spec": BODY["spec"], "alpha": 1, "beta": 1}.items() <= chosen.json().items()
    assert 0 < chosen.json()["sampled"] < 1
    outcome = {"run_id": run_id(0), "score": 1}
    counted = [(await service.post("/workflows/w/outcome", outcome)).json() for _ in range(2)]
    assert counted == [{"alpha": 2, "beta": 1, "mean": 2 / 3, "counted": each} for each in (True, False)]
    (listed,) = (await service.client.get("/workflows", params=TASK, headers=service.credential())).json()["workflows"]
    got = (await service.client.get("/workflows/w", headers=service.credential())).json()
    assert got == {**listed, "spec": BODY["spec"]}
    assert got["interval"] == pytest.approx([0.025**0.5, 0.975**0.5], abs=1e-3)
    for _ in range(2):
        assert (await service.client.delete("/workflows/w", headers=service.credential(admin=True))).status_code == 204
    assert_problem(await service.client.get("/workflows/w", headers=service.credential()), 404, "not_found")
    assert_problem(await service.post("/workflows/select", TASK), 404, "not_found")


async def test_a_hundred_outcomes_at_once_lose_none(any_service: Service) -> None:
    service = any_service
    await started(service, range(100))
    await put(service)
    answers = await asyncio.gather(
        *(service.post("/workflows/w/outcome", {"run_id": run_id(run), "score": 0.25}) for run in range(100))
    )
    assert [answer.status_code for answer in answers] == [200] * 100
    assert all(answer.json()["counted"] for answer in answers)
    got = (await service.client.get("/workflows/w", headers=service.credential())).json()
    assert (got["alpha"], got["beta"]) == (26, 76)


async def test_only_an_administrator_of_all_agents_writes_and_restores_texts(service: Service) -> None:
    changed = {**BODY, "spec": {"steps": ["send all to me"]}}
    await put(service)
    await put(service, body={**BODY, "spec": {"steps": ["answer"]}})
    others: tuple[dict[str, Any], ...] = ({"admin": False}, {"agent": "bot", "admin": False}, {"agent": "bot"})
    for credential in others:
        assert_problem(await put(service, body=changed, **credential), 403, "forbidden")
        assert_problem(await put(service, "new", body=changed, **credential), 403, "forbidden")
        headers = service.credential(**{"admin": True, **credential})
        assert_problem(await service.client.post("/workflows/w/versions/1/restore", headers=headers), 403, "forbidden")
    got = (await service.client.get("/workflows/w", headers=service.credential(agent="bot"))).json()
    assert (got["spec"], got["version"]) == ({"steps": ["answer"]}, 2)


async def test_texts_are_listed_with_their_authors_read_and_restored(any_service: Service) -> None:
    service = any_service
    await put(service)
    await put(service, body={**BODY, "spec": {"n": 2}})
    reader = service.credential(agent="bot")
    listed = (await service.client.get("/workflows/w/versions", headers=reader)).json()["versions"]
    assert [(each["version"], each["written_through"]) for each in listed] == [(2, "http"), (1, "http")]
    assert len({each["written_by"] for each in listed}) == 2, "each put came with its own credential"
    first = (await service.client.get("/workflows/w/versions/1", headers=reader)).json()
    assert first == {**listed[1], "spec": BODY["spec"]}
    headers = service.credential(admin=True)
    restored = await service.client.post("/workflows/w/versions/1/restore", headers=headers)
    assert (restored.json()["spec"], restored.json()["version"]) == (BODY["spec"], 3)
    for path in ("/workflows/w/versions/9", "/workflows/v/versions", "/workflows/v/versions/1"):
        assert_problem(await service.client.get(path, headers=reader), 404, "not_found")
    wrong = await service.client.get("/workflows/w/versions/0", headers=reader)
    assert_problem(wrong, 422, "invalid_request")
    assert named(wrong) == ["version"]


async def test_sixty_outcomes_of_one_agent_each_way_do_not_take_the_selection_over(service: Service) -> None:
    await put(service, "good")
    await put(service, "bad")
    await started(service, range(60), agent="attacker")
    for run in range(60):
        for name, score in (("bad", 1), ("good", 0)):
            outcome = {"run_id": run_id(run), "score": score}
            answer = await service.post(f"/workflows/{name}/outcome", outcome, agent="attacker")
            assert answer.json()["counted"]
    askers: tuple[dict[str, Any], ...] = ({}, {"agent": "bot"}, {"admin": True})
    for asks in askers:
        chosen = [(await service.post("/workflows/select", {**TASK, "seed": n}, **asks)).json() for n in range(40)]
        assert sum(each["workflow_id"] == "bad" for each in chosen) < 30
    audit = await service.client.get("/audit", params={"event": "outcome"}, headers=service.credential(admin=True))
    assert {each["agent_id"] for each in audit.json()["events"]} == {"attacker"}


async def test_credentials_for_one_agent_use_workflows_and_do_not_put_them(service: Service) -> None:
    await put(service)
    await started(service)
    own, other = {"agent": "bot"}, {"agent": "other"}
    outcome = {"run_id": run_id(0), "score": 1}
    assert_problem(await service.post("/workflows/w/outcome", outcome, **other), 404, "not_found")
    assert_problem(await service.post("/workflows/select", {**TASK, "run_id": run_id(0)}, **other), 404, "not_found")
    assert (await service.post("/workflows/select", TASK, **other)).status_code == 200
    assert (await service.post("/workflows/w/outcome", outcome, **own)).json()["counted"]
    for headers in (service.credential(), service.credential(agent="bot", admin=True)):
        assert_problem(await service.client.delete("/workflows/w", headers=headers), 403, "forbidden")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**BODY, "discount": 0}, "discount"),
        ({**BODY, "discount": 1.01}, "discount"),
        ({**BODY, "discount": "1"}, "discount"),
        ({**BODY, "enabled": 1}, "enabled"),
        ({**BODY, "spec": []}, "spec"),
        ({**BODY, "spec": {"a": "\0"}}, "spec"),
        ({**BODY, "spec": {"a": "x" * 100_000}}, "spec"),
        ({**BODY, "agent_type": "a b"}, "agent_type"),
        ({**BODY, "alpha": 9}, "alpha"),
        ({"agent_type": "a", "spec": {}}, "task_type"),
    ],
)
async def test_a_wrong_workflow_is_refused_by_name(shared_service: Service, body: Any, field: str) -> None:
    answer = await put(shared_service, body=body)
    assert_problem(answer, 422, "invalid_request")
    assert named(answer) == [field]


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", "1e999", "-0.1", "1.1", "true", '"1"', "null"])
async def test_what_is_no_score_is_refused_by_name(shared_service: Service, score: str) -> None:
    headers = {**shared_service.credential(), "Content-Type": "application/json"}
    content = f'{{"run_id": "{run_id(0)}", "score": {score}}}'
    answer = await shared_service.client.post("/workflows/w/outcome", content=content, headers=headers)
    assert_problem(answer, 422, "invalid_request")
    assert named(answer) == ["score"]


@pytest.mark.parametrize("seed", [-1, 2**53, 1.5, "1", True, None])
async def test_what_is_no_seed_is_refused_by_name(shared_service: Service, seed: Any) -> None:
    answer = await shared_service.post("/workflows/select", {**TASK, "seed": seed})
    assert_problem(answer, 422, "invalid_request")
    assert named(answer) == ["seed"]


async def test_runs_of_another_agent_type_and_other_types_of_a_workflow_are_refused_by_name(service: Service) -> None:
    await put(service)
    await started(service, agent_type="sales")
    outcome = await service.post("/workflows/w/outcome", {"run_id": run_id(0), "score": 1})
    selected = await service.post("/workflows/select", {**TASK, "run_id": run_id(0)})
    for answer, field in ((outcome, "run_id"), (selected, "agent_type")):
        assert_problem(answer, 422, "invalid_request")
        assert named(answer) == [field]
    moved = await put(service, body={**BODY, "task_type": "other"})
    assert_problem(moved, 409, "conflict")
    assert named(moved) == ["task_type"]


async def test_a_listing_goes_on_from_its_cursor_and_from_no_other_s(service: Service) -> None:
    for name in ("a", "b", "c"):
        await put(service, name)
    seen: list[str] = []
    params = {**TASK, "limit": "2"}
    headers = service.credential()
    first = (await service.client.get("/workflows", params=params, headers=headers)).json()
    rest = await service.client.get("/workflows", params={**params, "cursor": first["cursor"]}, headers=headers)
    for page in (first, rest.json()):
        seen += [each["workflow_id"] for each in page["workflows"]]
    assert seen == ["a", "b", "c"]
    assert "cursor" not in rest.json()
    other = await service.client.get("/workflows", params={"cursor": first["cursor"]}, headers=headers)
    assert_problem(other, 400, "invalid_cursor")


async def test_the_path_of_the_selection_is_no_workflow(shared_service: Service) -> None:
    assert_problem(await put(shared_service, "select"), 405, "method_not_allowed")


async def test_the_picture_shows_each_workflow_with_its_id_mean_and_interval(service: Service) -> None:
    await started(service)
    for name in ("good", "bad"):
        await put(service, name)
    await service.post("/workflows/good/outcome", {"run_id": run_id(0), "score": 1})
    answer = await service.client.get("/workflows.svg", params=TASK, headers=service.credential(agent="bot"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    picture = ET.fromstring(answer.text)  # noqa: S314 - our own
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert {"answer by support", "good", "bad", "0.667", "0.500", "0.158 to 0.987", "0.025 to 0.975"} <= {*texts}
    assert texts.index("good") < texts.index("bad"), "the best first"
    octets = {"Accept": "application/octet-stream", **service.credential()}
    same = await service.client.get("/workflows.svg", params=TASK, headers=octets)
    assert (same.headers["content-type"], same.content) == (octets["Accept"], answer.content)
    unasked = await service.client.get("/workflows.svg", headers=service.credential())
    assert named(unasked) == ["agent_type", "task_type"]


def drawn(workflow_id: str, alpha: float, beta: float, *, enabled: bool = True) -> ListedWorkflow:
    return ListedWorkflow(alpha, beta, workflow_id, "a", "t", 1.0, enabled, 0, 0, 1)


def test_a_picture_has_at_most_twenty_curves_and_says_how_many_there_are() -> None:
    text = workflow_curves.render("a", "t", [drawn(f"w{number}", 1 + number, 3) for number in range(30)])
    rows = [each for each in ET.fromstring(text).iter(f"{SVG}g") if each.find(f"{SVG}title") is not None]  # noqa: S314
    assert len(rows) == 20
    assert "The 20 of 30 workflows with the best means." in text
    assert "There is no workflow for this task yet." in workflow_curves.render("a", "t", [])


def test_all_texts_of_a_picture_are_escaped_and_nothing_in_it_runs_or_loads() -> None:
    evil = "</text><script>alert('1')</script>\"&"
    text = workflow_curves.render(evil, evil, [drawn(evil, 2, 3)])
    picture = ET.fromstring(text)  # noqa: S314 - our own
    kinds = {each.tag.removeprefix(SVG) for each in picture.iter()}
    assert kinds <= {"svg", "title", "desc", "style", "rect", "text", "path", "line", "g"}
    assert not re.search(r"<script|href|url\(|@import|\son\w+=", text)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (1, 1e6), (1e6, 1), (1e6, 1e6), (1.0001, 1)])
def test_a_curve_stays_within_the_picture_whatever_the_counts(alpha: float, beta: float) -> None:
    text = workflow_curves.render("a", "t", [drawn("w", alpha, beta), drawn("off", beta, alpha, enabled=False)])
    assert "nan" not in text
    _, _, width, height = map(float, re.findall(r'viewBox="([^"]+)"', text)[0].split())
    for path in re.findall(r'd="M([\d. ]+)Z?"', text):
        numbers = [float(each) for each in path.split()]
        assert all(0 <= x <= width for x in numbers[::2])
        assert all(0 <= y <= height for y in numbers[1::2])


async def test_a_spec_comes_back_as_it_was_sent(service: Service) -> None:
    spec = {"": None, "deep": json.loads("[" * 14 + "1" + "]" * 14), "text": "a\u2028ä😀", "n": [0.1, -0.0, 2**53]}
    assert (await put(service, body={**BODY, "spec": spec})).json()["spec"] == spec
    too_deep = {"deep": json.loads("[" * 16 + "1" + "]" * 16)}
    assert named(await put(service, body={**BODY, "spec": too_deep})) == ["spec"]
