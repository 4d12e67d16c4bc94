"""People and hosts come in through an issuer from a package: its tokens, the SDK's OAuth client, and the inspector."""

import asyncio
import json
import os
import re
import socket
import subprocess
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hmac import digest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from app.adapters.http.issuer import HttpIssuer
from app.domain.errors import Forbidden, Unauthenticated
from app.observability.metrics import Metrics
from app.services.access.issuer_keys import AGAIN_SECONDS, IssuerKeys
from app.services.access.issuer_sign_in import IssuerSignIn
from app.services.access.issuer_tokens import IssuerTokens
from tests.conformance.issuer import PackagedIssuer, packaged_issuer
from tests.conformance.toolchain import INSPECTOR, NODE
from tests.process.server import Server, credential, until
from tests.support.issuers import MAPPING, Seconds

AUDIENCE = "https://memory.example/mcp"
pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")  # of the package's own code


@pytest.fixture
def issuer() -> Iterator[PackagedIssuer]:
    with packaged_issuer(AUDIENCE) as issuer:
        issuer.claims = {"ann": {"tenant": "acme"}, "gus": {"tenant": "globex"}, "eve": {}}
        yield issuer


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
async def tokens(issuer: PackagedIssuer, clock: Seconds) -> AsyncIterator[IssuerTokens]:
    keys = IssuerKeys(HttpIssuer(issuer.url, Metrics(), seconds=1), ["RS256"], max_age_seconds=3600, clock=clock)
    yield IssuerTokens(keys, MAPPING, audiences=[AUDIENCE], algorithms=["RS256"], skew_seconds=60)
    await keys.close()


def now() -> int:
    return time.time_ns() // 1_000_000


async def issued(issuer: PackagedIssuer, subject: str = "ann", **given: Any) -> str:
    return await asyncio.to_thread(issuer.access_token, subject, **given)


async def test_its_access_tokens_are_taken_and_map_to_their_tenants(
    issuer: PackagedIssuer, tokens: IssuerTokens
) -> None:
    for subject, tenant in (("ann", "acme"), ("gus", "globex")):
        principal = await tokens.verify(await issued(issuer, subject), now())
        assert (principal.tenant_id, principal.credential_id) == (tenant, f"oidc:{subject}")
        assert principal.scopes == {"read", "write"}
    with pytest.raises(Forbidden):
        await tokens.verify(await issued(issuer, "eve"), now())
    assert issuer.readings == 1


async def test_a_key_that_it_rotates_to_is_found_and_one_that_it_withdraws_is_not(
    issuer: PackagedIssuer, tokens: IssuerTokens, clock: Seconds
) -> None:
    old = await issued(issuer)
    await tokens.verify(old, now())
    issuer.rotate()
    clock.now += AGAIN_SECONDS
    for token in (await issued(issuer), old):
        assert (await tokens.verify(token, now())).tenant_id == "acme"
    issuer.rotate(withdraw=True)
    clock.now += AGAIN_SECONDS
    assert (await tokens.verify(await issued(issuer), now())).tenant_id == "acme"
    with pytest.raises(Unauthenticated):
        await tokens.verify(old, now())


async def test_a_token_for_another_audience_is_refused(issuer: PackagedIssuer, tokens: IssuerTokens) -> None:
    issuer.audience = "https://another.example/mcp"
    with pytest.raises(Unauthenticated):
        await tokens.verify(await issued(issuer), now())


async def test_its_public_key_is_no_secret(issuer: PackagedIssuer, tokens: IssuerTokens) -> None:
    token = await issued(issuer)
    header, claims, _ = token.split(".")
    pem = issuer.key.as_pem()
    for algorithm in ("HS256", "none"):
        changed = json.loads(urlsafe_b64decode(header + "==")) | {"alg": algorithm}
        head = urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
        signature = urlsafe_b64encode(digest(pem, f"{head}.{claims}".encode(), "sha256")).rstrip(b"=").decode()
        for forged in (f"{head}.{claims}.{signature}", f"{head}.{claims}."):
            with pytest.raises(Unauthenticated):
                await tokens.verify(forged, now())


