"""One credential tries to write more than its quota, through every route and tool that writes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from ulid import ULID

from app.ports.database import Statement
from app.services.transfer.lines import row_line
from app.storage.quotas import Quotas
from app.storage.tiers.tables import TIER_TABLES
from tests.support.probes import PROBES
from tests.support.service import Service, serving
from tests.support.tier_rows import row_of

QUOTA = 100_000
SIZE = 9_000
"""Of what each request brings; so many requests are made that they would bring twice the quota."""
REQUESTS = 2 * QUOTA // SIZE
SLACK = 12_000
"""The last request that is let in: what it brings, and its rows' ids."""

Attack = Callable[[Service, str, int], Awaitable[httpx.Response]]
"""Makes a request as the administrator of a tenant; the number makes it another one."""

_NAMESPACE = "/client/v4/accounts/a/agent-memory/namespaces"
_RUN_ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


def text(number: int) -> str:
    return f"{number} " + "word " * (SIZE // 5)


def posted(path: str, body: Callable[[int], Any]) -> Attack:
    return lambda service, tenant, number: sent(service, tenant, "POST", path, body(number))


def put(path: str, body: Callable[[int], Any]) -> Attack:
    return lambda service, tenant, number: sent(service, tenant, "PUT", path.format(n=number), body(number))


async def sent(service: Service, tenant: str, method: str, path: str, body: Any) -> httpx.Response:
    return await service.client.request(method, path, json=body, headers=service.credential(tenant, admin=True))


def in_run(method: str, path: str, body: Callable[[int], Any]) -> Attack:
    """Begin another run for each request: what a run may have is limited too."""

    async def attack(service: Service, tenant: str, number: int) -> httpx.Response:
        run_id = str(ULID())
        begun = await sent(service, tenant, "POST", "/runs", {"run_id": run_id, **_RUN})
        if begun.status_code >= 300:
            return begun
        return await sent(service, tenant, method, path.format(run_id=run_id), body(number))

    return attack


async def by_blob(service: Service, tenant: str, number: int) -> httpx.Response:
    headers = service.credential(tenant, admin=True) | {"Content-Type": "text/plain"}
    return await service.client.post("/blobs?agent_id=bot", content=text(number), headers=headers)


async def by_import(service: Service, tenant: str, number: int) -> httpx.Response:
    tier = next(tier for tier in TIER_TABLES if tier.kind == "workflows")
    row = row_of(tier, number) | {
        "id": f"w{number}",
        "task_type": f"t{number}",
        "spec": json.dumps({"a": text(number)}),
    }
    headers = service.credential(tenant, admin=True) | {"Content-Type": "application/x-ndjson"}
    answer = await service.client.post("/import", content=row_line(tier, row).data, headers=headers)
    line = json.loads(answer.text.splitlines()[0])
    return answer if line["status"] == "imported" else httpx.Response(429, json=line)


async def by_change(service: Service, tenant: str, number: int) -> httpx.Response:
    """Store a small memory, and make it large."""
    stored = await sent(service, tenant, "POST", "/store", {"agent_id": "bot", "content": f"memory {number}"})
    if stored.status_code >= 300:
        return stored
    listed = await service.client.get("/memories?agent_id=bot&limit=1", headers=service.credential(tenant, admin=True))
    path = f"/memories/{listed.json()['memories'][0]['id']}?agent_id=bot"
    return await sent(service, tenant, "PATCH", path, {"metadata": {"note": text(number)}})


def by_tool(tool: str, tools: str, argument: str) -> Attack:
    async def attack(service: Service, tenant: str, number: int) -> httpx.Response:
        await sent(service, tenant, "PUT", "/agents/bot", {"tools": tools})
        call = {"name": tool, "arguments": {argument: text(number)[:8_000]}}
        answer = await service.mcp("tools/call", call, tenant=tenant)
        assert answer.status_code == 200, answer.text
        failed = answer.json()["result"]["isError"]
        assert not failed or "quota_exceeded" in answer.text, answer.text
        return httpx.Response(429, text=answer.text) if failed else answer

    return attack


def said(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text(number)}]}


