"""The rerank endpoint: what is sent, and what its answers and refusals become."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.breaker import TIME_OUTS
from app.adapters.http.reranker import HttpReranker
from app.domain.errors import (
    CircuitOpen,
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from tests.observability.samples import calls

BASE = "https://rerank.example/v2"
KEY = "rerank-key-0123456789"
TLS = httpx.create_ssl_context()
CONTENT = "a secret memory"


def answer(*results: Any) -> httpx.Response:
    return httpx.Response(200, json={"id": "1", "results": list(results)})


TRUE: Any = True


def result(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score, "document": {"text": CONTENT}}


@pytest.fixture
def route(monkeypatch: pytest.MonkeyPatch) -> Iterator[respx.Route]:
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: TLS)
    with respx.mock(assert_all_called=False) as router:
        yield router.post(f"{BASE}/rerank")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def reranker(route: respx.Route, metrics: Metrics) -> AsyncIterator[HttpReranker]:
    del route  # entered first, left last
    reranker = HttpReranker(base_url=f"{BASE}/", api_key=KEY, model="rerank-v4", metrics=metrics)
    yield reranker
    await reranker.close()


async def test_a_call_sends_the_model_the_query_and_all_texts_and_wants_each_rated(
    route: respx.Route, reranker: HttpReranker, metrics: Metrics
) -> None:
    route.mock(return_value=answer(result(1, 0.75), result(0, 0.25)))
    assert await reranker.rerank("question", ["one", "två"], tenant_id="acme") == [0.25, 0.75]
    request = route.calls.last.request
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {
        "model": "rerank-v4",
        "query": "question",
        "documents": ["one", "två"],
        "top_n": 2,
    }
    assert "acme" not in request.content.decode() + str(request.headers)
    assert calls(metrics) == {("http.rerank", "ok"): 1}
    assert reranker.name == "http/rerank-v4"


async def test_a_server_of_one_model_is_sent_neither_model_nor_key(route: respx.Route, metrics: Metrics) -> None:
    route.mock(return_value=answer(result(0, 1)))
    reranker = HttpReranker(base_url=BASE, metrics=metrics)
    await reranker.ping()
    await reranker.close()
    request = route.calls.last.request
    assert "authorization" not in request.headers
    assert json.loads(request.content) == {"query": "ping", "documents": ["ping"], "top_n": 1}
    assert reranker.name == "http"


GOOD = result(0, 0.5)
WRONG: dict[str, Any] = {
    "a result missing": [GOOD],
    "no results": [],
    "a result twice": [GOOD, GOOD],
    "a result too many": [GOOD, result(1, 0.5), result(2, 0.5)],
    "an index too high": [GOOD, result(2, 0.5)],
    "an index below 0": [GOOD, result(-1, 0.5)],
    "an index that is a text": [GOOD, result("1", 0.5)],
    "an index that is true": [GOOD, result(TRUE, 0.5)],
    "an index with a fraction": [GOOD, result(1.0, 0.5)],
    "no index": [GOOD, {"relevance_score": 0.5}],
    "no score": [GOOD, {"index": 1}],
    "null for a score": [GOOD, result(1, None)],
    "a text for a score": [GOOD, result(1, "0.5")],
    "true for a score": [GOOD, result(1, TRUE)],
    "a list for a score": [GOOD, result(1, [0.5])],
    "null for a result": [GOOD, None],
    "a text for a result": [GOOD, "text"],
    "an object for the results": {"0": 0.5},
    "null for the results": None,
}


@pytest.mark.parametrize("results", WRONG.values(), ids=WRONG)
async def test_an_answer_that_does_not_rate_each_text_once_is_not_believed(
    route: respx.Route, reranker: HttpReranker, metrics: Metrics, results: Any
) -> None:
    route.mock(return_value=httpx.Response(200, json={"results": results}))
    with pytest.raises(UpstreamRejected):
        await reranker.rerank(CONTENT, ["a", "b"])
    assert calls(metrics) == {("http.rerank", "upstream_rejected"): 1}


BODIES = [
    *(b"", b"<html>", b"null", b"[]", b"1", b'"text"', b'{"results"', b"{}"),
    *(b'{"results":[{"index":0,"relevance_score":%s}]}' % number for number in (b"NaN", b"Infinity", b"1e999")),
]


@pytest.mark.parametrize("body", BODIES)
async def test_a_body_that_is_no_answer_is_not_believed(
    route: respx.Route, reranker: HttpReranker, body: bytes
) -> None:
    route.mock(return_value=httpx.Response(200, content=body))
    with pytest.raises(UpstreamRejected):
        await reranker.rerank("question", ["text"])


def refusal(status: int, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


REFUSALS: dict[str, tuple[Any, type[MemoryGatewayError], int | None]] = {
    "429 told": (refusal(429, {"message": CONTENT}, retry_after="7"), RateLimited, 7),
    "429 untold": (refusal(429), RateLimited, 5),
    "429 with a date": (refusal(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), RateLimited, 5),
    "429 for too long": (refusal(429, retry_after="9" * 5000), RateLimited, 5),
    "400": (refusal(400, {"message": CONTENT}), UpstreamRejected, None),
    "422 that quotes": (refusal(422, {"detail": [{"input": CONTENT, "type": "missing"}]}), UpstreamRejected, None),
    "404": (refusal(404, {"error": {"code": "model_not_found", "message": CONTENT}}), UpstreamRejected, None),
    "402": (refusal(402, {"message": CONTENT}), QuotaExhausted, None),
    "401": (refusal(401, {"message": f"invalid token {KEY}"}), CredentialsRefused, None),
    "403": (refusal(403, {"error": CONTENT}), CredentialsRefused, None),
    "408": (refusal(408), UpstreamTimeout, 1),
    "500": (refusal(500, {"error": {"code": CONTENT}}), UpstreamUnavailable, 1),
    "502 in HTML": (httpx.Response(502, html=CONTENT), UpstreamUnavailable, 1),
    "503": (refusal(503), UpstreamOverloaded, 5),
    "529": (refusal(529), UpstreamOverloaded, 5),
    "504": (refusal(504), UpstreamTimeout, 1),
    "301": (httpx.Response(301, headers={"Location": BASE}), UpstreamRejected, None),
    "connect": (httpx.ConnectError("refused"), UpstreamUnavailable, 1),
    "read timeout": (httpx.ReadTimeout("slow"), UpstreamTimeout, 1),
}


@pytest.mark.parametrize(("reply", "kind", "retry_after"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_mapped_once_not_asked_again_and_shows_neither_key_nor_content(
    route: respx.Route,
    reranker: HttpReranker,
    metrics: Metrics,
    reply: Any,
    kind: type[MemoryGatewayError],
    retry_after: int | None,
) -> None:
    route.mock(side_effect=[reply])
    with capture_logs() as logs, pytest.raises(MemoryGatewayError) as caught:
        await reranker.rerank(CONTENT, [CONTENT])
    error = caught.value
    assert type(error) is kind
    assert getattr(error, "retry_after", None) == retry_after
    told = error.detail + repr(error) + str(logs)
    assert CONTENT not in told
    assert KEY not in told
    assert calls(metrics) == {("http.rerank", kind.code): 1}
    events: dict[Any, list[str]] = {QuotaExhausted: ["quota_exhausted"], CredentialsRefused: ["credentials_refused"]}
    assert [entry["event"] for entry in logs] == events.get(kind, [])


async def test_an_error_tells_the_status_and_the_code_that_was_given(
    route: respx.Route, reranker: HttpReranker
) -> None:
    route.mock(return_value=refusal(404, {"error": {"code": "model_not_found", "message": CONTENT}}))
    with pytest.raises(UpstreamRejected, match=r"404 \(model_not_found\)"):
        await reranker.ping()
    route.mock(return_value=refusal(401, {"error": {"type": "auth"}}))
    with pytest.raises(CredentialsRefused, match=r"\(401, auth\)\. Check RERANKER_API_KEY"):
        await reranker.ping()


async def test_a_reranker_that_hangs_is_not_asked_again_for_a_while(route: respx.Route, reranker: HttpReranker) -> None:
    route.mock(side_effect=httpx.ReadTimeout("slow"))
    for _ in range(TIME_OUTS):
        with pytest.raises(UpstreamTimeout):
            await reranker.rerank("query", [CONTENT], seconds=0.1)  # what its turn has left it: too little to tell
        with pytest.raises(UpstreamTimeout):
            await reranker.rerank("query", [CONTENT])
    with pytest.raises(CircuitOpen):
        await reranker.rerank("query", [CONTENT])
    assert route.call_count == 2 * TIME_OUTS
