"""Verifies the tokens of an issuer, which are signed with its keys (RFC 7519, 8725, 9068)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import jwt
from jwt.types import Options

from app.domain.errors import Forbidden
from app.domain.limits import is_id
from app.services.access.claims import ClaimMapping
from app.services.access.credentials import Principal, refused
from app.services.access.issuer_keys import IssuerKeys, PublicKey
from app.services.access.scopes import CLAIM_OF, granted

_MAX_CHARACTERS = 16 * 1024
_REMEMBERED = 1024
"""Verified tokens that are remembered: their signatures need not be checked twice."""
_TYPES = {"jwt", "at+jwt", "application/at+jwt", ""}
"""Types of token that are taken, in lower case: access tokens, and tokens of older issuers, which name no kind."""
_ACCESS_TYPES = {"at+jwt", "application/at+jwt"}
_CHECKED_HERE: Options = {
    "require": ["iss", "aud", "exp", "iat"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
_LAST_MOMENT = 253_402_300_799
"""The end of the year 9999, in seconds since the epoch."""
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class _VerifiedToken:
    """A token whose signature and claims hold, with the moments between which it does (ms since the epoch)."""

    principal: Principal
    kid: str | None
    algorithm: str
    key: PublicKey
    not_before: float
    expires_at: float


class IssuerTokens:
    """Verifies the tokens of one issuer, and makes principals of them."""

    def __init__(
        self,
        keys: IssuerKeys,
        mapping: ClaimMapping,
        *,
        audiences: Sequence[str],
        algorithms: Sequence[str],
        skew_seconds: int,
        kind: str = "oidc",
    ) -> None:
        """Take the issuer's keys and what its claims mean; ``kind`` begins the ids of its principals."""
        self.keys = keys
        self.mapping = mapping
        self._audiences = list(audiences)
        self._algorithms = frozenset(algorithms)
        self._skew = skew_seconds * 1000
        self._kind = kind
        self._verified: dict[str, _VerifiedToken] = {}

    def takes(self, token: str) -> bool:
        """Tell whether a token says that the issuer has issued it, which is not verified here."""
        if token in self._verified:
            return True
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            return False
        return claims.get("iss") == self.keys.issuer.url

    def seen(self, token: str) -> Principal | None:
        """Return the principal of a token, which may have expired; None if it was not verified before."""
        verified = self._verified.get(token)
        return None if verified is None else verified.principal

    async def verify(self, token: str, now: int) -> Principal:
        """Return the principal of a token at ``now`` (ms since the epoch).

        Raises:
            Unauthenticated: the token is malformed, no access token, not signed by the issuer, for another audience,
                expired, not valid yet or incomplete.
            Forbidden: the token holds, but its claims map to no tenant, no agent or no scope.
            IssuerUnavailable: the issuer's keys are not known, and it does not answer.
        """
        verified = self._verified.get(token)
        kid, algorithm, typ = (verified.kid, verified.algorithm, "") if verified else self._header(token)
        key = await self.keys.find(kid, algorithm)
        if verified is None or verified.key is not key:  # a key that was replaced or withdrawn verifies nothing more
            claims = _decoded(token, key, algorithm, self.keys.issuer.url, self._audiences)
            if typ not in _ACCESS_TYPES and _is_id_token(claims):
                raise refused("it is an ID token")
            times = self._times(claims)
            principal = replace(self.principal(claims, token), expires_at=int(times[1]))
            verified = _VerifiedToken(principal, kid, algorithm, key, *times)
            if len(self._verified) >= _REMEMBERED:
                self._verified.pop(next(iter(self._verified)))
            self._verified[token] = verified
        _check_times(verified.not_before, verified.expires_at, now)
        return verified.principal

    async def id_claims(self, token: str, client_id: str, now: int) -> Mapping[str, Any]:
        """Return the claims of an ID token for a client; raises as ``verify`` does, but never ``Forbidden``."""
        kid, algorithm, typ = self._header(token)
        if typ in _ACCESS_TYPES:
            raise refused("it is no ID token")
        claims = _decoded(token, await self.keys.find(kid, algorithm), algorithm, self.keys.issuer.url, [client_id])
        _check_times(*self._times(claims), now)
        of_others = claims["aud"] not in (client_id, [client_id]) and "azp" not in claims
        if of_others or claims.get("azp", client_id) != client_id:
            raise refused("it is for another client")
        return claims

    def principal(self, claims: Mapping[str, Any], token: str) -> Principal:
        """Return the principal of verified claims; raises ``Forbidden`` where they map to none."""
        tenant_id, agent_id = self.mapping.tenant_of(claims), self.mapping.agent_of(claims)
        scopes = granted(self.mapping.scopes_of(claims))
        if not scopes:
            raise Forbidden("The token holds, but none of its scopes is for memories.", scope=CLAIM_OF["read"])
        token_id = self._id("-token", claims.get("jti") or sha256(token.encode()).hexdigest())
        # Some issuers give a client that acts for nobody no subject. Each of its tokens has another id.
        named = (claims.get(name) for name in ("sub", "common_name", "client_id", "azp"))
        subject = next((name for name in named if name and isinstance(name, str)), None)
        credential_id = token_id if subject is None else self._id("", subject)
        issued_at = int(claims["iat"] * 1000)
        return Principal(tenant_id, agent_id, scopes, credential_id, issued_at, token_id=token_id)

    def _id(self, part: str, value: str) -> str:
        """Return an id of the kind of this issuer, which no credential of this service has."""
        id_ = f"{self._kind}{part}:{value}"
        if _PLAIN.fullmatch(value) and is_id(id_):
            return id_
        return f"{self._kind}{part}:sha256:{sha256(value.encode()).hexdigest()[:40]}"

    def _header(self, token: str) -> tuple[str | None, str, str]:
        """Return the id of a token's key, if it names one, its algorithm and its type; raises ``Unauthenticated``."""
        if len(token) > _MAX_CHARACTERS:
            raise refused("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.InvalidTokenError, ValueError, RecursionError) as error:
            raise refused(f"it does not hold: {type(error).__name__}") from error
        kid, algorithm, typ = header.get("kid"), header.get("alg"), header.get("typ", "")
        if not isinstance(typ, str) or typ.lower() not in _TYPES:
            raise refused("its header names another type of token")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise refused("its algorithm is none of OIDC_ALGORITHMS")
        if kid is not None and not isinstance(kid, str):
            raise refused("its kid is no text")
        return kid, algorithm, typ.lower()

    def _times(self, claims: Mapping[str, Any]) -> tuple[float, float]:
        """Return from when on and until when a token holds, with the skew of the clocks (ms since the epoch)."""
        issued_at, expires_at = _moment(claims, "iat"), _moment(claims, "exp")
        not_before = max(issued_at, _moment(claims, "nbf")) if "nbf" in claims else issued_at
        return not_before - self._skew, expires_at + self._skew


def _decoded(token: str, key: PublicKey, algorithm: str, issuer: str, audiences: Sequence[str]) -> Mapping[str, Any]:
    try:
        claims: dict[str, Any] = jwt.decode(
            token, key, algorithms=[algorithm], options=_CHECKED_HERE, issuer=issuer, audience=audiences
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise refused(f"it does not hold: {type(error).__name__}") from error
    return claims


def _is_id_token(claims: Mapping[str, Any]) -> bool:
    """Tell whether claims are those of an ID token, as far as its issuer shows it."""
    return "at_hash" in claims or "c_hash" in claims or claims.get("typ") == "ID" or claims.get("token_use") == "id"


def _moment(claims: Mapping[str, Any], name: str) -> float:
    """Return a claim in seconds as milliseconds."""
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_MOMENT:
        raise refused(f"its {name} is no moment")
    return value * 1000


def _check_times(not_before: float, expires_at: float, now: int) -> None:
    if now >= expires_at:
        raise refused("it has expired")
    if now < not_before:
        raise refused("it does not hold yet")
