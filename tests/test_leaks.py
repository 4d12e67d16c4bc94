"""One tenant, or one agent, never learns anything of another: on every route of the OpenAPI document."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.ports.database import Statement
from app.transfer.lines import write_memory
from app.transfer.record import Record
from tests.backends import Backend
from tests.service import Service, serving

SECRET = "the launch code is Xq0451z"
CANARY = "Xq0451z"
Probe = Callable[[Service, str, str], Awaitable[list[httpx.Response]]]
"""Asks everything of a route, as a tenant and for an agent, that could bring up what another one stored."""


async def probe_store(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    body = {"agent_id": agent_id, "content": "mine"}
    return [await service.post("/store", body, tenant=tenant)]


async def probe_recall(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    filters: list[Any] = [None, {}, {"metadata": {"kind": "secret"}}, {"created_after": "2000-01-01T00:00:00Z"}]
    return [
        await service.post(
            "/recall", {"agent_id": agent_id, "query": query, "top_k": 20, "filter": where}, tenant=tenant
        )
        for query in (SECRET, "x")
        for where in filters
    ]


async def probe_explain(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    return [
        await service.post(
            "/recall/explain", {"agent_id": agent_id, "query": query, "memory_id": id_, "collapse": True}, tenant=tenant
        )
        for id_ in (entry["id"], "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
        for query in (SECRET, "x")
    ]


async def probe_delete(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    return [await service.delete(entry["id"], tenant=tenant, agent_id=agent_id)]


async def probe_list(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    one, admin = service.credential(tenant, agent=agent_id), service.credential(tenant, admin=True)
    filters = [{}, {"metadata": '{"kind": "secret"}'}, {"created_after": "2000-01-01T00:00:00Z", "limit": "100"}]
    return [
        *[await service.client.get("/memories", params=where, headers=one) for where in filters],
        *[
            await service.client.get("/memories", params={"agent_id": agent_id, **where}, headers=admin)
            for where in filters
        ],
    ]


async def probe_get(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    return [
        await service.client.get(f"/memories/{id_}", params={"agent_id": agent_id}, headers=headers)
        for id_ in (entry["id"], "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
        for headers in (service.credential(tenant, agent=agent_id), service.credential(tenant, admin=True))
    ]


async def probe_usage(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    query = {"agent_id": agent_id}
    return [
        await service.client.get("/usage", headers=service.credential(tenant, agent=agent_id)),
        await service.client.get("/usage", params=query, headers=service.credential(tenant, admin=True)),
    ]


async def probe_agent(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, admin=True)
    return [await service.client.get(f"/agents/{agent_id}", headers=headers)]


async def probe_set_agent(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, admin=True)
    return [await service.client.put(f"/agents/{agent_id}", json={"retention_days": 1}, headers=headers)]


async def probe_metrics(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del tenant, agent_id
    return [await service.client.get("/metrics")]


async def probe_health(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    return [await service.client.get(path, headers=service.credential(tenant)) for path in ("/healthz", "/readyz")]


async def probe_operation(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    erasure = await service.runtime.gateway("owner").erase("nobody")
    headers = service.credential(tenant, admin=True)
    return [
        await service.client.get(f"/operations/{id_}", headers=headers)
        for id_ in (erasure.id, "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    ]


async def probe_erase(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    path = f"/agents/{agent_id}" if tenant != "owner" or agent_id != "keeper" else "/agents/nobody"
    return [await service.client.delete(path, headers=service.credential(tenant, admin=True))]


async def probe_erase_tenant(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    other = "other" if tenant == "owner" else tenant  # an owner may erase what it owns
    return [await service.client.delete("/tenant", headers=service.credential(other, admin=True))]


async def probe_export(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    if tenant == "owner":  # an owner may export what it owns, but not with the credential of another agent
        headers = service.credential(tenant, agent_id, admin=True)
    else:
        headers = service.credential(tenant, admin=True)
    return [
        await service.client.get("/export", params=params, headers=headers)
        for params in ({}, {"vectors": "true"}, {"agent_id": agent_id, "vectors": "true"})
    ]


async def probe_import(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Bring a memory of one's own under the very id of the owner's, which must tell nothing of it."""
    (row,) = (
        await service.runtime.ports.database.run([Statement("SELECT id FROM long_term_memory ORDER BY rowid LIMIT 1")])
    )[0]
    record = Record(agent_id=agent_id, content="mine", id=str(row["id"]), created_at=1)
    headers = service.credential(tenant, admin=True) | {"Content-Type": "application/x-ndjson"}
    if tenant == "owner":
        headers |= service.credential(tenant, agent_id, admin=True)
    answers = [await service.client.post("/import", content=write_memory(record)[0], headers=headers) for _ in range(2)]
    if tenant != "owner":
        statuses = [json.loads(answer.text.splitlines()[0])["status"] for answer in answers]
        assert statuses == ["imported", "unchanged"]
    return [_without(answer, str(row["id"])) for answer in answers]


