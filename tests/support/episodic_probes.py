"""Probes of the routes of runs and episodes: everything one can ask of them to learn of what happened to another."""

import httpx

from app.domain.episodes import NewEpisode, NewRun
from tests.support.service import Service

OWNERS_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FB"
OWNERS_EPISODE = "01K2Z4M1V7Q8T3B5N6C7D8E9FC"
_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_SECRET = "what happened to the owner is Xq0451z"


async def _owners(service: Service) -> str:
    """Have something happen to another agent of the owner, and return the run."""
    episodic = service.runtime.services("owner").episodic
    run = NewRun("acts", "secretive", {"task": _SECRET}, OWNERS_RUN)
    await episodic.begin(run)
    await episodic.append(OWNERS_RUN, [NewEpisode("note", _SECRET, {}, OWNERS_EPISODE)])
    return OWNERS_RUN


async def _begun(service: Service, tenant: str, agent_id: str) -> str:
    await _owners(service)
    body = {"agent_id": agent_id, "agent_type": "secretive", "input": None}
    answer = await service.post("/runs", body, tenant=tenant, agent=agent_id)
    return str(answer.json()["run_id"])


async def probe_start_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owners(service)
    body = {"agent_id": agent_id, "agent_type": "secretive", "input": None, "episodes": 50}
    delegated = [{**body, "parent_run_id": id_} for id_ in (OWNERS_RUN, _UNKNOWN)]
    return [await service.post("/runs", each, tenant=tenant, agent=agent_id) for each in (body, *delegated)]


async def probe_get_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    ids = (await _owners(service), _UNKNOWN)
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get(f"/runs/{id_}", headers=headers) for id_ in ids]


async def probe_append_episode(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Write to the owner's run, and to one of one's own; of another tenant even with the id of the owner's episode."""
    own, theirs = await _begun(service, tenant, agent_id), await _owners(service)
    body = {"episodes": [{"type": "note", "content": "mine"}]}
    named = {"episodes": [{"type": "note", "content": "mine", "episode_id": OWNERS_EPISODE}]}
    asked = [(theirs, body), (_UNKNOWN, body), (own, body if tenant == "owner" else named)]
    return [await service.post(f"/runs/{id_}/episodes", said, tenant=tenant, agent=agent_id) for id_, said in asked]


async def probe_complete_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    ids = (await _owners(service), _UNKNOWN)
    return [await service.post(f"/runs/{id_}/complete", {}, tenant=tenant, agent=agent_id) for id_ in ids]


async def probe_fail_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    ids = (await _owners(service), _UNKNOWN)
    body = {"error": "mine"}
    return [await service.post(f"/runs/{id_}/fail", body, tenant=tenant, agent=agent_id) for id_ in ids]


async def probe_runs(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owners(service)
    filters = [{}, {"agent_type": "secretive"}, {"status": "running", "limit": "100"}, {"parent_run_id": OWNERS_RUN}]
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get("/runs", params=each, headers=headers) for each in filters]


async def probe_episodes(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    run = await _owners(service)
    filters = [{}, {"agent_type": "secretive"}, {"run_id": run, "limit": "100"}, {"agent_id": agent_id}]
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get("/episodes", params=each, headers=headers) for each in filters]


EPISODIC_PROBES = {
    "POST /runs": probe_start_run,
    "GET /runs/{run_id}": probe_get_run,
    "POST /runs/{run_id}/episodes": probe_append_episode,
    "POST /runs/{run_id}/complete": probe_complete_run,
    "POST /runs/{run_id}/fail": probe_fail_run,
    "GET /runs": probe_runs,
    "GET /episodes": probe_episodes,
}
