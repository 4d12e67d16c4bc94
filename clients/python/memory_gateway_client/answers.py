"""What an answer of the service, or the lack of one, means: every HTTP answer and every failure of httpx, in one place.

A problem of the service (RFC 9457) becomes the class of its ``code``. A code that this version does not know becomes
what its status says: 401 and 403 ``AccessRefused``, 409 ``Conflict``, 429 ``RateLimited``, 502 to 504 ``Unavailable``,
any other from 400 to 499 ``InvalidRequest``, and the rest ``MemoryGatewayError`` itself. 404 is among the invalid
requests, since what a newer service, or a wrong base URL, cannot find is not known to be a memory.

An answer that is not the service's, of a proxy on the way for one, is ``RateLimited`` with 429 and ``Unavailable`` with
502 to 504. Any other is ``AnswerNotUnderstood``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx

from memory_gateway_client import errors
from memory_gateway_client.errors import FieldError, MemoryGatewayError
from memory_gateway_client.reading import read
from memory_gateway_client.request import Call

T = TypeVar("T")

FAILURES: Mapping[type[httpx.RequestError], tuple[type[MemoryGatewayError], str]] = {
    httpx.ConnectError: (errors.ServiceUnreachable, "No connection could be made"),
    httpx.ConnectTimeout: (errors.ServiceUnreachable, "No connection could be made in time"),
    httpx.PoolTimeout: (errors.ServiceUnreachable, "No connection of the pool came free in time"),
    httpx.ProxyError: (errors.ServiceUnreachable, "The proxy made no connection"),
    httpx.UnsupportedProtocol: (errors.ServiceUnreachable, "The URL's scheme is not supported"),
    httpx.ReadTimeout: (errors.AnswerTimeout, "No answer came in time"),
    httpx.WriteTimeout: (errors.AnswerTimeout, "The request could not be sent in time"),
    httpx.ReadError: (errors.AnswerLost, "The connection broke"),
    httpx.WriteError: (errors.AnswerLost, "The connection broke"),
    httpx.CloseError: (errors.AnswerLost, "The connection broke"),
    httpx.LocalProtocolError: (errors.AnswerLost, "The request could not be sent as it is"),
    httpx.RemoteProtocolError: (errors.AnswerLost, "The answer broke off, or is not HTTP"),
    httpx.DecodingError: (errors.AnswerNotUnderstood, "The answer's encoding is broken"),
    httpx.TooManyRedirects: (errors.AnswerNotUnderstood, "There were too many redirects"),
    httpx.TimeoutException: (errors.AnswerTimeout, "No answer came in time"),
    httpx.RequestError: (errors.AnswerLost, "No answer came"),
}
"""What each failure of httpx means. The last two are for those that a later httpx may add."""

_BY_CODE: Mapping[str, type[MemoryGatewayError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, MemoryGatewayError) and "code" in vars(kind)
}
_BY_STATUS: Mapping[int, type[MemoryGatewayError]] = {
    401: errors.AccessRefused,
    403: errors.AccessRefused,
    409: errors.Conflict,
    429: errors.RateLimited,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}


@dataclass(frozen=True, slots=True)
class _Problem:
    code: str
    detail: str
    request_id: str = ""
    errors: tuple[FieldError, ...] = ()
    advice: str = ""


@contextmanager
def failures_mapped(call: Call[T]) -> Iterator[None]:
    """Raise what a failure of httpx means in its place."""
    try:
        yield
    except httpx.RequestError as error:
        kind, what = next(FAILURES[each] for each in type(error).__mro__ if each in FAILURES)
        raise kind(f"{call}: {what} ({type(error).__name__}).") from error


def understood(call: Call[T], response: httpx.Response) -> T:
    """Return what was answered to the call.

    Raises:
        MemoryGatewayError: the service answered with a problem, or it was not the service that answered.
    """
    if response.status_code >= httpx.codes.BAD_REQUEST:
        raise _error(call, response)
    if response.status_code != call.status:
        raise _not_understood(call, response, f"{call.status} was expected")
    try:
        return read(call.answer, json.loads(response.content) if response.content else None)
    except (ValueError, RecursionError) as error:
        raise _not_understood(call, response, str(error)) from error


def _error(call: Call[T], response: httpx.Response) -> MemoryGatewayError:
    status = response.status_code
    told = re.fullmatch("[0-9]{1,9}", response.headers.get("Retry-After", ""))
    retry_after = None if told is None else int(told[0])
    try:
        problem = read(_Problem, json.loads(response.content))
    except (ValueError, RecursionError) as error:
        if status not in {429, 502, 503, 504}:
            return _not_understood(call, response, str(error))
        return _BY_STATUS[status](f"{call}: {_said(response)}.", status=status, retry_after=retry_after)
    otherwise = errors.InvalidRequest if status < httpx.codes.INTERNAL_SERVER_ERROR else MemoryGatewayError
    return _BY_CODE.get(problem.code, _BY_STATUS.get(status, otherwise))(
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
