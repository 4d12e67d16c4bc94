"""Probes of the routes of Cloudflare's Agent Memory: by its names one learns nothing of what another one stored."""

import httpx

from app.domain.errors import NamespaceExists
from tests.support.envelope_shape import NAMESPACES
from tests.support.memories import memory_ids
from tests.support.service import Service

_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_QUERIES = ("what is the launch code?", "x")


async def _ask(service: Service, tenant: str, method: str, path: str, body: object = None) -> httpx.Response:
    headers = service.credential(tenant, admin=True)
    return await service.client.request(method, path, json=body, headers=headers)


async def _profiles(service: Service, tenant: str, agent_id: str) -> list[str]:
    """Return the paths of the agent itself and of a profile of its name, both written to."""
    await _namespace(service, tenant, "mine")
    paths = [f"{NAMESPACES}/{namespace}/profiles/{agent_id}" for namespace in ("default", "mine")]
    for path in paths:
        await _ask(service, tenant, "POST", f"{path}/remember", {"content": "mine"})
    return paths


async def _namespace(service: Service, tenant: str, name: str) -> None:
    try:
        await service.runtime.services(tenant).namespaces.create(name)
    except NamespaceExists:
        return


async def _owners(service: Service) -> str:
    """Return the id of what the owner keeps."""
    return (await memory_ids(service, tenant_id="owner", agent_id="keeper"))[0]


async def probe_create(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Create a namespace of a name that the owner has."""
    await _namespace(service, "owner", "vault")
    name = "vault" if tenant != "owner" else f"own-{len(agent_id)}"
    return [await _ask(service, tenant, "POST", NAMESPACES, {"name": name})]


async def probe_namespaces(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    await _namespace(service, "owner", "safe")
    paths = (NAMESPACES, f"{NAMESPACES}?order=name&direction=desc&per_page=1000")
    return [await _ask(service, tenant, "GET", path) for path in paths]


async def probe_namespace(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _named(service, tenant, agent_id, "GET")


async def probe_delete_namespace(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _named(service, tenant, agent_id, "DELETE")


async def _named(service: Service, tenant: str, agent_id: str, method: str) -> list[httpx.Response]:
    """Ask for the owner's namespace, and for one that nobody has; an owner may have its own deleted."""
    del agent_id
    await _namespace(service, "owner", "safe")
    own = "gone" if tenant == "owner" else "safe"
    return [await _ask(service, tenant, method, f"{NAMESPACES}/{name}") for name in (own, "none")]


async def probe_ingest(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    said = {"messages": [{"role": "user", "content": "mine"}], "sessionId": "own"}
    paths = await _profiles(service, tenant, agent_id)
    return [await _ask(service, tenant, "POST", f"{path}/ingest", said) for path in paths]


async def probe_remember(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    paths = await _profiles(service, tenant, agent_id)
    return [await _ask(service, tenant, "POST", f"{path}/remember", {"content": "mine"}) for path in paths]


async def probe_recall(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return [
        await _ask(service, tenant, "POST", f"{path}/recall", {"query": query, "responseLength": "long"})
        for path in await _profiles(service, tenant, agent_id)
        for query in _QUERIES
    ]


async def probe_summary(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return [
        await _ask(service, tenant, "POST", f"{path}/summary", body)
        for path in await _profiles(service, tenant, agent_id)
        for body in ({}, {"sessionId": "s"})
    ]


async def probe_list(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return [
        await _ask(service, tenant, "GET", f"{path}/memories?{query}")
        for path in await _profiles(service, tenant, agent_id)
        for query in ("", "type=fact&per_page=1000", "session_id=s")
    ]


async def probe_get(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _by_id(service, tenant, agent_id, "GET")


async def probe_delete(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    return await _by_id(service, tenant, agent_id, "DELETE")


async def _by_id(service: Service, tenant: str, agent_id: str, method: str) -> list[httpx.Response]:
    ids = (await _owners(service), _UNKNOWN)
    paths = await _profiles(service, tenant, agent_id)
    return [await _ask(service, tenant, method, f"{path}/memories/{id_}") for path in paths for id_ in ids]


async def probe_delete_session(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Delete a session that another agent of the owner has too."""
    await service.store("of a meeting", tenant="owner", agent_id="meets", session_id="meeting")
    paths = await _profiles(service, tenant, agent_id)
    answers = [await _ask(service, tenant, "DELETE", f"{path}/sessions/meeting") for path in paths]
    assert await service.contents("of a meeting", tenant="owner", agent_id="meets") == ["of a meeting"]
    return answers


async def probe_delete_profile(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _namespace(service, tenant, "another")
    paths = (f"{NAMESPACES}/another/profiles/{agent_id}", f"{NAMESPACES}/default/profiles/nobody")
    return [await _ask(service, tenant, "DELETE", path) for path in paths]


_NAMESPACES = "/client/v4/accounts/{account_id}/agent-memory/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace_name}}"
_PROFILE = f"{_NAMESPACE}/profiles/{{profile_name}}"
AGENT_MEMORY_PROBES = {
    f"POST {_NAMESPACES}": probe_create,
    f"GET {_NAMESPACES}": probe_namespaces,
    f"GET {_NAMESPACE}": probe_namespace,
    f"DELETE {_NAMESPACE}": probe_delete_namespace,
    f"POST {_PROFILE}/ingest": probe_ingest,
    f"POST {_PROFILE}/remember": probe_remember,
    f"POST {_PROFILE}/recall": probe_recall,
    f"POST {_PROFILE}/summary": probe_summary,
    f"GET {_PROFILE}/memories": probe_list,
    f"GET {_PROFILE}/memories/{{memory_id}}": probe_get,
    f"DELETE {_PROFILE}/memories/{{memory_id}}": probe_delete,
    f"DELETE {_PROFILE}/sessions/{{session_id}}": probe_delete_session,
    f"DELETE {_PROFILE}": probe_delete_profile,
}
OF_NAMES = (f"GET {_NAMESPACE}", f"DELETE {_NAMESPACE}", f"DELETE {_PROFILE}/memories/")
"""Routes that answer a name or an id which the caller does not have with 404."""
