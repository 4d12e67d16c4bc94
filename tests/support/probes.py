"""Probes: everything one can ask of each route, MCP tool and MCP resource to learn of what another one stored."""

import json
import re
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import httpx

from app.domain.messages import NewMessage
from app.services.transfer.lines import memory_line, row_line
from app.services.transfer.record import Record
from app.storage.tiers.tables import TIER_TABLES
from tests.support.agent_memory_probes import AGENT_MEMORY_PROBES
from tests.support.archive_probes import ARCHIVE_PROBES
from tests.support.assembly_probes import ASSEMBLY_PROBES
from tests.support.audit_probes import ACT_PROBES, AUDIT_PROBES, OWNERS_RUN, UNKNOWN_RUN, begin_run
from tests.support.blob_probes import BLOB_PROBES
from tests.support.context_probes import CONTEXT_PROBES
from tests.support.episodic_probes import EPISODIC_PROBES
from tests.support.facts_probes import FACTS_PROBES
from tests.support.memories import memory_ids
from tests.support.profile_probes import PROFILE_PROBES
from tests.support.resource_probes import RESOURCE_PROBES
from tests.support.service import Service
from tests.support.tables import insert_rows, rows_of
from tests.support.tier_rows import row_of
from tests.support.workflow_probes import WORKFLOW_PROBES
from tests.support.working_probes import WORKING_PROBES

CANARY = "Xq0451z"
BROUGHT = "what the owner has ingested"
SECRET = f"the launch code is {CANARY}"
_NUMBERS = count()
Probe = Callable[[Service, str, str], Awaitable[list[httpx.Response]]]
"""Asks everything of a route, as a tenant and for an agent, that could bring up what another one stored."""


