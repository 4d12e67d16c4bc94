"""Probes of the routes for working memory: everything one can ask to learn of what another one keeps there."""

import asyncio
from typing import Any

import httpx

from app.domain.json_types import Json, to_json
from tests.support.memories import memory_ids
from tests.support.scopes import old_run
from tests.support.service import Service
from tests.support.tables import insert_rows, rows_of

CANARY = "Xq0451z"
_INSTANCE = "worker-1"
_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_OWNERS_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FE"
_SECRET: dict[str, Any] = {"code": CANARY}


async def _owned(service: Service) -> None:
    """Have the owner keep a secret everywhere where one can be kept."""
    headers = service.credential("owner", agent="keeper")
    await old_run(service, _OWNERS_RUN, "keeper", tenant_id="owner")
    await service.client.put(f"/working/keeper/{_INSTANCE}/k", json={"value": _SECRET}, headers=headers)
    await service.client.put(f"/runs/{_OWNERS_RUN}/state", json={"value": _SECRET}, headers=headers)
    await service.post(f"/runs/{_OWNERS_RUN}/log", {"entries": [_SECRET]}, tenant="owner")
    said = {"messages": [{"role": "user", "content": f"the code of the window is {CANARY}"}]}
    await service.post(f"/working/keeper/{_INSTANCE}/messages", said, tenant="owner")
    await _summarised(service)


async def _summarised(service: Service) -> None:
    """Have the owner's window have a summary that tells the secret."""
    scope = {"tenant_id": "owner", "agent_id": "keeper"}
    ids = (await memory_ids(service, **scope))[:1]
    if ids and not await rows_of(service, "working_summary", **scope):
        said: Json = [{"text": f"the summary says {CANARY}", "memories": ids, "weight": 1}]
        places = {"first_place": 1, "last_place": 2, "turns": 2, "since": 1, "until": 2}
        own = {"instance": _INSTANCE, "made_by": "reader", "memories": to_json(ids), "sentences": to_json(said)}
        await insert_rows(service, "working_summary", scope | places | own)


async def _own_run(service: Service, tenant: str, agent_id: str) -> str:
    """Return a run of one's own, by an id that says whose it is."""
    run = "01K2Z4M1V7Q8T3B5N6C7D8E9FC"
    await old_run(service, run, agent_id, tenant_id=tenant)
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
