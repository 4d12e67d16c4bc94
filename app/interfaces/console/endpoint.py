"""The console at ``/console``: finds the page of a request, lets the request in, and answers with HTML."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from app.domain.advice import advice
from app.domain.errors import (
    Forbidden,
    MemoryGatewayError,
    MethodNotAllowed,
    NoSuchPath,
    QuotaExceeded,
    TenantMoved,
    Unauthenticated,
    Unavailable,
)
from app.domain.request_note import RequestNote
from app.interfaces.console import issuer, last_agent, sign_in
from app.interfaces.console.door import Door, SessionTimes
from app.interfaces.console.fields import FormFields
from app.interfaces.console.forgery import FormKeys, check_origin
from app.interfaces.console.page import (
    ROOT,
    ConsolePage,
    NoAgent,
    PageAnswer,
    PageRoute,
    See,
    Unconfirmed,
    View,
    Visit,
)
from app.interfaces.console.pages import FIRST_WITHOUT_LISTS, HOME, PAGES, PICK
from app.interfaces.console.rendering import STATIC, Layout, render, static_file
from app.interfaces.console.sign_in import SignInPages
from app.interfaces.console.tokens import SignIn
from app.interfaces.request_state import NOTE
from app.observability.logs import log_failure
from app.runtime.entry import CallEntry
from app.runtime.shards import Shards

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, a browser would not say where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What each answer of the console has, unless it has its own."""
_FOR_EVER = "public, max-age=31536000, immutable"
_SUBJECTS = ("agent_id", "consolidation_id", "credential_id", "memory_id", "run_id", "session_id", "workflow_id")
"""The fields of forms and parts of paths that name what an act is about."""

_Answer: TypeAlias = Callable[[Request], Awaitable[View | Response]]


@dataclass(frozen=True, slots=True)
class _Place:
    """A path of the service with one of its methods, and what answers; metrics and logs name the path."""

    path: str
    pattern: re.Pattern[str]
    method: str
    answer: _Answer


