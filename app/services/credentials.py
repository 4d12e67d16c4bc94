"""Credentials: signed JSON Web Tokens that name the tenant (RFC 7519; docs/architecture.md)."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import jwt
from jwt.types import Options

from app.domain.errors import Forbidden, Unauthenticated
from app.domain.limits import is_id

_ALGORITHM = "HS256"
# Times are checked here, against the same clock for a credential seen before and for a new one.
_CHECKED_HERE: Options = {
    "require": ["tenant", "scope"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
_REMEMBERED = 1024
"""How many credentials are kept verified: a signature need not be checked twice."""
_MEMORY, _ADMIN = "memory", "admin"
CHALLENGE = 'Bearer realm="memory-gateway"'
"""What a refusal asks for, in the header ``WWW-Authenticate``."""
SCOPES = (_MEMORY, _ADMIN)
"""What a credential may be good for."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, as the credential says and nothing else does.

    ``agent_id`` is the only agent the credential is good for, or None for all of the tenant's.
    """

    tenant_id: str
    agent_id: str | None = None
    admin: bool = False

    def check_agent(self, agent_id: str) -> None:
        """Raise ``Forbidden`` unless the credential is good for this agent."""
        if self.agent_id is not None and agent_id != self.agent_id:
            raise Forbidden("The credential is for another agent.")

    def check_every_agent(self) -> None:
        """Raise ``Forbidden`` unless the credential is good for all of the tenant's agents."""
        if self.agent_id is not None:
            raise Forbidden("The credential is for one agent alone.")

    def readable(self, agent_id: str | None) -> str | None:
        """Return whose memories may be looked at where these are asked for (None: all); None stands for all of them.

        An administrator may look at all that the credential is good for, anyone else at the agent it names.

        Raises:
            Forbidden: the credential does not reach so far.
        """
        if self.agent_id is None:
            self.check_admin()
            return agent_id
        self.check_agent(self.agent_id if agent_id is None else agent_id)
        return self.agent_id

    def check_admin(self) -> None:
        """Raise ``Forbidden`` unless the credential has the admin scope."""
        if not self.admin:
            raise Forbidden("This needs a credential with the scope 'memory admin'.")


class Credentials:
    """Issues and verifies credentials with a set of secrets, so that one can be rotated while both hold."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Take secrets by ``kid``; the first signs, all verify."""
        self._secrets = dict(secrets)
        self._verified: dict[str, _Verified] = {}

    def keys(self, purpose: str) -> list[bytes]:
        """Derive a key from each secret that is good for one purpose alone; the first signs, all verify."""
        return [hmac.digest(secret.encode(), purpose.encode(), "sha256") for secret in self._secrets.values()]

    def issue(
        self,
        tenant_id: str,
        *,
        now: int,
        agent_id: str | None = None,
        admin: bool = False,
        seconds: int | None = None,
    ) -> str:
        """Sign a credential that holds for ``seconds`` from ``now`` (ms since the epoch), or for good."""
        claims: dict[str, Any] = {
            "tenant": tenant_id,
            "scope": f"{_MEMORY} {_ADMIN}" if admin else _MEMORY,
            "iat": now // 1000,
        }
        if agent_id is not None:
            claims["agent"] = agent_id
        if seconds is not None:
            claims["exp"] = now // 1000 + seconds
        kid, secret = next(iter(self._secrets.items()))
        return jwt.encode(claims, secret, algorithm=_ALGORITHM, headers={"kid": kid})

    def verify_header(self, authorization: Sequence[str], now: int) -> Principal:
        """Return who a request's ``Authorization`` headers speak for; raises as ``verify`` does, unless it is one."""
        if len(authorization) > 1:  # a proxy and this service may not take the same one
            raise Unauthenticated("Send one credential, in one Authorization header.")
        scheme, _, token = "".join(authorization).partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated("Send a credential: Authorization: Bearer <token>.")
        return self.verify(token, now)

    def verify(self, token: str, now: int) -> Principal:
        """Return who the credential speaks for at ``now`` (ms since the epoch).

        Raises:
            Unauthenticated: it is malformed, unsigned, signed otherwise, expired or incomplete.
            Forbidden: it holds, but not for memories.
        """
        verified = self._verified.get(token)
        if verified is None:
            verified = _verify(token, self._secrets)
            if len(self._verified) >= _REMEMBERED:
                self._verified.pop(next(iter(self._verified)))
            self._verified[token] = verified
        if now >= verified.expires_at:
            raise Unauthenticated("The credential has expired.")
        if now < verified.not_before:
            raise Unauthenticated("The credential does not hold yet.")
        return verified.principal


@dataclass(frozen=True, slots=True)
class _Verified:
    """A credential whose signature and claims hold, and between which moments (ms since the epoch)."""

    principal: Principal
    not_before: float
    expires_at: float


def _verify(token: str, secrets: Mapping[str, str]) -> _Verified:
    try:
        secret = secrets.get(jwt.get_unverified_header(token).get("kid", ""))
        if secret is None:
            raise Unauthenticated("The credential is signed with a key this service does not know.")
        claims = jwt.decode(token, secret, algorithms=[_ALGORITHM], options=_CHECKED_HERE)
    except jwt.InvalidTokenError as error:
        raise Unauthenticated("The credential does not hold.") from error
    return _Verified(_principal(claims), _moment(claims, "nbf", -inf), _moment(claims, "exp", inf))


def _moment(claims: Mapping[str, Any], name: str, default: float) -> float:
    """Return a claim in seconds as milliseconds."""
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unauthenticated(f"The credential's {name} is not a number.")
    if isnan(value):  # which is neither before nor after any moment
        raise Unauthenticated(f"The credential's {name} is no moment.")
    return value * 1000


def _principal(claims: Mapping[str, Any]) -> Principal:
    tenant_id, agent_id, scope = claims["tenant"], claims.get("agent"), claims["scope"]
    if not is_id(tenant_id):
        raise Unauthenticated("The credential names no valid tenant.")
    if agent_id is not None and not is_id(agent_id):
        raise Unauthenticated("The credential names no valid agent.")
    scopes = scope.split() if isinstance(scope, str) else []
    if _MEMORY not in scopes:
        raise Forbidden("The credential's scope does not include 'memory'.")
    return Principal(tenant_id, agent_id, admin=_ADMIN in scopes)
