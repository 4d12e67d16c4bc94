"""Renders every error in one shape: application/problem+json (RFC 9457), or Cloudflare's shape below its paths."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Mount
from starlette.types import Scope

from app.domain.advice import advice
from app.domain.errors import (
    AccessRefused,
    InvalidRequest,
    MalformedRequest,
    MemoryGatewayError,
    MethodNotAllowed,
    NoSuchPath,
    QuotaExceeded,
    Unavailable,
)
from app.domain.request_note import RequestNote
from app.interfaces.fields import invalid
from app.interfaces.http import envelope
from app.interfaces.http.schemas import examples
from app.interfaces.request_state import NOTE, TRACE_ID
from app.observability.logs import log_failure
from app.runtime.shards import Shards

MEDIA_TYPE = "application/problem+json"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
QUOTA_WARNING = "Quota-Warning"
"""The header that names quotas that are reached, or nearly."""

_REQUEST_ID = "709a63a769b71784720db39aedab3274"
"""The request id of the examples."""
_TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
"""The trace id of the examples."""


class ProblemField(BaseModel):
    """A field of the request and what is wrong with it."""

    field: str = Field(description="Dotted path of the field, such as `filter.metadata`.")
    message: str


class Problem(BaseModel):
    """What went wrong. `code` is stable; texts are for people."""

    type: str = Field(description="A URN made of the code.")
    title: str
    status: int
    detail: str
    code: str
    advice: str = Field(description="What to do about it: wait, correct, shorten, or ask the operator.")
    request_id: str
    trace_id: str | None = Field(
        None,
        description="The trace of the request, where it has one: its caller's, or one of the service (`traceparent`).",
    )
    errors: list[ProblemField] = Field(default_factory=list)


def install(app: FastAPI) -> None:
    """Answer every exception of a route in this one shape."""
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


async def response_to(request: Request, error: Exception) -> Response:
    """Return the answer to an exception of a route; raise it again where it is a defect."""
    for kind, handler in _HANDLERS.items():
        if isinstance(error, kind):
            return await handler(request, error)
    raise error


def responses(*errors: type[MemoryGatewayError]) -> dict[int | str, dict[str, Any]]:
    """Describe, for a route's OpenAPI entry, the errors it may answer with, each with an example by its code."""
    described: dict[int | str, dict[str, Any]] = {}
    for error in dict.fromkeys(errors):
        content = {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}
        entry = described.setdefault(error.status, {"description": "", "content": {MEDIA_TYPE: content}})
        entry["description"] = ", ".join(filter(None, [entry["description"], f"{error.title} (`{error.code}`)"]))
        entry["content"][MEDIA_TYPE]["examples"][error.code] = {"summary": error.title, "value": example(error)}
    return described


def example(kind: type[MemoryGatewayError]) -> dict[str, Any]:
    """Return a problem of this kind as a caller may get it."""
    return _problem(examples.error(kind), _REQUEST_ID, _TRACE_ID).model_dump()


def error_response(error: MemoryGatewayError, scope: Scope) -> Response:
    """Render an error of the tree in the shape that the path of the request has, and note its code."""
    note: RequestNote = scope["state"][NOTE]
    note.code = error.code
    if scope["path"].removeprefix(scope.get("root_path", "")).startswith(envelope.PREFIX):
        body = envelope.failure(error).model_dump_json()
        return Response(body, envelope.status(error), _headers(error, scope), envelope.MEDIA_TYPE)
    body = _problem(error, scope["state"]["request_id"], scope["state"].get(TRACE_ID)).model_dump_json(
        exclude_none=True
    )
    return Response(body, error.status, _headers(error, scope), MEDIA_TYPE)


def problem_response(error: MemoryGatewayError, request_id: str) -> Response:
    """Render an error of the tree as a problem, outside the application; it is none of a credential."""
    body = _problem(error, request_id).model_dump_json(exclude_none=True)
    return Response(body, error.status, _headers(error, None), MEDIA_TYPE)


def answer_bytes(response: Response, *headers: tuple[bytes, bytes], head: bool = False) -> bytes:
    """Return a whole HTTP/1.1 answer with further headers, for answers that are made without the application.

    ``head``: whether the request was HEAD, whose answer has no body.
    """
    lines = [f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode()]
    lines += [name + b": " + value for name, value in (*response.raw_headers, *headers)]
    return b"\r\n".join([*lines, b"", b"" if head else bytes(response.body)])


def _problem(error: MemoryGatewayError, request_id: str, trace_id: str | None = None) -> Problem:
    return Problem(
        type=f"urn:memory-gateway:problem:{error.code}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        advice=advice(error),
        request_id=request_id,
        trace_id=trace_id,
        errors=[ProblemField(field=field.field, message=field.message) for field in error.errors],
    )


def _headers(error: MemoryGatewayError, scope: Scope | None) -> dict[str, str]:
    if isinstance(error, AccessRefused) and scope is not None:
        shards: Shards = scope["app"].state.shards
        challenge = shards.main.backends.delegation.challenge(error)
        return {} if challenge is None else {"WWW-Authenticate": challenge}
    if isinstance(error, QuotaExceeded):
        waits = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        return {QUOTA_WARNING: error.reached, **waits}
    if isinstance(error, Unavailable) and error.retry_after is not None:
        return {"Retry-After": str(error.retry_after)}
    return {}


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemoryGatewayError)  # noqa: S101 - registered for this class only
    log_failure(error)
    return error_response(error, request.scope)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
    return error_response(invalid(error.errors()), request.scope)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """Render an exception of the framework: an unknown path or method, an incomplete body or one that is too large."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if isinstance(error.__cause__, MemoryGatewayError):
        return error_response(error.__cause__, request.scope)
    if error.status_code == MalformedRequest.status:
        return error_response(MalformedRequest("The body cannot be read as JSON."), request.scope)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return error_response(NoSuchPath("The service has no such path."), request.scope)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = _allowed(request)
        refusal = MethodNotAllowed(f"This path takes {' and '.join(allowed)}, not {_known(request.method)}.")
        response = error_response(refusal, request.scope)
        response.headers["Allow"] = ", ".join(allowed)
        return response
    response = error_response(_FrameworkError(error), request.scope)
    response.headers.update(error.headers or {})
    return response


_HANDLERS: Mapping[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    MemoryGatewayError: _on_error,
    RequestValidationError: _on_validation_error,
    HTTPException: _on_http_exception,
}


def _known(method: str) -> str:
    """Return the name of a method that HTTP has; the text of any other method is not repeated."""
    return method if method in METHODS else "this method"


def _allowed(request: Request) -> list[str]:
    """Return the methods that all routes of the path have: the framework names those of the first route alone."""
    if isinstance(request.scope.get("endpoint"), StaticFiles):
        return ["GET", "HEAD"]
    scopes = [dict(request.scope, method=method) for method in METHODS]
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    return [scope["method"] for scope in scopes if any(route.matches(scope)[0] == Match.FULL for route in routes)]


class _FrameworkError(InvalidRequest):
    """An error of the framework as an ``InvalidRequest``."""

    def __init__(self, error: HTTPException) -> None:
        super().__init__(f"{error.detail}.".replace("..", "."))
        self.status = error.status_code
        self.title = str(error.detail)
        self.code = "refused"
