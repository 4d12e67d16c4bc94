"""Probes of the routes for working memory: everything one can ask to learn of what another one keeps there."""

import asyncio
from typing import Any

import httpx

from app.ports.database import Statement
from tests.support.service import Service

CANARY = "Xq0451z"
_INSTANCE = "worker-1"
_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_OWNERS_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FE"
_SECRET: dict[str, Any] = {"code": CANARY}
_RUN = """
INSERT INTO agent_runs (tenant_id, id, agent_id, agent_type, status, input, started_at)
VALUES ('{tenant}', '{run}', '{agent}', 'type', 'running', '{{}}', 1) ON CONFLICT DO NOTHING
"""
_SUMMARY = f"""
INSERT INTO working_summary (tenant_id, agent_id, instance, first_place, last_place, turns, since, until, made_by,
  memories, sentences)
SELECT 'owner', 'keeper', '{_INSTANCE}', 1, 2, 2, 1, 2, 'reader', json_array(memory.id),
  json_array(json_object('text', 'the summary says {CANARY}', 'memories', json_array(memory.id), 'weight', 1))
FROM long_term_memory AS memory WHERE memory.tenant_id = 'owner' AND memory.agent_id = 'keeper' LIMIT 1
ON CONFLICT DO NOTHING
"""


async def _owned(service: Service) -> None:
    """Have the owner keep a secret everywhere where one can be kept."""
    headers = service.credential("owner", agent="keeper")
    await _run(service, "owner", "keeper", _OWNERS_RUN)
    await service.client.put(f"/working/keeper/{_INSTANCE}/k", json={"value": _SECRET}, headers=headers)
    await service.client.put(f"/runs/{_OWNERS_RUN}/state", json={"value": _SECRET}, headers=headers)
    await service.post(f"/runs/{_OWNERS_RUN}/log", {"entries": [_SECRET]}, tenant="owner")
    said = {"messages": [{"role": "user", "content": f"the code of the window is {CANARY}"}]}
    await service.post(f"/working/keeper/{_INSTANCE}/messages", said, tenant="owner")
    await service.runtime.backends.database.run([Statement(_SUMMARY, writes=True)])


async def _run(service: Service, tenant: str, agent: str, run: str) -> None:
    sql = _RUN.format(tenant=tenant, agent=agent, run=run)
    await service.runtime.backends.database.run([Statement(sql, writes=True)])


async def _own_run(service: Service, tenant: str, agent_id: str) -> str:
    """Return a run of one's own, by an id that says whose it is."""
    run = "01K2Z4M1V7Q8T3B5N6C7D8E9FC"
    await _run(service, tenant, agent_id, run)
    return run


async def probe_set_working(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers, path = service.credential(tenant, agent=agent_id), f"/working/{agent_id}/{_INSTANCE}/mine"
    return [await service.client.put(path, json={"value": value}, headers=headers) for value in ("mine", None)]


async def probe_get_working(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers, path = service.credential(tenant, agent=agent_id), f"/working/{agent_id}/{_INSTANCE}"
    return [await service.client.get(f"{path}/{key}", headers=headers) for key in ("k", "mine", "none")]


async def probe_list_working(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers = service.credential(tenant, agent=agent_id)
    return [
        await service.client.get(f"/working/{agent_id}/{instance}", headers=headers)
        for instance in (_INSTANCE, _OWNERS_RUN)
    ]


async def probe_delete_working(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers, path = service.credential(tenant, agent=agent_id), f"/working/{agent_id}/{_INSTANCE}"
    return [await service.client.delete(f"{path}/{key}", headers=headers) for key in ("k", "none")]


async def probe_set_turn_state(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers = service.credential(tenant, agent=agent_id)
    runs = (await _own_run(service, tenant, agent_id), _OWNERS_RUN, _UNKNOWN)
    return [await service.client.put(f"/runs/{run}/state", json={"value": 1}, headers=headers) for run in runs]


async def probe_get_turn_state(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers = service.credential(tenant, agent=agent_id)
    runs = (await _own_run(service, tenant, agent_id), _OWNERS_RUN, _UNKNOWN)
    return [await service.client.get(f"/runs/{run}/state", headers=headers) for run in runs]


async def probe_append_run_log(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    runs = (await _own_run(service, tenant, agent_id), _OWNERS_RUN, _UNKNOWN)
    return [await service.post(f"/runs/{run}/log", {"entries": [{}]}, tenant=tenant, agent=agent_id) for run in runs]


async def probe_run_log(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers = service.credential(tenant, agent=agent_id)
    runs = (await _own_run(service, tenant, agent_id), _OWNERS_RUN, _UNKNOWN)
    return [await service.client.get(f"/runs/{run}/log", headers=headers) for run in runs]


async def probe_append_messages(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    """Append messages of one's own, twice, of which the first falls out of the window."""
    await _owned(service)
    path = f"/working/{agent_id}/{_INSTANCE}/messages"
    body = {"messages": [{"role": "user", "content": said, "tokens": 9_000} for said in ("mine", "mine too")]}
    answers = [await service.post(path, body, tenant=tenant, agent=agent_id) for _ in range(2)]
    while tasks := list(service.runtime.backends.background._tasks):  # noqa: SLF001 - nothing else tells
        await asyncio.wait(tasks)
    return answers


async def probe_window(service: Service, tenant: str, agent_id: str) -> list[httpx.Response]:
    await _owned(service)
    headers, path = service.credential(tenant, agent=agent_id), f"/working/{agent_id}/{_INSTANCE}/window"
    return [await service.client.get(path, params=query, headers=headers) for query in ({}, {"max_tokens": 1})]


WORKING_PROBES: dict[str, Any] = {
    "PUT /working/{agent_id}/{instance}/{key}": probe_set_working,
    "GET /working/{agent_id}/{instance}/{key}": probe_get_working,
    "GET /working/{agent_id}/{instance}": probe_list_working,
    "DELETE /working/{agent_id}/{instance}/{key}": probe_delete_working,
    "PUT /runs/{run_id}/state": probe_set_turn_state,
    "GET /runs/{run_id}/state": probe_get_turn_state,
    "POST /runs/{run_id}/log": probe_append_run_log,
    "GET /runs/{run_id}/log": probe_run_log,
    "POST /working/{agent_id}/{instance}/messages": probe_append_messages,
    "GET /working/{agent_id}/{instance}/window": probe_window,
}
"""By route."""
