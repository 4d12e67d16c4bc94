"""Credentials: signed JSON Web Tokens that name the tenant (RFC 7519; docs/architecture.md)."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

import jwt
import structlog
from jwt.types import Options
from ulid import ULID

from app.domain.author import Author, WriteChannel
from app.domain.errors import Forbidden, Unauthenticated
from app.domain.limits import is_id
from app.domain.moments import moment

_ALGORITHM = "HS256"
# What a token of another kind or for another service lacks, even where it is signed with the same secret (RFC 8725,
# 3.8, 3.9 and 3.11).
_TYPE = "memory-gateway+jwt"
_NAME = "memory-gateway"
# Times are checked here, against the same clock for a credential seen before and for a new one.
_CHECKED_HERE: Options = {
    "require": ["tenant", "scope", "iss", "aud", "jti", "iat"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
_MAX_SPEAKERS = 20
_REMEMBERED = 1024
"""How many credentials are kept verified: a signature need not be checked twice."""
_MEMORY, _ADMIN = "memory", "admin"
CHALLENGE = 'Bearer realm="memory-gateway"'
"""What a refusal asks for, in the header ``WWW-Authenticate``."""
SCOPES = (_MEMORY, _ADMIN)
"""What a credential may be good for."""
DEFAULT_SECONDS = 90 * 24 * 3600
"""How long a credential holds where nothing else is asked for."""
REFUSED = (
    "Send a credential that holds: Authorization: Bearer <token>. There is none, or it has expired or was revoked, or "
    "it was minted with another secret than this service has: run memory-gateway token with the DATA_DIR or "
    "AUTH_SECRETS of the service."
)
"""The text of every refusal: it does not tell how far a guess has come. The request's line in the log does."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, as the credential says and nothing else does.

    ``agent_id`` is the only agent the credential is good for, or None for all of the tenant's. ``credential_id`` is
    None where there is no credential: for a tool server that works on its own data.
    """

    tenant_id: str
    agent_id: str | None = None
    admin: bool = False
    credential_id: str | None = None
    issued_at: int | None = None
    """Milliseconds since the epoch; None where there is no credential."""
    speakers: frozenset[str] | None = None
    """For whom it may speak, in lower case; None: for anybody."""
    may_be_revoked: bool = False
    """Whether it was not asked for revocations, since the service was not ready."""

    def author(self, channel: WriteChannel) -> Author:
        """Return who writes, where this principal writes by a channel."""
        return Author(
            self.credential_id,
            channel,
            self.issued_at,
            may_replace=self.admin,
            speakers=self.speakers,
            may_be_revoked=self.may_be_revoked,
            agent_id=self.agent_id,
        )

    def check_agent(self, agent_id: str) -> None:
        """Raise ``Forbidden`` unless the credential is good for this agent."""
        if self.agent_id is not None and agent_id != self.agent_id:
            raise Forbidden(
                f"The credential is for the agent {self.agent_id}, and the request is for {agent_id}. "
                f"Name {self.agent_id}, or use a credential that was minted with --agent {agent_id}."
            )

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
            raise Forbidden(
                "This needs a credential with the scope 'memory admin': "
                f"memory-gateway token --tenant {self.tenant_id} --admin makes one."
            )


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
        seconds: int | None = DEFAULT_SECONDS,
        speakers: Sequence[str] | None = None,
    ) -> str:
        """Sign a credential that holds for ``seconds`` from ``now`` (ms since the epoch); None: for good.

        Where ``speakers`` are given, it may write memories of these speakers only that count as theirs.
        """
        claims: dict[str, Any] = {
            "iss": _NAME,
            "aud": _NAME,
            "jti": str(ULID.from_datetime(moment(now))),
            "iat": now // 1000,
            "tenant": tenant_id,
            "scope": f"{_MEMORY} {_ADMIN}" if admin else _MEMORY,
        }
        if agent_id is not None:
            claims["agent"] = agent_id
        if seconds is not None:
            claims["exp"] = now // 1000 + seconds
        if speakers is not None:
            claims["speakers"] = list(speakers)
        kid, secret = next(iter(self._secrets.items()))
        return jwt.encode(claims, secret, algorithm=_ALGORITHM, headers={"kid": kid, "typ": _TYPE})

    def verify_header(self, authorization: Sequence[str], now: int) -> Principal:
        """Return who a request's ``Authorization`` headers speak for; raises as ``verify`` does, unless it is one."""
        if len(authorization) > 1:  # a proxy and this service may not take the same one
            raise refused("more than one Authorization header")
        scheme, _, token = "".join(authorization).partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise refused("no bearer token")
        return self.verify(token, now)

    def tenant_seen(self, authorization: Sequence[str]) -> str | None:
        """Return whose credential a header has, if it has been verified before; it may hold no longer."""
        verified = self._verified.get("".join(authorization).partition(" ")[2])
        return None if verified is None else verified.principal.tenant_id

    def verify(self, token: str, now: int) -> Principal:
        """Return who the credential speaks for at ``now`` (ms since the epoch).

        Raises:
            Unauthenticated: it is malformed, unsigned, signed otherwise, of another service, expired or incomplete.
            Forbidden: it holds, but not for memories.
        """
        verified = self._verified.get(token)
        if verified is None:
            verified = _verify(token, self._secrets)
            if len(self._verified) >= _REMEMBERED:
                self._verified.pop(next(iter(self._verified)))
            self._verified[token] = verified
        if now >= verified.expires_at:
            raise refused("it has expired")
        if now < verified.not_before:
            raise refused("it does not hold yet")
        return verified.principal


