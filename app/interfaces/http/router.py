"""Declares the routes of one subject: their shared settings once, and with each route only its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from fastapi import APIRouter, Depends
from fastapi.dependencies.utils import get_dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from app.domain.errors import MemoryGatewayError
from app.interfaces.http import problems
from app.interfaces.http.dependencies import CredentialFirst, no_query
from app.interfaces.http.failures import ACCESS, BODY, READS, WRITES

Errors: TypeAlias = Sequence[type[MemoryGatewayError]]
Answers: TypeAlias = Mapping[int | str, dict[str, Any]]
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


class Router:
    """Declares routes of one tag, each with the errors that it may answer with.

    A route has the errors of its access, of its body where it has one, its own, its router's, and those that it
    ``needs``: of reading or writing a database, or of more services. A route that declares no query parameter refuses
    every one.
    """

    def __init__(
        self,
        tag: str,
        *errors: type[MemoryGatewayError],
        route_class: type[APIRoute] = CredentialFirst,
        describe: Callable[..., dict[int | str, dict[str, Any]]] = problems.responses,
        any_query: bool = False,
    ) -> None:
        """Take the tag, the errors of every route, and the function that describes errors.

        ``any_query``: query parameters that a route does not have are ignored.
        """
        self._router = APIRouter(tags=[tag], route_class=route_class)
        self._errors = errors
        self._describe = describe
        self._any_query = any_query

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes that were declared."""
        return self._router.routes

    def get(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = READS,
        answers: Answers | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that reads."""
        return self._declare("GET", path, (*needs, *self._errors, *errors), answers, settings)

    def post(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        body: Errors = BODY,
        needs: Errors = WRITES,
        answers: Answers | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that takes a body, or none where ``body`` is empty."""
        return self._declare("POST", path, (*ACCESS, *body, *self._errors, *errors, *needs), answers, settings)

    def put(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = WRITES,
        answers: Answers | None = None,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that sets what its path names."""
        return self._declare("PUT", path, (*ACCESS, *BODY, *self._errors, *errors, *needs), answers, settings)

    def delete(
        self,
        path: str,
        *errors: type[MemoryGatewayError],
        needs: Errors = WRITES,
        **settings: Any,  # noqa: ANN401 - FastAPI's settings of a route
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route that deletes what its path names; its answer has no body unless another status is set."""
        return self._declare("DELETE", path, (*ACCESS, *self._errors, *errors, *needs), None, settings)

    def _declare(
        self, method: str, path: str, errors: Errors, answers: Answers | None, settings: Mapping[str, Any]
    ) -> Callable[[_Endpoint], _Endpoint]:
        responses = {**(answers or {}), **self._describe(*errors)}

        def declare(endpoint: _Endpoint) -> _Endpoint:
            dependencies = [*self._checks(method, path, endpoint), *settings.get("dependencies", ())]
            more = {**settings, "dependencies": dependencies}
            self._router.add_api_route(path, endpoint, methods=[method], responses=responses, **more)
            return endpoint

        return declare

    def _checks(self, method: str, path: str, endpoint: Callable[..., Any]) -> list[Any]:
        """Return the check that refuses query parameters, for a GET or DELETE that declares none.

        ``_Credential`` checks those of a POST or PUT.
        """
        takes_query = self._any_query or method in {"POST", "PUT"}
        if takes_query or get_dependant(path=path, call=endpoint).query_params:
            return []
        return [Depends(no_query)]
