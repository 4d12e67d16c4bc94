"""A person signs in at an issuer: only the answer to the sign-in that a browser began lets it in."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.domain.errors import Forbidden, IssuerUnavailable, Unauthenticated, UpstreamTimeout
from app.ports.issuer import IssuerDocument
from app.services.access.issuer_sign_in import PENDING_SECONDS, REDEMPTIONS, IssuerSignIn, PendingSignIn
from tests.support.issuers import URL, MemoryIssuer, Seconds, claims_of, jwk_of, token_of, tokens_of
from tests.support.service import NOW

CLIENT = "console"
PATH = "/console/callback"


@dataclass(frozen=True, slots=True)
class Console:
    """A sign-in, and the issuer behind it."""

    sign_in: IssuerSignIn
    issuer: MemoryIssuer
    clock: Seconds

    async def begun(self) -> PendingSignIn:
        _, pending = await self.sign_in.begin(PATH, NOW)
        return pending

    def answers(self, code: str, pending: PendingSignIn, *, given: dict[str, Any] | None = None, **claims: Any) -> None:
        """Have the issuer redeem a code for an ID token."""
        usual = {"aud": CLIENT, "nonce": pending.nonce, "scope": None}
        token = token_of(claims_of(**(usual | claims)), typ="JWT")
        self.issuer.codes[code] = {"id_token": token, "scope": "openid memory:read memory:write"} | (given or {})

    async def finish(self, pending: PendingSignIn, **answer: Any) -> Any:
        usual: dict[str, Any] = {"state": pending.state, "code": "code", "now": NOW}
        return await self.sign_in.finish(pending, **(usual | answer))


@pytest.fixture
def console() -> Console:
    issuer, clock = MemoryIssuer(), Seconds()
    sign_in = IssuerSignIn(
        tokens_of(issuer, clock=clock),
        client_id=CLIENT,
        client_secret="a secret",
        public_url="https://memory.example/",
        scopes="memory:read memory:write",
    )
    return Console(sign_in, issuer, clock)


async def test_the_browser_is_sent_to_the_issuer_with_a_challenge_and_never_with_the_verifier(console: Console) -> None:
    url, pending = await console.sign_in.begin(PATH, NOW)
    assert url.startswith(f"{URL}/authorize?")
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert query == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": "https://memory.example/console/callback",
        "scope": "openid memory:read memory:write",
        "state": pending.state,
        "nonce": pending.nonce,
        "code_challenge": query["code_challenge"],
        "code_challenge_method": "S256",
    }
    assert len(query["code_challenge"]) == 43
    assert pending.verifier not in url
    another = await console.begun()
    assert not {pending.state, pending.nonce, pending.verifier} & {another.state, another.nonce, another.verifier}


async def test_a_person_who_comes_back_is_the_principal_that_the_claims_name(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending)
    principal = await console.finish(pending, issuer=URL)
    assert (principal.tenant_id, principal.credential_id) == ("acme", "oidc:ann")
    assert principal.scopes == {"read", "write"}
    (grant,) = console.issuer.grants
    assert (grant.code, grant.verifier, grant.redirect_uri) == ("code", pending.verifier, pending.redirect_uri)
    assert (grant.client_id, grant.client_secret) == (CLIENT, "a secret")


@pytest.mark.parametrize(
    "answer",
    [
        *({"state": state} for state in ("", "x", "é")),
        *({"code": code} for code in ("", "another", "c" * 5000)),
        {"issuer": "https://evil.example"},
        {"now": NOW + PENDING_SECONDS * 1000},
    ],
    ids=lambda answer: str(answer)[:40],
)
async def test_an_answer_to_another_sign_in_lets_nobody_in(console: Console, answer: dict[str, Any]) -> None:
    pending = await console.begun()
    console.answers("code", pending)
    with pytest.raises(Unauthenticated):
        await console.finish(pending, **answer)
    assert "code" in console.issuer.codes  # which only the issuer takes back, and it was not asked for it


async def test_a_code_that_another_browser_was_given_lets_nobody_in(console: Console) -> None:
    mine, theirs = await console.begun(), await console.begun()
    console.answers("stolen", theirs)
    with pytest.raises(Unauthenticated):
        await console.finish(mine, code="stolen")


async def test_a_code_is_good_once(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending)
    await console.finish(pending)
    with pytest.raises(Unauthenticated):
        await console.finish(pending)


WRONG: list[dict[str, Any]] = [
    *({"aud": audience} for audience in ("another", [], ["another", CLIENT], [CLIENT, "another"], None)),
    *({"azp": client} for client in ("another", "", 5)),
    *({"nonce": nonce} for nonce in ("another", "", None, 5, ["x"])),
    *({"iss": issuer} for issuer in ("https://evil.example", None)),
    *({"exp": moment} for moment in (NOW // 1000 - 61, None, "never")),
    *({"iat": moment} for moment in (NOW // 1000 + 61, None)),
]


@pytest.mark.parametrize("claims", WRONG, ids=str)
async def test_an_id_token_that_does_not_hold_lets_nobody_in(console: Console, claims: dict[str, Any]) -> None:
    pending = await console.begun()
    console.answers("code", pending, **claims)
    with pytest.raises(Unauthenticated):
        await console.finish(pending)


@pytest.mark.parametrize("given", [{"id_token": None}, {"id_token": 5}, {"id_token": ""}, {"id_token": "a.b.c"}])
async def test_an_answer_without_an_id_token_lets_nobody_in(console: Console, given: dict[str, Any]) -> None:
    pending = await console.begun()
    console.answers("code", pending, given=given)
    with pytest.raises(Unauthenticated):
        await console.finish(pending)


async def test_an_access_token_in_its_place_lets_nobody_in(console: Console) -> None:
    pending = await console.begun()
    token = token_of(claims_of(aud=CLIENT, nonce=pending.nonce))
    console.answers("code", pending, given={"id_token": token})
    with pytest.raises(Unauthenticated):
        await console.finish(pending)


async def test_an_id_token_of_several_audiences_counts_where_it_is_for_this_client(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending, aud=["another", CLIENT], azp=CLIENT)
    assert (await console.finish(pending)).tenant_id == "acme"


@pytest.mark.parametrize("scope", ["", "openid", None, 5])
async def test_what_the_issuer_did_not_grant_is_not_given(console: Console, scope: Any) -> None:
    pending = await console.begun()
    console.answers("code", pending, given={"scope": scope})
    with pytest.raises(Forbidden):
        await console.finish(pending)


async def test_a_person_without_a_tenant_is_told_so(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending, tenant=None)
    with pytest.raises(Forbidden, match="maps to no tenant"):
        await console.finish(pending)


async def test_an_id_token_is_signed_by_a_key_of_the_issuer(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending)
    console.issuer.jwks = [jwk_of("two")]
    console.clock.now += 3600
    with pytest.raises(Unauthenticated):
        await console.finish(pending)


async def test_an_issuer_that_is_away_is_an_outage_before_and_after(console: Console) -> None:
    pending = await console.begun()
    console.answers("code", pending)
    console.issuer.failure = UpstreamTimeout("The issuer did not answer.")
    with pytest.raises(IssuerUnavailable):
        await console.finish(pending)
    console.clock.now += 3600
    with pytest.raises(IssuerUnavailable):
        await console.sign_in.begin(PATH, NOW)


async def test_beginning_does_not_ask_the_issuer_each_time(console: Console) -> None:
    for _ in range(50):
        await console.begun()
    assert console.issuer.readings == 1


async def test_an_issuer_without_a_page_is_an_outage(console: Console) -> None:
    console.issuer.document = IssuerDocument(())
    with pytest.raises(IssuerUnavailable):
        await console.begun()


async def test_an_address_that_has_a_query_keeps_it(console: Console) -> None:
    console.issuer.document = replace(console.issuer.document, authorization_endpoint=f"{URL}/authorize?realm=a")
    url, _ = await console.sign_in.begin(PATH, NOW)
    assert url.startswith(f"{URL}/authorize?realm=a&response_type=code&")


async def test_made_up_codes_do_not_have_the_issuer_asked_without_an_end(console: Console) -> None:
    pending = await console.begun()
    refusals = []
    for number in range(2 * REDEMPTIONS):
        with pytest.raises((Unauthenticated, IssuerUnavailable)) as refusal:
            await console.finish(pending, code=f"made up {number}")
        refusals.append(type(refusal.value))
    assert (len(console.issuer.grants), refusals[-1]) == (REDEMPTIONS, IssuerUnavailable)
    console.answers("code", pending)
    assert (await console.finish(pending, now=NOW + 60_000)).tenant_id == "acme"
