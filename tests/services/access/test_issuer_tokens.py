"""A token of an issuer lets its holder in only where everything about it holds."""

import base64
import hmac
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Forbidden, IssuerUnavailable, Unauthenticated, UpstreamTimeout
from app.services.access.claims import ClaimMapping
from tests.support.issuers import (
    AUDIENCE,
    MAPPING,
    SCOPES,
    URL,
    MemoryIssuer,
    Seconds,
    claims_of,
    jwk_of,
    pem_of,
    resigned,
    token_of,
    tokens_of,
)
from tests.support.service import NOW

SECOND = 1000
HEADER = {"alg": "ES256", "kid": "one", "typ": "at+jwt"}


async def principal(claims: Mapping[str, Any], mapping: ClaimMapping = MAPPING, **header: Any) -> Any:
    return await tokens_of(MemoryIssuer(), mapping).verify(token_of(claims, **header), NOW)


async def test_a_token_that_holds_names_tenant_subject_token_and_moment() -> None:
    found = await principal(claims_of())
    assert (found.tenant_id, found.agent_id, found.admin) == ("acme", None, False)
    assert (found.credential_id, found.token_id) == ("oidc:ann", "oidc-token:token-1")
    assert (found.issued_at, found.expires_at) == (NOW - 10 * SECOND, NOW + 360 * SECOND)  # with the skew


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "ES384", "EdDSA"])
async def test_every_algorithm_with_a_public_key_is_taken_where_it_is_set(algorithm: str) -> None:
    tokens = tokens_of(MemoryIssuer(jwk_of("one", algorithm)), algorithms=[algorithm])
    assert (await tokens.verify(token_of(claims_of(), algorithm=algorithm), NOW)).tenant_id == "acme"


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", None])
async def test_access_tokens_and_tokens_without_a_kind_are_taken(typ: str | None) -> None:
    assert await principal(claims_of(), typ=typ)


@pytest.mark.parametrize("audience", [AUDIENCE, [AUDIENCE], ["another", AUDIENCE]])
async def test_one_audience_of_several_is_enough(audience: Any) -> None:
    assert await principal(claims_of(aud=audience))