_RUN = {"agent_id": "bot", "agent_type": "t", "input": None}
ATTACKS: dict[str, Attack] = {
    "POST /store": posted("/store", lambda n: {"agent_id": "bot", "content": text(n)}),
    "POST /facts": posted(
        "/facts", lambda n: {"agent_id": "bot", "subject": f"s{n}", "predicate": "p", "object": text(n)[:1_000]}
    ),
    "POST /profiles/{profile}/remember": posted("/profiles/bot/remember", lambda n: {"content": text(n)}),
    "POST /profiles/{profile}/ingest": posted("/profiles/bot/ingest", said),
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}/remember": (
        posted(f"{_NAMESPACE}/default/profiles/bot/remember", lambda n: {"content": text(n)})
    ),
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}/ingest": (
        posted(f"{_NAMESPACE}/default/profiles/bot/ingest", lambda n: {"sessionId": "s", **said(n)})
    ),
    "POST /runs": posted("/runs", lambda n: _RUN | {"input": text(n)}),
    "POST /runs/{run_id}/episodes": posted(
        f"/runs/{_RUN_ID}/episodes", lambda n: {"episodes": [{"type": "note", "content": text(n)}]}
    ),
    "POST /runs/{run_id}/complete": in_run("POST", "/runs/{run_id}/complete", lambda n: {"output": text(n)}),
    "POST /runs/{run_id}/fail": in_run("POST", "/runs/{run_id}/fail", lambda n: {"error": text(n)[:4_000]}),
    "POST /runs/{run_id}/audit": posted(
        f"/runs/{_RUN_ID}/audit",
        lambda n: {"calls": [{"tool": "t", "input": text(n), "outcome": "ok", "ms": 1}]},
    ),
    "PUT /runs/{run_id}/state": in_run("PUT", "/runs/{run_id}/state", lambda n: {"value": text(n)}),
    "POST /runs/{run_id}/log": posted(f"/runs/{_RUN_ID}/log", lambda n: {"entries": [{"a": text(n)}]}),
    "PUT /working/{agent_id}/{instance}/{key}": put("/working/bot/i{n}/k", lambda n: {"value": text(n)}),
    "POST /working/{agent_id}/{instance}/messages": posted("/working/bot/i/messages", said),
    "PUT /context/{name}": put("/context/name{n}", lambda n: {"content": text(n)}),
    "PUT /configuration": put("/configuration", lambda n: {"values": {"a": text(n)}}),
    "PUT /workflows/{workflow_id}": put(
        "/workflows/w{n}", lambda n: {"agent_type": "t", "task_type": f"t{n}", "spec": {"a": text(n)}}
    ),
    "PATCH /memories/{memory_id}": by_change,
    "POST /blobs": by_blob,
    "POST /import": by_import,
    "store_memory": by_tool("store_memory", "recall_store", "content"),
    "remember": by_tool("remember", "profile", "text"),
}
SMALL = {
    "POST /workflows/select": "notes an id in a run that is there",
    "POST /workflows/{workflow_id}/versions/{version}/restore": "puts a text that is there, as `PUT` does",
    "POST /workflows/{workflow_id}/outcome": "a row of numbers for each run and workflow, which counts as any other",
    "PUT /agents/{agent_id}": "settings: a row of some bytes for each agent, of which a tenant may have 10,000",
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces": "a name of at most 32 characters",
    "POST /profiles/{profile}/operations/{operation_id}/retry": "begins again what is there",
    "POST /profiles/{profile}/memories/{memory_id}/forget": "marks a memory",
    "POST /profiles/{profile}/memories/{memory_id}/unforget": "marks a memory",
    "POST /credentials": "a row of some names for each credential, of which a tenant may have 10,000",
    "POST /undo": "removes",
    "POST /deletions": "removes",
    "POST /consolidations/undo": "takes merges back",
    "POST /archive/{archive_id}/restore": "brings back what is there, as an import, which is attacked",
}
"""What writes, and brings nothing of the caller's."""
READS = {
    "POST /recall",
    "POST /recall/explain",
    "POST /facts/recall",
    "POST /consolidations/dry-run",
    "POST /context/assemble",
    "POST /profiles/{profile}/recall",
    "POST /profiles/{profile}/summary",
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}/recall",
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}/summary",
    *("recall_memory", "recall", "list", "forget"),
}
LATER = {route for route in ATTACKS if route.endswith("/ingest")}
"""What is taken at once, and becomes memories as fast as the rate allows."""
COUNTED = [route for route in ATTACKS if route not in {*LATER, "POST /import"}]
BESIDE = {
    "counts and limits": ("usage", "quota", "episodic_count", "idempotency_count", "tenant_epochs", "model_spend"),
    "records of the service, with bounds of their own": (
        "audit",
        "recall_log",
        "idempotency",
        "erasure",
        "ingestion",
        "consolidation",
        "administrative_act",
    ),
    "derived of memories": ("claim", "memory_source", "outbox", "consolidated", "shortcut"),
    "of which each memory has at most 32 of some bytes": ("fact_source",),
    "names and settings": ("agent", "namespace", "profile", "context_floor", "revocation", "credential"),
}
"""Tables with rows of a tenant whose bytes are not counted."""
MEASURED_OTHERWISE = {"long_term_memory", *(table for tables in BESIDE.values() for table in tables)}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("quotas") / "data", tenant_bytes=QUOTA) as service:
        yield service


