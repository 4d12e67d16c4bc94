"""Every route, of whatever tier, refuses what is hostile as a problem, and never fails."""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.generation import LONG
from tests.support.probes import PROBES
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

RUN, ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FZ"
ROUTES = [route for route in PROBES if " " in route]
OTHER_BODIES = ("POST /import", "POST /blobs", "POST /profiles/{profile}/ingest")
"""What takes more, or no JSON: their own tests send them what is too much."""
WRITES = [route for route in ROUTES if route.startswith(("POST", "PUT")) and route not in OTHER_BODIES]
WITHOUT_BODY = ("/forget", "/unforget", "/retry", "/restore")
OF_RUNS = [route for route in ROUTES if "{run_id}" in route]
REFUSED = {400, 404, 405, 409, 413, 415, 422}
OF_CREDENTIAL = {401, 403}
"""What none is answered here: the credential holds, and is for all agents."""

BODIES = {
    "two megabytes": b'{"value": "' + b"x" * (2 * 1024 * 1024) + b'"}',
    "deep lists": b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"value":' * 20_000 + b"1" + b"}" * 20_000,
    "many small members": b"{" + b",".join(b'"%d":0' % number for number in range(20_000)) + b"}",
    "no number": b'{"agent_id": NaN, "value": NaN, "score": NaN}',
    "half a surrogate": b'{"agent_id": "\\ud800", "\\ud800": 1}',
    "no UTF-8": b'{"agent_id": "\xff"}',
    "nothing": b"",
    "a list": b"[]",
}
NAMES = ["..", "a/b", "a%2Fb", "\0", "x" * 5000, "\U0001f98a", "a b", "*", "'; DROP TABLE agent_runs; --", "NaN"]
VALUES = ["\0", "x" * 4000, "NaN", "-1", "9" * 400, "[" * 2000, "\U0001f98a", ""]


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("routes") / "data") as service:
        await service.post("/runs", {"agent_id": "bot", "agent_type": "t", "input": None, "run_id": RUN})
        yield service


def some(routes: list[str], turn: int) -> list[str]:
    """Return all routes, in a short run a third of them: three turns have all."""
    return routes if LONG else routes[turn % 3 :: 3]


def path_of(route: str, **given: str) -> str:
    """Return a route's path, with ids of what is not there."""
    _, path = route.split()
    for part in [each for each in path.split("/") if each.startswith("{")]:
        name = part.strip("{}")
        usual = ABSENT if name.endswith("_id") and name not in {"agent_id", "workflow_id", "account_id"} else "a"
        path = path.replace(part, given.get(name, usual))
    return path


async def ask(service: Service, route: str, path: str, content: bytes = b"{}", **more: Any) -> httpx.Response:
    method = route.split(maxsplit=1)[0]
    headers = service.credential(more.pop("tenant", "acme"), admin=True) | {"Content-Type": "application/json"}
    if method in {"GET", "DELETE"}:
        return await service.client.request(method, path, headers=headers, **more)
    return await service.client.request(method, path, content=content, headers=headers, **more)


@pytest.mark.parametrize("body", BODIES)
async def test_no_route_takes_a_body_that_is_hostile(service: Service, body: str) -> None:
    for route in some(WRITES, list(BODIES).index(body)):
        answer = await ask(service, route, path_of(route, run_id=RUN), BODIES[body])
        if route.endswith(("/complete", "/summary")) and body == "nothing":
            continue  # which may have none
        assert answer.status_code in REFUSED, (route, answer.status_code, answer.text[:300])
        if body == "two megabytes" and not route.endswith(WITHOUT_BODY):
            assert answer.status_code == 413, (route, answer.text[:300])


@pytest.mark.parametrize("name", NAMES, ids=ascii)
async def test_no_route_fails_at_a_name_in_its_path(service: Service, name: str) -> None:
    for route in some(ROUTES, NAMES.index(name)):
        for part in [each.strip("{}") for each in route.split("/") if each.startswith("{")]:
            answer = await ask(service, route, path_of(route, **{part: quote(name, safe="/%")}))
            assert answer.status_code < 500, (route, part, answer.text[:300])
            assert answer.status_code not in OF_CREDENTIAL, (route, part)
            assert len(answer.content) < 10_000, (route, part)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value[:10]))
async def test_no_route_fails_at_a_parameter(service: Service, value: str) -> None:
    document = (await service.client.get("/openapi.json")).json()["paths"]
    for route in some(ROUTES, VALUES.index(value)):
        method, path = route.split()
        for each in document[path][method.lower()].get("parameters", []):
            if each["in"] == "query" and route not in {"GET /export", "DELETE /tenant"}:
                answer = await ask(service, route, path_of(route), params={each["name"]: value})
                assert answer.status_code < 500, (route, each["name"], answer.text[:300])
                assert answer.status_code not in OF_CREDENTIAL, (route, each["name"])