async def test_a_person_signs_in_by_its_pages_and_a_stolen_code_is_of_no_use(
    issuer: PackagedIssuer, tokens: IssuerTokens
) -> None:
    sign_in = IssuerSignIn(
        tokens,
        client_id="console",
        client_secret="secret",
        public_url="https://memory.example",
        scopes="memory:read memory:write",
    )

    async def code(url: str) -> dict[str, str]:
        location = await asyncio.to_thread(issuer.sign_in, url, "ann")
        assert location.startswith("https://memory.example/console/callback?")
        return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}

    url, pending = await sign_in.begin("/console/callback", now())
    answer = await code(url)
    principal = await sign_in.finish(pending, state=answer["state"], code=answer["code"], now=now())
    assert (principal.tenant_id, principal.credential_id) == ("acme", "oidc:ann")
    with pytest.raises(Unauthenticated):  # the issuer takes each code once
        await sign_in.finish(pending, state=answer["state"], code=answer["code"], now=now())
    (url, _), (_, other) = (
        await sign_in.begin("/console/callback", now()),
        await sign_in.begin("/console/callback", now()),
    )
    stolen = await code(url)
    with pytest.raises(Unauthenticated):  # the verifier of another browser does not fit its challenge
        await sign_in.finish(other, state=other.state, code=stolen["code"], now=now())


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, PackagedIssuer]]:
    """Run the service as a process of its own, whose public URL is the one that it listens on, and an issuer."""
    folder = tmp_path_factory.mktemp("company")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with packaged_issuer(f"{url}/mcp") as issuer:
        issuer.claims = {"ann": {"tenant": "acme"}, "gus": {"tenant": "globex"}, "eve": {}}
        settings = {
            "PORT": str(port),
            "PUBLIC_URL": url,
            "OIDC_ISSUER": issuer.url,
            "OIDC_AGENT_CLAIM": "sub",
        }
        server = Server.spawn(folder / "data", folder / "log", **settings)
        try:
            asyncio.run(server.ready())
            yield server, issuer
        finally:
            asyncio.run(server.stop())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class MemoryTokens:
    """Where the SDK's client keeps its tokens and what the issuer registered it as."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def signed_in(
    server: Server, issuer: PackagedIssuer, subject: str, kept: MemoryTokens, scope: str | None = None
) -> AsyncIterator[Client]:
    """Connect the SDK's client, which knows nothing but the address, as a person."""
    back = "http://127.0.0.1:1/callback"
    location = ""

    async def redirect(url: str) -> None:
        nonlocal location
        location = await asyncio.to_thread(issuer.sign_in, url, subject)

    async def callback() -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        return AuthorizationCodeResult(code=query["code"], state=query["state"])

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(back)], token_endpoint_auth_method="client_secret_post", scope=scope
    )
    provider = OAuthClientProvider(f"{server.url}/mcp", metadata, kept, redirect, callback)
    async with (
        httpx2.AsyncClient(auth=provider, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), read_timeout_seconds=30) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def test_the_sdk_s_client_finds_the_issuer_signs_in_and_recalls_what_it_stored(
    company: tuple[Server, PackagedIssuer],
) -> None:
    server, issuer = company
    issuer.authorizations.clear()
    async with signed_in(server, issuer, "ann", MemoryTokens()) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"store_memory", "recall_memory"}
        stored = await client.call_tool("store_memory", {"content": "Ann drinks green tea."})
        assert not stored.is_error
        assert "green tea" in text_of(await client.call_tool("recall_memory", {"query": "Which tea does Ann drink?"}))
    (asked,) = issuer.authorizations
    assert asked["resource"] == f"{server.url}/mcp"
    assert asked["scope"] == "memory:read memory:write"
    assert asked["code_challenge_method"] == "S256"


async def test_what_one_tenant_stored_no_person_of_another_recalls(company: tuple[Server, PackagedIssuer]) -> None:
    server, issuer = company
    async with signed_in(server, issuer, "ann", MemoryTokens()) as ann:
        assert not (await ann.call_tool("store_memory", {"content": "The code of the safe is 9451."})).is_error
    async with signed_in(server, issuer, "gus", MemoryTokens()) as gus:
        for query in ("The code of the safe is 9451.", "safe", "9451"):
            assert "9451" not in text_of(await gus.call_tool("recall_memory", {"query": query}))
    token = await issued(issuer, "gus")
    async with server.client(token) as client:
        for agent in ("ann", "gus"):
            answer = await client.post("/recall", json={"agent_id": agent, "query": "The code of the safe"})
            assert "9451" not in answer.text
            assert answer.status_code == (200 if agent == "gus" else 403)


