"""A query of Vectorize: always within a scope, as much of the filter as the index compares exactly."""

from typing import Any

import httpx
import numpy as np
import orjson
import pytest
import respx

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import (
    IndexNotProvisioned,
    MemoryGatewayError,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamUnavailable,
)
from app.domain.json_types import Scalar
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import Hit, Hits
from tests.adapters.cloudflare.vectors import CONFIG, INDEX, SCOPE, VECTOR
from tests.adapters.cloudflare.wire import answer, body_of, html, refusal

QUERY = f"{INDEX}/query"
IN_SCOPE = {"tenant_id": "tenant-1", "agent_id": "agent-1"}
EXACT = 2**53


def matches(count: int) -> httpx.Response:
    found = [{"id": f"id-{number}", "score": 0.5} for number in range(count)]
    return answer({"count": count, "matches": found})


async def query(index: VectorizeIndex, where: Filter | None = None, *, scope: Scope = SCOPE, top_k: int = 5) -> Hits:
    return await index.query(scope, VECTOR, top_k=top_k, where=where or Filter())


@pytest.mark.parametrize("top_k", [1, 20, 500])
async def test_a_query_asks_for_ids_and_scores_as_many_as_one_call_gives(
    api: respx.MockRouter, index: VectorizeIndex, top_k: int
) -> None:
    route = api.post(QUERY).mock(return_value=matches(2))
    hits = await query(index, top_k=top_k)
    body = body_of(route.calls.last)
    np.testing.assert_array_equal(np.array(body.pop("vector"), np.float32), VECTOR)
    assert body == {"topK": 100, "returnValues": False, "returnMetadata": "none", "filter": IN_SCOPE}
    assert hits == Hits([Hit("id-0", 0.5), Hit("id-1", 0.5)], filtered=True, more=False)


async def test_a_vector_that_is_a_view_is_sent_as_its_values(api: respx.MockRouter, index: VectorizeIndex) -> None:
    route = api.post(QUERY).mock(return_value=matches(0))
    await index.query(SCOPE, np.arange(8, dtype=np.float32)[::2], top_k=1, where=Filter())
    assert body_of(route.calls.last)["vector"] == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("where", "bounds"),
    [
        (Filter(created_after=5), {"$gt": 5}),
        (Filter(created_before=9), {"$lt": 9}),
        (Filter(created_after=0, created_before=9), {"$gt": 0, "$lt": 9}),
    ],
)
async def test_bounds_of_time_are_exclusive(
    api: respx.MockRouter, index: VectorizeIndex, where: Filter, bounds: dict[str, int]
) -> None:
    route = api.post(QUERY).mock(return_value=matches(0))
    await query(index, where)
    assert body_of(route.calls.last)["filter"] == IN_SCOPE | {"created_at": bounds}


PUSHED: list[tuple[str, Scalar]] = [
    ("text", "x"),
    ("text", ""),
    ("text", "é" * 31 + "x"),
    ("number", 0),
    ("number", -1.5),
    ("number", EXACT),
    ("number", -EXACT),
    ("flag", True),
    ("flag", False),
]
LEFT: list[tuple[str, Scalar]] = [
    ("undeclared", "x"),
    ("text", "x" * 64),
    ("text", "é" * 32),
    ("text", 1),
    ("text", True),
    ("text", None),
    ("number", True),
    ("number", "1"),
    ("number", EXACT + 1),
    ("number", -EXACT - 1),
    ("number", 1e300),
    ("number", None),
    ("flag", 1),
    ("flag", "true"),
    ("flag", None),
    ("tenant_id", "tenant-2"),
    ("agent_id", "agent-2"),
    ("created_at", 1),
    ("revision", 1),
]


@pytest.mark.parametrize(("key", "value"), PUSHED)
@pytest.mark.parametrize("found", [0, 99, 100])
async def test_a_declared_key_of_its_type_is_filtered_on_by_the_index(
    api: respx.MockRouter, index: VectorizeIndex, key: str, value: Scalar, found: int
) -> None:
    route = api.post(QUERY).mock(return_value=matches(found))
    hits = await query(index, Filter(metadata={key: value}))
    sent = body_of(route.calls.last)["filter"]
    assert sent == IN_SCOPE | {key: value}
    assert type(sent[key]) is type(value)
    assert hits.filtered


@pytest.mark.parametrize(("key", "value"), LEFT)
async def test_what_the_index_cannot_compare_exactly_is_left_to_the_database(
    api: respx.MockRouter, index: VectorizeIndex, key: str, value: Scalar
) -> None:
    route = api.post(QUERY).mock(side_effect=[matches(99), matches(100)])
    filtered = [(await query(index, Filter(metadata={key: value}))).filtered for _ in range(2)]
    assert filtered == [True, False]
    assert all(body_of(call)["filter"] == IN_SCOPE for call in route.calls)


