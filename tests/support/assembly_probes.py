"""A probe of the route that assembles a context: everything one can ask of it to learn of another one's tiers."""

import httpx

from app.domain.episodes import NewEpisode, NewRun
from app.domain.facts import Fact
from app.domain.messages import NewMessage
from tests.support.service import Service

_SECRET = "what the owner's agent has in mind is Xq0451z"


async def probe_assemble_context(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    owner = service.runtime.services("owner")
    await owner.windows.append("keeper", "i", [NewMessage("user", _SECRET)], ttl_seconds=3600)
    await owner.semantic.learn("knows", Fact("user", "has in mind", _SECRET))
    run = (await owner.episodic.begin(NewRun("keeper", "t", None))).run
    await owner.episodic.append(run.id, [NewEpisode("note", _SECRET)])
    await owner.context.put("told", _SECRET, "text/plain")
    names = ["untold"] if tenant == "owner" else ["told"]  # the owner's other agents may read what it tells all of them
    body = {"agent_id": agent_id, "instance": "i", "query": "launch code", "prefetch": True, "context": names}
    return [await service.post("/context/assemble", body, tenant=tenant, agent=agent_id)]


ASSEMBLY_PROBES = {"POST /context/assemble": probe_assemble_context}
