"""Every failure is an exception of the client: the service's own by its status, any other by what happened."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import memory_gateway_client as client
from app.domain import errors as of_service
from app.interfaces.http.problems import problem_response
from memory_gateway_client import errors
from memory_gateway_client.answers import FAILURES
from memory_gateway_client.exchange import LASTING
from tests.clients.conftest import Connect
from tests.domain.test_errors import tree

ANSWERED = {kind.code: kind for kind in tree().values() if kind is not of_service.ConfigurationError}
"""The service's errors by code, without the one that is found before it answers at all."""

OF_STATUS = {
    400: client.InvalidRequest,
    401: client.Unauthenticated,
    403: client.Forbidden,
    404: client.NotFound,
    405: client.InvalidRequest,
    408: client.InvalidRequest,
    409: client.Conflict,
    412: client.PreconditionFailed,
    410: client.NotFound,
    413: client.InvalidRequest,
    415: client.InvalidRequest,
    421: client.InvalidRequest,
    422: client.InvalidRequest,
    429: client.QuotaExceeded,
    431: client.InvalidRequest,
    451: client.InvalidRequest,
    500: client.MemoryGatewayError,
    502: client.Unavailable,
    503: client.Unavailable,
    504: client.Unavailable,
    507: client.MemoryGatewayError,
}


def problem(kind: type[of_service.MemoryGatewayError]) -> httpx.Response:
    """Answer as the service does with this error."""
    error = kind.__new__(kind)
    of_service.MemoryGatewayError.__init__(error, "what went wrong", errors=[of_service.FieldError("a.b", "is wrong")])
    if isinstance(error, of_service.QuotaExceeded):
        error.reached, error.retry_after = "memories", None
    if isinstance(error, of_service.RateLimited):
        error.retry_after = 7
    answer = problem_response(error, "request-1")
    return httpx.Response(answer.status_code, headers=dict(answer.headers), content=bytes(answer.body))


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


@pytest.mark.parametrize("kind", client.MemoryGatewayError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_the_status_of_a_class_is_one_that_it_is_raised_for(kind: type[client.MemoryGatewayError]) -> None:
    assert kind is client.AnswerNotUnderstood or OF_STATUS[kind.status] is kind
    assert not kind.__subclasses__()


def test_the_docstring_draws_every_error() -> None:
    assert errors.__doc__
    drawn = re.findall(r"^ {4}(?:\|-- )?(\w+)", errors.__doc__, re.MULTILINE)
    assert drawn == ["MemoryGatewayError", *(kind.__name__ for kind in client.MemoryGatewayError.__subclasses__())]


def test_the_outages_that_waiting_does_not_end_are_those_the_service_sends_without_retry_after() -> None:
    outages = {code: kind for code, kind in ANSWERED.items() if OF_STATUS[kind.status] is client.Unavailable}
    assert {code for code, kind in outages.items() if "Retry-After" not in problem(kind).headers} == LASTING


@pytest.mark.parametrize("code", sorted(ANSWERED))
async def test_each_error_of_the_service_arrives_as_the_class_of_its_status(connect: Connect, code: str) -> None:
    kind = ANSWERED[code]
    answer = problem(kind)
    with pytest.raises(client.MemoryGatewayError) as caught:
        await connect(lambda _: answer, retries=0).recall("anything")
    error = caught.value
    assert type(error) is OF_STATUS[kind.status]
    assert (error.code, error.status, error.detail) == (code, kind.status, "what went wrong")
    assert (error.request_id, error.errors) == ("request-1", (errors.FieldError("a.b", "is wrong"),))
    waits = answer.headers.get("Retry-After")
    assert error.retry_after == (None if waits is None else int(waits))


async def test_advice_is_kept_and_shown_where_the_service_gives_it(connect: Connect) -> None:
    told = {"code": "storage_full", "detail": "No room.", "advice": "Make room.", "newer": {"than": "this"}}
    with pytest.raises(client.Unavailable) as caught:
        await connect(lambda _: httpx.Response(503, json=told), retries=0).store("anything")
    assert (caught.value.advice, caught.value.request_id) == ("Make room.", "")
    assert caught.value.__notes__ == ["advice: Make room."]


@pytest.mark.parametrize(("status", "kind"), OF_STATUS.items())
async def test_a_code_of_a_newer_service_becomes_what_its_status_says(
    connect: Connect, status: int, kind: type[client.MemoryGatewayError]
) -> None:
    told = {"code": "not_thought_of_yet", "detail": "New."}
    with pytest.raises(client.MemoryGatewayError) as caught:
        await connect(lambda _: httpx.Response(status, json=told), retries=0).recall("anything")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.status) == ("not_thought_of_yet", status)


NOT_PROBLEMS = [b"", b"<html>", b"{", b"[]", b"null", b'"text"', b"{}", b'{"code": 1, "detail": ""}', b"\xff\xfe\xff"]


