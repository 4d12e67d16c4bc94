"""Probes of the routes for workflows: everything one can ask of them to learn of what another one keeps."""

from typing import Any

import httpx

from app.domain.author import Author
from app.domain.workflows import NewWorkflow
from tests.support.service import Service
from tests.support.tables import rows_of
from tests.support.workflows import begin_runs, run_id, workflow

_OWNER = Author("01K2Z4M1V7Q8T3B5N6C7D8E9FB", "http", may_replace=True)
_THEIRS = "owners-workflow"
_MINE = "mine"


async def _kept(service: Service) -> None:
    """Have the owner keep a workflow for the very task, with a secret in it and an outcome."""
    await _runs(service, "owner", "keeper", 0)
    services = service.runtime.services("owner", _OWNER)
    spec = {"code": "Xq0451z"}
    for text in ({**spec, "older": True}, spec):
        await services.workflows.put(workflow(_THEIRS, spec=text, task_type="owners-task"))
    await services.workflows.outcome(_THEIRS, run_id(0), 1)


async def _runs(service: Service, tenant: str, agent_id: str, number: int) -> None:
    """Have a run of the tenant under way, by the id that another tenant's run has too."""
    if not await rows_of(service, "agent_runs", "id", tenant_id=tenant, id=run_id(number)):
        await begin_runs(service, [number], tenant=tenant, agent=agent_id)


async def _put(service: Service, tenant: str, put: NewWorkflow) -> httpx.Response:
    body: dict[str, Any] = {"agent_type": put.agent_type, "task_type": put.task_type, "spec": dict(put.spec)}
    headers = service.credential(tenant, admin=True)
    return await service.client.put(f"/workflows/{put.workflow_id}", json=body, headers=headers)


def _outside(tenant: str) -> str:
    """Return the tenant, or another where it is the owner's: workflows are shared by all agents of a tenant."""
    return "other" if tenant == "owner" else tenant


async def probe_put_workflow(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Put a workflow of one's own, and one under the very id of the owner's."""
    del agent_id
    await _kept(service)
    outside = _outside(tenant)
    answers = [await _put(service, outside, workflow(name)) for name in (_MINE, _THEIRS)]
    await service.runtime.services(outside).workflows.delete(_THEIRS)
    return answers


async def probe_get_workflow(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _kept(service)
    headers = service.credential(_outside(tenant), agent=agent_id)
    return [await service.client.get(f"/workflows/{name}", headers=headers) for name in (_THEIRS, "unknown")]


async def probe_delete_workflow(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    await _kept(service)
    headers = service.credential(_outside(tenant), admin=True)
    answers = [await service.client.delete(f"/workflows/{name}", headers=headers) for name in (_THEIRS, "unknown")]
    assert (await service.runtime.services("owner").workflows.get(_THEIRS)).alpha == 2
    return answers


async def probe_versions(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _kept(service)
    headers = service.credential(_outside(tenant), agent=agent_id)
    paths = (f"/workflows/{name}/versions{version}" for name in (_THEIRS, "unknown") for version in ("", "/1", "/2"))
    return [await service.client.get(path, headers=headers) for path in paths]


async def probe_version(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _kept(service)
    headers = service.credential(_outside(tenant), agent=agent_id)
    return [await service.client.get(f"/workflows/{name}/versions/1", headers=headers) for name in (_THEIRS, "unknown")]


async def probe_restore(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    del agent_id
    await _kept(service)
    headers = service.credential(_outside(tenant), admin=True)
    paths = (f"/workflows/{name}/versions/1/restore" for name in (_THEIRS, "unknown"))
    answers = [await service.client.post(path, headers=headers) for path in paths]
    assert "older" not in (await service.runtime.services("owner").workflows.get(_THEIRS)).spec
    return answers


async def probe_workflows(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _kept(service)
    headers = service.credential(_outside(tenant), agent=agent_id)
    asked: list[dict[str, str]] = [{}, {"task_type": "owners-task"}, {"agent_type": "support", "limit": "100"}]
    return [await service.client.get("/workflows", params=params, headers=headers) for params in asked]


async def probe_picture(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _kept(service)
    headers = service.credential(_outside(tenant), agent=agent_id)
    params = {"agent_type": "support", "task_type": "owners-task"}
    return [await service.client.get("/workflows.svg", params=params, headers=headers)]


async def probe_select(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Select for the owner's task, for the owner's run, and for a task and a run of one's own."""
    await _kept(service)
    outside = _outside(tenant)
    await service.runtime.services(outside).workflows.put(workflow(_MINE))
    await _runs(service, outside, agent_id, 1)
    asked: list[dict[str, Any]] = [
        {"agent_type": "support", "task_type": "owners-task", "seed": 1},
        {"agent_type": "support", "task_type": "answer", "seed": 1, "run_id": run_id(0)},
        {"agent_type": "support", "task_type": "answer", "seed": 1, "run_id": run_id(1)},
    ]
    return [await service.post("/workflows/select", body, tenant=outside, agent=agent_id) for body in asked]


async def probe_outcome(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Post an outcome for the owner's workflow, of the owner's run, and for what is one's own."""
    await _kept(service)
    outside = _outside(tenant)
    await service.runtime.services(outside).workflows.put(workflow(_MINE))
    await _runs(service, outside, agent_id, 1)
    answers = [
        await service.post(
            f"/workflows/{name}/outcome", {"run_id": run_id(run), "score": 0}, tenant=outside, agent=agent_id
        )
        for name, run in ((_THEIRS, 0), (_THEIRS, 1), (_MINE, 0), (_MINE, 1))
    ]
    assert (await service.runtime.services("owner").workflows.get(_THEIRS)).beta == 1
    return answers


WORKFLOW_PROBES = {
    "PUT /workflows/{workflow_id}": probe_put_workflow,
    "GET /workflows/{workflow_id}": probe_get_workflow,
    "DELETE /workflows/{workflow_id}": probe_delete_workflow,
    "GET /workflows/{workflow_id}/versions": probe_versions,
    "GET /workflows/{workflow_id}/versions/{version}": probe_version,
    "POST /workflows/{workflow_id}/versions/{version}/restore": probe_restore,
    "GET /workflows": probe_workflows,
    "GET /workflows.svg": probe_picture,
    "POST /workflows/select": probe_select,
    "POST /workflows/{workflow_id}/outcome": probe_outcome,
}
