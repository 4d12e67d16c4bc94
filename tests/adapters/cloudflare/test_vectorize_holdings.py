"""What Vectorize tells of its contents: whose a vector is, which there are, and whether a search finds any."""

from typing import Any

import httpx
import pytest
import respx

from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import (
    CloudflareBlocks,
    CredentialsRefused,
    CursorExpired,
    IndexNotProvisioned,
    MemoryGatewayError,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.domain.memory import Scope
from app.ports.index_admin import IdPage, IndexRecord
from tests.adapters.cloudflare.vectors import CONFIG, INDEX, SCOPE
from tests.adapters.cloudflare.wire import answer, body_of, html, refusal

GET, LIST, QUERY = f"{INDEX}/get_by_ids", f"{INDEX}/list", f"{INDEX}/query"
OURS = {"tenant_id": "tenant-1", "agent_id": "agent-1"}
NOT_OURS = IndexRecord(Scope("", ""), 0, "")
OTHER_FORMS = [[], [1], {}, "text", 1, {"vectors": []}, {"isTruncated": False}]


def page(*ids: Any, cursor: Any = None, truncated: Any = None) -> dict[str, Any]:
    more = cursor is not None if truncated is None else truncated
    vectors = [{"id": id_} for id_ in ids]
    return {"count": len(ids), "totalCount": 9, "isTruncated": more, "nextCursor": cursor, "vectors": vectors}


async def test_what_is_held_is_read_from_the_metadata(api: respx.MockRouter, index: VectorizeIndex) -> None:
    metadata = OURS | {"revision": 7, "embedding": CONFIG.label, "created_at": 1}
    route = api.post(GET).mock(return_value=answer([{"id": "a", "values": [0.0], "metadata": metadata}]))
    assert await index.held(("a", "b")) == {"a": IndexRecord(SCOPE, 7, "openai/text-embedding-3-small/4")}
    assert body_of(route.calls.last) == {"ids": ["a", "b"]}


async def test_20_vectors_are_looked_at_in_one_call_and_none_in_no_call(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    ids = [f"id-{number}" for number in range(45)]
    route = api.post(GET).mock(
        side_effect=lambda request: answer([{"id": id_, "metadata": OURS} for id_ in _asked(request)])
    )
    assert await index.held([]) == {}
    assert route.call_count == 0
    assert list(await index.held(ids)) == ids
    assert [len(body_of(call)["ids"]) for call in route.calls] == [20, 20, 5]


def _asked(request: httpx.Request) -> list[str]:
    return [f"id-{number}" for number in range(45) if f'"id-{number}"' in request.content.decode()]


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"tenant_id": "tenant-1"},
        {"agent_id": "agent-1"},
        {"tenant_id": 1, "agent_id": "agent-1"},
        {"tenant_id": "tenant-1", "agent_id": None, "revision": 3, "embedding": "x"},
        {"tenant_id": ["tenant-1"], "agent_id": {"a": 1}},
    ],
)
async def test_a_vector_whose_metadata_names_no_scope_is_held_but_not_ours(
    api: respx.MockRouter, index: VectorizeIndex, metadata: Any
) -> None:
    api.post(GET).mock(return_value=answer([{"id": "a", "values": [0.0], "metadata": metadata}, {"id": "b"}]))
    assert await index.held(["a", "b"]) == {"a": NOT_OURS, "b": NOT_OURS}


@pytest.mark.parametrize(
    ("more", "revision", "embedding"),
    [
        ({}, 0, ""),
        ({"revision": 7.0, "embedding": "a/b/4"}, 7, "a/b/4"),
        ({"revision": 7.5, "embedding": 4}, 0, ""),
        ({"revision": "7", "embedding": None}, 0, ""),
        ({"revision": True, "embedding": ["a"]}, 0, ""),
        ({"revision": None}, 0, ""),
    ],
)
async def test_a_revision_or_embedding_that_cannot_be_read_is_that_of_no_write_of_ours(
    api: respx.MockRouter, index: VectorizeIndex, more: dict[str, Any], revision: int, embedding: str
) -> None:
    api.post(GET).mock(return_value=answer([{"id": "a", "metadata": OURS | more}]))
    assert await index.held(["a"]) == {"a": IndexRecord(SCOPE, revision, embedding)}


@pytest.mark.parametrize("result", [{"a": 1}, ["a"], [{}], [{"id": 1}], [{"id": "a", "metadata": "x"}], [None], "text"])
async def test_vectors_in_another_form_are_an_error_of_the_tree(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.post(GET).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected):
        await index.held(["a"])


