"""The double's Vectorize: queries, filters and scores; writes show at once."""

from typing import Any

import numpy as np
import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.double.conftest import DIMENSIONS, Client, VectorIndex, code, unit, vector


def test_a_query_returns_five_unless_told_otherwise(index: VectorIndex) -> None:
    index.write(vector(str(n)) for n in range(120))
    assert index.ask(vector=unit(0)).json()["result"]["count"] == 5
    assert index.ask(vector=unit(0), topK=100).json()["result"]["count"] == 100
    assert index.ask(vector=unit(0), topK=100, returnMetadata="indexed").json()["result"]["count"] == 100


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"topK": 101}, "max top K is 100, but got 101"),
        ({"topK": 60, "returnMetadata": "all"}, "max top K is 50, but got 60"),
        ({"topK": 60, "returnValues": True}, "max top K is 50, but got 60"),
    ],
)
def test_too_high_a_top_k_is_refused(index: VectorIndex, fields: dict[str, Any], words: str) -> None:
    answer = index.ask(vector=unit(0), **fields)
    assert code(answer) == (400, 40025)
    assert words in answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"returnMetadata": True},
        {"returnMetadata": "some"},
        {"returnValues": "yes"},
        {"topK": 0},
        {"topK": "5"},
        {"namespace": 1},
        {"vectorId": "a"},
        {"vector": None},
        {"vector": ["a"] * DIMENSIONS},
    ],
)
def test_a_query_with_a_wrong_field_is_refused(index: VectorIndex, fields: dict[str, Any]) -> None:
    index.write([vector("a")])
    assert code(index.ask(**({"vector": unit(0)} | fields))) == (400, 40026)


def test_a_query_of_other_dimensions_is_refused(index: VectorIndex) -> None:
    answer = index.ask(vector=[1.0])
    assert code(answer) == (400, 40006)
    assert f"expected {DIMENSIONS} dimensions, and got 1 dimensions" in answer.text


@pytest.mark.parametrize("method", ["query", "get_by_ids", "delete_by_ids", "metadata_index/create"])
def test_json_in_another_content_type_is_refused(index: VectorIndex, method: str) -> None:
    answer = index.client.call("POST", f"{index.path}/{method}", content=b"{}", headers={"Content-Type": "text/plain"})
    assert code(answer) == (400, 40026)
    assert "Expected request with `Content-Type: application/json`" in answer.text


def test_a_query_can_start_from_a_stored_vector(index: VectorIndex) -> None:
    index.write([vector("a", 0), vector("b", 1)])
    assert index.ask(vectorId="b", topK=1).json()["result"]["matches"][0]["id"] == "b"
    assert index.ask(vectorId="absent").status_code == 400


def test_what_a_match_tells_is_what_was_asked_for(index: VectorIndex) -> None:
    metadata = {"tenant_id": "t" * 70, "created_at": 5, "other": "o"}
    index.write([vector("a", metadata=metadata, namespace="n")])

    def match(**fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = index.ask(vector=unit(0), returnValues=True, **fields).json()["result"]["matches"][0]
        return answer

    plain = {"id": "a", "score": 1.0, "namespace": "n", "values": unit(0)}
    assert match() == match(returnMetadata="none") == plain
    assert match(returnMetadata="all") == plain | {"metadata": metadata}
    assert match(returnMetadata="indexed") == plain | {"metadata": {"tenant_id": "t" * 64, "created_at": 5}}


def test_a_namespace_keeps_vectors_apart(index: VectorIndex) -> None:
    index.write([vector("a", namespace="one"), vector("b", namespace="two"), vector("c")])
    assert index.found(namespace="one") == {"a"}
    assert index.found(namespace="absent") == set()
    assert index.found() == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"tenant_id": "t1"}, {"a", "b"}),
        ({"tenant_id": {"$eq": "t1"}, "done": True}, {"a"}),
        ({"tenant_id": {"$ne": "t1"}}, {"c", "d"}),
        ({"tenant_id": {"$in": ["t2", "t3"]}}, {"c"}),
        ({"tenant_id": {"$nin": ["t2", None]}}, {"a", "b"}),
        ({"tenant_id": None}, {"d"}),
        ({"tenant_id": {"$gte": "t1", "$lt": "t2"}}, {"a", "b"}),
        ({"created_at": {"$gt": 1}}, {"b", "c"}),
        ({"created_at": {"$gte": 1, "$lte": 2}}, {"a", "b"}),
        ({"created_at": {"$lt": "5"}}, set()),
        ({"created_at": 1}, {"a"}),
        ({"created_at": True}, set()),
        ({"created_at": {"$in": [True, 2]}}, {"b"}),
        ({"done": True}, {"a"}),
        ({"done": 1}, set()),
        ({"deep.key": "x"}, {"c"}),
    ],
)
def test_filters_pass_what_they_should(index: VectorIndex, where: Any, ids: set[str]) -> None:
    index.write(
        [
            vector("a", metadata={"tenant_id": "t1", "created_at": 1, "done": True}),
            vector("b", metadata={"tenant_id": "t1", "created_at": 2, "done": False}),
            vector("c", metadata={"tenant_id": "t2", "created_at": 3.5, "deep": {"key": "x"}}),
            vector("d", metadata={"created_at": "2", "done": "true"}),
        ]
    )
    assert index.found(filter=where) == ids