async def test_one_key_that_is_left_out_keeps_the_others_in_the_filter(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    route = api.post(QUERY).mock(return_value=matches(100))
    hits = await query(index, Filter(1, None, {"text": "x", "other": 1, "flag": True}))
    assert body_of(route.calls.last)["filter"] == IN_SCOPE | {"created_at": {"$gt": 1}, "text": "x", "flag": True}
    assert not hits.filtered


@pytest.mark.parametrize("value", ["\x01" * 63, '"' * 63, "x" * 63], ids=["long in JSON", "quotes", "plain"])
async def test_a_filter_never_passes_the_bytes_that_vectorize_takes(
    api: respx.MockRouter, client: CloudflareClient, value: str
) -> None:
    keys = [f"{number}".rjust(64, "k") for number in range(7)]
    index = VectorizeIndex(client, CONFIG, filterable=dict.fromkeys(keys, "string"))
    route = api.post(QUERY).mock(return_value=matches(100))
    scope = Scope("t" * 64, "a" * 64)
    hits = await query(index, Filter(2**52, 2**53, dict.fromkeys(keys, value)), scope=scope)
    sent = body_of(route.calls.last)["filter"]
    assert len(orjson.dumps(sent)) < 2048
    assert (sent["tenant_id"], sent["agent_id"]) == ("t" * 64, "a" * 64)
    assert sent["created_at"] == {"$gt": 2**52, "$lt": 2**53}
    assert any(key in sent for key in keys)
    assert hits.filtered is all(key in sent for key in keys)
    assert hits.filtered is (value[0] != "\x01")


@pytest.mark.parametrize("key", ["tenant_id", "agent_id"])
async def test_no_declared_key_reaches_another_scope(api: respx.MockRouter, client: CloudflareClient, key: str) -> None:
    route = api.post(QUERY).mock(return_value=matches(0))
    index = VectorizeIndex(client, CONFIG, filterable={key: "string"})
    await query(index, Filter(metadata={key: "other"}))
    assert body_of(route.calls.last)["filter"] == IN_SCOPE


@pytest.mark.parametrize(
    ("score", "clipped"), [(1.0000001, 1.0), (-1.0000001, -1.0), (0.25, 0.25), (1, 1.0), (0, 0.0), (-1, -1.0)]
)
async def test_a_score_is_a_cosine(api: respx.MockRouter, index: VectorizeIndex, score: float, clipped: float) -> None:
    api.post(QUERY).mock(return_value=answer({"matches": [{"id": "a", "score": score}]}))
    assert (await query(index)).hits == [Hit("a", clipped)]


@pytest.mark.parametrize("result", [None, [], {}, {"count": 0}, {"matches": None}, {"matches": {}}])
async def test_an_answer_without_matches_is_no_empty_answer(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.post(QUERY).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected, match="without matches"):
        await query(index)


@pytest.mark.parametrize("match", [{"id": "a"}, {"score": 1}, {"id": "a", "score": None}, {"id": "a", "score": "?"}, 1])
async def test_a_match_that_cannot_be_read_is_an_error_of_the_tree(
    api: respx.MockRouter, index: VectorizeIndex, match: Any
) -> None:
    api.post(QUERY).mock(return_value=answer({"matches": [match]}))
    with pytest.raises(UpstreamRejected):
        await query(index)


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError], str]] = [
    (refusal(404, 3000, "vectorize.index.not_found"), IndexNotProvisioned, "memory-gateway provision"),
    (refusal(410, 3005, "gone"), IndexNotProvisioned, CONFIG.index_name),
    (refusal(400, 3000, "no such index"), IndexNotProvisioned, CONFIG.index_name),
    (refusal(400, 3005, "deleted"), IndexNotProvisioned, CONFIG.index_name),
    (html(404), IndexNotProvisioned, CONFIG.index_name),
    (refusal(404, 7003, "Could not route"), UpstreamRejected, "CLOUDFLARE_ACCOUNT_ID"),
    (refusal(429, 40041, "throttled"), UpstreamOverloaded, "throttled"),
    (refusal(500, 40041, "throttled"), UpstreamOverloaded, "throttled"),
    (refusal(400, 40025, "max top K is 50"), UpstreamRejected, "max top K is 50"),
    (refusal(500, 1, "broken"), UpstreamUnavailable, "broken"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), REFUSALS, ids=range(len(REFUSALS)))
async def test_a_refused_query_is_an_error_and_not_made_again(
    api: respx.MockRouter, index: VectorizeIndex, reply: httpx.Response, kind: type[MemoryGatewayError], said: str
) -> None:
    route = api.post(QUERY).mock(return_value=reply)
    with pytest.raises(MemoryGatewayError) as caught:
        await query(index)
    assert type(caught.value) is kind
    assert said in caught.value.detail
    assert route.call_count == 1
