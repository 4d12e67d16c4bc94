"""Lets in who has a session: reads its cookie, admits the call as every other call is, and renews the session."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from app.domain.errors import Unauthenticated
from app.interfaces.console.tokens import LINK_MS, SignIn, SignInTokens
from app.interfaces.request_state import NOTE, SESSION_COOKIE, VERIFIED
from app.runtime.entry import CallEntry, admit
from app.runtime.shards import Shards
from app.services.access.credentials import Principal


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """How long a session of the console holds, in ms: without a request, and at most."""

    idle_ms: int
    longest_ms: int


class Door:
    """Begins, checks and ends sessions."""

    def __init__(self, shards: Shards, times: SessionTimes) -> None:
        """Take the shards, and how long sessions hold."""
        self._shards = shards
        self._times = times
        self._sessions = SignInTokens(shards.main.credentials, "session", times.idle_ms)
        self.links = SignInTokens(shards.main.credentials, "link", LINK_MS)

    @property
    def now(self) -> int:
        """Now, in ms since the epoch."""
        return self._shards.main.backends.clock()

    async def enter(self, request: Request) -> tuple[CallEntry, SignIn]:
        """Return the entry and the session of a request.

        Raises:
            Unauthenticated: there is no session, or it has ended, or its credential was revoked.
            Overloaded, RateLimited, ShardUnavailable, Unavailable: as ``admit`` does.
        """
        token = request.cookies.get(SESSION_COOKIE)
        if not token:
            raise Unauthenticated("Sign in.")
        sign_in = self._sessions.read(token, self.now)
        return await self._admitted(request, sign_in), sign_in

    async def greet(self, request: Request, sign_in: SignIn) -> CallEntry:
        """Return the entry of a request that signs in with a credential or a link; raises as ``enter`` does."""
        return await self._admitted(request, sign_in)

    def begin(self, principal: Principal, ends_at: int | None) -> SignIn:
        """Begin a session, with a new id, that ends no later than its credential (ms since the epoch)."""
        longest = self.now + self._times.longest_ms
        return SignIn.begin(principal, self.now, longest if ends_at is None else min(longest, ends_at))

    def keep(self, response: Response, sign_in: SignIn) -> None:
        """Give the browser a session's cookie."""
        response.set_cookie(
            SESSION_COOKIE, self._sessions.write(sign_in), path="/", secure=True, httponly=True, samesite="strict"
        )

    def renew(self, response: Response, sign_in: SignIn) -> None:
        """Note in the cookie that a session was used, unless that was noted a moment ago."""
        used = sign_in.used(self.now)
        if used is not None and "set-cookie" not in response.headers:
            self.keep(response, used)

    def drop(self, response: Response) -> None:
        """Take the session's cookie from the browser."""
        response.delete_cookie(SESSION_COOKIE, path="/", secure=True, httponly=True, samesite="strict")

    async def _admitted(self, request: Request, sign_in: SignIn) -> CallEntry:
        entry = await admit(self._shards, sign_in.principal, request.scope["state"][NOTE], "console")
        await entry.check_holds(sign_in.id)
        request.scope["state"][VERIFIED] = True
        return entry