@pytest.mark.parametrize(
    "where",
    [
        {},
        [],
        {"undeclared": "x"},
        {"": "x"},
        {"$tenant_id": "x"},
        {'ten"ant': "x"},
        {"k" * 513: "x"},
        {"tenant_id": {"$regex": "x"}},
        {"tenant_id": {}},
        {"tenant_id": ["x"]},
        {"tenant_id": {"$in": []}},
        {"tenant_id": {"$in": "x"}},
        {"tenant_id": {"$eq": "x", "$ne": "y"}},
        {"created_at": {"$gt": 1, "$gte": 2}},
        {"created_at": {"$gt": 1, "$lt": 2, "$lte": 3}},
        {"created_at": {"$gt": True}},
        {"created_at": {"$gt": None}},
        {"tenant_id": {"$in": ["x" * 100] * 20}},
    ],
)
def test_a_filter_that_breaks_a_rule_is_refused(index: VectorIndex, where: Any) -> None:
    assert code(index.ask(vector=unit(0), filter=where)) == (400, 40022)


def test_strings_are_compared_on_their_first_64_bytes(index: VectorIndex) -> None:
    index.write(
        [
            vector("a", metadata={"tenant_id": "x" * 64 + "a"}),
            vector("b", metadata={"tenant_id": "x" * 64 + "b"}),
            vector("c", metadata={"tenant_id": "x" * 63 + "ä"}),
        ]
    )
    assert index.found(filter={"tenant_id": "x" * 64 + "other"}) == {"a", "b"}
    assert index.found(filter={"tenant_id": "x" * 63}) == {"c"}


def test_numbers_are_compared_as_doubles(index: VectorIndex) -> None:
    index.write([vector("a", metadata={"created_at": 2**53}), vector("b", metadata={"created_at": 2**53 + 1})])
    assert index.found(filter={"created_at": 2**53 + 1}) == {"a", "b"}


def test_scores_are_approximate_unless_values_are_asked_for(index: VectorIndex) -> None:
    random = np.random.default_rng(1)
    stored = random.standard_normal((50, DIMENSIONS)).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    index.write({"id": str(n), "values": row.tolist()} for n, row in enumerate(stored))
    exact = stored @ stored[0]

    def scores(**fields: Any) -> dict[str, float]:
        answer = index.ask(vector=stored[0].tolist(), topK=50, **fields)
        return {match["id"]: match["score"] for match in answer.json()["result"]["matches"]}

    errors = [abs(score - exact[int(id_)]) for id_, score in scores().items()]
    assert 0.001 < max(errors) < 0.00501
    assert scores() == scores()
    assert max(abs(score - exact[int(id_)]) for id_, score in scores(returnValues=True).items()) < 1e-5


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("cosine", [1.0, 0.8, 0.0]), ("euclidean", [0.0, 1.0, 5.0]), ("dot-product", [-16.0, -12.0, 0.0])],
)
def test_each_metric_has_its_own_order(metric: str, expected: list[float]) -> None:
    options = DoubleOptions(visibility_seconds=(0, 0), approximate_scores=False)
    near, middle, far = unit(0), unit(0), unit(1)
    near[0], middle[0], middle[1], far[1] = 4.0, 3.0, 0.0, 3.0
    if metric == "cosine":
        middle[0], middle[1] = 4.0, 3.0
    with running(options) as handle, Client.connected(handle) as client:
        body = {"name": "metric", "config": {"dimensions": DIMENSIONS, "metric": metric}}
        client.post("/vectorize/v2/indexes", body)
        index = VectorIndex(client, "metric")
        index.write(
            [
                {"id": "far", "values": far},
                {"id": "near", "values": near},
                {"id": "middle", "values": middle},
            ]
        )
        matches = index.ask(vector=near).json()["result"]["matches"]
    assert [match["id"] for match in matches] == ["near", "middle", "far"]
    assert [match["score"] for match in matches] == pytest.approx(expected)
