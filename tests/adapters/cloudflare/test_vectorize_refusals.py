"""A write that Vectorize does not take: whether the vector is at fault, or the moment."""

import httpx
import pytest
import respx

from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import (
    CloudflareBlocks,
    CredentialsRefused,
    IndexNotProvisioned,
    MemoryGatewayError,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
    VectorRefused,
)
from tests.adapters.cloudflare.vectors import INDEX, SCOPE, vector
from tests.adapters.cloudflare.wire import answer, html, refusal

UPSERT, GET, DELETE = f"{INDEX}/upsert", f"{INDEX}/get_by_ids", f"{INDEX}/delete_by_ids"


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 40008), (400, 40012), (400, 40014), (400, 40016), (400, 40023), (409, 1), (413, 40023), (422, 1)],
)
async def test_a_vector_that_is_refused_for_what_it_is_has_an_error_of_its_own(
    api: respx.MockRouter, index: VectorizeIndex, status: int, code: int
) -> None:
    api.post(UPSERT).mock(return_value=refusal(status, code, 'id too long for id="a"'))
    with pytest.raises(VectorRefused) as caught:
        await index.upsert([vector("a", text="private words")])
    assert f"{status}/{code}" in caught.value.detail
    assert 'id too long for id="a"' in caught.value.detail
    assert "private" not in caught.value.detail


async def test_a_refusal_without_a_code_of_vectorize_tells_nothing_of_the_vector(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    for response in (html(413), html(400), refusal(400, 0, "who knows")):
        api.post(UPSERT).mock(return_value=response)
        with pytest.raises(UpstreamRejected) as caught:
            await index.upsert([vector("a")])
        assert type(caught.value) is UpstreamRejected


OF_THE_MOMENT: list[tuple[httpx.Response, type[MemoryGatewayError]]] = [
    (refusal(401, 10000, "token"), CredentialsRefused),
    (refusal(403, 10000, "token"), CredentialsRefused),
    (refusal(400, 6003, "Invalid request headers"), CredentialsRefused),
    (refusal(404, 7003, "no route"), UpstreamRejected),
    (answer({"mutationId": "m-1"}, date=None), UpstreamRejected),
    (answer({"mutationId": "m-1"}, date="Fri, 20 Nov 99999 10:00:00 GMT"), UpstreamRejected),
    (refusal(404, 3000, "no such index"), IndexNotProvisioned),
    (html(404), IndexNotProvisioned),
    (refusal(410, 3005, "deleted"), IndexNotProvisioned),
    (refusal(400, 3000, "no such index"), IndexNotProvisioned),
    (refusal(400, 3005, "deleted"), IndexNotProvisioned),
    (refusal(408, 1, "late"), UpstreamTimeout),
    (refusal(429, 971, "blocked"), CloudflareBlocks),
    (refusal(429, 40041, "throttled"), UpstreamOverloaded),
    (refusal(400, 40041, "throttled"), UpstreamOverloaded),
    (refusal(500, 1, "broken"), UpstreamUnavailable),
    (refusal(503, 40012, "broken"), UpstreamUnavailable),
    (html(502), UpstreamUnavailable),
    (httpx.Response(200, json={"success": False, "errors": []}), UpstreamRejected),
    (httpx.Response(302), UpstreamRejected),
]


@pytest.mark.parametrize(("reply", "kind"), OF_THE_MOMENT, ids=range(len(OF_THE_MOMENT)))
async def test_a_write_that_failed_for_another_reason_is_none_of_the_vectors_doing(
    api: respx.MockRouter, index: VectorizeIndex, reply: httpx.Response, kind: type[MemoryGatewayError]
) -> None:
    api.post(UPSERT).mock(return_value=reply)
    with pytest.raises(MemoryGatewayError) as caught:
        await index.upsert([vector("a")])
    assert type(caught.value) is kind


async def test_a_delete_acknowledged_at_no_moment_that_can_be_read_is_not_taken_for_done(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    api.post(GET).mock(return_value=answer([]))
    api.post(DELETE).mock(return_value=answer({"mutationId": "m-1"}, date="soon"))
    with pytest.raises(UpstreamRejected, match="without a Date"):
        await index.delete(SCOPE, ["a"])


async def test_a_delete_that_is_refused_is_no_refusal_of_a_vector(api: respx.MockRouter, index: VectorizeIndex) -> None:
    api.post(GET).mock(return_value=answer([]))
    api.post(DELETE).mock(return_value=refusal(400, 40007, "too many ids"))
    with pytest.raises(UpstreamRejected) as caught:
        await index.delete(SCOPE, ["a"])
    assert type(caught.value) is UpstreamRejected