async def test_a_person_of_no_tenant_is_told_why_and_gets_nothing(company: tuple[Server, PackagedIssuer]) -> None:
    server, issuer = company
    async with server.client(await issued(issuer, "eve")) as client:
        answer = await client.post("/recall", json={"agent_id": "eve", "query": "safe"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "claim 'tenant' maps to no tenant" in answer.json()["detail"]
    issuer.authorizations.clear()
    with pytest.RaisesGroup(MCPError, allow_unwrapped=True, flatten_subgroups=True):
        async with signed_in(server, issuer, "eve", MemoryTokens()) as host:
            await host.list_tools()
    assert len(issuer.authorizations) == 1  # no host has a person sign in again where that does not help


async def test_the_sdk_s_client_asks_for_the_scope_that_a_tool_lacks(company: tuple[Server, PackagedIssuer]) -> None:
    server, issuer = company
    kept = MemoryTokens()
    kept.tokens = OAuthToken(
        access_token=await issued(issuer, "ann", scope="openid memory:read"),
        scope="openid memory:read",
        expires_in=3600,
    )
    issuer.authorizations.clear()
    async with signed_in(server, issuer, "ann", kept) as client:
        assert "store_memory" not in {tool.name for tool in (await client.list_tools()).tools}
        assert not (await client.call_tool("store_memory", {"content": "Ann has a boat."})).is_error
    (asked,) = issuer.authorizations
    assert set(asked["scope"].split()) >= {"memory:read", "memory:write"}


@pytest.mark.parametrize("how", ["down", "slow", "of a megabyte"])
async def test_an_issuer_that_fails_lets_nobody_new_in_and_nobody_known_out(tmp_path: Path, how: str) -> None:
    with packaged_issuer(AUDIENCE) as issuer:
        issuer.claims = {"ann": {"tenant": "acme"}}
        settings = {"OIDC_ISSUER": issuer.url, "OIDC_AUDIENCE": AUDIENCE}
        server = Server.spawn(tmp_path / "data", tmp_path / "log", **settings)
        try:
            await server.ready()

            async def recall(token: str) -> httpx.Response:
                async with server.client(token) as client:
                    return await client.post("/recall", json={"agent_id": "bot", "query": "tea"})

            known = await issued(issuer)
            if how == "of a megabyte":
                issuer.padding = 1_000_000
                assert (await recall(known)).status_code == 503
                assert (await recall(credential())).status_code == 200
                return
            assert (await recall(known)).status_code == 200
            issuer.rotate()
            fresh = await issued(issuer)
            issuer.down, issuer.slow = how == "down", 30.0 if how == "slow" else 0.0

            async def is_an_outage() -> bool:
                answer = await recall(fresh)
                assert answer.status_code in {401, 503}  # 401: the keys were read a moment ago
                assert (await recall(known)).status_code == 200
                return answer.status_code == 503 and answer.json()["code"] == "issuer_unavailable"

            await until(is_an_outage, seconds=40)
            assert (await recall(credential())).status_code == 200
        finally:
            issuer.slow = 0.0
            await server.stop()


def inspect(server: Server, issuer: PackagedIssuer, home: Path, era: str) -> dict[str, Any]:
    """Have the inspector recall as Ann: it says where to sign in, and waits until a browser has been there."""
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    where = ["--transport", "http", "--server-url", f"{server.url}/mcp", "--protocol-era", era]
    call = ["--method", "tools/call", "--tool-name", "recall_memory", "--tool-args-json", '{"query": "chess"}']
    client = ["--client-id", "inspector", "--client-secret", "any", "--callback-url", callback]
    browser = {"MCP_AUTO_OPEN_ENABLED": "true", "BROWSER": "true"}  # without a terminal it opens a browser or nothing
    with subprocess.Popen(
        [NODE, INSPECTOR, "--cli", *where, *call, *client, "--format", "json"],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], **browser},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as inspector:
        assert inspector.stderr is not None
        said = ""
        while (found := re.search(r"navigate to: (\S+)", said)) is None:
            line = inspector.stderr.readline()
            assert line, said
            said += line
        location = issuer.sign_in(found[1], "ann")
        assert httpx.get(location, trust_env=False).status_code == 200
        answer, errors = inspector.communicate(timeout=60)
        assert inspector.returncode == 0, answer + errors
    result: dict[str, Any] = json.loads(answer)
    return result


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_signs_in_and_recalls(
    company: tuple[Server, PackagedIssuer], tmp_path: Path, era: str
) -> None:
    server, issuer = company
    async with signed_in(server, issuer, "ann", MemoryTokens()) as client:
        assert not (await client.call_tool("store_memory", {"content": "Ann plays chess."})).is_error
    answer = await asyncio.to_thread(inspect, server, issuer, tmp_path, era)
    assert "Ann plays chess." in answer["result"]["content"][0]["text"]
