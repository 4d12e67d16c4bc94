"""Probes of the routes of facts: everything one can ask of them to learn what another knows."""

import httpx

from app.domain.episodes import NewRun
from app.domain.facts import Fact
from tests.support.service import Service

_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FD"
_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def _owners(service: Service) -> None:
    """Have another agent of the owner learn something."""
    services = service.runtime.services("owner")
    await services.episodic.begin(NewRun("knows", "secretive", None, _RUN))
    fact = Fact("owner", "lives in", "Xq0451z", agent_type="secretive", learned_from_run_id=_RUN)
    for agent_id in ("knows", "secretive"):
        await services.semantic.learn(agent_id, fact)


async def probe_learn(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owners(service)
    body = {"subject": "owner", "predicate": "lives in", "object": "Rome"}
    bodies = [
        {**body, "agent_id": agent_id, "learned_from_run_id": _RUN},
        {**body, "agent_id": agent_id, "learned_from_run_id": _UNKNOWN},
        {**body, "agent_id": agent_id, "agent_type": "secretive"},
    ]
    return [await service.post("/facts", each, tenant=tenant, agent=agent_id) for each in bodies]


async def probe_recall_facts(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owners(service)
    whose = ({"agent_id": agent_id}, {"agent_type": agent_id}, {"agent_id": agent_id, "subject": "owner"})
    body = {"query": "Where does the owner live?", "top_k": 50}
    return [await service.post("/facts/recall", {**body, **each}, tenant=tenant, agent=agent_id) for each in whose]


async def probe_facts(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owners(service)
    filters: list[dict[str, str]] = [
        {"agent_id": agent_id},
        {"agent_type": agent_id},
        {"agent_id": agent_id, "learned_from_run_id": _RUN, "history": "true"},
    ]
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get("/facts", params=each, headers=headers) for each in filters]


FACTS_PROBES = {
    "POST /facts": probe_learn,
    "POST /facts/recall": probe_recall_facts,
    "GET /facts": probe_facts,
}
