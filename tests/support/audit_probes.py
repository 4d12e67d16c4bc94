"""Probes of the routes of the audit: everything one can ask of them to learn of what another one did."""

import httpx

from app.domain.episodes import NewEpisode
from app.runtime.recall_log import write_recalls
from tests.support.scopes import old_run
from tests.support.service import Service

OWNERS_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9RA"
_OWN_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9R{}"
UNKNOWN_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_CALL = "01K2Z4M1V7Q8T3B5N6C7D8E9CA"
_SECRET = "what the owner has called is Xq0451z"


async def begin_run(service: Service, run_id: str, tenant: str, agent_id: str) -> str:
    """Begin a run behind the service's back."""
    await old_run(service, run_id, agent_id, tenant_id=tenant)
    return run_id


def call(text: str = "mine", call_id: str = _CALL) -> dict[str, object]:
    return {"call_id": call_id, "tool": "look", "input": {"of": text}, "outcome": "ok", "output": text, "ms": 1.5}


async def _owners(service: Service) -> str:
    """Have another agent of the owner call a tool in a run that a recall has named, and return the run."""
    run = await begin_run(service, OWNERS_RUN, "owner", "acts")
    await service.post(f"/runs/{run}/audit", {"calls": [call(_SECRET)]}, tenant="owner")
    await _tell(service, run)
    await service.recall(_SECRET, tenant="owner", agent_id="acts", run_id=run)
    await write_recalls(service.runtime.backends)
    return run


async def _tell(service: Service, run: str) -> None:
    """Have an episode in the run of the owner's other agent."""
    await service.runtime.services("owner").episodic.append(run, [NewEpisode("note", _SECRET, {"of": _SECRET})])


async def _own(service: Service, tenant: str, agent_id: str) -> str:
    """Begin a run of the outsider's own, of which a run and recalls of the owner's other agent have the id."""
    letter = "ABCDEFGHJK"[(sum(tenant.encode()) + sum(agent_id.encode())) % 9 + 1]
    run = await begin_run(service, _OWN_RUN.format(letter), tenant, agent_id)
    if tenant != "owner":
        await _tell(service, await begin_run(service, run, "owner", "acts"))
    await service.recall(_SECRET, tenant="owner", agent_id="acts", run_id=run)
    await write_recalls(service.runtime.backends)
    return run


async def probe_audit_run(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    runs = (await _owners(service), await _own(service, tenant, agent_id), UNKNOWN_RUN)
    body = {"calls": [call()]}
    return [await service.post(f"/runs/{run}/audit", body, tenant=tenant, agent=agent_id) for run in runs]


async def probe_replay(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    runs = (await _owners(service), await _own(service, tenant, agent_id), UNKNOWN_RUN)
    headers = service.credential(tenant, agent=agent_id)
    return [await service.client.get(f"/runs/{run}/replay", headers=headers) for run in runs]


async def probe_audit(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    run = await _owners(service)
    filters = [
        {"limit": "100"},
        {"run_id": run},
        {"event": "tool_call"},
        {"event": "recall", "limit": "100"},
        {"event": "erased"},
    ]
    headers = service.credential(tenant, agent=agent_id, admin=True)
    return [await service.client.get("/audit", params=each, headers=headers) for each in filters]


async def probe_acts(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    owners = service.credential("owner", admin=True)
    assert (await service.client.delete("/workflows/owners", headers=owners)).status_code == 204
    del agent_id
    headers = service.credential(tenant, admin=True)
    filters: tuple[dict[str, str], ...] = ({}, {"act": "agent.set"}, {"outcome": "failed"}, {"credential_id": "owners"})
    return [await service.client.get("/audit/acts", params=each, headers=headers) for each in filters]


async def probe_acts_export(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    return [await service.client.get("/audit/acts/export", headers=service.credential(tenant, admin=True))]


ACT_PROBES = {
    "GET /audit/acts": probe_acts,
    "GET /audit/acts/export": probe_acts_export,
}
AUDIT_PROBES = {
    "POST /runs/{run_id}/audit": probe_audit_run,
    "GET /runs/{run_id}/replay": probe_replay,
    "GET /audit": probe_audit,
}
