"""An issuer in memory: its keys, the tokens that it signs, and how it fails."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from app.domain.errors import Unavailable
from app.ports.issuer import CodeGrant, CodeRefused, IssuerDocument, Jwk
from app.services.access.claims import ClaimMapping
from app.services.access.issuer_keys import IssuerKeys
from app.services.access.issuer_tokens import IssuerTokens
from app.services.access.scopes import ACCESS_SCOPES, AccessScope
from tests.support.service import NOW

URL = "https://issuer.example"
AUDIENCE = "https://memory.example/mcp"
SCOPES: dict[str, frozenset[AccessScope]] = {f"memory:{scope}": frozenset({scope}) for scope in ACCESS_SCOPES}
MAPPING = ClaimMapping(tenant=("tenant",), scope=("scope",), scopes=SCOPES)
ALGORITHMS = ("RS256", "ES256")
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def private_key(name: str, algorithm: str = "ES256") -> PrivateKey:
    """Return the key of a name, always the same; those of RSA take long to make."""
    del name
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP384R1() if algorithm == "ES384" else ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate() if algorithm == "EdDSA" else rsa.generate_private_key(65537, 2048)


def jwk_of(name: str, algorithm: str = "ES256", **members: Any) -> dict[str, Any]:
    """Return the public key of a name as an issuer publishes it."""
    public = private_key(name, algorithm).public_key()
    form: Any = jwt.get_algorithm_by_name(algorithm)
    return {**form.to_jwk(public, as_dict=True), "kid": name, "use": "sig", "alg": algorithm, **members}


def pem_of(name: str, algorithm: str = "ES256") -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return private_key(name, algorithm).public_key().public_bytes(serialization.Encoding.PEM, form)


def claims_of(now: int = NOW, **claims: Any) -> dict[str, Any]:
    """Return the claims of a token that holds now (ms), with others in their place; a claim of None is left out."""
    usual = {
        "iss": URL,
        "aud": AUDIENCE,
        "sub": "ann",
        "jti": "token-1",
        "iat": now // 1000 - 10,
        "exp": now // 1000 + 300,
        "tenant": "acme",
        "scope": "memory:read memory:write",
    }
    return {name: value for name, value in (usual | claims).items() if value is not None}


def token_of(claims: Mapping[str, Any], *, key: str = "one", algorithm: str = "ES256", **header: Any) -> str:
    """Sign claims by the key of a name; a member of the header of None is left out."""
    members = {"alg": algorithm, "kid": key, "typ": "at+jwt", **header}
    return resigned({name: value for name, value in members.items() if value is not None}, claims, key, algorithm)


def resigned(header: Mapping[str, Any], claims: Any, key: str = "one", algorithm: str = "ES256") -> str:
    """Sign any header and any claims by the key of a name, whatever the header says."""
    body = b".".join(_part(part) for part in (header, claims))
    form: Any = jwt.get_algorithm_by_name(algorithm)
    return b".".join([body, _base64(form.sign(body, private_key(key, algorithm)))]).decode()


def _part(value: Any) -> bytes:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


class MemoryIssuer:
    """The ``Issuer`` port in memory. ``failure`` is raised in place of an answer, and readings are counted."""

    def __init__(self, *jwks: Jwk, url: str = URL) -> None:
        self.url = url
        self.jwks: Sequence[Jwk] = jwks or (jwk_of("one"),)
        self.document = IssuerDocument((), f"{url}/authorize", f"{url}/token")
        """What is published beside the keys."""
        self.failure: Unavailable | None = None
        self.readings = 0
        self.codes: dict[str, Mapping[str, Any]] = {}
        self.grants: list[CodeGrant] = []
        self.wait: Callable[[], Any] | None = None

    async def read(self) -> IssuerDocument:
        self.readings += 1
        if self.wait is not None:
            await self.wait()
        if self.failure is not None:
            raise self.failure
        return replace(self.document, keys=self.jwks)

    async def redeem(self, document: IssuerDocument, grant: CodeGrant) -> Mapping[str, Any]:
        assert document.token_endpoint == f"{self.url}/token"
        self.grants.append(grant)
        if self.failure is not None:
            raise self.failure
        if grant.code not in self.codes:
            raise CodeRefused
        return self.codes.pop(grant.code)

    async def close(self) -> None:
        return None


class Seconds:
    """A clock of seconds that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def keys_of(issuer: MemoryIssuer, clock: Callable[[], float], algorithms: Sequence[str] = ALGORITHMS) -> IssuerKeys:
    return IssuerKeys(issuer, algorithms, max_age_seconds=3600, clock=clock)


def tokens_of(
    issuer: MemoryIssuer,
    mapping: ClaimMapping = MAPPING,
    *,
    clock: Callable[[], float] | None = None,
    algorithms: Sequence[str] = ALGORITHMS,
    kind: str = "oidc",
    audience: str = AUDIENCE,
) -> IssuerTokens:
    """Return what verifies the tokens of an issuer, with a minute of skew."""
    keys = keys_of(issuer, clock or Seconds(), algorithms)
    return IssuerTokens(keys, mapping, audiences=[audience], algorithms=algorithms, skew_seconds=60, kind=kind)