class Console:
    """The ASGI application behind ``/console``, over shards that have started."""

    def __init__(self, shards: Shards, times: SessionTimes, pages: Sequence[ConsolePage] = PAGES) -> None:
        """Take the shards, how long sessions hold, and the pages."""
        self._pages = pages
        self._door = door = Door(shards, times)
        self._form_keys = FormKeys(shards.main.credentials)
        self._sign_in = signing = SignInPages(shards, door, self._form_keys)
        self._places = [
            _place("", "GET", self._home),
            *(_place(f"/{name}", "GET", _static(name)) for name in STATIC),
            _place(sign_in.PATH, "GET", signing.show),
            _place(sign_in.PATH, "POST", signing.take_credential),
            _place(sign_in.LINK_PATH, "GET", signing.show_link),
            _place(sign_in.LINK_PATH, "POST", signing.take_link),
            _place(issuer.BEGIN_PATH, "GET", signing.issuer.begin),
            _place(issuer.BACK_PATH, "GET", signing.come_back),
            _place(issuer.ACCESS_PATH, "POST", signing.take_assertion),
            _place(sign_in.OUT_PATH, "POST", signing.sign_out),
            *(_place(route.path, route.method, self._visited(route)) for page in pages for route in page.routes),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, a failure with a page that tells of it."""
        request = Request(scope, receive)
        note: RequestNote = scope["state"][NOTE]
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        except MemoryGatewayError as error:
            note.code = error.code
            log_failure(error)
            response = self._problem(request, error)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "")).removeprefix(ROOT).rstrip("/")
        method = "GET" if request.method == "HEAD" else request.method
        there = [(place, found) for place in self._places if (found := place.pattern.fullmatch(path))]
        for place, found in there:
            if place.method == method:
                request.scope.update(route=place, path_params=found.groupdict())
                answer = await place.answer(request)
                return answer if isinstance(answer, Response) else self._html(request, answer, self._layout(request))
        if there:
            raise MethodNotAllowed("This page does not take that.")
        raise NoSuchPath("The console has no such page.")

    async def _home(self, request: Request) -> View | Response:
        """Lead to the first page."""
        entry, _ = await self._door.enter(request)
        principal = entry.principal
        lists = principal.admin or principal.agent_id is not None
        return self._redirect(request, See.at(HOME.path if lists else FIRST_WITHOUT_LISTS.path))

    def _visited(self, route: PageRoute) -> _Answer:
        """Return what answers on a page's route: it lets the request in, and calls the page's function."""

        async def answer(request: Request) -> View | Response:
            try:
                return await self._visit(request, route)
            except Unauthenticated as error:
                return self._sign_in.ended(request, error)

        return answer

    async def _visit(self, request: Request, route: PageRoute) -> Response:
        entry, session = await self._door.enter(request)
        try:
            response = await self._entered(request, route, entry, session)
        except Forbidden as error:
            entry.refused(error, route.act or "access")
            raise
        self._door.renew(response, session)
        layout: Layout | None = getattr(request.state, "layout", None)
        last_agent.remember(request, response, entry.principal, layout.agent_id if layout is not None else None)
        return response

    async def _entered(self, request: Request, route: PageRoute, entry: CallEntry, session: SignIn) -> Response:
        form = FormFields({})
        if route.method == "POST":
            check_origin(request)
            form = await FormFields.of_form(request)
            self._form_keys.check(session, form)
        visit = Visit(
            entry.within(*route.scopes),
            session,
            request.path_params,
            FormFields.of_query(request),
            form,
            remembered=last_agent.read(request, entry.principal),
        )
        request.state.layout = layout = replace(
            self._layout(request),
            page=route.page,
            principal=entry.principal,
            agent_id=visit.agent_id,
            form_key=self._form_keys.of(session),
            now=entry.now(),
        )
        try:
            answer = await _answer(route, visit)
        except NoAgent:
            answer = See.at(PICK.path, to=route.page.name, only="yes")
        except Unconfirmed as refusal:
            answer = refusal.view
        except TenantMoved as moved:
            if not moved.repeatable:
                raise
            entry, _ = await self._door.enter(request)
            answer = await _answer(route, replace(visit, entry=entry.within(*route.scopes)))
        if isinstance(answer, See):
            return self._redirect(request, answer, layout)
        return answer if isinstance(answer, Response) else self._html(request, answer, layout)

    def _redirect(self, request: Request, see: See, layout: Layout | None = None) -> Response:
        return RedirectResponse((layout or self._layout(request)).url(see.path, **see.query), 303)

    def _layout(self, request: Request) -> Layout:
        known: Layout | None = getattr(request.state, "layout", None)
        return known or Layout(request.scope.get("root_path", ""), self._pages)

    def _html(self, request: Request, view: View, layout: Layout) -> Response:
        values = {**view.values, "request_id": request.state.request_id}
        response = HTMLResponse(render(View(view.template, values), layout), view.status)
        if view.finish is not None:
            view.finish(response)
        return response

    def _problem(self, request: Request, error: MemoryGatewayError) -> Response:
        """Return the page that tells of a failure."""
        waits = isinstance(error, Unavailable | QuotaExceeded)
        view = View.of("problem.html", error.status, error=error, advice=advice(error) if waits else None)
        response = self._html(request, view, self._layout(request))
        retry_after = getattr(error, "retry_after", None)
        if retry_after is not None:
            response.headers["Retry-After"] = str(retry_after)
        return response


def _place(path: str, method: str, answer: _Answer) -> _Place:
    return _Place(f"{ROOT}{path}", _pattern(path), method, answer)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return what a path below the console is matched with: the same for the console of every application."""
    return compile_path(path)[0]


async def _answer(route: PageRoute, visit: Visit) -> PageAnswer:
    """Return the answer of a page's function; the row of an administrative act is written around it."""
    if route.act is None:
        return await route.function(visit)
    subject = {name: value for name in _SUBJECTS if (value := visit.path.get(name) or visit.form.get(name))}
    async with visit.entry.acting(route.act, **subject) as acting:
        return await route.function(replace(visit, act_id=acting.act.id))


def _static(name: str) -> _Answer:
    """Return what answers with a file as it is, whose link changes with it."""
    content = static_file(name)

    async def answer(_: Request) -> Response:
        return Response(content, media_type=STATIC[name], headers={"Cache-Control": _FOR_EVER})

    return answer
