"""Answers most requests without FastAPI's layers, which cost more than all else that a request's frame does.

FastAPI declares the routes, describes them, and serves those that need more of it. A direct route needs an entry, parts
of the path and a JSON body, and its answer is JSON; it answers as FastAPI's layers do, errors included.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError, ResponseValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from app.interfaces.http.middleware import WITH_BODIES

_UNREADABLE = 400
_ABSENT = object()
"""Stands for the body of a request that has none."""


@dataclass(frozen=True, slots=True)
class DirectReader:
    """Reads the requests of one route, and writes its answers."""

    dependencies: Sequence[Dependant]
    path: Sequence[Any]
    """The fields of the path."""
    body: Any
    """The field of the body."""
    request_name: str | None
    """The parameter for the request itself."""
    status: int
    answer: Any
    """The field of the answer."""
    written: Mapping[str, Any]
    """What is left out of the answer."""

    @classmethod
    def of(cls, route: APIRoute, allowed: Callable[[object], bool]) -> Self | None:
        """Return the reader of a route; None where the route needs more of FastAPI.

        ``allowed`` tells whether a dependency may be called here: it takes the request, or the request and the answer.
        """
        needed, answer = route.dependant, route.response_field
        beside = (needed.query_params, needed.header_params, needed.cookie_params, needed.response_param_name)
        if (
            answer is None
            or any(beside)
            or len(needed.body_params) != 1
            or route.body_field is not needed.body_params[0]
            or not isinstance(route.response_class, DefaultPlaceholder)
            or not all(allowed(each.call) for each in needed.dependencies)
        ):
            return None
        left_out = {name: getattr(route, f"response_model_{name}") for name in ("exclude_unset", "exclude_none")}
        return cls(
            needed.dependencies,
            needed.path_params,
            route.body_field,
            needed.request_param_name,
            route.status_code or 200,
            answer,
            left_out,
        )

    async def read(self, request: Request) -> tuple[dict[str, Any], Response | None]:
        """Return what the route's function takes, of a request whose credential was verified.

        Beside it stands an answer with the headers that the dependencies add, where one of them may.

        Raises:
            MemoryGatewayError, RequestValidationError, HTTPException: ``problems.response_to`` renders it.
        """
        sent = await _json(request)
        beside: Response | None = None
        values: dict[str, Any] = {}
        for needed in self.dependencies:
            given: dict[str, Any] = {needed.request_param_name or "": request}
            if needed.response_param_name is not None:
                beside = given[needed.response_param_name] = beside or Response()
            values[needed.name or ""] = await needed.call(**given)  # type: ignore[misc]  # each has a function
        values.pop("", None)
        errors: list[Any] = []
        for field in self.path:
            values[field.name] = _read(field, request.path_params[field.alias], ("path", field.alias), errors)
        if sent is _ABSENT:
            errors.append({"type": "missing", "loc": ("body",), "msg": "Field required", "input": None})
        else:
            values[self.body.name] = _read(self.body, sent, ("body",), errors)
        if errors:
            raise RequestValidationError(errors)
        if self.request_name is not None:
            values[self.request_name] = request
        return values, beside

    def response(self, answer: object, beside: Response | None) -> Response:
        """Return the response with what the route's function has answered, and with the headers ``beside``."""
        if isinstance(answer, Response):
            return answer
        checked, wrong = self.answer.validate(answer, {}, loc=("response",))
        if wrong:
            raise ResponseValidationError(errors=wrong)
        text = self.answer.serialize_json(checked, **self.written)
        response = Response(text, self.status, media_type="application/json")
        if beside is not None:
            response.headers.raw.extend(each for each in beside.headers.raw if each[0] != b"content-length")
        return response


def _read(field: Any, value: object, location: tuple[str, ...], errors: list[Any]) -> Any:  # noqa: ANN401 - FastAPI's field
    """Return the value of a field; where it is wrong, add what is wrong with it to the errors."""
    read, wrong = field.validate(value, {}, loc=location)
    errors += wrong
    return read


async def _json(request: Request) -> Any:  # noqa: ANN401 - any JSON
    """Return the body, parsed where the request says that it is JSON; the entry's check refuses any other type.

    Raises:
        RequestValidationError: it is no JSON.
        HTTPException: it cannot be read.
    """
    try:
        body = await request.body()
        if not body:
            return _ABSENT
        return await request.json() if _is_json(request.headers.get("content-type", "")) else body
    except json.JSONDecodeError as error:
        wrong = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([{**wrong, "ctx": {"error": error.msg}}]) from error
    except HTTPException:
        raise
    except Exception as error:
        raise HTTPException(_UNREADABLE, "There was an error parsing the body") from error


def _is_json(media_type: str) -> bool:
    kind, _, form = media_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (form == "json" or (form.endswith("+json") and "/" not in form))


class DirectRoutes:
    """Finds the direct route of a request, by its path alone or by the first segment: FastAPI tries all in turn."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        """Take all routes, in the order in which they are tried."""
        self._known: dict[tuple[str, str], Any] = {}
        """Routes without parts of the path, by method and path; each once it was asked for."""
        by_segment = [(_first_segment(getattr(route, "path", "")), route) for route in routes]
        self._of_segment = {
            segment: [each for its, each in by_segment if its == segment or not its or "{" in its]
            for segment, route in by_segment
            if _may_be_direct(route)
        }
        """The routes that a path with this first segment may belong to."""

    def find(self, scope: Scope) -> Callable[[Request], Awaitable[Response]] | None:
        """Return what answers a request, and note its route in its scope as FastAPI does; None: FastAPI answers it."""
        method, path = scope["method"], scope["path"].removeprefix(scope.get("root_path", ""))
        parts: Mapping[str, Any] = {}
        route: Any = self._known.get((method, path))
        if route is None:
            for each in self._of_segment.get(_first_segment(path), ()):
                match, matched = each.matches(scope)
                if match is Match.FULL:
                    parts = matched.get("path_params", parts)
                    route = each if _is_direct(each) else None
                    break
            if route is None:
                return None
            if not parts:
                self._known[method, path] = route
        scope.update(route=route, endpoint=route.endpoint, path_params=parts)
        answer: Callable[[Request], Awaitable[Response]] = route.answer
        return answer


def _may_be_direct(route: BaseRoute) -> bool:
    """Tell whether a route may turn out to be direct, without making the parts of it by which that is known."""
    methods: Collection[str] = getattr(route, "methods", None) or ()
    return hasattr(type(route), "reader") and not WITH_BODIES.isdisjoint(methods)


def _is_direct(route: BaseRoute) -> bool:
    return getattr(route, "reader", None) is not None


def _first_segment(path: str) -> str:
    return path.partition("/")[2].partition("/")[0]