async def test_every_route_of_a_run_answers_an_unknown_one_and_another_tenant_s_alike(service: Service) -> None:
    bodies = {
        "PUT /runs/{run_id}/state": {"value": 1},
        "POST /runs/{run_id}/log": {"entries": [{}]},
        "POST /runs/{run_id}/episodes": {"episodes": [{"type": "note", "content": "mine"}]},
        "POST /runs/{run_id}/complete": {},
        "POST /runs/{run_id}/fail": {"error": "mine"},
        "POST /runs/{run_id}/audit": {"calls": [{"tool": "t", "input": 1, "outcome": "ok", "ms": 1}]},
    }
    for route in OF_RUNS:
        content = json.dumps(bodies.get(route, {})).encode()
        unknown = await ask(service, route, path_of(route), content)
        theirs = await ask(service, route, path_of(route, run_id=RUN), content, tenant="other")
        for answer in (unknown, theirs):
            assert_problem(answer, 404, "not_found")
        assert unknown.json()["detail"] == theirs.json()["detail"], route


SELECT = {"agent_type": "t", "task_type": "t", "run_id": ABSENT}
LEARN = {"agent_id": "bot", "subject": "a", "predicate": "b", "object": "c"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/workflows/select", SELECT),
        ("/workflows/w/outcome", {"run_id": ABSENT, "score": 1}),
        ("/facts", LEARN | {"learned_from_run_id": ABSENT}),
        ("/context/assemble", {"agent_id": "bot", **SELECT}),
    ],
)
async def test_a_run_that_a_body_names_is_one_of_the_tenant(service: Service, path: str, body: dict[str, Any]) -> None:
    workflow = {"agent_type": "t", "task_type": "t", "spec": {}}
    await service.client.put("/workflows/w", json=workflow, headers=service.credential(admin=True))
    assert (await service.post(path, body)).status_code in {404, 422}
    theirs = json.loads(json.dumps(body).replace(ABSENT, RUN))
    await service.client.put("/workflows/w", json=workflow, headers=service.credential("other", admin=True))
    assert (await service.post(path, theirs, tenant="other")).status_code in {404, 422}


@pytest.mark.parametrize("seconds", [0, -1, 59, 2**63, 1.5, True, None])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/working/bot/i/k", {"value": 1}),
        ("PUT", f"/runs/{RUN}/state", {"value": 1}),
        ("POST", f"/runs/{RUN}/log", {"entries": [{}]}),
        ("POST", "/working/bot/i/messages", {"messages": [{"role": "user", "content": "x"}]}),
    ],
)
async def test_what_lives_for_no_time_is_refused_by_name(
    service: Service, method: str, path: str, body: dict[str, Any], seconds: object
) -> None:
    sent = {**body, "ttl_seconds": seconds}
    answer = await service.client.request(method, path, json=sent, headers=service.credential())
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"ttl_seconds"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/workflows/w/outcome", {"run_id": RUN, "score": "?"}, "score"),
        ("POST", "/facts", LEARN | {"confidence": "?"}, "confidence"),
        ("PUT", "/workflows/w", {"agent_type": "t", "task_type": "t", "spec": {"a": "?"}}, "spec"),
        ("PUT", "/workflows/w", {"agent_type": "t", "task_type": "t", "spec": {}, "discount": "?"}, "discount"),
        ("PUT", "/working/bot/i/k", {"value": ["?"]}, "value"),
        ("PUT", f"/runs/{RUN}/state", {"value": "?"}, "value"),
        ("POST", "/runs", {"agent_id": "bot", "agent_type": "t", "input": ["?"]}, "input"),
        ("PUT", "/configuration", {"values": {"a": "?"}}, "values"),
        ("POST", "/context/assemble", {"agent_id": "bot", "max_tokens": "?"}, "max_tokens"),
    ],
)
async def test_what_is_no_number_is_refused_by_name(
    service: Service, method: str, path: str, body: dict[str, Any], field: str, number: str
) -> None:
    headers = service.credential(admin=True) | {"Content-Type": "application/json"}
    content = json.dumps(body).replace('"?"', number)
    answer = await service.client.request(method, path, content=content, headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}


async def test_a_run_is_completed_once(service: Service) -> None:
    begun = await service.post("/runs", {"agent_id": "bot", "agent_type": "t", "input": None})
    path = f"/runs/{begun.json()['run_id']}/complete"
    first, again = [await service.post(path, {"output": 1}) for _ in range(2)]
    assert (first.status_code, again.json()) == (200, first.json())
    assert_problem(await service.post(path, {"output": 2}), 409, "run_ended")


async def test_a_name_of_a_document_with_a_slash_is_none_where_a_context_is_assembled(service: Service) -> None:
    answer = await service.post("/context/assemble", {"agent_id": "bot", "context": ["a/b"]})
    assert_problem(answer, 422, "invalid_request")
    assert "context" in next(iter(named_fields(answer.json())))