def _without(answer: httpx.Response, own_words: str) -> httpx.Response:
    """Give an answer without the id that the caller has named itself."""
    return httpx.Response(answer.status_code, text=answer.text.replace(own_words, "*"))


async def probe_tools(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, agent_id)
    forms = ("openai", "openai-responses", "anthropic", "mcp", "json-schema")
    return [await service.client.get("/tools", params={"format": form}, headers=headers) for form in forms]


PROBES: dict[str, Probe] = {
    "POST /store": probe_store,
    "POST /recall": probe_recall,
    "POST /recall/explain": probe_explain,
    "DELETE /memories/{memory_id}": probe_delete,
    "DELETE /agents/{agent_id}": probe_erase,
    "DELETE /tenant": probe_erase_tenant,
    "GET /operations/{operation_id}": probe_operation,
    "GET /export": probe_export,
    "POST /import": probe_import,
    "GET /memories": probe_list,
    "GET /memories/{memory_id}": probe_get,
    "GET /usage": probe_usage,
    "GET /agents/{agent_id}": probe_agent,
    "PUT /agents/{agent_id}": probe_set_agent,
    "GET /healthz": probe_health,
    "GET /readyz": probe_health,
    "GET /metrics": probe_metrics,
    "GET /tools": probe_tools,
}
OUTSIDERS = [
    ("other", "keeper"),
    ("owner", "other"),
    ("keeper", "owner"),
    ("owne", "rkeeper"),
    ("ownerkeeper", "x"),
    ("OWNER", "KEEPER"),
    ("o" * 64, "k" * 64),
    ("doctor", "keeper"),
]


async def routes(service: Service) -> set[str]:
    document = (await service.client.get("/openapi.json")).json()
    return {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}


async def test_every_route_has_a_probe(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        assert await routes(service) == set(PROBES)


@pytest.mark.parametrize(("tenant", "agent_id"), OUTSIDERS)
@pytest.mark.parametrize("route", PROBES)
async def test_no_route_tells_an_outsider_anything(
    tmp_path: Path, backend: Backend, route: str, tenant: str, agent_id: str
) -> None:
    async with serving(tmp_path, on=backend) as service:
        await service.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
        inside = await service.recall(SECRET, tenant="owner", agent_id="keeper")
        for answer in await PROBES[route](service, tenant, agent_id):
            unknown = (
                route.startswith(("GET /operations", "GET /memories/", "POST /recall/explain"))
                and answer.status_code == 404
            )
            assert answer.status_code < 300 or unknown
            assert CANARY not in answer.text
            assert inside[0]["id"] not in answer.text
        assert await service.recall(SECRET, tenant="owner", agent_id="keeper") == inside


# What /metrics tells is of the process, and of no tenant.
@pytest.mark.parametrize("route", sorted(set(PROBES) - {"GET /metrics"}))
async def test_an_outsider_is_answered_as_if_nothing_were_there(tmp_path: Path, backend: Backend, route: str) -> None:
    async with serving(tmp_path / "full", on=backend) as full, serving(tmp_path / "empty", on=backend) as empty:
        await full.store(SECRET, tenant="owner", agent_id="keeper")
        await empty.store(SECRET, tenant="owner", agent_id="keeper")
        await full.store("more " * 50, tenant="owner", agent_id="keeper")
        with_owner = await PROBES[route](full, "other", "keeper")
        without = await PROBES[route](empty, "other", "keeper")
        assert [told(answer) for answer in with_owner] == [told(answer) for answer in without]


def told(answer: httpx.Response) -> tuple[int, str]:
    """What an answer says, but for ids made for it and the time."""
    made = r"[0-9a-f]{32}|01[0-9A-HJKMNP-TV-Z]{24}|20\d\d-[^\"]*Z"
    return answer.status_code, re.sub(made, "*", answer.text)


async def test_a_query_another_tenant_asked_is_embedded_anew(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        await service.recall("a question", tenant="owner")
        held = service.runtime.ports.queries.held
        await service.recall("a question", tenant="owner", agent_id="other")
        assert service.runtime.ports.queries.held == held
        await service.recall("a question", tenant="other")
        assert service.runtime.ports.queries.held > held
