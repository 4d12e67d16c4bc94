"""One tenant, or one agent, never learns anything of another: on every route of the OpenAPI document, by every tool.

All probes of an outsider run in one service, one after the other.
"""

import asyncio
import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.interfaces.http.versions import SEGMENTS
from app.runtime.tenant_services import TenantServices
from app.services.access.issuers import Issuers
from app.services.access.scopes import READ_WRITE
from tests.support.agent_memory_probes import OF_NAMES
from tests.support.backends import Backend
from tests.support.issuers import MemoryIssuer, claims_of, token_of, tokens_of
from tests.support.probes import CANARY, PROBES, SECRET
from tests.support.service import Service, serving
from tests.support.sharded import placed, sharded

OUTSIDERS = [
    ("other", "keeper"),
    ("owner", "other"),
    ("keeper", "owner"),
    ("owne", "rkeeper"),
    ("ownerkeeper", "x"),
    ("OWNER", "KEEPER"),
    ("o" * 64, "k" * 64),
    ("doctor", "keeper"),
]


_BY_ID = (
    *("GET /archive/items/", "POST /archive/"),
    *("GET /runs/{run_id}/replay", "POST /runs/{run_id}/audit"),
    *("GET /operations", "GET /memories/", "GET /profiles/{profile}/operations", "POST /recall/explain"),
    "PATCH /memories/",
    "POST /profiles/{profile}/operations",
    *("GET /runs/{run_id}", "POST /runs/{run_id}"),
    "GET /blobs/",
    *("GET /context/", "GET /configuration"),
    *("POST /facts", "POST /store", "POST /runs", "POST /consolidations/undo"),
    *("GET /profiles/{profile}/memories/", "POST /profiles/{profile}/memories/"),
    *("GET /working/{agent_id}/{instance}/{key}", "GET /runs/", "POST /runs/", "PUT /runs/"),
    *("GET /workflows/", "POST /workflows/"),
)
"""Routes that answer an id which the caller does not have with 404."""
_LOOKS_AFTER = 8
"""After so many routes the owner looks whether all is as it was."""


class _PastTheRoutes:
    """What some probes use in place of a route: of the shard where their tenant lives."""

    def __init__(self, service: Service, homes: dict[str, str]) -> None:
        self._runtimes = {tenant: service.shards.runtimes[shard] for tenant, shard in homes.items()}

    def services(self, tenant: str, *author: Any) -> TenantServices:
        return self._runtimes[tenant].services(tenant, *author)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtimes["owner"], name)


async def routes(service: Service) -> set[str]:
    document = (await service.client.get("/openapi.json")).json()
    return {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}


async def tools(service: Service) -> set[str]:
    headers = service.credential(admin=True)
    names: set[str] = set()
    for given in ("profile", "recall_store"):
        await service.client.put("/agents/bot", json={"tools": given}, headers=headers)
        answer = await service.mcp("tools/list", {})
        names |= {tool["name"] for tool in answer.json()["result"]["tools"]}
    return names


async def resources(service: Service) -> set[str]:
    listed = (await service.mcp("resources/list", {})).json()["result"]["resources"]
    templates = (await service.mcp("resources/templates/list", {})).json()["result"]["resourceTemplates"]
    return {each["uri"] for each in listed} | {each["uriTemplate"] for each in templates}


