"""Declares the routes of one subject: their shared settings once, and with each route only its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from fastapi import Depends
from fastapi.dependencies.utils import get_dependant
from starlette.routing import BaseRoute

from app.domain.acts import ActName
from app.domain.errors import MemoryGatewayError
from app.interfaces.http import problems
from app.interfaces.http.acting import acts, administrates
from app.interfaces.http.dependencies import CredentialFirst, no_query
from app.interfaces.http.failures import ACCESS, BODY, READS, WRITES
from app.interfaces.http.middleware import WITH_BODIES
from app.interfaces.http.named_route import NamedRoute

Errors: TypeAlias = Sequence[type[MemoryGatewayError]]
Answers: TypeAlias = Mapping[int | str, dict[str, Any]]
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


class Router:
    """Declares routes of one tag, each with the errors that it may answer with.

    A route has the errors of its access, of its body where it has one, its own, its router's, and those that it
    ``needs``: of reading or writing a database, or of more services. A route that declares no query parameter refuses
    every one. An administrator's route names its ``act``, whose row is written around it; one that only reads has none.
    """

    def __init__(
        self,
        tag: str,
        *errors: type[MemoryGatewayError],
        route_class: type[NamedRoute] = CredentialFirst,
        describe: Callable[..., dict[int | str, dict[str, Any]]] = problems.responses,
        any_query: bool = False,
    ) -> None:
        """Take the tag, the errors of every route, and the function that describes errors.

        ``any_query``: query parameters that a route does not have are ignored.
        """
        self.routes: list[BaseRoute] = []
        """The routes that were declared."""
        self._tag = tag
        self._route_class = route_class
        self._errors = errors
        self._describe = describe
        self._any_query = any_query

    def get(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = READS,
        answers: Answers | None = None,
        act: ActName | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that reads."""
        return self._declare("GET", path, (*needs, *self._errors, *errors), answers, settings, act)

    def post(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        body: Errors = BODY,
        needs: Errors = WRITES,
        answers: Answers | None = None,
        act: ActName | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that takes a body, or none where ``body`` is empty."""
        return self._declare("POST", path, (*ACCESS, *body, *self._errors, *errors, *needs), answers, settings, act)

    def put(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = WRITES,
        answers: Answers | None = None,
        act: ActName | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that sets what its path names."""
        return self._declare("PUT", path, (*ACCESS, *BODY, *self._errors, *errors, *needs), answers, settings, act)

    def patch(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = WRITES,
        act: ActName | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that changes fields of what its path names."""
        return self._declare("PATCH", path, (*ACCESS, *BODY, *self._errors, *errors, *needs), None, settings, act)

    def delete(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = WRITES,
        act: ActName | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that deletes what its path names; its answer has no body unless another status is set."""
        return self._declare("DELETE", path, (*ACCESS, *self._errors, *errors, *needs), None, settings, act)

    def _declare(
        self,
        method: str,
        path: str,
        errors: Errors,
        answers: Answers | None,
        settings: Mapping[str, Any],
        act: ActName | None,
    ) -> Callable[[_Endpoint], _Endpoint]:
        def declare(endpoint: _Endpoint) -> _Endpoint:
            def described() -> dict[str, Any]:
                return {
                    **settings,
                    "tags": [self._tag],
                    "dependencies": [*self._checks(method, path, endpoint), *settings.get("dependencies", ())],
                    "responses": {**(answers or {}), **self._describe(*errors)},
                }

            served = _acting(method, path, endpoint, act)
            self.routes.append(self._route_class(path, served, method=method, settings=described))
            return endpoint

        return declare

    def _checks(self, method: str, path: str, endpoint: Callable[..., Any]) -> list[Any]:
        """Return the check that refuses query parameters, for a GET or DELETE that declares none.

        ``_Credential`` checks those of a POST, PUT or PATCH.
        """
        takes_query = self._any_query or method in WITH_BODIES
        if takes_query or get_dependant(path=path, call=endpoint).query_params:
            return []
        return [Depends(no_query)]


def _acting(method: str, path: str, endpoint: Callable[..., Any], act: ActName | None) -> Callable[..., Any]:
    """Return the function that serves a route: with an act, one that writes the act's row around it.

    Raises:
        ValueError: an administrator's route changes data and names no act, or another route names one.
    """
    administrative = administrates(endpoint)
    if act is None:
        if administrative and method != "GET":
            raise ValueError(f"{method} {path} is an administrator's, and declares no act.")
        return endpoint
    if not administrative:
        raise ValueError(f"{method} {path} declares an act, and is not an administrator's.")
    served = acts(endpoint, act)
    served.act = act  # type: ignore[attr-defined]  # the route tells by it what was refused
    return served
