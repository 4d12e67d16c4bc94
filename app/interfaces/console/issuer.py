"""Signing in where others say who somebody is: at the company's issuer, or behind Cloudflare Access."""

from dataclasses import asdict

import jwt
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.domain.errors import NoSuchPath, Unauthenticated
from app.interfaces.console.door import Door
from app.interfaces.console.fields import FormFields
from app.interfaces.console.tokens import SignIn, end_of
from app.interfaces.cursors import Keys
from app.runtime.shards import Shards
from app.services.access.issuer_sign_in import PENDING_SECONDS, IssuerSignIn, PendingSignIn
from app.services.access.issuers import ASSERTION_HEADER, Issuers

BEGIN_PATH, BACK_PATH, ACCESS_PATH = "/sign-in/issuer", "/callback", "/sign-in/access"
COOKIE = "__Host-memory-gateway-sign-in"
"""The cookie of a sign-in that has begun at the issuer. It comes back from another site: it is ``Lax``."""
_ALGORITHM = "HS256"
_PURPOSE = "memory-gateway console sign-in at an issuer, 1"
_AUDIENCE = "memory-gateway console, back from an issuer"
_LOST = "The sign-in was not begun in this browser, or took longer than ten minutes. Begin it again."
_REFUSED = "The issuer did not sign you in. Begin again, or ask whoever looks after it."


class IssuerPages:
    """What the pages do that sign in by an issuer; where the settings name none, they are not there."""

    def __init__(self, shards: Shards, door: Door, keys: Keys) -> None:
        """Take the shards, which know the issuers, and the door, which begins sessions."""
        self._shards = shards
        self._door = door
        self._keys = keys.keys(_PURPOSE)

    @property
    def _issuers(self) -> Issuers:
        return self._shards.main.backends.issuers or Issuers()

    @property
    def _sign_in(self) -> IssuerSignIn:
        if self._issuers.sign_in is None:
            raise NoSuchPath("Nobody signs in by an issuer here.")
        return self._issuers.sign_in

    def ways(self, request: Request) -> dict[str, bool]:
        """Return which of the two ways there are for a request."""
        named = self._issuers.access is not None and ASSERTION_HEADER in request.headers
        return {"by_issuer": self._issuers.sign_in is not None, "by_access": named}

    async def begin(self, request: Request) -> Response:
        """Lead to the issuer's page; the browser keeps what its answer is compared with."""
        target = FormFields.of_query(request)["next"]
        url, pending = await self._sign_in.begin(f"/console{BACK_PATH}", self._door.now)
        claims = {"aud": _AUDIENCE, "pending": asdict(pending), "next": target[:1000]}
        response = RedirectResponse(url, 303)
        response.set_cookie(
            COOKIE,
            jwt.encode(claims, self._keys[0], _ALGORITHM),
            max_age=PENDING_SECONDS,
            path="/",
            secure=True,
            httponly=True,
            samesite="lax",
        )
        return response

    async def finish(self, request: Request) -> tuple[SignIn, str]:
        """Return the sign-in of a person who comes back from the issuer, and the page that was asked for first.

        Raises:
            Unauthenticated: the sign-in was not begun in this browser, or the issuer has not signed the person in.
            Forbidden: the person has no tenant, or no scope, here.
            IssuerUnavailable: the issuer does not answer.
        """
        sign_in, query = self._sign_in, FormFields.of_query(request)
        try:
            pending, target = self._pending(request.cookies.get(COOKIE, ""))
        except (jwt.InvalidTokenError, TypeError, KeyError) as error:
            raise Unauthenticated(_LOST) from error
        answer = {"state": query["state"], "code": query["code"]}
        try:
            principal = await sign_in.finish(pending, now=self._door.now, issuer=query.get("iss"), **answer)
            begun = self._door.begin(principal, None)
            await self._door.greet(request, begun)
        except Unauthenticated as error:
            raise Unauthenticated(_REFUSED) from error
        return begun, target

    async def asserted(self, request: Request) -> SignIn:
        """Return the sign-in of whom Cloudflare Access names; raises as ``finish`` does."""
        assertions = request.headers.getlist(ASSERTION_HEADER)
        principal = await self._issuers.asserted(assertions, self._door.now)
        begun = self._door.begin(principal, end_of(assertions[0]))
        await self._door.greet(request, begun)
        return begun

    def _pending(self, token: str) -> tuple[PendingSignIn, str]:
        for key in self._keys[:-1]:
            try:
                return self._read(token, key)
            except jwt.InvalidTokenError:
                continue
        return self._read(token, self._keys[-1])

    def _read(self, token: str, key: bytes) -> tuple[PendingSignIn, str]:
        claims = jwt.decode(token, key, algorithms=[_ALGORITHM], audience=_AUDIENCE)
        return PendingSignIn(**claims["pending"]), str(claims["next"])


def forget_begun(response: Response) -> None:
    """Have the browser forget that a sign-in was begun: it is good for one answer."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