@pytest.mark.parametrize("content", NOT_PROBLEMS)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, client.AnswerNotUnderstood),
        (401, client.AnswerNotUnderstood),
        (404, client.AnswerNotUnderstood),
        (429, client.QuotaExceeded),
        (500, client.AnswerNotUnderstood),
        (502, client.Unavailable),
        (503, client.Unavailable),
        (504, client.Unavailable),
    ],
)
async def test_what_is_not_an_answer_of_the_service_is_told_by_its_status(
    connect: Connect, content: bytes, status: int, kind: type[client.MemoryGatewayError]
) -> None:
    answer = httpx.Response(status, content=content, headers={"Content-Type": "text/html"})
    with pytest.raises(client.MemoryGatewayError) as caught:
        await connect(lambda _: answer, retries=0).recall("anything")
    assert type(caught.value) is kind
    codes = {client.AnswerNotUnderstood: "answer_not_understood", client.QuotaExceeded: "rate_limited"}
    assert (caught.value.code, caught.value.status) == (codes.get(kind, "unavailable"), status)
    assert re.search(f"POST /recall: the answer {status} of the type 'text/html'", caught.value.detail)


ENTRY: dict[str, Any] = {
    "id": "1",
    "content": "text",
    "metadata": {},
    "score": 1,
    "similarity": None,
    "created_at": "2026-01-01T00:00:00Z",
    "occurred_at": None,
    "session_id": None,
}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ({}, "the answer has no entries"),
        ({"entries": []}, "the answer has no confidence"),
        ({"entries": None, "confidence": 1.0}, "the answer.entries is not tuple"),
        ({"entries": {}, "confidence": 1.0}, "the answer.entries is not tuple"),
        ({"entries": [], "confidence": "1"}, "the answer.confidence is not float"),
        ({"entries": [], "confidence": True}, "the answer.confidence is not float"),
        ({"entries": [ENTRY, ENTRY | {"score": None}], "confidence": 1.0}, "the answer.entries[1].score is not float"),
        ({"entries": [ENTRY | {"metadata": []}], "confidence": 1.0}, "the answer.entries[0].metadata is not dict"),
        (
            {"entries": [ENTRY | {"created_at": "now"}], "confidence": 1.0},
            "the answer.entries[0].created_at is not a time",
        ),
        (
            {"entries": [ENTRY | {"created_at": "2026-01-01T00:00:00"}], "confidence": 1.0},
            "the answer.entries[0].created_at has no time zone",
        ),
    ],
)
async def test_an_answer_that_lacks_something_is_never_read_as_no_memories(
    connect: Connect, answer: Any, wrong: str
) -> None:
    with pytest.raises(client.AnswerNotUnderstood, match=re.escape(wrong)) as caught:
        await connect(lambda _: httpx.Response(200, json=answer)).recall("anything")
    assert caught.value.status == 200


@pytest.mark.parametrize("content", [*NOT_PROBLEMS, b"[" * 200_000, b'{"entries":[],"conf'])
async def test_a_success_that_cannot_be_read_is_an_error(connect: Connect, content: bytes) -> None:
    with pytest.raises(client.AnswerNotUnderstood):
        await connect(lambda _: httpx.Response(200, content=content)).recall("anything")


async def test_another_success_than_the_one_expected_is_an_error(connect: Connect) -> None:
    asked = connect(lambda _: httpx.Response(200, json={"stored": True}))
    with pytest.raises(client.AnswerNotUnderstood, match="201 was expected"):
        await asked.store("anything")
    with pytest.raises(client.AnswerNotUnderstood, match="204 was expected"):
        await asked.delete_memory("1")


async def test_what_a_newer_service_adds_is_left_out(connect: Connect) -> None:
    answer = {"entries": [ENTRY | {"new": 1}], "confidence": 1, "degraded": None, "new": {}}
    recall = await connect(lambda _: httpx.Response(200, json=answer)).recall("anything")
    assert (len(recall.entries), recall.confidence, recall.degraded) == (1, 1.0, ())


def test_every_failure_of_httpx_has_one_meaning() -> None:
    leaves = {kind for kind in subclasses(httpx.RequestError) if not kind.__subclasses__()}
    of_httpx = {kind for kind in leaves if kind.__module__.startswith("httpx")}
    assert len(of_httpx) >= 14
    assert of_httpx <= FAILURES.keys()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda kind: kind.__name__)
async def test_a_failure_of_httpx_is_raised_as_what_it_means(
    connect: Connect, failure: type[httpx.RequestError]
) -> None:
    def fails(request: httpx.Request) -> httpx.Response:
        raise failure("as httpx says", request=request)

    with pytest.raises(client.MemoryGatewayError) as caught:
        await connect(fails, retries=0).recall("anything")
    meant = FAILURES[failure]
    assert (type(caught.value), caught.value.code, caught.value.status) == (meant.kind, meant.code, meant.status)
    assert type(caught.value.__cause__) is failure
    assert "POST /recall" in caught.value.detail


async def test_a_failure_that_httpx_adds_later_is_an_answer_lost(connect: Connect) -> None:
    class AddedLater(httpx.TransportError):
        pass

    def fails(_: httpx.Request) -> httpx.Response:
        raise AddedLater("new")

    with pytest.raises(client.Unavailable) as caught:
        await connect(fails, retries=0).recall("anything")
    assert caught.value.code == "answer_lost"
