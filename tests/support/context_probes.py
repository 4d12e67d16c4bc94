"""Probes of the routes of shared context: everything one can ask of them to learn of another tenant's documents."""

import httpx

from tests.support.service import Service

_SECRET = "what the owner's agents are told is Xq0451z"


async def _owners(service: Service) -> None:
    owner = service.runtime.services("owner").context
    await owner.put("told", _SECRET, "text/plain")
    await owner.configure({"told": _SECRET})


def _paths(tenant: str, *paths: str) -> list[str]:
    """What the owner may read is its own: it is asked for what is not there."""
    return [path.replace("told", "untold") for path in paths] if tenant == "owner" else [*paths]


async def _got(service: Service, tenant: str, agent_id: str, *paths: str) -> list[httpx.Response]:
    await _owners(service)
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get(path, headers=headers) for path in _paths(tenant, *paths)]


async def probe_list_context(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _got(service, tenant, agent_id, "/context")


async def probe_get_context(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _got(service, tenant, agent_id, "/context/told", "/context/told?version=1")


async def probe_context_versions(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _got(service, tenant, agent_id, "/context/told/versions")


async def probe_get_configuration(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    paths = ("/configuration?version=99",) if tenant == "owner" else ("/configuration", "/configuration?version=1")
    return await _got(service, tenant, agent_id, *paths)


async def probe_put_context(service: Service, tenant: str, _: str) -> list[httpx.Response]:
    await _owners(service)
    headers, (path,) = service.credential(tenant, admin=True), _paths(tenant, "/context/told")
    said = {"content": "mine"}
    answers = [await service.client.put(path, json=said, headers=headers)]
    await service.client.delete(path, headers=headers)
    return answers


async def probe_delete_context(service: Service, tenant: str, _: str) -> list[httpx.Response]:
    await _owners(service)
    headers = service.credential(tenant, admin=True)
    return [await service.client.delete(path, headers=headers) for path in _paths(tenant, "/context/told")]


async def probe_put_configuration(service: Service, tenant: str, _: str) -> list[httpx.Response]:
    await _owners(service)
    headers = service.credential(tenant, admin=True)
    return [await service.client.put("/configuration", json={"values": {"mine": 1}}, headers=headers)]


CONTEXT_PROBES = {
    "GET /context": probe_list_context,
    "GET /context/{name}": probe_get_context,
    "GET /context/{name}/versions": probe_context_versions,
    "PUT /context/{name}": probe_put_context,
    "DELETE /context/{name}": probe_delete_context,
    "GET /configuration": probe_get_configuration,
    "PUT /configuration": probe_put_configuration,
}
