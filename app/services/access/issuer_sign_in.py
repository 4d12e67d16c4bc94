"""Sign-in of a person by an issuer: the authorization code flow with PKCE (OpenID Connect Core 3.1, RFC 7636, 9207)."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode, urlsplit

from app.domain.errors import IssuerUnavailable, Unavailable
from app.ports.issuer import CodeGrant, CodeRefused
from app.services.access.credentials import Principal, refused
from app.services.access.issuer_tokens import IssuerTokens

PENDING_SECONDS = 600
"""How long a person has to sign in at the issuer."""
_MAX_CODE = 4096
_BYTES = 32
REDEMPTIONS = 60
"""Codes that a process redeems in a minute: who has begun one sign-in could send any number of made-up codes."""
_MINUTE_MS = 60 * 1000


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that has begun. The browser that began it has to keep it, where no other browser and no page reads it.

    ``verifier`` is a secret. Times are in milliseconds since the epoch.
    """

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    expires_at: int


class IssuerSignIn:
    """Begins and finishes sign-ins at one issuer. It keeps nothing of a sign-in between the two."""

    def __init__(
        self,
        tokens: IssuerTokens,
        *,
        client_id: str,
        client_secret: str | None,
        public_url: str,
        scopes: str,
    ) -> None:
        """Take the issuer's client of this service; ``scopes`` are asked for beside ``openid``, spaces between."""
        self._tokens = tokens
        self._client_id = client_id
        self._client_secret = client_secret
        self._public_url = public_url.rstrip("/")
        self._scope = f"openid {scopes}".rstrip()
        self._minute, self._redeemed = 0, 0
        """The minute since the epoch, and how many codes were redeemed in it."""

    async def begin(self, path: str, now: int) -> tuple[str, PendingSignIn]:
        """Return the URL at which a person signs in, and what the browser keeps until it comes back to ``path``.

        Raises:
            IssuerUnavailable: the issuer does not answer, or has no such page.
        """
        endpoint = (await self._tokens.keys.document()).authorization_endpoint
        if endpoint is None:
            raise IssuerUnavailable("The issuer has no page to sign in.")
        pending = PendingSignIn(
            state=token_urlsafe(_BYTES),
            nonce=token_urlsafe(_BYTES),
            verifier=token_urlsafe(_BYTES),
            redirect_uri=self._public_url + path,
            expires_at=now + PENDING_SECONDS * 1000,
        )
        challenge = urlsafe_b64encode(sha256(pending.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": pending.redirect_uri,
            "scope": self._scope,
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}", pending

    async def finish(
        self, pending: PendingSignIn, *, state: str, code: str, now: int, issuer: str | None = None
    ) -> Principal:
        """Return the principal of the person who came back with a code; ``issuer`` is the answer's ``iss``, if any.

        The browser has to forget the pending sign-in first: it is good for one answer.

        Raises:
            Unauthenticated: the answer is to another sign-in, or too late; or the issuer refuses the code, or its ID
                token does not hold.
            Forbidden: the person is signed in at the issuer, but has no tenant or no scope here.
            IssuerUnavailable: the issuer does not answer, or was asked for too many in this minute.
        """
        if not compare_digest(state.encode(), pending.state.encode()):
            raise refused("the answer is to another sign-in")
        if now >= pending.expires_at:
            raise refused("the sign-in took too long")
        keys = self._tokens.keys
        if issuer is not None and issuer != keys.issuer.url:
            raise refused("the answer is another issuer's")
        if not 0 < len(code) <= _MAX_CODE:
            raise refused("there is no code")
        self._count(now)
        grant = CodeGrant(code, pending.redirect_uri, pending.verifier, self._client_id, self._client_secret)
        try:
            answer = await keys.issuer.redeem(await keys.document(), grant)
        except CodeRefused as error:
            raise refused("the issuer refuses the code") from error
        except Unavailable as error:
            raise IssuerUnavailable("The issuer does not answer.") from error
        return await self._principal(answer.get("id_token"), answer.get("scope"), pending.nonce, now)

    def _count(self, now: int) -> None:
        """Count that a code is redeemed; raises ``IssuerUnavailable`` where there were too many in this minute."""
        minute = now // _MINUTE_MS
        self._redeemed = self._redeemed + 1 if minute == self._minute else 1
        self._minute = minute
        if self._redeemed > REDEMPTIONS:
            raise IssuerUnavailable("Too many people are just signing in. Begin again in a minute.")

    async def _principal(self, token: object, scope: object, nonce: str, now: int) -> Principal:
        if not isinstance(token, str):
            raise refused("the issuer gives no ID token")
        claims: dict[str, Any] = dict(await self._tokens.id_claims(token, self._client_id, now))
        given = claims.get("nonce")
        if not isinstance(given, str) or not compare_digest(given.encode(), nonce.encode()):
            raise refused("the ID token is of another sign-in")
        if isinstance(scope, str):  # an ID token has none: what was granted stands beside it
            claims.setdefault("scope", scope)
        return self._tokens.principal(claims, token)
