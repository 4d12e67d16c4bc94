"""Refuses requests that would wait for too long, before anything is done for them (ADR 0046).

At three times the load that can be served, two requests are refused for each that is served, so a refusal has to cost
little: the request does not reach the application, and the log has one line a second for all refusals.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import structlog
from starlette.datastructures import Headers
from uvicorn._types import HTTPScope

from app.domain.errors import Overloaded
from app.domain.request_note import RequestNote
from app.interfaces.http.anonymous import ALWAYS_ANSWERED
from app.interfaces.http.call_report import HEADER as CALL_REPORT
from app.interfaces.http.call_report import call_report
from app.interfaces.http.middleware import Observe, request_id_of, trace_id_of
from app.interfaces.http.problems import METHODS, answer_bytes, error_response
from app.interfaces.request_state import NOTE, TRACE_ID

_LOG_SECONDS = 1.0

CheckTurn = Callable[[Callable[[], Sequence[str]]], None]
"""Takes a reader of a request's ``Authorization`` headers; raises ``Overloaded`` if the request would wait for long."""


class LoadShedding:
    """Decides which requests of one server are refused when they come, and makes the answers to these."""

    def __init__(
        self,
        check_turn: CheckTurn,
        observe: Observe,
        passing: Collection[str] = ALWAYS_ANSWERED,
        clock: Callable[[], float] = time.monotonic,
        *,
        reports: bool = False,
    ) -> None:
        """Take the check of a request's wait, the function that counts requests, and a clock of seconds.

        Requests for the paths of ``passing`` are not refused here. ``reports``: each answer reports its call to the
        Worker in front.
        """
        self._check_turn = check_turn
        self._observe = observe
        self._passing = passing
        self._clock = clock
        self._reports = reports
        self._refused = 0
        """Requests that were refused since the last line in the log."""
        self._logged_at: float | None = None

    def refusal(self, scope: HTTPScope) -> bytes | None:
        """Return the whole answer to a request that would wait for too long; None where the request may go on."""
        if scope["path"] in self._passing:
            return None
        headers = Headers(raw=list(scope["headers"]))
        try:
            self._check_turn(lambda: headers.getlist("authorization"))
        except Overloaded as error:
            self._tell(_method(scope))
            return _answer(error, scope, headers, reports=self._reports)
        return None

    def _tell(self, method: str) -> None:
        """Count a request that is refused, and log the number of refused requests at most once a second."""
        self._observe(method, "", Overloaded.status, 0.0)
        self._refused += 1
        now = self._clock()
        if self._logged_at is None or now - self._logged_at >= _LOG_SECONDS:
            structlog.get_logger().warning("overloaded", requests=self._refused)
            self._refused, self._logged_at = 0, now


def _answer(error: Overloaded, scope: HTTPScope, headers: Headers, *, reports: bool) -> bytes:
    """Return the bytes of an answer, in the shape that errors of the path have."""
    request_id, trace_id = request_id_of(headers), trace_id_of(headers)
    given: dict[str, Any] = {**scope, "state": {"request_id": request_id, TRACE_ID: trace_id, NOTE: RequestNote()}}
    response = error_response(error, given)
    further = [(b"x-request-id", request_id.encode())]
    if reports:
        report = call_report(given["state"][NOTE], _method(scope), "")
        further.append((CALL_REPORT.lower().encode(), report.encode()))
    return answer_bytes(response, *further, head=scope["method"] == "HEAD")


def _method(scope: HTTPScope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"
