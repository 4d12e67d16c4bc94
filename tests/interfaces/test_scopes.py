"""What a credential is good for: each route and each tool asked with credentials that lack a scope of it."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from app.interfaces.http.dependencies import CredentialFirst, ReadCaller
from app.interfaces.http.router import Router
from app.interfaces.tools.sets import ALL_TOOLS, SETS
from app.services.access.scopes import READ_WRITE, AccessScope
from app.storage.agents import ToolSet
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving
from tests.support.tokens import CLAIMS, sign

OPEN = {
    *("/healthz", "/readyz", "/metrics", "/tools", "/llms.txt", "/", "/docs", "/openapi.json", "/docs/assets/{name}"),
    *("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"),
    *("/mcp", "/console", "/console/{path}"),  # each tool and each page has its own scopes
}
READING_POSTS = {
    *("/recall", "/recall/explain", "/facts/recall", "/context/assemble"),
    *("/profiles/{profile}/recall", "/profiles/{profile}/summary"),
    *(f"/{{account}}/{{profile}}/{call}" for call in ("recall", "summary")),
}
BOTH = {
    *("/profiles/{profile}/memories/{memory_id}/forget", "/profiles/{profile}/memories/{memory_id}/unforget"),
    "/workflows/select",
    *("/runs", "/runs/{run_id}/complete", "/runs/{run_id}/fail"),
}
AGENTS_MAY_DELETE = "/working/{agent_id}/{instance}/{key}"
"""The one path whose DELETE is an agent's; every other is an administrator's."""
ADMINISTRATION = {
    *("GET /credentials", "POST /credentials"),
    *(
        "GET /audit",
        "GET /audit/acts",
        "GET /audit/acts/export",
        "GET /export",
        "POST /import",
        "GET /agents/{agent_id}",
        "PUT /agents/{agent_id}",
    ),
    *("PATCH /memories/{memory_id}", "POST /deletions"),
    *("GET /operations/{operation_id}", "POST /undo", "PUT /workflows/{workflow_id}", "PUT /configuration"),
    *("POST /workflows/{workflow_id}/versions/{version}/restore", "PUT /context/{name}"),
    *("GET /consolidations", "POST /consolidations/dry-run", "POST /consolidations/undo"),
    *("GET /archive", "GET /archive/items/{item_id}", "POST /archive/{archive_id}/restore"),
    *(f"{method} /client/v4/accounts/{{account_id}}/agent-memory/namespaces" for method in ("GET", "POST")),
    "GET /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}",
}
PROFILE = "/client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}"
CLAIM: dict[AccessScope, str] = {"read": "memory:read", "write": "memory:write", "admin": "memory admin"}
NARROW: list[frozenset[AccessScope]] = [frozenset({"read"}), frozenset({"write"}), READ_WRITE]


def needs(method: str, path: str) -> tuple[AccessScope, ...]:
    if f"{method} {path}" in ADMINISTRATION or (method == "DELETE" and path != AGENTS_MAY_DELETE):
        return ("admin",)
    if path in BOTH and method == "POST":
        return ("read", "write")
    reads = method == "GET" or path.replace(PROFILE, "/{account}/{profile}") in READING_POSTS
    return ("read",) if reads else ("write",)


def closed_routes(service: Service) -> Iterator[tuple[str, str, tuple[AccessScope, ...]]]:
    for route in service.app.routes:
        assert isinstance(route, Route | APIRoute), route
        path = re.sub(r":\w+}", "}", route.path)
        if path not in OPEN:
            (method,) = sorted(route.methods or set())
            yield method, path, needs(method, path)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


async def test_every_route_says_what_it_needs(service: Service) -> None:
    said = {
        (method, re.sub(r":\w+}", "}", route.path)): tuple(route.scopes)
        for route in service.app.routes
        if isinstance(route, CredentialFirst)
        for method in route.methods or ()
    }
    assert said == {(method, path): needed for method, path, needed in closed_routes(service)}


@pytest.mark.parametrize("given", NARROW, ids=lambda given: "+".join(sorted(given)))
async def test_a_route_refuses_a_credential_that_lacks_a_scope_and_names_it(
    service: Service, given: frozenset[AccessScope]
) -> None:
    headers = service.credential(agent="bot", scopes=given)
    refused = 0
    for method, path, needed in closed_routes(service):
        address = re.sub(r"{\w+}", "bot", path)
        missing = next((scope for scope in needed if scope not in given), None)
        answer = await service.client.request(method, address, headers=headers)
        told = answer.headers.get("www-authenticate", "")
        if missing is None:
            assert ("insufficient_scope" in told and "scope=" in told) is False, address
            continue
        refused += 1
        assert answer.status_code == 403, address
        assert told.endswith(f'error="insufficient_scope", scope="{CLAIM[missing]}"'), address
        if not address.startswith("/client/v4"):
            assert CLAIM[missing] in assert_problem(answer, 403, "forbidden")["detail"]
    assert refused > 20


@pytest.mark.parametrize("given", NARROW, ids=lambda given: "+".join(sorted(given)))
@pytest.mark.parametrize("tools", ["recall_store", "profile"])
async def test_a_credential_is_listed_the_tools_that_it_may_call_and_is_refused_the_others(
    tmp_path: Path, tools: ToolSet, given: frozenset[AccessScope]
) -> None:
    async with serving(tmp_path) as service:
        await service.client.put("/agents/bot", json={"tools": tools}, headers=service.credential(admin=True))
        credential = service.credential(agent="bot", scopes=given)

        async def ask(method: str, params: dict[str, object]) -> dict[str, dict[str, object]]:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            headers = credential | {"Accept": "application/json"}
            told: dict[str, dict[str, object]] = (
                await service.client.post("/mcp", json=message, headers=headers)
            ).json()
            return told

        listed = (await ask("tools/list", {}))["result"]["tools"]
        assert isinstance(listed, list)
        names = {tool["name"] for tool in listed}
        assert [tool["name"] for tool in (await service.client.get("/tools", headers=credential)).json()] == [
            tool["name"] for tool in listed
        ]
        arguments = {
            "recall_memory": {"query": "tea"},
            "store_memory": {"content": "Ann drinks tea."},
            "remember": {"text": "Ann drinks tea."},
            "recall": {"question": "What does Ann drink?"},
            "forget": {"memory": "tea"},
            "list": {},
        }
        for tool in SETS[tools]:
            answer = (await ask("tools/call", {"name": tool.name, "arguments": arguments[tool.name]}))["result"]
            missing = next((scope for scope in tool.scopes if scope not in given), None)
            if missing is not None:
                assert tool.name not in names
                assert answer["isError"] is True
                assert CLAIM[missing] in str(answer["content"])
            else:
                assert tool.name in names
                assert answer["isError"] is False, answer


def test_what_only_reads_or_only_writes_is_what_it_says() -> None:
    wanted = {
        *(("recall_memory", ("read",)), ("store_memory", ("write",)), ("remember", ("write",))),
        *(("recall", ("read",)), ("forget", ("read", "write")), ("list", ("read",))),
    }
    assert {(tool.name, tuple(tool.scopes)) for tool in ALL_TOOLS} == wanted


async def test_the_context_of_an_agent_is_read_with_the_scope_to_read_alone(service: Service) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "memory://context/one"}}
    wanted: list[tuple[AccessScope, str]] = [("read", "result"), ("write", "error")]
    for scope, told in wanted:
        headers = service.credential(agent="bot", scopes=[scope]) | {"Accept": "application/json"}
        assert told in (await service.client.post("/mcp", json=message, headers=headers)).json()


async def test_a_choice_of_a_workflow_that_counts_in_a_run_needs_the_scope_to_write(service: Service) -> None:
    body = {
        "agent_id": "bot",
        "agent_type": "a",
        "task_type": "t",
        "run_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
        "max_tokens": 1000,
    }
    read_only = service.credential(agent="bot", scopes=["read"])
    answer = await service.client.post("/context/assemble", json=body, headers=read_only)
    assert "memory:write" in assert_problem(answer, 403, "forbidden")["detail"]
    del body["run_id"]
    assert (await service.client.post("/context/assemble", json=body, headers=read_only)).status_code == 200


@pytest.mark.parametrize(
    ("scope", "path", "status"),
    [
        ("memory", "/memories?agent_id=bot", 200),
        ("memory admin", "/audit", 200),
        ("memory:read memory:write admin", "/audit", 200),
        ("memory:read memory:write", "/audit", 403),
        ("memory:read admin", "/audit", 403),
        ("memory:read admin", "/memories?agent_id=bot", 200),
        ("admin memory:write", "/memories?agent_id=bot", 403),
        ("memory:read something:else", "/memories?agent_id=bot", 200),
        ("admin", "/memories?agent_id=bot", 403),
        ("memory:reads", "/memories?agent_id=bot", 403),
    ],
)
async def test_a_credential_gives_what_its_claim_says_and_no_more(
    service: Service, scope: str, path: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {sign(CLAIMS | {'scope': scope, 'agent': 'bot'})}"}
    assert (await service.client.get(path, headers=headers)).status_code == status


def test_a_route_that_does_not_say_what_it_needs_cannot_be_made() -> None:
    router = Router("test")

    async def silent() -> None: ...

    async def asking(caller: ReadCaller) -> None: ...

    router.get("/asking")(asking)
    with pytest.raises(TypeError, match="/silent"):
        router.get("/silent")(silent)