async def bytes_in_tables(service: Service, tenant: str) -> int:
    """Add up all texts, and the objects, that the database has of a tenant; of memories what the quota counts."""
    database = service.runtime.backends.database
    schema = (
        "SELECT made.name AS name, col.name AS col FROM sqlite_master AS made "
        "JOIN pragma_table_info(made.name) AS col WHERE made.type = 'table' AND col.type = 'TEXT' "
        "AND EXISTS (SELECT 1 FROM pragma_table_info(made.name) AS own WHERE own.name = 'tenant_id')"
    )
    columns: dict[str, list[str]] = {"long_term_memory": ["content", "metadata"]}
    for name, col in await rows(database, schema):
        if name not in MEASURED_OTHERWISE and not name.startswith(("local_", "tenant_")):
            columns.setdefault(name, []).append(col)
    parts = [
        f"(SELECT coalesce(sum({'size + ' if table == 'blob' else ''}"
        f"{' + '.join(f'coalesce(length(CAST({col} AS BLOB)), 0)' for col in cols)}), 0) "
        f"FROM {table} WHERE tenant_id = '{tenant}')"
        for table, cols in columns.items()
    ]
    ((total,),) = await rows(database, f"SELECT {' + '.join(parts)}")
    return int(total)


async def rows(database: Any, sql: str) -> list[tuple[Any, ...]]:
    (found,) = await database.run([Statement.read(sql)])
    return [tuple(row.values()) for row in found]


async def prepared(service: Service, tenant: str) -> None:
    """Give a tenant a run, and the namespace that others name."""
    assert (await sent(service, tenant, "POST", "/runs", {"run_id": _RUN_ID, **_RUN})).status_code < 300
    await sent(service, tenant, "POST", _NAMESPACE, {"name": "default"})


async def usage(service: Service, tenant: str) -> dict[str, Any]:
    answer = await service.client.get("/usage", headers=service.credential(tenant, admin=True))
    whole: dict[str, Any] = answer.json()["tenant"]
    return whole


