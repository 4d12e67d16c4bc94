"""Every path of our own API is there below ``/v1`` too, and no guard is passed by it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.limits import BLOB_BYTES
from app.interfaces.asgi import create_app
from app.interfaces.http.middleware import BODY_BYTES
from app.interfaces.http.versions import SEGMENTS
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

AT_THE_ROOT = {"client", "healthz", "readyz", "metrics"}
"""First segments of the document's paths that have no alias."""
TEXT = {"agent_id": "bot", "content": "x" * BODY_BYTES}


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service


async def operations(service: Service) -> list[tuple[str, str]]:
    document = (await service.client.get("/openapi.json")).json()
    return [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]


def answered(answer: httpx.Response) -> tuple[int, Any]:
    told = answer.json()
    return answer.status_code, told if isinstance(told, list) else told.get("code")


async def test_the_document_has_each_path_once_and_those_of_our_own_are_known(shared: Service) -> None:
    segments = {path.split("/")[1] for _, path in await operations(shared)}
    assert segments - AT_THE_ROOT == SEGMENTS


async def test_each_path_answers_below_v1_as_it_does_without(shared: Service) -> None:
    for method, path in await operations(shared):
        bare = path.replace("{", "").replace("}", "")
        here, there = [await shared.client.request(method, prefix + bare) for prefix in ("", "/v1")]
        if path.split("/")[1] in AT_THE_ROOT:
            assert there.status_code == 404, path
        else:
            assert answered(there) == answered(here), path


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/v1",
            "/v1/",
            "/v1/v1/recall",
            "/V1/recall",
            "/v2/recall",
            "/v1/mcp",
            "/v1/console",
            "/v1recall",
        ),
        *("/v1/llms.txt", "/v1/openapi.json", "/v1/docs", "/v1/.well-known/oauth-protected-resource", "/v1//recall"),
    ],
)
async def test_no_other_path_is_an_alias(shared: Service, path: str) -> None:
    assert (await shared.client.get(path)).status_code == 404


async def test_what_is_stored_by_one_form_is_found_by_the_other(service: Service) -> None:
    body = {"agent_id": "bot", "content": "Ann likes tea"}
    assert (await service.post("/v1/store", body)).status_code == 201
    assert await service.contents("tea") == ["Ann likes tea"]
    found = await service.post("/v1/recall", {"agent_id": "bot", "query": "tea"})
    assert [entry["content"] for entry in found.json()["entries"]] == ["Ann likes tea"]


@pytest.mark.parametrize("prefix", ["/v1", "/%761", "/v%31"])
async def test_a_body_is_bounded_as_that_of_the_path_itself(service: Service, prefix: str) -> None:
    assert_problem(await service.post(f"{prefix}/store", TEXT), 413, "content_too_large")
    long = {"messages": [{"role": "user", "content": "x" * 32_000} for _ in range(9)]}
    assert len(json.dumps(long)) > BODY_BYTES
    assert (await service.post(f"{prefix}/profiles/bot/ingest", long)).status_code in {200, 202}
    octets = service.credential() | {"Content-Type": "application/octet-stream"}
    blob = await service.client.post(f"{prefix}/blobs?agent_id=bot", content=bytes(BODY_BYTES + 1), headers=octets)
    assert blob.status_code == 201
    over = await service.client.post(f"{prefix}/blobs?agent_id=bot", content=bytes(BLOB_BYTES + 1), headers=octets)
    assert_problem(over, 413, "content_too_large")
    lines = service.credential(admin=True) | {"Content-Type": "application/x-ndjson"}
    imported = await service.client.post(f"{prefix}/import", content=b"\n" * (BODY_BYTES + 1), headers=lines)
    assert imported.status_code == 200


async def test_a_credential_a_scope_and_an_agent_are_checked(service: Service) -> None:
    question = {"agent_id": "bot", "query": "x"}
    assert (await service.client.post("/v1/recall", json=question)).status_code == 401
    assert (await service.post("/v1/recall", question, scopes={"write"})).status_code == 403
    assert (await service.post("/v1/recall", question, agent="other")).status_code == 403
    assert (await service.post("/v1/recall?limit=1", question)).status_code == 422
    assert (await service.client.get("/v1/export", headers=service.credential())).status_code == 403


async def test_an_act_leaves_its_row_and_the_metrics_name_the_route_as_it_is_declared(service: Service) -> None:
    await service.store("x")
    (memory,) = await service.recall("x")
    admin = service.credential(admin=True)
    gone = await service.client.delete(f"/v1/memories/{memory['id']}?agent_id=bot", headers=admin)
    assert gone.status_code == 204
    acts = (await service.client.get("/v1/audit/acts", headers=admin)).json()["acts"]
    assert [act["act"] for act in acts] == ["memory.delete"]
    metrics = service.runtime.metrics.render().decode()
    assert 'route="/memories/{memory_id}"' in metrics
    assert "/v1" not in metrics


async def test_a_host_that_is_not_allowed_is_refused(service: Service) -> None:
    transport = httpx.ASGITransport(create_app(service.shards, hosts=["memory.test"]))
    async with httpx.AsyncClient(transport=transport, base_url="http://evil.test") as client:
        for path in ("/usage", "/v1/usage"):
            answer = await client.get(path, headers=service.credential())
            assert_problem(answer, 421, "host_not_allowed")


async def test_the_alias_stands_behind_the_path_that_the_service_is_under(service: Service) -> None:
    transport = httpx.ASGITransport(create_app(service.shards), root_path="/memory")
    async with httpx.AsyncClient(transport=transport, base_url="http://memory.test") as client:
        body = {"agent_id": "bot", "content": "x"}
        for path, status in (("/memory/v1/store", 201), ("/v1/memory/store", 404), ("/memory/store", 201)):
            assert (await client.post(path, json=body, headers=service.credential())).status_code == status
