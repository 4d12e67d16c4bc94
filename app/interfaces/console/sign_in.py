"""Signing in with a credential or with a one-time link, and signing out."""

from dataclasses import replace
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.domain.errors import Forbidden, MemoryGatewayError, QuotaExceeded, Unauthenticated, Unavailable
from app.interfaces.console import last_agent
from app.interfaces.console.door import Door
from app.interfaces.console.fields import FormFields
from app.interfaces.console.forgery import FormKeys, check_origin
from app.interfaces.console.issuer import IssuerPages, forget_begun
from app.interfaces.console.page import ROOT, View
from app.interfaces.console.tokens import LINK_MS, SignIn, SignInTokens, end_of
from app.runtime.entry import principal_of
from app.runtime.shards import Shards
from app.services.access.credentials import Credentials, Principal

PATH, LINK_PATH, OUT_PATH = "/sign-in", "/sign-in/link", "/sign-out"
_TOKEN = "token"  # noqa: S105 - the name of a field
_MAX_NEXT = 2000
_REFUSED = "The credential does not hold here: it has expired or was revoked, or it is for another service."
_GONE = "The link holds no longer: a link is good for five minutes, and once. Ask for another, or use a credential."
_NOT_ASSERTED = "What Cloudflare Access says of you does not hold here."
_OUT = {"out": "You are signed out.", "ended": "Your session has ended. Sign in again."}


def sign_in_link(credentials: Credentials, principal: Principal, now: int) -> str:
    """Return the path of a link that signs a principal in, once, within five minutes from ``now`` (ms)."""
    link = SignIn.begin(principal, now, now + LINK_MS)
    return f"{ROOT}{LINK_PATH}?{_TOKEN}={quote(SignInTokens(credentials, 'link', LINK_MS).write(link))}"


class SignInPages:
    """What the pages of signing in and out do. A view that they return stands alone, without the menu."""

    def __init__(self, shards: Shards, door: Door, form_keys: FormKeys) -> None:
        """Take the shards, whose credentials verify, and the door, which begins sessions."""
        self._shards = shards
        self._door = door
        self._form_keys = form_keys
        self.issuer = IssuerPages(shards, door, shards.main.credentials)

    async def show(self, request: Request) -> View:
        """Show the form that takes a credential."""
        query = FormFields.of_query(request)
        return self._form(request, query["next"], _OUT.get(query["why"]))

    async def take_credential(self, request: Request) -> View | Response:
        """Begin a session with the credential of the form."""
        check_origin(request)
        form = await FormFields.of_form(request)
        token = form["credential"].removeprefix("Bearer ").strip()
        try:
            sent = {"authorization": [f"Bearer {token}"]}
            principal = await principal_of(self._shards, lambda name: sent.get(name, []))
            sign_in = self._door.begin(principal, end_of(token))
            await self._door.greet(request, sign_in)
        except (Unauthenticated, Forbidden) as refusal:
            return self._form(
                request, form["next"], error=_REFUSED if isinstance(refusal, Unauthenticated) else refusal.detail
            )
        return self._signed_in(request, sign_in, form["next"])

    async def show_link(self, request: Request) -> View:
        """Show a button that uses a link up: what only looks at the link, such as a preview of a chat, does not."""
        token = FormFields.of_query(request)[_TOKEN]
        try:
            link = self._door.links.read(token, self._door.now)
        except Unauthenticated:
            return self._form(request, "", error=_GONE)
        return View.of("link.html", principal=link.principal, token=token)

    async def take_link(self, request: Request) -> View | Response:
        """Use a link up, and begin a session."""
        check_origin(request)
        form = await FormFields.of_form(request)
        try:
            link = self._door.links.read(form[_TOKEN], self._door.now)
            entry = await self._door.greet(request, link)
        except Unauthenticated:
            return self._form(request, "", error=_GONE)
        if not await entry.within().of_sign_in().sign_ins.end(link.id):
            return self._form(request, "", error=_GONE)
        return self._signed_in(request, self._door.begin(link.principal, None), "")

    async def come_back(self, request: Request) -> View:
        """Begin the session of a person whom the issuer has signed in, and forget that the sign-in was begun."""
        try:
            sign_in, target = await self.issuer.finish(request)
        except (Unauthenticated, Forbidden) as refusal:
            return replace(self._form(request, "", error=refusal.detail), finish=forget_begun)

        def finish(response: Response) -> None:
            forget_begun(response)
            self._door.keep(response, sign_in)

        # A browser that comes from another site sends a strict cookie only once a page of this site leads it on.
        return replace(View.of("welcome.html", target=_good(target)), finish=finish)

    async def take_assertion(self, request: Request) -> View | Response:
        """Begin the session of whom Cloudflare Access names."""
        check_origin(request)
        form = await FormFields.of_form(request)
        try:
            sign_in = await self.issuer.asserted(request)
        except (Unauthenticated, Forbidden) as refusal:
            error = refusal.detail if isinstance(refusal, Forbidden) else _NOT_ASSERTED
            return self._form(request, form["next"], error=error)
        return self._signed_in(request, sign_in, form["next"])

    async def sign_out(self, request: Request) -> View | Response:
        """End the session, wherever its cookie may be."""
        check_origin(request)
        response = _seen(request, PATH, why="out")
        self._door.drop(response)
        last_agent.forget(response)
        try:
            entry, sign_in = await self._door.enter(request)
            self._form_keys.check(sign_in, await FormFields.of_form(request))
            await entry.within().of_sign_in().sign_ins.end(sign_in.id)
        except Unauthenticated:  # there is none
            return response
        except (QuotaExceeded, Unavailable) as error:  # at least this browser has it no more
            note = f"{error.detail} This browser has forgotten the session; in a copy of its cookie it has not ended."
            return replace(self._form(request, "", error=note), status=error.status, finish=self._door.drop)
        return response

    def ended(self, request: Request, error: MemoryGatewayError) -> View | Response:
        """Answer a request without a session: with the form to sign in, which leads back to what was asked for."""
        if request.method == "POST":
            return self._form(request, "", error=f"{error.detail} Nothing was done.")
        target = request.url.path.partition(ROOT)[2] or "/"
        query = f"?{request.url.query}" if request.url.query else ""
        response = _seen(request, PATH, next=f"{target}{query}", **({"why": "ended"} if request.cookies else {}))
        self._door.drop(response)
        return response

    def _form(self, request: Request, target: str, note: str | None = None, error: str | None = None) -> View:
        status = 200 if error is None else 401
        ways = self.issuer.ways(request)
        return View.of("sign_in.html", status, next=target[:_MAX_NEXT], note=note, error=error, **ways)

    def _signed_in(self, request: Request, sign_in: SignIn, target: str) -> Response:
        response = RedirectResponse(f"{_prefix(request)}{ROOT}{_good(target)}", 303)
        self._door.keep(response, sign_in)
        return response


def _good(target: str) -> str:
    """Return the path below the console that somebody asked for before signing in; empty where it is none."""
    good = target.startswith("/") and len(target) <= _MAX_NEXT and target.isascii() and target.isprintable()
    return target if good else ""


def _seen(request: Request, path: str, **query: str) -> Response:
    given = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return RedirectResponse(f"{_prefix(request)}{ROOT}{path}?{given}", 303)


def _prefix(request: Request) -> str:
    prefix: str = request.scope.get("root_path", "")
    return prefix
