"""Probes of the routes for blobs: everything one can ask of them to learn of what another one keeps."""

import httpx

from tests.support.service import Service

_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def _owners(service: Service) -> list[str]:
    """Have the owner keep a blob of an agent and one of its own, and return their ids."""
    services = service.runtime.services("owner")
    sent = [await services.blobs.put(agent, b"the owner's bytes", "text/plain") for agent in ("keeps", None)]
    return [blob.id for blob in sent]


async def _asked(service: Service, method: str, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Ask for the owner's blobs by their very ids; where the tenant is the owner's, as its other agent."""
    one, admin = service.credential(tenant, agent_id), service.credential(tenant, admin=True)
    kept, shared = await _owners(service)
    ids = [kept, _UNKNOWN] if tenant == "owner" else [kept, shared, _UNKNOWN]
    answers = [
        await service.client.request(method, f"/blobs/{id_}", params={"agent_id": agent_id}, headers=headers)
        for id_ in ids
        for headers in ((admin,) if method == "DELETE" else (one, admin))
    ]
    held = service.runtime.services("owner").blobs
    assert await held.read(await held.get("keeps", kept)) == b"the owner's bytes"
    return answers


async def probe_put_blob(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    headers = service.credential(tenant, agent_id)
    answer = await service.client.post("/blobs", params={"agent_id": agent_id}, content=b"mine", headers=headers)
    assert answer.status_code in {201, 409}
    return [answer]


async def probe_list_blobs(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    (kept, _), headers = await _owners(service), service.credential(tenant, agent_id)
    answers = [
        await service.client.get("/blobs", params=params, headers=headers)
        for params in ({"agent_id": agent_id, "limit": "100"}, *([] if tenant == "owner" else [{}]))
    ]
    assert not [answer for answer in answers if kept in answer.text]
    return answers


async def probe_get_blob(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _asked(service, "GET", tenant, agent_id)


async def probe_delete_blob(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _asked(service, "DELETE", tenant, agent_id)


BLOB_PROBES = {
    "POST /blobs": probe_put_blob,
    "GET /blobs": probe_list_blobs,
    "GET /blobs/{blob_id}": probe_get_blob,
    "DELETE /blobs/{blob_id}": probe_delete_blob,
}
