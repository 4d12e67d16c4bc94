"""Callers with a token of an issuer, or an assertion of Cloudflare Access, over HTTP and MCP."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import UpstreamTimeout
from app.runtime.backends import Backends
from app.services.access.claims import ClaimMapping
from app.services.access.delegation import Delegation
from app.services.access.issuers import Issuers
from app.services.access.scopes import READ_WRITE
from app.storage.system import revocations
from tests.support.issuers import AUDIENCE, URL, MemoryIssuer, Seconds, claims_of, jwk_of, token_of, tokens_of
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving
from tests.support.tokens import CLAIMS, sign

PUBLIC_URL = "https://memory.example"
TEAM = "https://team.cloudflareaccess.com"
ACCESS = ClaimMapping(
    tenant=("email", "common_name"),
    tenants={"ann@acme.example": "acme", "robot.access": "acme", "@globex.example": "globex"},
    scope=("email", "common_name"),
    scopes={"*": READ_WRITE},
    verified_email=False,
)
WORDS: Any = {"read": "memory:read", "write": "memory:write", "admin": "memory:admin"}
METADATA = f'resource_metadata="{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"'
BODY = {"agent_id": "bot", "query": "Which tea?"}
ASSERTION = "Cf-Access-Jwt-Assertion"


@dataclass(frozen=True, slots=True)
class Company:
    """A service with an issuer and with Cloudflare Access in front."""

    service: Service
    issuer: MemoryIssuer
    access: MemoryIssuer
    clock: Seconds

    @property
    def now(self) -> int:
        """Now, in milliseconds since the epoch."""
        return self.service.runtime.backends.clock()

    def bearer(self, key: str = "one", **claims: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {token_of(claims_of(self.now, **claims), key=key)}"}

    def asserted(self, **claims: Any) -> dict[str, str]:
        usual = {"iss": TEAM, "aud": ["aud-tag"], "tenant": None, "scope": None, "jti": None, "type": "app"}
        return {ASSERTION: token_of(claims_of(self.now, **(usual | claims)), typ="JWT")}

    async def recall(self, headers: dict[str, str]) -> httpx.Response:
        return await self.service.client.post("/recall", json=BODY, headers=headers)

    async def mcp(self, headers: dict[str, str], tool: str = "recall_memory", **arguments: Any) -> httpx.Response:
        arguments = arguments or {"query": "Which tea?"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        accepts = {"Accept": "application/json, text/event-stream", "X-Agent-Id": "bot"}
        return await self.service.client.post("/mcp", json=message, headers=accepts | headers)


@pytest.fixture(scope="module")
async def company(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Company]:
    issuer, access, clock = MemoryIssuer(), MemoryIssuer(url=TEAM), Seconds()
    asserted = tokens_of(access, ACCESS, kind="access", audience="aud-tag", clock=clock)
    issuers = Issuers(tokens_of(issuer, clock=clock), asserted)

    def change(backends: Backends) -> Backends:
        return replace(backends, issuers=issuers, delegation=Delegation(PUBLIC_URL, URL, WORDS))

    async with serving(tmp_path_factory.mktemp("company"), change=change) as service:
        await service.store("Ann drinks green tea.")
        await service.store("Globex drinks coffee.", tenant="globex")
        yield Company(service, issuer, access, clock)


async def test_a_token_of_the_issuer_recalls_what_its_tenant_keeps_and_nothing_of_another(company: Company) -> None:
    for tenant, kept, foreign in (("acme", "green tea", "coffee"), ("globex", "coffee", "green tea")):
        for answer in (
            await company.recall(company.bearer(tenant=tenant)),
            await company.mcp(company.bearer(tenant=tenant)),
        ):
            assert answer.status_code == 200
            assert kept in answer.text
            assert foreign not in answer.text


async def test_a_request_cannot_name_another_tenant_than_its_token(company: Company) -> None:
    body = BODY | {"tenant": "globex"}
    answer = await company.service.client.post("/recall", json=body, headers=company.bearer())
    assert_problem(answer, 422, "invalid_request")
    headers = company.bearer() | {"X-Tenant": "globex", "X-Tenant-Id": "globex"}
    assert "coffee" not in (await company.recall(headers)).text


async def test_a_credential_of_the_service_itself_counts_beside_any_assertion(company: Company) -> None:
    readings = company.issuer.readings, company.access.readings
    for assertion in (company.asserted(email="x@globex.example"), {ASSERTION: "x"}, {}):
        credential = company.service.credential()  # which was not verified before
        for _ in range(2):
            answer = await company.recall(credential | assertion)
            assert "green tea" in answer.text
            assert "coffee" not in answer.text
    expired = {"Authorization": f"Bearer {sign(CLAIMS | {'exp': 1_700_000_000})}"}
    answer = await company.recall(expired | company.asserted(email="ann@acme.example"))
    assert_problem(answer, 401, "unauthenticated")
    assert (company.issuer.readings, company.access.readings) == readings


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer a.b.c"}, {ASSERTION: "x"}]
)
async def test_without_a_token_a_caller_is_told_where_tokens_come_from(
    company: Company, headers: dict[str, str]
) -> None:
    expected = f'Bearer realm="memory-gateway", {METADATA}, scope="memory:read memory:write"'
    problem = await company.recall(headers)
    assert_problem(problem, 401, "unauthenticated")
    refused = await company.mcp(headers)
    assert (refused.status_code, refused.json()["error"]["data"]) == (401, {"code": "unauthenticated"})
    assert problem.headers["www-authenticate"] == refused.headers["www-authenticate"] == expected


@pytest.mark.parametrize("path", ["", "/mcp"])
async def test_the_metadata_names_the_issuer_and_the_public_url_whatever_the_host_says(
    company: Company, path: str
) -> None:
    well_known = f"/.well-known/oauth-protected-resource{path}"
    for host in ("service", "evil.example", "a$(reboot)"):
        answer = await company.service.client.get(well_known, headers={"Host": host})
        assert answer.json() == {
            "resource": f"{PUBLIC_URL}{path}",
            "authorization_servers": [URL],
            "scopes_supported": ["memory:read", "memory:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Memory Gateway",
            "resource_documentation": f"{PUBLIC_URL}/llms.txt",
        }
    told = await company.service.client.get("/llms.txt")
    assert URL in told.text
    assert "//service" not in told.text


async def test_a_token_without_a_scope_is_told_which_to_ask_for(company: Company) -> None:
    reading = company.bearer(scope="memory:read")
    assert (await company.recall(reading)).status_code == 200
    stored = await company.service.client.post("/store", json={"agent_id": "bot", "content": "x"}, headers=reading)
    assert_problem(stored, 403, "forbidden")
    deleted = await company.service.client.delete("/agents/bot", headers=company.bearer())
    assert_problem(deleted, 403, "forbidden")
    begin = f'Bearer realm="memory-gateway", error="insufficient_scope", {METADATA}, scope="memory:read memory:write'
    assert stored.headers["www-authenticate"] == f'{begin}"'
    assert deleted.headers["www-authenticate"] == f'{begin} memory:admin"'


async def test_a_tool_that_needs_another_scope_answers_so_that_the_client_asks_for_it(company: Company) -> None:
    refused = await company.mcp(company.bearer(scope="memory:read"), "store_memory", content="x")
    assert (refused.status_code, refused.json()["error"]["data"]) == (403, {"code": "forbidden"})
    assert refused.headers["www-authenticate"].endswith('scope="memory:read memory:write"')
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    own = company.service.credential(scopes={"read"})
    told = await company.mcp(own, "store_memory", content="x")
    assert (told.status_code, told.json()["result"]["isError"]) == (200, True)
    assert "store" not in (await company.recall(company.bearer())).text


@pytest.mark.parametrize("claims", [{"tenant": "a/b"}, {"tenant": None}, {"scope": "openid"}])
async def test_a_token_that_maps_to_nothing_here_is_forbidden_with_a_reason(
    company: Company, claims: dict[str, Any]
) -> None:
    answer = await company.recall(company.bearer(**claims))
    problem = assert_problem(answer, 403, "forbidden")
    assert problem["detail"].startswith("The token holds, but ")
    assert "a/b" not in problem["detail"]
    asked_again = "www-authenticate" in answer.headers  # which has a client get another token for the same person
    assert asked_again == ("scope" in claims)


@pytest.mark.parametrize("claims", [{"aud": "another"}, {"exp": 1_700_000_000}, {"nbf": 99_999_999_999}])
async def test_a_token_for_another_audience_or_time_is_no_credential(company: Company, claims: dict[str, Any]) -> None:
    assert_problem(await company.recall(company.bearer(**claims)), 401, "unauthenticated")
    assert (await company.mcp(company.bearer(**claims))).status_code == 401


async def test_an_issuer_that_is_away_is_an_outage_for_unknown_keys_alone(company: Company) -> None:
    known = company.bearer()
    assert (await company.recall(known)).status_code == 200
    company.clock.now += 60
    company.issuer.failure = UpstreamTimeout("The issuer did not answer.")
    unknown = company.bearer(key="two")
    try:
        for answer in (await company.recall(unknown), await company.mcp(unknown)):
            assert answer.status_code == 503
            assert "issuer_unavailable" in answer.text
            assert "www-authenticate" not in answer.headers
        assert (await company.recall(unknown)).headers["retry-after"] == "10"
        assert (await company.recall(known)).status_code == 200
        assert (await company.recall(company.service.credential())).status_code == 200
    finally:
        company.issuer.failure = None


@pytest.mark.parametrize("revoked", ["oidc-token:stolen", "oidc:eve"])
async def test_one_token_and_all_tokens_of_a_subject_can_be_revoked(tmp_path: Path, revoked: str) -> None:
    tokens = tokens_of(MemoryIssuer())
    async with serving(tmp_path, change=lambda backends: replace(backends, issuers=Issuers(tokens))) as service:
        company = Company(service, MemoryIssuer(), MemoryIssuer(), Seconds())
        stolen, later = company.bearer(sub="eve", jti="stolen"), company.bearer(sub="eve", jti="later")
        others = [company.bearer(sub="ann", jti="fine"), company.bearer(sub="eve", jti="stolen", tenant="globex")]
        for headers in (stolen, later, *others):
            assert (await company.recall(headers)).status_code == 200
        await service.runtime.backends.database.run([revocations.revoke("acme", revoked)])
        service.runtime.backends.revocations.seen(company.now * 10)
        assert_problem(await company.recall(stolen), 401, "unauthenticated")
        assert (await company.recall(later)).status_code == (401 if revoked == "oidc:eve" else 200)
        for headers in others:
            assert (await company.recall(headers)).status_code == 200


async def test_what_a_token_writes_has_its_subject_as_the_author(company: Company) -> None:
    body = {"agent_id": "written", "content": "Written by a subject."}
    for number in range(2):
        answer = await company.service.client.post(
            "/store", json=body | {"content": f"Note {number}."}, headers=company.bearer(sub="sam", jti=f"t{number}")
        )
        assert answer.status_code == 201
    listed = await company.service.client.get(
        "/memories?agent_id=written", headers=company.service.credential(admin=True)
    )
    assert [memory["source"]["credential_id"] for memory in listed.json()["memories"]] == ["oidc:sam"] * 2


async def test_access_lets_in_people_and_service_tokens_of_their_tenant(company: Company) -> None:
    for claims, kept in (
        ({"email": "Ann@acme.example"}, "green tea"),
        ({"common_name": "robot.access", "sub": ""}, "green tea"),
        ({"email": "someone@globex.example"}, "coffee"),
    ):
        for answer in (await company.recall(company.asserted(**claims)), await company.mcp(company.asserted(**claims))):
            assert (answer.status_code, kept in answer.text) == (200, True)
            assert not {"green tea", "coffee"} - {kept} & {
                word for word in ("green tea", "coffee") if word in answer.text
            }


async def test_the_token_that_access_itself_took_does_not_count_beside_its_assertion(company: Company) -> None:
    opaque = {"Authorization": "Bearer oauth:CvNooKJ"}
    assert (await company.recall(opaque | company.asserted(email="ann@acme.example"))).status_code == 200
    assert_problem(await company.recall(opaque), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 401),
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://other.service"}, 401),
        ({"Origin": "https://evil.example"}, 401),
        ({"Origin": "null"}, 401),
        ({"Origin": "http://["}, 401),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://service"}, 201),
        ({"Origin": "http://service"}, 201),
        ({}, 201),
    ],
    ids=str,
)
async def test_an_assertion_that_access_adds_to_what_a_page_of_another_site_sends_lets_nobody_in(
    company: Company, sent: dict[str, str], status: int
) -> None:
    simple = {"Content-Type": "text/plain"}  # a browser sends this without asking the service first
    headers = company.asserted(email="ann@acme.example") | simple | sent
    answer = await company.service.client.post("/blobs", content=b"planted", headers=headers)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    "claims",
    [
        *({"aud": audience} for audience in ([AUDIENCE], [], "another", None)),
        *({"iss": issuer} for issuer in (URL, "https://evil.cloudflareaccess.com", None)),
        {"exp": 1_700_000_000},
    ],
    ids=str,
)
async def test_an_assertion_that_does_not_hold_lets_nobody_in(company: Company, claims: dict[str, Any]) -> None:
    headers = company.asserted(email="ann@acme.example", **claims)
    assert_problem(await company.recall(headers), 401, "unauthenticated")


async def test_two_assertions_and_an_assertion_in_another_place_let_nobody_in(company: Company) -> None:
    (assertion,) = company.asserted(email="ann@acme.example").values()
    twice = [(ASSERTION, assertion), (ASSERTION, assertion)]
    assert_problem(await company.service.client.post("/recall", json=BODY, headers=twice), 401, "unauthenticated")
    for headers in ({"Cookie": f"CF_Authorization={assertion}"}, {"Authorization": f"Bearer {assertion}"}):
        assert_problem(await company.recall(headers), 401, "unauthenticated")


async def test_a_person_whom_access_lets_in_and_no_table_names_has_no_tenant(company: Company) -> None:
    for claims in ({"email": "eve@evil.example"}, {"email": "ann@acme.example.evil.example"}, {"common_name": "x"}, {}):
        assert_problem(await company.recall(company.asserted(**claims)), 403, "forbidden")


async def test_an_assertion_is_nothing_where_access_is_not_set(tmp_path: Path, company: Company) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.post("/recall", json=BODY, headers=company.asserted(email="ann@acme.example"))
    assert_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="memory-gateway"'


async def test_a_key_of_the_issuer_signs_nothing_for_access(company: Company) -> None:
    company.access.jwks = [jwk_of("of access")]
    company.clock.now += 10_000
    assert_problem(await company.recall(company.asserted(email="ann@acme.example")), 401, "unauthenticated")