async def test_every_route_tool_and_resource_has_a_probe(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        assert await routes(service) | await tools(service) | await resources(service) == set(PROBES)


# The names are the gateway's business, whatever it runs on: on Cloudflare, the nearest is tried.
@pytest.mark.parametrize(
    ("backend", "outsider"),
    [
        *(("embedded", outsider) for outsider in OUTSIDERS[:1]),
        *(pytest.param("embedded", outsider, marks=pytest.mark.thorough) for outsider in OUTSIDERS[1:]),
        pytest.param("cloudflare", OUTSIDERS[0], marks=pytest.mark.cloudflare),
    ],
    indirect=["backend"],
)
async def test_nothing_tells_an_outsider_anything(tmp_path: Path, backend: Backend, outsider: tuple[str, str]) -> None:
    tenant, agent_id = outsider
    async with serving(tmp_path, on=backend) as service:
        await service.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
        inside = await seen_inside(service)
        for number, (route, probe) in enumerate(PROBES.items()):
            answers = await probe(service, tenant, agent_id)
            assert answers, route
            for answer in answers:
                unknown = route.startswith((*_BY_ID, *OF_NAMES)) and answer.status_code == 404
                assert answer.status_code < 300 or unknown, (route, answer.text)
                assert CANARY not in answer.text, route
                assert inside[0]["id"] not in answer.text, route
            if number % _LOOKS_AFTER == 0:
                assert await seen_inside(service) == inside, route
        assert await seen_inside(service) == inside


@pytest.mark.parametrize(
    ("owners", "others"), [("main", "east"), pytest.param("east", "east", marks=pytest.mark.thorough)]
)
async def test_nothing_tells_an_outsider_anything_where_tenants_are_spread(
    tmp_path: Path, owners: str, others: str
) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "owner", owners)
        await placed(service, "other", others)
        inner = replace(service, runtime=_PastTheRoutes(service, {"owner": owners, "other": others}))  # type: ignore[arg-type]
        await service.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
        inside = await seen_inside(service)
        for number, (route, probe) in enumerate(PROBES.items()):
            for answer in await probe(inner, "other", "keeper"):
                unknown = route.startswith((*_BY_ID, *OF_NAMES)) and answer.status_code == 404
                assert answer.status_code < 300 or unknown, (route, answer.text)
                assert CANARY not in answer.text, route
            if number % _LOOKS_AFTER == 0:
                assert await seen_inside(service) == inside, route
        assert await seen_inside(service) == inside


@dataclass(frozen=True, slots=True)
class _IssuedService(Service):
    """A service whose credentials, but for those of one agent, are tokens of an issuer."""

    def credential(self, tenant: str = "acme", agent: str | None = None, **rights: Any) -> dict[str, str]:
        if agent is not None:
            return Service.credential(self, tenant, agent, **rights)
        scopes = {"admin"} if rights.get("admin") else set(rights.get("scopes", READ_WRITE))
        scope = " ".join(f"memory:{scope}" for scope in scopes)
        token = token_of(claims_of(self.runtime.backends.clock(), tenant=tenant, scope=scope, sub=uuid4().hex))
        return {"Authorization": f"Bearer {token}"}


@pytest.mark.thorough
async def test_nothing_tells_anything_to_an_outsider_with_a_token_of_an_issuer(tmp_path: Path) -> None:
    issuers = Issuers(tokens_of(MemoryIssuer()))
    async with serving(tmp_path, change=lambda backends: replace(backends, issuers=issuers)) as service:
        issued = _IssuedService(**{field.name: getattr(service, field.name) for field in fields(service)})
        await issued.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
        inside = await seen_inside(issued)
        for route, probe in PROBES.items():
            for answer in await probe(issued, "other", "keeper"):
                unknown = route.startswith((*_BY_ID, *OF_NAMES)) and answer.status_code == 404
                assert answer.status_code < 300 or unknown, (route, answer.text)
                assert CANARY not in answer.text, route
        assert await seen_inside(issued) == inside


@pytest.mark.thorough
async def test_nothing_tells_an_outsider_anything_below_the_alias_of_each_path(tmp_path: Path) -> None:
    async def below_v1(request: httpx.Request) -> None:
        if request.url.path.split("/")[1] in SEGMENTS:
            request.url = request.url.copy_with(raw_path=b"/v1" + request.url.raw_path)

    async with serving(tmp_path) as service:
        service.client.event_hooks["request"].append(below_v1)
        await service.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
        inside = await seen_inside(service)
        for route, probe in PROBES.items():
            for answer in await probe(service, "other", "keeper"):
                unknown = route.startswith((*_BY_ID, *OF_NAMES)) and answer.status_code == 404
                assert answer.status_code < 300 or unknown, (route, answer.text)
                assert CANARY not in answer.text, route
        assert await seen_inside(service) == inside


