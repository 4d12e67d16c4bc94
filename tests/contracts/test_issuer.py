"""What every reader of an issuer must do, over a socket: with a document, and with keys alone."""

import asyncio
import gzip
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from app.adapters.http.issuer import HttpIssuer
from app.domain.errors import Unavailable, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.observability.metrics import Metrics
from app.ports.issuer import MAX_DOCUMENT_BYTES, MAX_KEYS, CodeGrant, CodeRefused, Issuer, IssuerDocument
from tests.support.issuer_server import DISCOVERY, IssuerServer, issuer_server
from tests.support.issuers import MemoryIssuer, jwk_of

KEYS = {"keys": [{"kid": "one", "kty": "RSA"}, {"kid": "two", "kty": "EC"}]}
GRANT = CodeGrant("a code", "https://memory.example/back", "a verifier", "console:1", "s&cret é")


@dataclass
class Subject:
    """An issuer, and the server behind it."""

    issuer: Issuer
    server: IssuerServer


@asynccontextmanager
async def opened(*, keys_alone: bool = False, seconds: float = 30.0) -> AsyncIterator[Subject]:
    """An issuer that is waited for so long that a busy machine is not taken for a slow issuer."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(issuer_server())
        server.set(DISCOVERY, server.document())
        server.set("/keys", KEYS)
        keys_url = f"{server.url}/keys" if keys_alone else None
        issuer = HttpIssuer(server.url, Metrics(), keys_url=keys_url, seconds=seconds)
        stack.push_async_callback(issuer.close)
        yield Subject(issuer, server)


@pytest.fixture(params=["document", "keys alone"])
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    async with opened(keys_alone=request.param == "keys alone") as subject:
        yield subject


@pytest.fixture
async def discovered() -> AsyncIterator[Subject]:
    async with opened() as subject:
        yield subject


async def test_the_keys_are_what_the_issuer_publishes_now(subject: Subject) -> None:
    assert (await subject.issuer.read()).keys == KEYS["keys"]
    subject.server.set("/keys", {"keys": [], "public_certs": ["a", "b"]})
    assert (await subject.issuer.read()).keys == []


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        *(({"status": status}, UpstreamRejected) for status in (201, 206, 400, 401, 404, 429, 500, 503)),
        ({"cut": True, "parts": 4}, UpstreamUnavailable),
        ({"headers": {"Content-Encoding": "gzip"}}, UpstreamUnavailable),
    ],
    ids=str,
)
async def test_an_answer_that_is_none_is_an_outage(subject: Subject, reply: Any, kind: type[Unavailable]) -> None:
    subject.server.set("/keys", KEYS, **reply)
    with pytest.raises(kind):
        await subject.issuer.read()
    subject.server.set("/keys", KEYS)
    assert (await subject.issuer.read()).keys


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b'"text"', b"\xff", b"[" * 100_000, {}, {"keys": None}, {"keys": {}}, {"keys": [1]}],
    ids=lambda body: str(body)[:20],
)
async def test_what_is_no_set_of_keys_is_an_outage(subject: Subject, body: Any) -> None:
    subject.server.set("/keys", body)
    with pytest.raises(UpstreamRejected):
        await subject.issuer.read()


async def test_keys_of_a_megabyte_are_not_read_to_their_end(subject: Subject) -> None:
    subject.server.set("/keys", {"keys": [{"kid": "one", "padding": "x" * 1_000_000}]})
    with pytest.raises(UpstreamRejected, match=str(MAX_DOCUMENT_BYTES)):
        await subject.issuer.read()


async def test_keys_that_grow_when_they_are_unpacked_are_not_read_to_their_end(subject: Subject) -> None:
    packed = gzip.compress(b" " * 10_000_000)
    subject.server.set("/keys", packed, headers={"Content-Encoding": "gzip"})
    with pytest.raises(UpstreamRejected, match=str(MAX_DOCUMENT_BYTES)):
        await subject.issuer.read()


async def test_too_many_keys_are_refused_as_a_whole(subject: Subject) -> None:
    subject.server.set("/keys", {"keys": [{"kid": str(number)} for number in range(MAX_KEYS)]})
    assert len((await subject.issuer.read()).keys) == MAX_KEYS
    subject.server.set("/keys", {"keys": [{"kid": str(number)} for number in range(MAX_KEYS + 1)]})
    with pytest.raises(UpstreamRejected):
        await subject.issuer.read()


@pytest.mark.parametrize("keys_alone", [False, True])
@pytest.mark.parametrize("reply", [{"pause": 30.0}, {"pause": 0.05, "parts": 500}], ids=str)
async def test_an_issuer_that_is_slow_is_an_outage_soon(reply: Any, *, keys_alone: bool) -> None:
    async with opened(keys_alone=keys_alone, seconds=0.3) as subject, asyncio.timeout(10):
        subject.server.set("/keys", KEYS, **reply)
        with pytest.raises(UpstreamTimeout):
            await subject.issuer.read()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(subject: Subject, status: int) -> None:
    subject.server.set("/elsewhere", KEYS)
    subject.server.set("/keys", b"", status=status, headers={"Location": f"{subject.server.url}/elsewhere"})
    with pytest.raises(UpstreamRejected):
        await subject.issuer.read()
    assert "/elsewhere" not in [asked.path for asked in subject.server.asked]


async def test_an_issuer_that_is_not_there_is_an_outage() -> None:
    issuer = HttpIssuer("http://127.0.0.1:1", Metrics())
    with pytest.raises(UpstreamUnavailable):
        await issuer.read()
    await issuer.close()


async def test_the_document_says_where_people_sign_in(discovered: Subject) -> None:
    url = discovered.server.url
    document = await discovered.issuer.read()
    assert (document.authorization_endpoint, document.token_endpoint) == (f"{url}/authorize", f"{url}/token")
    discovered.server.set(DISCOVERY, discovered.server.document(authorization_endpoint=None, token_endpoint=None))
    document = await discovered.issuer.read()
    assert (document.authorization_endpoint, document.token_endpoint) == (None, None)


async def test_a_document_of_another_issuer_is_refused(discovered: Subject) -> None:
    for issuer in ("https://evil.example", f"{discovered.server.url}/", None, 5, [discovered.server.url]):
        discovered.server.set(DISCOVERY, discovered.server.document(issuer=issuer))
        with pytest.raises(UpstreamRejected):
            await discovered.issuer.read()
    assert {asked.path for asked in discovered.server.asked} == {DISCOVERY}


@pytest.mark.parametrize("name", ["jwks_uri", "authorization_endpoint", "token_endpoint"])
@pytest.mark.parametrize(
    "url",
    [
        *("http://keys.example/jwks", "http://127.0.0.1.evil.example/", "http://localhost.evil.example/", "ftp://a/b"),
        *("file:///etc/passwd", "/keys", "", "//keys.example", "https://", "https://[", "http://0/", 5, ["https://a"]),
    ],
)
async def test_a_url_that_is_not_safe_is_not_called(discovered: Subject, name: str, url: Any) -> None:
    discovered.server.set(DISCOVERY, discovered.server.document(**{name: url}))
    with pytest.raises(UpstreamRejected, match=name):
        await discovered.issuer.read()


async def test_a_document_without_keys_is_refused(discovered: Subject) -> None:
    discovered.server.set(DISCOVERY, discovered.server.document(jwks_uri=None))
    with pytest.raises(UpstreamRejected, match="jwks_uri"):
        await discovered.issuer.read()


async def test_a_code_is_redeemed_with_its_verifier_and_the_secret_in_a_header(discovered: Subject) -> None:
    discovered.server.set("/token", {"id_token": "a.b.c"})
    assert await discovered.issuer.redeem(await discovered.issuer.read(), GRANT) == {"id_token": "a.b.c"}
    asked = discovered.server.asked[-1]
    assert (asked.method, asked.path) == ("POST", "/token")
    assert asked.form == {
        "grant_type": "authorization_code",
        "code": "a code",
        "redirect_uri": "https://memory.example/back",
        "code_verifier": "a verifier",
    }
    assert asked.headers["authorization"] == f"Basic {b64encode(b'console%3A1:s%26cret+%C3%A9').decode()}"


@pytest.mark.parametrize(
    ("methods", "secret"), [(["client_secret_post"], "s&cret é"), (["none"], None), (["client_secret_basic"], None)]
)
async def test_a_secret_goes_into_the_form_where_the_issuer_wants_it_there(
    discovered: Subject, methods: list[str], secret: str | None
) -> None:
    discovered.server.set(DISCOVERY, discovered.server.document(token_endpoint_auth_methods_supported=methods))
    discovered.server.set("/token", {})
    grant = CodeGrant("a code", "https://memory.example/back", "a verifier", "console", secret)
    await discovered.issuer.redeem(await discovered.issuer.read(), grant)
    asked = discovered.server.asked[-1]
    assert (asked.form["client_id"], asked.form.get("client_secret")) == ("console", secret)
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_code_that_the_issuer_refuses_is_no_outage(discovered: Subject, status: int) -> None:
    discovered.server.set("/token", {"error": "invalid_grant"}, status=status)
    with pytest.raises(CodeRefused):
        await discovered.issuer.redeem(await discovered.issuer.read(), GRANT)


@pytest.mark.parametrize(
    "reply", [{"status": 500}, {"status": 302, "headers": {"Location": "/"}}, {"pause": 30.0}], ids=str
)
async def test_a_token_endpoint_that_does_not_answer_is_an_outage_and_is_asked_once(
    discovered: Subject, reply: Any
) -> None:
    document = await discovered.issuer.read()
    discovered.server.set("/token", {"id_token": "x" * 10}, **reply)
    with pytest.raises(Unavailable) as caught:
        await discovered.issuer.redeem(document, GRANT)
    assert [asked.path for asked in discovered.server.asked].count("/token") == 1
    assert "a code" not in caught.value.detail
    assert "cret" not in caught.value.detail


async def test_the_issuer_of_the_tests_reads_and_redeems_as_the_real_one() -> None:
    issuer: Issuer = MemoryIssuer(jwk_of("one"))
    document = await issuer.read()
    assert isinstance(document, IssuerDocument)
    with pytest.raises(CodeRefused):
        await issuer.redeem(document, GRANT)
    await issuer.close()