@dataclass(frozen=True, slots=True)
class _Verified:
    """A credential whose signature and claims hold, and between which moments (ms since the epoch)."""

    principal: Principal
    not_before: float
    expires_at: float


def refused(reason: str) -> Unauthenticated:
    """Return the refusal of a credential; the reason is for the log alone."""
    structlog.contextvars.bind_contextvars(refused=reason)
    return Unauthenticated(REFUSED)


def _verify(token: str, secrets: Mapping[str, str]) -> _Verified:
    try:
        header = jwt.get_unverified_header(token)
        if header.get("typ") != _TYPE:
            raise refused("its header names another type of token, or none")
        secret = secrets.get(header.get("kid", ""))
        if secret is None:
            raise refused("its kid is none of AUTH_SECRETS")
        claims = jwt.decode(token, secret, algorithms=[_ALGORITHM], options=_CHECKED_HERE, issuer=_NAME, audience=_NAME)
    except jwt.InvalidTokenError as error:
        raise refused(f"it does not hold: {type(error).__name__}") from error
    return _Verified(_principal(claims), _moment(claims, "nbf", -inf), _moment(claims, "exp", inf))


def _moment(claims: Mapping[str, Any], name: str, default: float) -> float:
    """Return a claim in seconds as milliseconds."""
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused(f"its {name} is not a number")
    if isnan(value):  # which is neither before nor after any moment
        raise refused(f"its {name} is no moment")
    return value * 1000


def _principal(claims: Mapping[str, Any]) -> Principal:
    tenant_id, agent_id, credential_id = claims["tenant"], claims.get("agent"), claims["jti"]
    for name, id_ in (("tenant", tenant_id), ("jti", credential_id)):
        if not is_id(id_):
            raise refused(f"it names no valid {name}")
    if agent_id is not None and not is_id(agent_id):
        raise refused("it names no valid agent")
    issued_at = _moment(claims, "iat", 0)
    if not isfinite(issued_at):
        raise refused("its iat is no moment")
    scopes = claims["scope"].split() if isinstance(claims["scope"], str) else []
    if _MEMORY not in scopes:
        raise Forbidden("The credential's scope does not include 'memory'.")
    return Principal(tenant_id, agent_id, _ADMIN in scopes, credential_id, int(issued_at), _speakers(claims))


def _speakers(claims: Mapping[str, Any]) -> frozenset[str] | None:
    speakers = claims.get("speakers")
    if speakers is None:
        return None
    if not isinstance(speakers, list) or len(speakers) > _MAX_SPEAKERS or not all(isinstance(s, str) for s in speakers):
        raise refused("its speakers are no list of names")
    return frozenset(speaker.strip().lower() for speaker in speakers)
