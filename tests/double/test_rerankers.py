"""The double's rerankers: Cohere's endpoint, and Workers AI's model."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from memory_gateway_double.faults import Fault
from tests.double.conftest import Client, code

TEXTS = ["a lazy bear", "the red fox", "a red bear"]
MODEL = "@cf/baai/bge-reranker-base"
Rate = Callable[..., list[tuple[int, float]]]


def asked(client: Client, body: Any, key: str = "double-reranker-key") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return client.http.post(f"{client.handle.reranker_url}/rerank", json=body, headers=headers)


def by_endpoint(client: Client, query: str, **fields: Any) -> list[tuple[int, float]]:
    answer = asked(client, {"model": "any", "query": query, "documents": TEXTS, **fields})
    assert answer.status_code == 200, answer.text
    return [(result["index"], result["relevance_score"]) for result in answer.json()["results"]]


def by_workers_ai(client: Client, query: str, **fields: Any) -> list[tuple[int, float]]:
    body: dict[str, Any] = {"query": query, "contexts": [{"text": text} for text in TEXTS]}
    if "top_n" in fields:
        body["top_k"] = fields["top_n"]
    answer = client.post(f"/ai/run/{MODEL}", body)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()["result"]) == {"response", "usage"}
    return [(result["id"], result["score"]) for result in answer.json()["result"]["response"]]


@pytest.fixture(params=[by_endpoint, by_workers_ai])
def rate(request: pytest.FixtureRequest) -> Rate:
    rated: Rate = request.param
    return rated


@pytest.fixture(autouse=True)
def _without_a_script(client: Client) -> None:
    client.handle.double.rerankings.clear()


def test_texts_are_rated_by_the_words_they_share_with_the_query_best_first(client: Client, rate: Rate) -> None:
    assert rate(client, "Red fox") == [(1, 1.0), (2, 0.5), (0, 0.0)]
    assert rate(client, "red FOX", top_n=2) == [(1, 1.0), (2, 0.5)]


def test_scores_can_be_set_and_unset_over_http(client: Client, rate: Rate) -> None:
    script = {"lazy": 7.5, "red b": -2}
    assert client.control("PUT", "reranker", script).json() == script
    assert client.control("GET", "reranker").json() == script
    assert rate(client, "red fox") == [(0, 7.5), (1, 1.0), (2, -2)]
    assert client.control("DELETE", "reranker").status_code == 200
    assert rate(client, "red fox")[0] == (1, 1.0)


@pytest.mark.parametrize("script", [[], {"a": "b"}, {"a": True}, {"a": None}])
def test_scores_that_are_no_numbers_are_refused(client: Client, script: Any) -> None:
    assert client.control("PUT", "reranker", script).status_code == 400


def test_a_result_may_be_of_a_text_that_was_not_sent(client: Client, rate: Rate) -> None:
    client.handle.double.faults.add(Fault(kind="wrong_indexes"))
    assert rate(client, "red fox") == [(1, 1.0), (2, 0.5), (3, 0.0)]
    assert rate(client, "red fox")[-1] == (0, 0.0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "model"),
        ({"query": "x", "documents": ["x"]}, "model"),
        ({"model": "m", "documents": ["x"]}, "query"),
        ({"model": "m", "query": "", "documents": ["x"]}, "query"),
        ({"model": "m", "query": "x"}, "documents"),
        ({"model": "m", "query": "x", "documents": []}, "documents"),
        ({"model": "m", "query": "x", "documents": ["x", ""]}, "documents"),
        ({"model": "m", "query": "x", "documents": ["x"] * 1001}, "1000"),
        ({"model": "m", "query": "x", "documents": ["x"], "top_n": 0}, "top_n"),
    ],
)
def test_the_endpoint_refuses_in_coheres_form(client: Client, body: Any, said: str) -> None:
    answer = asked(client, body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_the_endpoint_refuses_a_wrong_key_and_fails_in_coheres_form(client: Client) -> None:
    body = {"model": "m", "query": "x", "documents": ["x"]}
    assert (asked(client, body, key="other").status_code, client.handle.double.calls()) == (401, {"rerank": 1})
    client.handle.double.faults.add(Fault("rerank", status=429))
    answer = asked(client, body)
    assert (answer.status_code, set(answer.json())) == (429, {"message"})


@pytest.mark.parametrize(
    "body",
    [
        {"contexts": [{"text": "x"}]},
        {"query": "", "contexts": [{"text": "x"}]},
        {"query": "x"},
        {"query": "x", "contexts": []},
        {"query": "x", "contexts": ["x"]},
        {"query": "x", "contexts": [{"text": ""}]},
        {"query": "x", "contexts": [{"text": "x"}], "top_k": 0},
    ],
)
def test_workers_ai_refuses_what_it_cannot_rate(client: Client, body: Any) -> None:
    assert code(client.post(f"/ai/run/{MODEL}", body)) == (400, 5006)


def test_workers_ai_is_out_of_capacity_for_rerankings_alone(client: Client) -> None:
    client.handle.double.faults.add(Fault("ai.rerank", status=429))
    assert client.post("/ai/run/@cf/baai/bge-m3", {"text": "a"}).status_code == 200
    answer = client.post(f"/ai/run/{MODEL}", {"query": "x", "contexts": [{"text": "x"}]})
    assert (code(answer), "retry-after" in answer.headers) == ((429, 3040), False)