WRONG_CLAIMS: list[dict[str, Any]] = [
    *({name: None} for name in ("iss", "aud", "exp", "iat")),
    *({"iss": value} for value in ("https://other.example", f"{URL}/", URL.upper(), [URL], 1)),
    *({"aud": value} for value in ("another", [], ["another"], "", 1, {"a": 1}, AUDIENCE + "/", AUDIENCE[:-1])),
    *({"exp": value} for value in (NOW // 1000 - 61, 0, -1, "never", True, float("nan"), float("inf"), 10**400)),
    *({"nbf": value} for value in (NOW // 1000 + 61, "now", float("nan"), [1])),
    *({"iat": value} for value in (NOW // 1000 + 61, "now", float("-inf"), False, 10**4000)),
    *({"jti": value} for value in (5, ["a"], {"a": 1})),
    *({"sub": value} for value in (5, ["a"])),
    *({mark: "x"} for mark in ("at_hash", "c_hash")),
]


@pytest.mark.parametrize("wrong", WRONG_CLAIMS, ids=lambda wrong: str(wrong)[:40])
async def test_a_wrong_claim_is_no_credential(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        await principal(claims_of(**wrong), typ="JWT")


@pytest.mark.parametrize("mark", [{"typ": "ID"}, {"token_use": "id"}])
async def test_an_id_token_is_refused_where_its_issuer_marks_it(mark: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        await principal(claims_of(**mark), typ="JWT")


@pytest.mark.parametrize(
    "typ", ["logout+jwt", "secevent+jwt", "dpop+jwt", "memory-gateway+jwt", "id_token", 5, ["JWT"]]
)
async def test_another_type_of_token_is_refused(typ: Any) -> None:
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(resigned(HEADER | {"typ": typ}, claims_of()), NOW)


@pytest.mark.parametrize("kid", ["two", "", 0, 1, ["one"], "one\0", "../one", "o" * 10_000])
async def test_a_token_of_no_known_key_is_refused(kid: Any) -> None:
    header = {name: value for name, value in (HEADER | {"kid": kid}).items() if value is not None}
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(resigned(header, claims_of()), NOW)


async def test_a_token_may_name_no_key_where_its_issuer_has_one_alone() -> None:
    unnamed = {name: value for name, value in HEADER.items() if name != "kid"}
    token = resigned(unnamed, claims_of())
    for jwk in (jwk_of("one"), {name: value for name, value in jwk_of("one").items() if name != "kid"}):
        assert (await tokens_of(MemoryIssuer(jwk, jwk_of("rsa", "RS256"))).verify(token, NOW)).tenant_id == "acme"
        for another in (jwk_of("two"), {name: value for name, value in jwk_of("two").items() if name != "kid"}):
            with pytest.raises(Unauthenticated):
                await tokens_of(MemoryIssuer(jwk, another)).verify(token, NOW)
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(resigned(unnamed, claims_of(), "another"), NOW)


@pytest.mark.parametrize("name", ["one", "another"])
@pytest.mark.parametrize("members", [{"jku": "https://evil.example/jwks"}, {"jwk": jwk_of("another")}, {"x5u": "x"}])
async def test_a_key_that_the_token_itself_names_is_not_looked_at(name: str, members: dict[str, Any]) -> None:
    token = resigned(HEADER | members, claims_of(), name)
    tokens = tokens_of(MemoryIssuer())
    if name == "one":
        assert (await tokens.verify(token, NOW)).tenant_id == "acme"
    else:
        with pytest.raises(Unauthenticated):
            await tokens.verify(token, NOW)


async def test_an_extension_that_has_to_be_understood_is_refused() -> None:
    header = HEADER | {"crit": ["b64"], "b64": False}
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(resigned(header, claims_of()), NOW)


@pytest.mark.parametrize(("algorithm", "digest"), [("HS256", "sha256"), ("HS512", "sha512")])
@pytest.mark.parametrize("secret_of", [pem_of, lambda name, _: pem_of(name, "RS256").strip(), lambda *_: b""])
async def test_the_public_key_is_never_taken_for_a_secret(
    algorithm: str, digest: str, secret_of: Callable[[str, str], bytes]
) -> None:
    secret = secret_of("one", "RS256")
    body = resigned({"alg": algorithm, "kid": "one", "typ": "at+jwt"}, claims_of()).rpartition(".")[0]
    signature = base64.urlsafe_b64encode(hmac.digest(secret, body.encode(), digest)).rstrip(b"=").decode()
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer(jwk_of("one", "RS256"))).verify(f"{body}.{signature}", NOW)


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "nOnE", "", "HS256", "ES256K", "PS256", None, 5, ["ES256"]]
)
async def test_a_token_that_is_not_signed_by_a_set_algorithm_is_refused(algorithm: Any) -> None:
    token = resigned(HEADER | {"alg": algorithm}, claims_of())
    issuer = MemoryIssuer()
    for changed in (token, f"{token.rpartition('.')[0]}."):
        with pytest.raises(Unauthenticated):
            await tokens_of(issuer).verify(changed, NOW)
    assert issuer.readings == 0


async def test_a_key_of_one_algorithm_does_not_verify_another() -> None:
    token = resigned(HEADER | {"alg": "PS256"}, claims_of(), "one", "RS256")
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer(jwk_of("one", "RS256")), algorithms=["RS256", "PS256"]).verify(token, NOW)


NO_CLAIMS: list[Any] = [[], None, "text", 5, {}, [claims_of()]]


@pytest.mark.parametrize(
    "token",
    [
        *("", ".", "..", "...", "a.b.c", "a.b", "e30.e30.e30", "nonsense", "\ud800", "é.é.é", "{}"),
        *(resigned(HEADER, body) for body in NO_CLAIMS),
        *(resigned(header, claims_of()) for header in ({}, {"kid": "one"})),
        "a" * 20_000,
        resigned(HEADER, claims_of(padding="a" * 20_000)),
        f"{resigned(HEADER, claims_of())}.e30",
        resigned(HEADER, claims_of())[:-3],
        resigned(HEADER, claims_of(), "another"),
    ],
    ids=lambda token: token[:20].encode("ascii", "backslashreplace").decode(),
)
async def test_what_is_no_signed_token_of_the_issuer_is_refused(token: str) -> None:
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(token, NOW)


async def test_claims_that_were_changed_after_signing_are_refused() -> None:
    head, _, signature = token_of(claims_of()).split(".")
    body = token_of(claims_of(tenant="globex")).split(".")[1]
    with pytest.raises(Unauthenticated):
        await tokens_of(MemoryIssuer()).verify(f"{head}.{body}.{signature}", NOW)


async def test_a_token_holds_from_its_first_to_its_last_moment_with_the_skew_however_often_it_is_asked() -> None:
    start = NOW // 1000
    token = token_of(claims_of(iat=start, nbf=start + 10, exp=start + 300))
    tokens = tokens_of(MemoryIssuer())
    for _ in range(2):
        for seconds, holds in ((-51, False), (-50, True), (0, True), (359, True), (360, False)):
            if holds:
                assert (await tokens.verify(token, NOW + seconds * SECOND)).tenant_id == "acme"
            else:
                with pytest.raises(Unauthenticated):
                    await tokens.verify(token, NOW + seconds * SECOND)


async def test_a_remembered_token_holds_no_longer_than_its_key() -> None:
    issuer, clock = MemoryIssuer(), Seconds()
    tokens = tokens_of(issuer, clock=clock)
    token = token_of(claims_of())
    assert (await tokens.verify(token, NOW)).tenant_id == "acme"
    issuer.jwks = [jwk_of("another", kid="one")]
    clock.now += 3600
    with pytest.raises(Unauthenticated):
        await tokens.verify(token, NOW)
    issuer.failure = UpstreamTimeout("The issuer did not answer.")
    clock.now += 3600
    with pytest.raises(IssuerUnavailable):
        await tokens.verify(token, NOW)


@pytest.mark.parametrize(
    ("claims", "credential_id", "token_id"),
    [
        ({"sub": "auth0|5"}, "oidc:sha256:", "oidc-token:token-1"),
        ({"sub": "a" * 200}, "oidc:sha256:", "oidc-token:token-1"),
        ({"sub": "sha256:a"}, "oidc:sha256:", "oidc-token:token-1"),
        ({"jti": "a/b"}, "oidc:ann", "oidc-token:sha256:"),
        ({"jti": None}, "oidc:ann", "oidc-token:sha256:"),
        ({"sub": None}, "oidc-token:token-1", "oidc-token:token-1"),
        ({"sub": None, "common_name": "robot.access"}, "oidc:robot.access", "oidc-token:token-1"),
    ],
)
async def test_odd_ids_become_ids_of_this_service(claims: dict[str, Any], credential_id: str, token_id: str) -> None:
    found = await principal(claims_of(**claims))
    assert found.credential_id is not None
    assert found.token_id is not None
    assert found.credential_id.startswith(credential_id)
    assert found.token_id.startswith(token_id)
    assert max(len(found.credential_id), len(found.token_id)) <= 64


async def test_two_tokens_without_an_id_have_two() -> None:
    first, second = [await principal(claims_of(jti=None, n=number)) for number in range(2)]
    assert first.token_id != second.token_id
    assert first.credential_id == second.credential_id


@pytest.mark.parametrize(
    "tenant", [None, "", "a/b", "a" * 65, 5, True, ["acme", "globex"], [], {"id": "acme"}, ["acme", 1]]
)
async def test_a_claim_that_maps_to_no_tenant_is_forbidden_and_named(tenant: Any) -> None:
    with pytest.raises(Forbidden, match="claim 'tenant' maps to no tenant"):
        await principal(claims_of(tenant=tenant))


TABLE = ClaimMapping(
    tenant=("org.id",),
    tenants={"org_1": "acme", "org_2": "globex", "org_3": "acme"},
    scope=("roles",),
    scopes={"reader": frozenset({"read"}), "writer": frozenset({"read", "write"}), "boss": frozenset({"admin"})},
)


@pytest.mark.parametrize("org", ["org_1", ["org_1"], ["org_1", "org_3"], ["org_1", "unknown"]])
async def test_a_table_maps_values_of_a_claim_in_an_object(org: Any) -> None:
    found = await principal(claims_of(org={"id": org}, roles=["writer", "boss", "unknown"]), TABLE)
    assert (found.tenant_id, found.admin) == ("acme", True)


@pytest.mark.parametrize("org", ["acme", "ORG_1", "org_1 ", ["org_1", "org_2"], None, "*", {"id": "org_1"}])
async def test_a_value_that_no_table_has_or_several_tenants_is_forbidden(org: Any) -> None:
    with pytest.raises(Forbidden):
        await principal(claims_of(org={"id": org}, roles=["writer"]), TABLE)


async def test_a_claim_of_the_whole_name_counts_before_what_its_dots_lead_to() -> None:
    claims = claims_of(org={"id": "org_2"}, roles=["writer"]) | {"org.id": "org_1"}
    assert (await principal(claims, TABLE)).tenant_id == "acme"


EMAIL = ClaimMapping(
    tenant=("email",),
    tenants={"ann@acme.example": "acme", "@globex.example": "globex", "*": "rest"},
    scope=("scope",),
    scopes=SCOPES,
)


@pytest.mark.parametrize(
    ("claims", "tenant"),
    [
        ({"email": "ann@acme.example", "email_verified": True}, "acme"),
        ({"email": "Ann@Acme.example", "email_verified": True}, "acme"),
        ({"email": "x@globex.example", "email_verified": True}, "globex"),
        ({"email": "x@acme.example@globex.example", "email_verified": True}, "globex"),
        ({"email": "x@sub.globex.example", "email_verified": True}, "rest"),
        ({"email": "ann@acme.example", "email_verified": "true"}, "rest"),
        ({"email": "ann@acme.example", "email_verified": False}, "rest"),
        ({"email": "ann@acme.example"}, "rest"),
        ({}, "rest"),
    ],
    ids=str,
)
async def test_an_address_counts_only_where_the_issuer_has_verified_it(claims: dict[str, Any], tenant: str) -> None:
    assert (await principal(claims_of(**claims), EMAIL)).tenant_id == tenant


@pytest.mark.parametrize(
    "scope", [None, "", "read", "openid", "memory", "MEMORY:READ", "memory:reader", 5, {"memory:read": 1}, [1]]
)
async def test_a_token_whose_scopes_do_not_reach_memories_is_forbidden(scope: Any) -> None:
    with pytest.raises(Forbidden):
        await principal(claims_of(scope=scope))


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("memory:read", {"read"}),
        ("openid memory:write", {"write"}),
        ("memory:read memory:write", {"read", "write"}),
        (["memory:read", "memory:write"], {"read", "write"}),
        ("memory:admin", {"read", "write", "admin"}),
        (["memory:read memory:admin", "memory:read"], {"read"}),
    ],
)
async def test_a_token_gives_what_its_scopes_map_to(scope: Any, given: set[str]) -> None:
    assert (await principal(claims_of(scope=scope))).scopes == given


@pytest.mark.parametrize("tenant", ["memory-gateway.doctor", "memory-gateway:probe"])
async def test_no_claim_leads_into_a_tenant_of_the_service_itself(tenant: str) -> None:
    with pytest.raises(Forbidden):
        await principal(claims_of(tenant=tenant))


@pytest.mark.parametrize(
    ("value", "agent"),
    [
        ("bot", "bot"),
        ("ann@acme.example", "ann:40acme.example"),
        ("team:bot", "team:3abot"),
        ("auth0|5", "auth0:7c5"),
        ("åsa", ":c3:a5sa"),
        (["bot"], "bot"),
    ],
)
async def test_an_agent_is_named_by_its_claim_and_no_two_values_are_one_agent(value: Any, agent: str) -> None:
    mapping = ClaimMapping(tenant=("tenant",), scope=("scope",), scopes=SCOPES, agent=("agent",))
    assert (await principal(claims_of(agent=value), mapping)).agent_id == agent


@pytest.mark.parametrize("value", [None, "", 5, "a" * 65, "å" * 20, ["a", "b"], [], {"a": 1}])
async def test_a_token_without_its_agent_is_forbidden_and_never_for_all_agents(value: Any) -> None:
    mapping = ClaimMapping(tenant=("tenant",), scope=("scope",), scopes=SCOPES, agent=("agent",))
    with pytest.raises(Forbidden, match="claim 'agent' names no agent"):
        await principal(claims_of(agent=value), mapping)


@pytest.mark.parametrize(
    ("claims", "agent"),
    [
        ({"email": "Ann@Acme.example", "email_verified": True}, "ann:40acme.example"),
        ({"email": "ann@acme.example", "email_verified": False}, None),
        ({"email": "ann@acme.example"}, None),
    ],
    ids=str,
)
async def test_an_address_is_an_agent_only_where_the_issuer_has_verified_it(
    claims: dict[str, Any], agent: str | None
) -> None:
    mapping = ClaimMapping(tenant=("tenant",), scope=("scope",), scopes=SCOPES, agent=("email",))
    if agent is None:
        with pytest.raises(Forbidden):
            await principal(claims_of(**claims), mapping)
    else:
        assert (await principal(claims_of(**claims), mapping)).agent_id == agent


@pytest.mark.parametrize("address", ["mar\u212a@acme.example", "\u212aim@acme.example"])
async def test_an_address_with_other_letters_is_nobody_else_s(address: str) -> None:
    tenants = {"mark@acme.example": "acme", "kim@acme.example": "acme"}
    mapping = ClaimMapping(("email",), ("scope",), SCOPES, tenants, agent=("email",))
    claims: dict[str, Any] = {"email": address, "email_verified": True}
    with pytest.raises(Forbidden, match="maps to no tenant"):
        await principal(claims_of(**claims), mapping)
    anyone = replace(mapping, tenants={"*": "acme"})
    assert (await principal(claims_of(**claims), anyone)).agent_id not in {"mark:40acme.example", "kim:40acme.example"}


async def test_an_address_with_spaces_has_no_scopes_of_another_one() -> None:
    scopes = {"*": SCOPES["memory:read"], "boss@acme.example": SCOPES["memory:admin"]}
    mapping = ClaimMapping(("email",), ("email",), scopes, {"*": "acme"})
    claims: dict[str, Any] = {"email": '"x boss@acme.example y"@evil.example', "email_verified": True}
    assert (await principal(claims_of(**claims), mapping)).scopes == {"read"}


@pytest.mark.parametrize("name", ["client_id", "azp"])
async def test_the_tokens_of_a_client_without_a_subject_are_one_credential(name: str) -> None:
    client: dict[str, Any] = {name: "robot", "sub": None}
    ids = {(await principal(claims_of(jti=jti, **client))).credential_id for jti in ("a", "b")}
    assert ids == {"oidc:robot"}
