"""Credentials with any claims, signed by the secret of the tests."""

from typing import Any

import jwt

from tests.support.service import SECRETS

TYPE = "memory-gateway+jwt"
CLAIMS = {
    "iss": "memory-gateway",
    "aud": "memory-gateway",
    "jti": "credential-1",
    "iat": 1_700_000_000,
    "tenant": "acme",
    "scope": "memory",
}


def sign(
    claims: dict[str, Any],
    secret: str = SECRETS["test"],
    *,
    kid: str | None = "test",
    algorithm: str = "HS256",
    typ: str = TYPE,
) -> str:
    return jwt.encode(claims, secret, algorithm=algorithm, headers={"typ": typ} | ({"kid": kid} if kid else {}))