async def seen_inside(service: Service) -> list[dict[str, Any]]:
    """What the owner recalls; the pending copy of a vector and the indexed one differ in the last digits."""
    entries = await service.recall(SECRET, tenant="owner", agent_id="keeper")
    rounded = ("score", "similarity")
    return [{**entry, **{name: round(entry[name], 5) for name in rounded}} for entry in entries]


@pytest.fixture
def nothing_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no work come between two requests at a moment of its own, however long the requests take.

    What the indexer confirms would be scored by an approximate index from then on, and recalls are written where a
    probe asks for it, by one writer.
    """

    async def rest(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("app.runtime.runtime.Runtime._work", rest)
    monkeypatch.setattr("app.runtime.background.periodic_works", lambda *_, **__: [])


@pytest.mark.thorough
@pytest.mark.usefixtures("nothing_in_the_background")
async def test_an_outsider_is_answered_as_if_nothing_were_there(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path / "full", on=backend) as full, serving(tmp_path / "empty", on=backend) as empty:
        await full.store(SECRET, tenant="owner", agent_id="keeper")
        await empty.store(SECRET, tenant="owner", agent_id="keeper")
        await full.store("more " * 50, tenant="owner", agent_id="keeper")
        for route, probe in PROBES.items():
            with_owner = await probe(full, "other", "keeper")
            without = await probe(empty, "other", "keeper")
            if route != "GET /metrics":  # what that tells is of the process, and of no tenant
                assert [told(answer) for answer in with_owner] == [told(answer) for answer in without], route


def told(answer: httpx.Response) -> tuple[int, list[str]]:
    """What an answer says, but for what is made for it or told by the clock, and rows of an export.

    Audit events have no order here: a recall is dated when it is written, and may come behind what was done after it.
    """
    made = r"[0-9a-f]{32}|\b1[0-9]{12}\b|01[0-9A-HJKMNP-TV-Z]{24}|20\d\d-[^\"]*Z|(?:ms|stores_this_minute)\":[\d.]+"
    rows = r'{"type":"tier",.*\n|"rows":[0-9]+,'
    text = re.sub(rows, "", answer.text)
    parts = [text]
    if text.startswith('{"events":['):
        body = json.loads(text)
        parts = [json.dumps(each, separators=(",", ":")) for each in [*body.pop("events"), body]]
    return answer.status_code, sorted(re.sub(made, "*", part) for part in parts)


def test_what_is_made_for_an_answer_tells_nothing_however_many_digits_it_has() -> None:
    ids, versions = ("1" * 32, "f1" * 16), (1_790_000_000_001, 1_790_000_000_002)
    texts = [json.dumps({"request_id": each, "version": version}) for each, version in zip(ids, versions, strict=True)]
    assert told(httpx.Response(404, text=texts[0])) == told(httpx.Response(404, text=texts[1]))


def test_the_order_of_audit_events_tells_nothing_and_what_they_are_does() -> None:
    recalled, stored = {"at": "2026-01-01T00:00:00.000Z", "event": "recall"}, {"event": "stored"}

    def answer(*events: dict[str, str]) -> httpx.Response:
        return httpx.Response(200, text=json.dumps({"events": events}, separators=(",", ":")))

    assert told(answer(recalled, stored)) == told(answer(stored, recalled))
    assert told(answer(recalled, stored)) != told(answer(stored, stored))


async def test_a_query_another_tenant_asked_is_embedded_anew(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        await service.recall("a question", tenant="owner")
        held = service.runtime.backends.caches.queries.held
        await service.recall("a question", tenant="owner", agent_id="other")
        assert service.runtime.backends.caches.queries.held == held
        await service.recall("a question", tenant="other")
        assert service.runtime.backends.caches.queries.held > held
