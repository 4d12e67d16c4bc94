"""A probe of the MCP resource that is an agent's context: every URI by which one could learn of another one's."""

import httpx

from app.domain.episodes import NewEpisode, NewRun
from app.domain.messages import NewMessage
from tests.support.service import Service

_SECRET = "what the owner's agent was told is Xq0451z"
_INSTANCES = ("told", "untold", "keeper", "keeper%2Ftold", "owner")


async def probe_context_resource(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    owner = service.runtime.services("owner")
    await owner.windows.append("keeper", "told", [NewMessage("user", _SECRET)], ttl_seconds=3600)
    run = (await owner.episodic.begin(NewRun("keeper", "t", None))).run
    await owner.episodic.append(run.id, [NewEpisode("note", _SECRET)])
    if tenant == "owner":
        await owner.context.delete("told")  # what the owner tells all of its agents, this one may read
    else:
        await owner.context.put("told", _SECRET, "text/plain")
    uris = [f"memory://context/{instance}" for instance in _INSTANCES]
    asked = [{"uri": uri} for uri in (*uris, "memory://context/keeper/told")]
    return [await service.mcp("resources/read", each, tenant=tenant, agent_id=agent_id) for each in asked]


RESOURCE_PROBES = {"memory://context/{instance}": probe_context_resource}
