"""Refuses requests that would wait for too long, before anything is done for them (ADR 0046).

At three times what can be answered two requests are refused for each one that is served, so a refusal has to cost
little: it does not reach the application, and the log has a line a second for all of them.
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
from app.interfaces.http.middleware import Observe, request_id_of
from app.interfaces.http.problems import METHODS, answer_bytes, error_response
from app.interfaces.request_state import NOTE

_LOG_SECONDS = 1.0

CheckTurn = Callable[[Callable[[], Sequence[str]]], None]
"""Takes what reads a request's ``Authorization`` headers; raises ``Overloaded`` if the request would wait for long."""


class LoadShedding:
    """Says which requests of one server are refused when they come, and what they are answered."""

    def __init__(
        self,
        check_turn: CheckTurn,
        observe: Observe,
        passing: Collection[str] = ALWAYS_ANSWERED,
        clock: Callable[[], float] = time.monotonic,
        *,
        reports: bool = False,
    ) -> None:
        """Take what knows who waits, what counts requests, and a clock that tells seconds.

        Requests for the paths of ``passing`` are not refused here. ``reports``: each answer tells the Worker in front
        what the call was.
        """
        self._check_turn = check_turn
        self._observe = observe
        self._passing = passing
        self._clock = clock
        self._reports = reports
        self._refused = 0
        """How many were refused that the log does not tell of yet."""
        self._logged_at: float | None = None

    def refusal(self, scope: HTTPScope) -> bytes | None:
        """Return the whole answer to a request that would wait for too long; None where it may begin or wait."""
        if scope["path"] in self._passing:
            return None
        headers = Headers(raw=list(scope["headers"]))
        try:
            self._check_turn(lambda: headers.getlist("authorization"))
        except Overloaded as error:
            self._tell(_method(scope))
            return _answer(error, scope, request_id_of(headers), reports=self._reports)
        return None

    def _tell(self, method: str) -> None:
        """Count a request that is refused, and log how many were, once in a while."""
        self._observe(method, "", Overloaded.status, 0.0)
        self._refused += 1
        now = self._clock()
        if self._logged_at is None or now - self._logged_at >= _LOG_SECONDS:
            structlog.get_logger().warning("overloaded", requests=self._refused)
            self._refused, self._logged_at = 0, now


def _answer(error: Overloaded, scope: HTTPScope, request_id: str, *, reports: bool) -> bytes:
    """Return the bytes of an answer, in the form that the path has."""
    given: dict[str, Any] = {**scope, "state": {"request_id": request_id, NOTE: RequestNote()}}
    response = error_response(error, given)
    further = [(b"x-request-id", request_id.encode())]
    if reports:
        report = call_report(given["state"][NOTE], _method(scope), "")
        further.append((CALL_REPORT.lower().encode(), report.encode()))
    return answer_bytes(response, *further, head=scope["method"] == "HEAD")


def _method(scope: HTTPScope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"