async def at_rest(service: Service, tenant: str) -> tuple[int, dict[str, Any]]:
    """Return the bytes in tables and the usage of one moment: what falls out of a window moves in the background."""
    while True:
        before, in_tables, after = (
            await usage(service, tenant),
            await bytes_in_tables(service, tenant),
            await usage(service, tenant),
        )
        if before == after:
            return in_tables, after


def test_every_route_and_tool_that_writes_is_attacked_or_brings_nothing() -> None:
    writing = {name for name in PROBES if name.startswith(("POST ", "PUT ", "PATCH ")) or name.isidentifier()}
    assert writing == {*ATTACKS, *SMALL, *READS}


@pytest.mark.parametrize("route", [*ATTACKS], ids=lambda route: route.replace("/", "."))
async def test_no_route_or_tool_brings_more_bytes_than_the_quota(service: Service, route: str) -> None:
    tenant = f"t{[*ATTACKS].index(route)}"
    await prepared(service, tenant)
    # What facts and errors bring is shorter.
    for number in range(REQUESTS * (4 if route in {"POST /facts", "POST /runs/{run_id}/fail"} else 1)):
        answer = await ATTACKS[route](service, tenant, number)
        if answer.status_code == 429:
            break
    assert number > 0, "one request fits"
    in_tables, told = await at_rest(service, tenant)
    assert in_tables <= QUOTA + SLACK
    assert answer.status_code == 429 or route in LATER, answer.text
    assert in_tables <= told["bytes"], "no byte is left out of the count"
    assert sum(told["bytes_by_tier"].values()) == told["bytes"] <= QUOTA + SLACK
    assert told["limits"]["bytes"] == QUOTA


@pytest.mark.parametrize("route", COUNTED, ids=lambda route: route.replace("/", "."))
async def test_every_write_counts_in_the_rate(service: Service, route: str) -> None:
    tenant = f"r{[*ATTACKS].index(route)}"
    await prepared(service, tenant)
    before = (await usage(service, tenant))["stores_this_minute"]
    quotas = Quotas(tenant, service.runtime.backends.limits.quotas)
    await service.runtime.backends.database.run([quotas.set(None, {"stores_per_minute": 0})])
    answer = await ATTACKS[route](service, tenant, 0)
    assert answer.status_code == 429, answer.text
    if " " in route:
        assert "stores per minute" in answer.text
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert (await usage(service, tenant))["stores_this_minute"] in {0, before}


async def test_many_at_once_bring_no_more_than_one_after_the_other(service: Service) -> None:
    await prepared(service, "many")
    attacks = [ATTACKS[name] for name in ("POST /runs/{run_id}/audit", "POST /runs/{run_id}/episodes", "POST /blobs")]
    answers = await asyncio.gather(*(attack(service, "many", n) for n in range(12) for attack in attacks))
    assert {answer.status_code for answer in answers} == {201, 429}
    assert await bytes_in_tables(service, "many") <= (await usage(service, "many"))["bytes"] <= QUOTA


async def test_what_is_deleted_gives_its_bytes_back(service: Service) -> None:
    tenant = "back"
    headers = service.credential(tenant, admin=True)
    await prepared(service, tenant)
    before = (await usage(service, tenant))["bytes"]
    kept = [
        await put("/context/name{n}", lambda n: {"content": text(n)})(service, tenant, 0),
        await put("/workflows/w{n}", lambda n: {"agent_type": "t", "task_type": "t", "spec": {"a": text(n)}})(
            service, tenant, 0
        ),
        blob := await by_blob(service, tenant, 0),
    ]
    assert all(answer.status_code < 300 for answer in kept)
    assert (await usage(service, tenant))["bytes"] >= before + 3 * SIZE * 0.9
    for path in ("/context/name0", "/workflows/w0", f"/blobs/{blob.json()['blob_id']}?agent_id=bot"):
        assert (await service.client.delete(path, headers=headers)).status_code < 300
    assert (await usage(service, tenant))["bytes"] == before
