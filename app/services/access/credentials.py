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
from app.domain.canaries import PROBE_TENANT, RESERVED_AGENTS
from app.domain.errors import Forbidden, Unauthenticated
from app.domain.limits import MAX_SPEAKERS, is_id
from app.domain.moments import moment
from app.services.access.scopes import (
    ADMIN_WORD,
    CLAIM_OF,
    CLAIMS,
    DEFAULT_SECONDS,
    EVERY_SCOPE,
    READ_WRITE,
    WORDS,
    AccessScope,
    CredentialWanted,
)

_ALGORITHM = "HS256"
# A token of another kind, or for another service, lacks these, even where it is signed with the same secret (RFC 8725,
# 3.8, 3.9 and 3.11).
_TYPE = "memory-gateway+jwt"
_NAME = "memory-gateway"
# This module checks the times itself, by one clock for remembered credentials and for new ones.
_CHECKED_HERE: Options = {
    "require": ["tenant", "scope", "iss", "aud", "jti", "iat"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
_REMEMBERED = 1024
"""Verified credentials that are remembered: their signatures need not be checked twice."""
CHALLENGE = 'Bearer realm="memory-gateway"'
"""The value of a refusal's header ``WWW-Authenticate``."""
SCOPES = (*WORDS, ADMIN_WORD)
"""The words that a credential's claim ``scope`` may have."""
REFUSED = (
    "Send a credential that holds: Authorization: Bearer <token>. There is none, or it has expired or was revoked, or "
    "it was minted with another secret than this service has: run memory-gateway token with the DATA_DIR or "
    "AUTH_SECRETS of the service."
)
"""The text of every refusal. It does not give the reason, which would help to guess; the request's log line does."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller, as the credential alone names it.

    ``agent_id`` is the only agent that the credential is good for, or None for all agents of the tenant. ``scopes`` are
    those that ``granted`` returns.
    ``credential_id`` is None where there is no credential: for a tool server that works on its own data.
    """

    tenant_id: str
    agent_id: str | None = None
    scopes: frozenset[AccessScope] = READ_WRITE
    credential_id: str | None = None
    issued_at: int | None = None
    """Milliseconds since the epoch; None where there is no credential."""
    speakers: frozenset[str] | None = None
    """The speakers that the principal may speak for, in lower case; None: every speaker."""
    may_be_revoked: bool = False
    """Whether the credential was not checked for revocation, since the service was not ready."""
    token_id: str | None = None
    """The id of this one token of an issuer, whose ``credential_id`` is its subject's; None for a credential."""
    expires_at: int | None = None
    """Milliseconds since the epoch; None: it holds until it is revoked."""
    requests_per_minute: int | None = None
    """How many requests the credential may make in a minute, of each replica; None: as the settings say."""
    registered: bool = False
    """Whether the tenant's register keeps the credential, which one of this service's own secrets signed."""

    @property
    def admin(self) -> bool:
        """Whether the principal is an administrator, of its agent or of all."""
        return "admin" in self.scopes

    @property
    def is_prober(self) -> bool:
        """Whether the prober asks: nothing of that is noted or counted as its tenant's."""
        return self.agent_id in RESERVED_AGENTS or self.tenant_id == PROBE_TENANT

    def author(self, channel: WriteChannel) -> Author:
        """Return the author of the rows that this principal writes by a channel."""
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
        """Raise ``Forbidden`` unless the credential is good for this agent, which is none of the service's own."""
        if self.agent_id is not None and agent_id != self.agent_id:
            raise Forbidden(
                f"The credential is for the agent {self.agent_id}, and the request is for {agent_id}. "
                f"Name {self.agent_id}, or use a credential that was minted with --agent {agent_id}."
            )
        if agent_id in RESERVED_AGENTS and self.agent_id is None and self.tenant_id != PROBE_TENANT:
            raise Forbidden(f"The agent {agent_id} is the service's own: its memories are canaries, and count nowhere.")

    def check_every_agent(self) -> None:
        """Raise ``Forbidden`` unless the credential is good for all of the tenant's agents."""
        if self.agent_id is not None:
            raise Forbidden("The credential is for one agent alone.")

    def readable(self, agent_id: str | None) -> str | None:
        """Return the agent whose memories may be read where ``agent_id`` is asked for; None stands for all agents.

        A credential for one agent reads that agent. A credential for all agents reads any agent, or all, and needs the
        admin scope.

        Raises:
            Forbidden: the credential is for another agent, or lacks the admin scope.
        """
        if self.agent_id is None:
            self.check_admin()
            if agent_id is not None:
                self.check_agent(agent_id)
            return agent_id
        self.check_agent(self.agent_id if agent_id is None else agent_id)
        return self.agent_id

    def check_admin(self) -> None:
        """Raise ``Forbidden`` unless the credential has the admin scope."""
        self.check_scopes(("admin",))

    def check_scopes(self, needed: Sequence[AccessScope]) -> None:
        """Raise ``Forbidden``, which names the first scope that is missing, unless the credential has all of these."""
        for scope in needed:
            if scope not in self.scopes:
                claim = CLAIM_OF[scope]
                raise Forbidden(
                    f"This needs a credential with the scope '{claim}': "
                    f"memory-gateway token --tenant {self.tenant_id} --scope {scope} makes one.",
                    scope=claim,
                )


class Credentials:
    """Issues and verifies credentials with a set of secrets, so that a secret can be replaced while both hold."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Take secrets by ``kid``; the first secret signs, and all secrets verify."""
        self._secrets = dict(secrets)
        self._verified: dict[str, _Verified] = {}

    def keys(self, purpose: str) -> list[bytes]:
        """Derive from each secret a key for one purpose alone; the first key signs, and all keys verify."""
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
        """Sign a credential that holds for ``seconds`` from ``now`` (ms since the epoch), or with None for good.

        It reads and writes; ``admin`` gives every scope. ``mint`` signs one that is narrower.
        """
        scopes = EVERY_SCOPE if admin else READ_WRITE
        return self._sign(tenant_id, CredentialWanted(agent_id, scopes, speakers, seconds), now)

    def mint(self, tenant_id: str, wanted: CredentialWanted, now: int) -> tuple[str, Principal]:
        """Sign a credential at ``now`` (ms since the epoch), and return it with the principal that it names."""
        token = self._sign(tenant_id, wanted, now)
        return token, self.verify(token, now)

    def _sign(self, tenant_id: str, wanted: CredentialWanted, now: int) -> str:
        claims: dict[str, Any] = {
            "iss": _NAME,
            "aud": _NAME,
            "jti": str(ULID.from_datetime(moment(now))),
            "iat": now // 1000,
            "tenant": tenant_id,
            "scope": CLAIMS[EVERY_SCOPE if "admin" in wanted.scopes else frozenset(wanted.scopes)],
        }
        if wanted.agent_id is not None:
            claims["agent"] = wanted.agent_id
        if wanted.seconds is not None:
            claims["exp"] = now // 1000 + wanted.seconds
        if wanted.speakers is not None:
            claims["speakers"] = list(wanted.speakers)
        if wanted.requests_per_minute is not None:
            claims["requests_per_minute"] = wanted.requests_per_minute
        kid, secret = next(iter(self._secrets.items()))
        return jwt.encode(claims, secret, algorithm=_ALGORITHM, headers={"kid": kid, "typ": _TYPE})

    def verify_header(self, authorization: Sequence[str], now: int) -> Principal:
        """Return the principal of a request's ``Authorization`` header.

        Raises as ``verify`` does, and ``Unauthenticated`` where there is not exactly one header, with a bearer token.
        """
        if len(authorization) > 1:  # a proxy may take another header than this service
            raise refused("more than one Authorization header")
        scheme, _, token = "".join(authorization).partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise refused("no bearer token")
        return self.verify(token, now)

    def seen(self, authorization: Sequence[str]) -> Principal | None:
        """Return the principal of a header's credential, which may have expired; None if it was not verified before."""
        verified = self._verified.get("".join(authorization).partition(" ")[2])
        return None if verified is None else verified.principal

    def is_own(self, token: str) -> bool:
        """Tell whether a token says that it is a credential of this service, which is not verified here."""
        try:
            return jwt.get_unverified_header(token).get("typ") == _TYPE
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            return False

    def verify(self, token: str, now: int) -> Principal:
        """Return the principal of a credential at ``now`` (ms since the epoch).

        Raises:
            Unauthenticated: the credential is malformed, unsigned, signed with another secret, of another service,
                expired, not valid yet or incomplete.
            Forbidden: the credential holds, but lacks the scope for memories.
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
    """A credential whose signature and claims hold, with the moments between which it does (ms since the epoch)."""

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
    if isnan(value):  # NaN is neither before nor after any moment
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
    expires_at = _moment(claims, "exp", inf)
    return Principal(
        tenant_id,
        agent_id,
        _scopes(claims),
        credential_id,
        int(issued_at),
        _speakers(claims),
        expires_at=int(expires_at) if isfinite(expires_at) else None,
        requests_per_minute=_requests(claims),
        registered=True,
    )


def _scopes(claims: Mapping[str, Any]) -> frozenset[AccessScope]:
    words = claims["scope"].split() if isinstance(claims["scope"], str) else []
    scopes = frozenset[AccessScope]().union(*(WORDS[word] for word in words if word in WORDS))
    if not scopes:
        raise Forbidden("The credential's scope is not for memories: it has none of 'memory', 'memory:read' and so on.")
    return EVERY_SCOPE if ADMIN_WORD in words and scopes == READ_WRITE else scopes


def _requests(claims: Mapping[str, Any]) -> int | None:
    requests = claims.get("requests_per_minute")
    if requests is not None and (isinstance(requests, bool) or not isinstance(requests, int) or requests < 1):
        raise refused("its requests_per_minute is no number of requests")
    return requests


def _speakers(claims: Mapping[str, Any]) -> frozenset[str] | None:
    speakers = claims.get("speakers")
    if speakers is None:
        return None
    if not isinstance(speakers, list) or len(speakers) > MAX_SPEAKERS or not all(isinstance(s, str) for s in speakers):
        raise refused("its speakers are no list of names")
    return frozenset(speaker.strip().lower() for speaker in speakers)