async def probe_store(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    body = {"agent_id": agent_id, "content": "mine"}
    owners = await begin_run(service, OWNERS_RUN, "owner", "acts")
    of_runs = [{**body, "run_id": run_id} for run_id in (owners, UNKNOWN_RUN)]
    return [await service.post("/store", each, tenant=tenant) for each in (body, *of_runs)]


async def probe_recall(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    filters: list[Any] = [None, {}, {"metadata": {"kind": "secret"}}, {"created_after": "2000-01-01T00:00:00Z"}]
    return [
        await service.post(
            "/recall", {"agent_id": agent_id, "query": query, "top_k": 20, "filter": where}, tenant=tenant
        )
        for query in (SECRET, "x")
        for where in filters
    ] + [
        await service.post(
            "/recall", {"agent_id": agent_id, "query": SECRET, "top_k": 50, "group_by": "session"}, tenant=tenant
        )
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


async def probe_change(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    headers, query = service.credential(tenant, admin=True), {"agent_id": agent_id}
    bodies: list[Any] = [{"metadata": {"kind": "mine"}}, {"occurred_at": "2026-01-01T00:00:00Z"}, {"expires_at": None}]
    return [
        await service.client.patch(f"/memories/{id_}", params=query, json=body, headers=headers)
        for id_ in (entry["id"], "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
        for body in bodies
    ]


async def probe_delete_many(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, admin=True)
    filters: list[Any] = [{}, {"filter": {"metadata": {"kind": "secret"}}}, {"written_by": "anybody"}]
    body = {"agent_id": agent_id}
    counted = [await service.client.post("/deletions", json=body | where, headers=headers) for where in filters]
    done = {**body, "filter": {"metadata": {"kind": "secret"}}, "dry_run": False, "confirm": 0}
    return [*counted, await service.client.post("/deletions", json=done, headers=headers)]


async def probe_agents(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    credentials = (service.credential(tenant, agent=agent_id), service.credential(tenant, admin=True))
    return [await service.client.get("/agents", headers=headers) for headers in credentials]


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
    erasure = await service.runtime.services("owner").gateway.erase("nobody")
    headers = service.credential(tenant, admin=True)
    return [
        await service.client.get(f"/operations/{id_}", headers=headers)
        for id_ in (erasure.id, "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    ]


async def probe_ingest(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Bring the very message that the owner has brought, and one of one's own, each twice."""
    await ingested(service)
    path = f"/profiles/{agent_id}/ingest"
    answers = []
    for content in ("mine", BROUGHT, "mine"):
        body = {"session_id": "s", "messages": [{"role": "user", "content": content}]}
        answers.append(await service.post(path, body, tenant=tenant, agent=agent_id))
    assert [answer.json()["stored"] for answer in answers] in ([1, 1, 0], [0, 0, 0])
    return [*answers, await service.post(f"{path}?dry_run=true", body, tenant=tenant, agent=agent_id)]


async def probe_ingestion(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, agent=agent_id)
    path = f"/profiles/{agent_id}/operations"
    ids = (await ingested(service), "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    return [await service.client.get(f"{path}/{id_}", headers=headers) for id_ in ids]


async def probe_retry(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, agent=agent_id)
    path = f"/profiles/{agent_id}/operations"
    ids = (await ingested(service), "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    return [await service.client.post(f"{path}/{id_}/retry", headers=headers) for id_ in ids]


async def ingested(service: Service) -> str:
    """Have the owner bring a message of another agent of its own, and return the operation."""
    messages = [NewMessage("user", BROUGHT)]
    ingestion = await service.runtime.services("owner").ingester.ingest("ingests", messages, f"s{next(_NUMBERS)}")
    return str(ingestion.id)


async def probe_mcp_recall(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    filters: list[Any] = [None, {}, {"metadata": {"kind": "secret"}}, {"created_after": "2000-01-01T00:00:00Z"}]
    asked = [{"query": query, "top_k": 20, "filter": where} for query in (SECRET, "x") for where in filters]
    return [await service.call("recall_memory", each, tenant=tenant, agent_id=agent_id) for each in asked]


async def probe_mcp_store(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return [
        await service.call("store_memory", {"content": content}, tenant=tenant, agent_id=agent_id)
        for content in ("mine", "x")
    ]


async def _called(
    service: Service, tenant: str, agent_id: str, tool: str, *arguments: dict[str, Any]
) -> list[httpx.Response]:
    """Call one of the four tools, as an agent that is given these meanwhile."""
    path, headers = f"/agents/{agent_id}", service.credential(tenant, admin=True)
    await service.client.put(path, json={"tools": "profile"}, headers=headers)
    answers = [await service.call(tool, each, tenant=tenant, agent_id=agent_id) for each in arguments]
    await service.client.put(path, json={"tools": "recall_store"}, headers=headers)
    return answers


async def probe_remember(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _called(service, tenant, agent_id, "remember", {"text": "mine"}, {"text": "x"})


async def probe_profile_recall(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _called(service, tenant, agent_id, "recall", {"question": SECRET}, {"question": "x"})


async def probe_forget(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask for the owner's memory to be forgotten, by its very id and by its very words."""
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    asked = [entry["id"], f"id {entry['id'].lower()}", "01K2Z4M1V7Q8T3B5N6C7D8E9FA", SECRET]
    return await _called(service, tenant, agent_id, "forget", *({"memory": each} for each in asked))


async def probe_tool_list(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    asked = ["", "facts", "instructions", "events", "tasks", SECRET, "x"]
    return await _called(service, tenant, agent_id, "list", *({"about": each} for each in asked))


async def probe_credentials(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask which credentials there are, also those of the owner's agent, and those that the owner's have minted."""
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)
    del agent_id
    asked: list[dict[str, str]] = [{}, {"agent_id": "keeper"}, {"minted_by": entry["source"]["credential_id"]}]
    answers = [await service.client.get("/credentials", params=each, headers=headers) for each in asked]
    assert all(entry["source"]["credential_id"] not in answer.text for answer in answers)
    return [_without_time(answer) for answer in answers]


async def probe_mint(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Mint a credential for an agent that has the name of the owner's; it reaches nothing of the owner."""
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)
    del agent_id
    answer = await service.client.post("/credentials", json={"agent_id": "keeper"}, headers=headers)
    token = answer.json()["token"]
    listed = await service.client.get("/memories", headers={"Authorization": f"Bearer {token}"})
    return [_without_time(_without(answer, token)), _without_time(listed)]


async def probe_revoke(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Revoke the owner's credential by its very id, and look that it holds."""
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)
    del agent_id
    ids = (entry["source"]["credential_id"], "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    answers = [await service.client.delete(f"/credentials/{id_}", headers=headers) for id_ in ids]
    return [_without_time(_without(answer, id_)) for answer, id_ in zip(answers, ids, strict=True)]


async def probe_undo(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask for the work of the owner's credential to be undone, with its very id."""
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)  # an owner may undo what is its
    del agent_id
    ids = (entry["source"]["credential_id"], "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    answers = [await service.client.delete(f"/credentials/{id_}/memories", headers=headers) for id_ in ids]
    return [_without_time(_without(answer, id_)) for answer, id_ in zip(answers, ids, strict=True)]


async def probe_undo_learned(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask what undoing the owner's run, session and credential would do, and undo them."""
    (entry,) = await service.recall(SECRET, tenant="owner", agent_id="keeper", top_k=1)
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)  # an owner may undo what is its
    own = service.credential(tenant, agent_id, admin=True)
    credential_id = entry["source"]["credential_id"]
    selected = [{"agent_id": "keeper", "session_id": "s"}, {"credential_id": credential_id}]
    asked = [{**each, "dry_run": dry_run} for each in selected for dry_run in (True, False)]
    answers = [await service.client.post("/undo", json=body, headers=headers) for body in asked]
    assert {answer.json()["memories"] for answer in answers} == {0}
    bound = [await service.client.post("/undo", json=body, headers=own) for body in asked]
    assert {answer.status_code for answer in bound} == {403}
    return [_without_time(answer) for answer in answers]


_CONSOLIDATION = "01K2Z7C3P5S8V1Y4B7E0H3M6RT"
_CONSOLIDATED = {"tenant_id": "owner", "id": _CONSOLIDATION, "started_at": 1, "finished_at": 2}


async def probe_consolidations(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask for the consolidations, of which the owner has one."""
    if not await rows_of(service, "consolidation", tenant_id="owner"):
        await insert_rows(service, "consolidation", _CONSOLIDATED)
    del agent_id
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)
    answer = await service.client.get("/consolidations?limit=100", headers=headers)
    assert _CONSOLIDATION not in answer.text
    return [answer]


async def probe_undo_consolidation(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask for the owner's consolidation to be undone, with its very id."""
    headers = service.credential("other" if tenant == "owner" else tenant, admin=True)
    own = service.credential(tenant, agent_id, admin=True)
    asked = [{"consolidation_id": _CONSOLIDATION, "dry_run": dry_run} for dry_run in (True, False)]
    bound = [await service.client.post("/consolidations/undo", json=body, headers=own) for body in asked]
    assert {answer.status_code for answer in bound} == {403}
    return [await service.client.post("/consolidations/undo", json=body, headers=headers) for body in asked]


async def probe_consolidation_dry_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, admin=True)
    body = {"agent_id": agent_id}
    return [await service.client.post("/consolidations/dry-run", json=body, headers=headers)]


def _without_time(answer: httpx.Response) -> httpx.Response:
    text = re.sub(r'"finished_at":"[^"]*"', '"finished_at":"*"', answer.text)
    return httpx.Response(answer.status_code, text=text)


async def probe_erase(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    path = f"/agents/{agent_id}" if tenant != "owner" or agent_id != "keeper" else "/agents/nobody"
    return [await service.client.delete(path, headers=service.credential(tenant, admin=True))]


async def probe_erase_tenant(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    other = "other" if tenant == "owner" else tenant  # an owner may erase what it owns
    return [await service.client.delete(f"/tenant?confirm={other}", headers=service.credential(other, admin=True))]


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
    first, *_ = await memory_ids(service, by="rowid")
    record = Record(agent_id=agent_id, content="brought along", id=first, created_at=1)
    headers = service.credential(tenant, admin=True) | {"Content-Type": "application/x-ndjson"}
    if tenant == "owner":
        headers |= service.credential(tenant, agent_id, admin=True)
    rows = [row_line(tier, row_of(tier, 90, agent_id)).data for tier in TIER_TABLES if tier.travels]
    if tenant == "owner":
        rows = []  # whose credential is of one agent
    lines = b"".join([memory_line(record).data, *rows])
    answers = [await service.client.post("/import", content=lines, headers=headers) for _ in range(2)]
    if tenant != "owner":
        statuses = [[json.loads(line).get("status") for line in answer.text.splitlines()[:-1]] for answer in answers]
        assert statuses == [["imported"] * (1 + len(rows)), ["unchanged"] * (1 + len(rows))]
    return [_without(answer, first) for answer in answers]


def _without(answer: httpx.Response, own_words: str) -> httpx.Response:
    """Give an answer without the id that the caller has named itself."""
    return httpx.Response(answer.status_code, text=answer.text.replace(own_words, "*"))


async def probe_tools(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, agent_id)
    forms = ("openai", "openai-responses", "anthropic", "mcp", "json-schema")
    sets = [{}, {"tools": "recall_store"}, {"agent_id": agent_id}]
    return [
        await service.client.get("/tools", params={"format": form, **given}, headers=headers)
        for form in forms
        for given in sets
    ]


PROBES: dict[str, Probe] = {
    **ACT_PROBES,  # before the outsider has named what it knows of: its own acts tell it again
    **PROFILE_PROBES,
    **AGENT_MEMORY_PROBES,
    **EPISODIC_PROBES,
    **FACTS_PROBES,
    **WORKING_PROBES,
    **BLOB_PROBES,
    **ARCHIVE_PROBES,
    **WORKFLOW_PROBES,
    **AUDIT_PROBES,
    **CONTEXT_PROBES,
    **ASSEMBLY_PROBES,
    **RESOURCE_PROBES,
    "POST /store": probe_store,
    "POST /recall": probe_recall,
    "POST /recall/explain": probe_explain,
    "store_memory": probe_mcp_store,
    "recall_memory": probe_mcp_recall,
    "remember": probe_remember,
    "recall": probe_profile_recall,
    "forget": probe_forget,
    "list": probe_tool_list,
    "DELETE /memories/{memory_id}": probe_delete,
    "PATCH /memories/{memory_id}": probe_change,
    "POST /deletions": probe_delete_many,
    "GET /operations/{operation_id}": probe_operation,
    "GET /credentials": probe_credentials,
    "POST /credentials": probe_mint,
    "DELETE /credentials/{credential_id}": probe_revoke,
    "DELETE /credentials/{credential_id}/memories": probe_undo,
    "POST /undo": probe_undo_learned,
    "GET /consolidations": probe_consolidations,
    "POST /consolidations/undo": probe_undo_consolidation,
    "POST /consolidations/dry-run": probe_consolidation_dry_run,
    "POST /profiles/{profile}/ingest": probe_ingest,
    "GET /profiles/{profile}/operations/{operation_id}": probe_ingestion,
    "POST /profiles/{profile}/operations/{operation_id}/retry": probe_retry,
    "GET /export": probe_export,
    "GET /memories": probe_list,
    "GET /memories/{memory_id}": probe_get,
    "GET /usage": probe_usage,
    "GET /agents": probe_agents,
    "GET /agents/{agent_id}": probe_agent,
    "PUT /agents/{agent_id}": probe_set_agent,
    "GET /healthz": probe_health,
    "GET /readyz": probe_health,
    "GET /metrics": probe_metrics,
    "GET /tools": probe_tools,
    "POST /import": probe_import,
    "DELETE /agents/{agent_id}": probe_erase,
    "DELETE /tenant": probe_erase_tenant,
}
"""By route, tool or resource, so that none spoils a later one: the import makes a memory of the owner's id,
which then stands in the outsider's own answers, and while something is erased nothing is stored."""
