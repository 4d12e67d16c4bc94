"""The pages of the console: what a page is, what its functions are given, and what they answer with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from starlette.responses import Response

from app.domain.acts import ActName
from app.domain.errors import InvalidRequest
from app.interfaces.console.fields import FormFields
from app.interfaces.console.tokens import SignIn
from app.runtime.entry import CallEntry
from app.services.access.credentials import Principal
from app.services.access.scopes import AccessScope

ROOT: Final = "/console"
Group: TypeAlias = Literal["Memory", "Knowledge", "Operation"]
"""The part of the menu in which a page stands."""
Reach: TypeAlias = Literal["agent", "admin", "tenant"]
"""Who is shown a page in the menu: everybody, administrators, or administrators of all agents."""


class Unconfirmed(InvalidRequest):
    """A form of an administrator was refused; ``view`` is the page that says so, with the form once more."""

    def __init__(self, view: "View") -> None:
        """Take the page."""
        super().__init__("The form was not confirmed.")
        self.view = view


class NoAgent(Exception):
    """A page is about one agent, and the visit names none: one has to be picked first."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who is signed in: the call's entry, and what the request says."""

    entry: CallEntry
    sign_in: SignIn
    path: Mapping[str, str]
    """The parts of the path that the route names in braces."""
    query: FormFields
    form: FormFields
    """Of a GET: empty."""
    act_id: str | None = None
    """The id of the administrative act that a form does."""
    remembered: str | None = None
    """The agent that the browser has seen last; the services check it as they check one that a request names."""

    @property
    def principal(self) -> Principal:
        """Who is signed in."""
        return self.entry.principal

    @property
    def agent_id(self) -> str | None:
        """The agent that the page is about: the credential's own, else the one that the request names, or the last."""
        return self.principal.agent_id or self.named_agent or self.remembered

    @property
    def named_agent(self) -> str | None:
        """The agent that the request names."""
        return self.form.get("agent") or self.query.get("agent")

    @property
    def agent(self) -> str:
        """The agent that the page is about; raises ``NoAgent`` where there is none."""
        if self.agent_id is None:
            raise NoAgent
        return self.agent_id


@dataclass(frozen=True, slots=True)
class View:
    """A page that is shown: its template, and the values that the template names."""

    template: str
    values: Mapping[str, Any]
    status: int = 200
    finish: Callable[[Response], None] | None = None
    """Adds to the answer, such as a cookie."""

    @classmethod
    def of(cls, template: str, /, status: int = 200, **values: Any) -> "View":  # noqa: ANN401 - what a template may show
        """Return a view with these values."""
        return cls(template, values, status)


@dataclass(frozen=True, slots=True)
class See:
    """What a form answers with once it is done: the path below the console, with parameters, that is shown next."""

    path: str
    query: Mapping[str, str | None]

    @classmethod
    def at(cls, path: str, **query: str | None) -> "See":
        """Return the next page; parameters that are None are left out."""
        return cls(path, query)


PageAnswer: TypeAlias = View | See | Response
PageFunction: TypeAlias = Callable[[Visit], Awaitable[PageAnswer]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A path of a page below the console, one of its methods, and the function that answers.

    ``scopes`` are those that the credential has to have. ``act`` is the administrative act that a form does.
    """

    page: "ConsolePage"
    path: str
    method: Literal["GET", "POST"]
    function: PageFunction
    scopes: Sequence[AccessScope]
    act: ActName | None = None


class ConsolePage:
    """A page with its place in the menu, and its routes, which begin with its name.

    ``about`` is the sentence below the title. A page of the group None is not in the menu.
    """

    def __init__(self, name: str, title: str, about: str, group: Group | None, reach: Reach = "agent") -> None:
        """Make a page without routes; ``get`` and ``post`` add them."""
        self.name = name
        self.title = title
        self.about = about
        self.group = group
        self.reach = reach
        self.routes: list[PageRoute] = []

    @property
    def path(self) -> str:
        """The path of the page below the console."""
        return f"/{self.name}"

    def get(self, path: str = "", *scopes: AccessScope) -> Callable[[PageFunction], PageFunction]:
        """Declare the function that shows the page, or with a path one of its parts; without scopes it reads."""
        return self._declare(path, "GET", scopes or ("read",))

    def post(
        self, path: str, *scopes: AccessScope, act: ActName | None = None
    ) -> Callable[[PageFunction], PageFunction]:
        """Declare the function that takes a form, and the scopes that it needs, as the route of the API does.

        Whether the form is ours was checked before. An administrator's form names the act that it does, whose row is
        written around the function.

        Raises:
            ValueError: an administrator's form names no act, or another form names one.
        """
        if ("admin" in scopes) != (act is not None):
            raise ValueError(
                f"{self.path}{path} is an administrator's and declares no act, or is not and declares one."
            )
        return self._declare(path, "POST", scopes, act)

    def is_for(self, principal: Principal) -> bool:
        """Tell whether the menu shows the page to a principal; the services decide what the page may do."""
        return self.reach == "agent" or (principal.admin and (self.reach == "admin" or principal.agent_id is None))

    def _declare(
        self, path: str, method: Literal["GET", "POST"], scopes: Sequence[AccessScope], act: ActName | None = None
    ) -> Callable[[PageFunction], PageFunction]:
        def declare(function: PageFunction) -> PageFunction:
            self.routes.append(PageRoute(self, f"{self.path}{path}", method, function, scopes, act))
            return function

        return declare
