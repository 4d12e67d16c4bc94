"""What an answer of the service, or the lack of one, means: every HTTP answer and every failure of httpx, in one place.

A problem of the service (RFC 9457) becomes the class of its status, with its ``code``: 401 ``Unauthenticated``, 403
``Forbidden``, 404 and 410 ``NotFound``, 409 ``Conflict``, 412 ``PreconditionFailed``, 429 ``QuotaExceeded``, 502 to 504
``Unavailable``, any other from 400 to 499 ``InvalidRequest``, and the rest ``MemoryGatewayError`` itself.

An answer that is not the service's, but a proxy's for example, is ``QuotaExceeded`` (``rate_limited``) with 429 and
``Unavailable`` with 502 to 504. Any other is ``AnswerNotUnderstood``. A call without an answer is ``Unavailable``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

import httpx

from memory_gateway_client import envelopes, errors
from memory_gateway_client.envelopes import Problem
from memory_gateway_client.errors import MemoryGatewayError
from memory_gateway_client.reading import read
from memory_gateway_client.request import Call

T = TypeVar("T")

_SECONDS = re.compile("[0-9]{1,9}")

SERVICE_UNREACHABLE = "service_unreachable"
"""The code where no connection was made, so that nothing was sent."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a failure of httpx becomes."""

    kind: type[MemoryGatewayError]
    code: str
    status: int
    what: str


def _unreachable(what: str) -> Failure:
    return Failure(errors.Unavailable, SERVICE_UNREACHABLE, 503, what)


def _lost(what: str) -> Failure:
    return Failure(errors.Unavailable, "answer_lost", 502, what)


def _timeout(what: str) -> Failure:
    return Failure(errors.Unavailable, "answer_timeout", 504, what)


def _unreadable(what: str) -> Failure:
    return Failure(errors.AnswerNotUnderstood, "answer_not_understood", 502, what)


FAILURES: Mapping[type[httpx.RequestError], Failure] = {
    httpx.ConnectError: _unreachable("No connection could be made"),
    httpx.ConnectTimeout: _unreachable("No connection could be made in time"),
    httpx.PoolTimeout: _unreachable("No connection of the pool came free in time"),
    httpx.ProxyError: _unreachable("The proxy made no connection"),
    httpx.UnsupportedProtocol: _unreachable("The URL's scheme is not supported"),
    httpx.ReadTimeout: _timeout("No answer came in time"),
    httpx.WriteTimeout: _timeout("The request could not be sent in time"),
    httpx.ReadError: _lost("The connection broke"),
    httpx.WriteError: _lost("The connection broke"),
    httpx.CloseError: _lost("The connection broke"),
    httpx.LocalProtocolError: _lost("The request could not be sent as it is"),
    httpx.RemoteProtocolError: _lost("The answer broke off, or is not HTTP"),
    httpx.DecodingError: _unreadable("The answer's encoding is broken"),
    httpx.TooManyRedirects: _unreadable("There were too many redirects"),
    httpx.TimeoutException: _timeout("No answer came in time"),
    httpx.RequestError: _lost("No answer came"),
}
"""What each failure of httpx means. The last two are for those that a later httpx may add."""

_BY_STATUS: Mapping[int, type[MemoryGatewayError]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    410: errors.NotFound,
    409: errors.Conflict,
    412: errors.PreconditionFailed,
    429: errors.QuotaExceeded,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}
_OF_A_PROXY: Mapping[int, str] = {429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}
"""The codes of answers that are taken for what their status says though the service did not write them."""


@contextmanager
def failures_mapped(call: Call[T], url: httpx.URL) -> Iterator[None]:
    """Raise what a failure of httpx, when this URL was asked, means in its place."""
    try:
        yield
    except httpx.RequestError as error:
        failure = next(FAILURES[each] for each in type(error).__mro__ if each in FAILURES)
        detail = f"{call}: {failure.what} ({type(error).__name__})."
        if failure.code == SERVICE_UNREACHABLE:
            detail += (
                f" The service is looked for at {url.copy_with(raw_path=b'/')}, as MEMORY_GATEWAY_URL or base_url says."
            )
        raise failure.kind(detail, code=failure.code, status=failure.status) from error


def understood(call: Call[T], response: httpx.Response) -> T:
    """Return what was answered to the call.

    Raises:
        MemoryGatewayError: the service answered with a problem, or it was not the service that answered.
    """
    if response.status_code >= httpx.codes.BAD_REQUEST:
        raise _error(call, response)
    if response.status_code not in (call.status, *call.also):
        raise _not_understood(call, response, f"{call.status} was expected")
    if call.lines_until is not None:
        return cast("T", response)  # its lines are yet to be read
    if call.answer is bytes or call.answer is str:
        return cast("T", response.content if call.answer is bytes else response.text)
    try:
        said = json.loads(response.content) if response.content else None
        if call.of_tool:
            said = envelopes.opened(said)
        return read(call.answer, said)
    except envelopes.Refused as refused:
        raise _raised(refused.problem, refused.status, refused.retry_after) from None
    except (ValueError, RecursionError) as error:
        raise _not_understood(call, response, str(error)) from error


def _error(call: Call[T], response: httpx.Response) -> MemoryGatewayError:
    status = response.status_code
    told = _SECONDS.fullmatch(response.headers.get("Retry-After", ""))
    retry_after = None if told is None else int(told[0])
    try:
        said = json.loads(response.content)
        problem = envelopes.problem(said)
    except (ValueError, RecursionError) as error:
        if status not in _OF_A_PROXY:
            return _not_understood(call, response, str(error))
        problem = Problem(code=_OF_A_PROXY[status], detail=f"{call}: {_said(response)}.")
    return _raised(problem, status, retry_after)


def _raised(problem: Problem, status: int, retry_after: int | None) -> MemoryGatewayError:
    otherwise = errors.InvalidRequest if status < httpx.codes.INTERNAL_SERVER_ERROR else MemoryGatewayError
    return _BY_STATUS.get(status, otherwise)(
        problem.detail,
        code=problem.code,
        status=status,
        request_id=problem.request_id,
        errors=problem.errors,
        advice=problem.advice,
        retry_after=retry_after,
    )


def _not_understood(call: Call[T], response: httpx.Response, why: str) -> MemoryGatewayError:
    return errors.AnswerNotUnderstood(
        f"{call}: {_said(response)} cannot be understood: {why}.",
        status=response.status_code,
        request_id=response.headers.get("X-Request-Id", ""),
    )


def _said(response: httpx.Response) -> str:
    return f"the answer {response.status_code} of the type {response.headers.get('Content-Type', 'none')!r}"