async def test_a_listing_asks_for_1000_ids_and_hands_the_cursor_back(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    route = api.get(LIST).mock(side_effect=[answer(page("a", "b", cursor="x&y=1 :/")), answer(page("c"))])
    assert await index.list_ids() == IdPage(["a", "b"], "x&y=1 :/")
    assert await index.list_ids("x&y=1 :/") == IdPage(["c"], None)
    sent = [dict(call.request.url.params) for call in route.calls]
    assert sent == [{"count": "1000"}, {"count": "1000", "cursor": "x&y=1 :/"}]


async def test_the_last_page_has_no_cursor_even_where_one_is_given(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    api.get(LIST).mock(return_value=answer(page("a", cursor="x", truncated=False)))
    assert await index.list_ids() == IdPage(["a"], None)


@pytest.mark.parametrize(
    "result",
    [
        None,
        *OTHER_FORMS,
        page("a") | {"vectors": None},
        page("a") | {"vectors": {}},
        page("a") | {"vectors": ""},
        page("a") | {"vectors": ["a"]},
        page("a") | {"vectors": [{"name": "a"}]},
        page("a", 1),
        page("a", None),
        page("a", truncated=True),
        page("a", cursor="", truncated=True),
        page("a", cursor=5, truncated=True),
        page("a", cursor="x", truncated="yes"),
    ],
)
async def test_a_listing_in_another_form_is_an_error_and_no_short_listing(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.get(LIST).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected) as caught:
        await index.list_ids("x")
    assert type(caught.value) is UpstreamRejected


@pytest.mark.parametrize("code", [40019, 1, 0])
async def test_a_cursor_that_is_refused_has_expired(api: respx.MockRouter, index: VectorizeIndex, code: int) -> None:
    api.get(LIST).mock(return_value=refusal(400, code, "cursor expired"))
    with pytest.raises(CursorExpired, match="cursor expired"):
        await index.list_ids("x")


@pytest.mark.parametrize("reply", [refusal(400, 40019, "bad"), refusal(422, 1, "bad")])
async def test_a_listing_that_is_refused_without_a_cursor_has_none_that_expired(
    api: respx.MockRouter, index: VectorizeIndex, reply: httpx.Response
) -> None:
    api.get(LIST).mock(return_value=reply)
    with pytest.raises(UpstreamRejected) as caught:
        await index.list_ids()
    assert type(caught.value) is UpstreamRejected


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError]]] = [
    (refusal(400, 3000, "no such index"), IndexNotProvisioned),
    (refusal(404, 3000, "no such index"), IndexNotProvisioned),
    (refusal(410, 3005, "deleted"), IndexNotProvisioned),
    (refusal(400, 40041, "throttled"), UpstreamOverloaded),
    (refusal(429, 971, "blocked"), CloudflareBlocks),
    (refusal(401, 10000, "token"), CredentialsRefused),
    (refusal(403, 10000, "token"), CredentialsRefused),
    (refusal(408, 1, "late"), UpstreamTimeout),
    (refusal(422, 1, "odd"), UpstreamRejected),
    (refusal(500, 1, "broken"), UpstreamUnavailable),
    (html(502), UpstreamUnavailable),
]


@pytest.mark.parametrize(("reply", "kind"), REFUSALS, ids=range(len(REFUSALS)))
async def test_other_refusals_of_a_cursor_keep_their_meaning(
    api: respx.MockRouter, index: VectorizeIndex, reply: httpx.Response, kind: type[MemoryGatewayError]
) -> None:
    api.get(LIST).mock(return_value=reply)
    with pytest.raises(MemoryGatewayError) as caught:
        await index.list_ids("x")
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("agent_id", "where"), [(None, {"tenant_id": "t"}), ("a", {"tenant_id": "t", "agent_id": "a"})]
)
@pytest.mark.parametrize("found", [0, 1])
async def test_a_sample_is_a_query_for_what_is_nearest_to_anything(
    api: respx.MockRouter, index: VectorizeIndex, agent_id: str | None, where: dict[str, str], found: int
) -> None:
    matches = [{"id": "a", "score": -0.5}] * found
    route = api.post(QUERY).mock(return_value=answer({"count": found, "matches": matches}))
    assert await index.sample("t", agent_id) == ["a"] * found
    body = body_of(route.calls.last)
    assert sum(value**2 for value in body.pop("vector")) == 1
    assert body == {"topK": 100, "returnValues": False, "returnMetadata": "none", "filter": where}


@pytest.mark.parametrize("result", [None, [], {}, {"matches": None}, {"matches": [1]}])
async def test_an_answer_that_cannot_be_read_does_not_mean_that_nothing_is_found(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.post(QUERY).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected):
        await index.sample("tenant-1")


async def test_vectorize_shows_writes_late_and_filters_on_what_was_declared(index: VectorizeIndex) -> None:
    assert (index.visible_at_once, index.confirm_seconds) == (False, 180.0)
    assert index.filterable == {"text", "number", "flag"}
