"""Probes of the routes for profiles: everything one can ask of them to learn of what another one remembers."""

import httpx

from tests.support.memories import memory_ids
from tests.support.service import Service

_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def _owners(service: Service) -> str:
    """Return the id of what the owner keeps."""
    return (await memory_ids(service, tenant_id="owner", agent_id="keeper"))[0]


async def probe_remember(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return [await service.post(f"/profiles/{agent_id}/remember", {"content": "mine"}, tenant=tenant, agent=agent_id)]


async def probe_recall_profile(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    path = f"/profiles/{agent_id}/recall"
    return [
        await service.post(path, {"query": query, "response_length": "long"}, tenant=tenant, agent=agent_id)
        for query in ("what is the launch code?", "x")
    ]


async def probe_list_profile(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers, path = service.credential(tenant, agent=agent_id), f"/profiles/{agent_id}/memories"
    filters = [{}, {"type": "fact", "limit": "100"}, {"session_id": "s"}]
    return [await service.client.get(path, params=where, headers=headers) for where in filters]


async def probe_get_profile(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers, path = service.credential(tenant, agent=agent_id), f"/profiles/{agent_id}/memories"
    return [await service.client.get(f"{path}/{id_}", headers=headers) for id_ in (await _owners(service), _UNKNOWN)]


async def probe_forget(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _marked(service, tenant, agent_id, "forget")


async def probe_unforget(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _marked(service, tenant, agent_id, "unforget")


async def _marked(service: Service, tenant: str, agent_id: str, verb: str) -> list[httpx.Response]:
    headers, path = service.credential(tenant, agent=agent_id), f"/profiles/{agent_id}/memories"
    ids = (await _owners(service), _UNKNOWN)
    return [await service.client.post(f"{path}/{id_}/{verb}", headers=headers) for id_ in ids]


async def probe_summary(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    path = f"/profiles/{agent_id}/summary"
    return [await service.post(path, body, tenant=tenant, agent=agent_id) for body in ({}, {"session_id": "s"})]


async def probe_delete_session(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Delete a session that another agent of the owner has too."""
    await service.store("of a session", tenant="owner", agent_id="talks", session_id="talk")
    headers = service.credential(tenant, admin=True)
    answer = await service.client.delete(f"/profiles/{agent_id}/sessions/talk", headers=headers)
    assert await service.contents("of a session", tenant="owner", agent_id="talks") == ["of a session"]
    return [answer]


PROFILE_PROBES = {
    "POST /profiles/{profile}/remember": probe_remember,
    "POST /profiles/{profile}/recall": probe_recall_profile,
    "GET /profiles/{profile}/memories": probe_list_profile,
    "GET /profiles/{profile}/memories/{memory_id}": probe_get_profile,
    "POST /profiles/{profile}/memories/{memory_id}/forget": probe_forget,
    "POST /profiles/{profile}/memories/{memory_id}/unforget": probe_unforget,
    "POST /profiles/{profile}/summary": probe_summary,
    "DELETE /profiles/{profile}/sessions/{session_id}": probe_delete_session,
}
