"""Signed tokens of the console, of its sessions and of its sign-in links; none of them is good as a credential."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jwt
from pydantic import TypeAdapter, ValidationError

from app.domain.errors import InvalidRequest, Unauthenticated
from app.domain.sign_ins import new_id
from app.interfaces.cursors import Keys
from app.services.access.credentials import Principal

_ALGORITHM = "HS256"
_AUDIENCE = "memory-gateway console"
_MAX_CHARACTERS = 3800
"""Characters of a token: browsers keep cookies of about 4,000 bytes."""
LINK_MS = 5 * 60 * 1000
"""How long a sign-in link holds."""
_UNTIL_RENEWED_MS = 60 * 1000

_principals = TypeAdapter(Principal)


@dataclass(frozen=True, slots=True)
class SignIn:
    """A principal that signs in or has signed in: what a session's token says, and a link's. Moments are in ms."""

    id: str
    principal: Principal
    began_at: int
    used_at: int
    ends_at: int
    """When it ends in any case: no later than the credential."""

    @classmethod
    def begin(cls, principal: Principal, now: int, ends_at: int) -> "SignIn":
        """Return a new one, with an id of its own."""
        return cls(new_id(principal.credential_id, now), principal, now, now, ends_at)

    def used(self, now: int) -> "SignIn | None":
        """Return it with its use noted; None where its last use was noted less than a minute ago."""
        return None if now - self.used_at < _UNTIL_RENEWED_MS else replace(self, used_at=now)


class SignInTokens:
    """Writes and reads the tokens of one kind of sign-in, with keys that are for this kind alone."""

    def __init__(self, keys: Keys, kind: str, idle_ms: int) -> None:
        """Derive the keys for a kind, such as ``session``, of which a token holds ``idle_ms`` from its last use."""
        self._keys = keys.keys(f"memory-gateway console {kind}, 1")
        self._type = f"memory-gateway-{kind}+jwt"
        self._idle_ms = idle_ms

    def write(self, sign_in: SignIn) -> str:
        """Return the token.

        Raises:
            InvalidRequest: the principal has too many speakers for a cookie.
        """
        claims = {
            "aud": _AUDIENCE,
            "jti": sign_in.id,
            "principal": _principals.dump_python(sign_in.principal, mode="json"),
            "times": [sign_in.began_at, sign_in.used_at, sign_in.ends_at],
        }
        token = jwt.encode(claims, self._keys[0], _ALGORITHM, headers={"typ": self._type})
        if len(token) > _MAX_CHARACTERS:
            raise InvalidRequest("The credential names too many speakers for the console. Use one without speakers.")
        return token

    def read(self, token: str, now: int) -> SignIn:
        """Return what a token says.

        Raises:
            Unauthenticated: the token is not of this kind, was not signed here, or holds no longer.
        """
        claims = self._verified(token)
        try:
            principal = _principals.validate_python(claims["principal"])
            began_at, used_at, ends_at = map(int, claims["times"])
        except (KeyError, TypeError, ValueError, ValidationError) as error:  # an older version wrote it
            raise _ended() from error
        if now >= ends_at or now - used_at > self._idle_ms:
            raise _ended()
        return SignIn(str(claims["jti"]), principal, began_at, used_at, ends_at)

    def _verified(self, token: str) -> Mapping[str, Any]:
        for key in self._keys:
            try:
                if jwt.get_unverified_header(token).get("typ") != self._type:
                    break
                return jwt.decode(token, key, algorithms=[_ALGORITHM], audience=_AUDIENCE)
            except jwt.InvalidTokenError:
                continue
        raise _ended()


def _ended() -> Unauthenticated:
    return Unauthenticated("You are signed out, or were away for too long. Sign in again.")


def end_of(token: str) -> int | None:
    """Return when a verified credential expires, in ms since the epoch; None: it does not."""
    claims: Mapping[str, object] = jwt.decode(token, options={"verify_signature": False})
    end = claims.get("exp")
    return int(end * 1000) if isinstance(end, int | float) else None
