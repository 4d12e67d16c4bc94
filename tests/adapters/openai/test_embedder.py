"""OpenAI's embeddings: what is sent, and what is made of the answer."""

import json
from contextlib import suppress
from typing import Any

import httpx
import numpy as np
import pytest
import respx

from app.adapters.openai.embedder import OpenAIEmbedder
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, UpstreamRejected
from app.observability.metrics import Metrics
from app.ports.embedder import Purpose
from tests.adapters.openai.wire import DIMENSIONS, KEY, answer, axis, base64_of, item, replying, vectors
from tests.observability.samples import calls, samples

MODEL = "text-embedding-3-small"


def inputs(route: respx.Route) -> list[list[str]]:
    """The texts of each call."""
    return [json.loads(call.request.content)["input"] for call in route.calls]


@pytest.mark.parametrize("purpose", ["document", "query"])
async def test_a_call_asks_for_base64_of_the_dimensions_whatever_the_purpose(
    route: respx.Route, embedder: OpenAIEmbedder, purpose: Purpose
) -> None:
    route.mock(side_effect=replying)
    await embedder.embed(["one", "två"], purpose)
    request = route.calls.last.request
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.content) == {
        "model": MODEL,
        "input": ["one", "två"],
        "encoding_format": "base64",
        "dimensions": DIMENSIONS,
    }


@pytest.mark.parametrize(
    ("model", "dimensions", "sent", "shortened"),
    [
        ("text-embedding-3-small", None, 1536, False),
        ("text-embedding-3-small", 1536, 1536, False),
        ("text-embedding-3-small", 256, 256, True),
        ("text-embedding-3-large", None, 1536, True),
        ("text-embedding-3-large", 1024, 1024, True),
        ("text-embedding-ada-002", None, None, False),
        ("text-embedding-ada-002", 1536, None, False),
        ("nomic-embed-text", 768, None, False),
    ],
)
async def test_dimensions_are_sent_to_the_models_that_know_them(
    route: respx.Route, metrics: Metrics, model: str, dimensions: int | None, sent: int | None, *, shortened: bool
) -> None:
    size = dimensions or 1536
    route.mock(return_value=vectors(axis(0, size)))
    embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, model=model, dimensions=dimensions)
    (vector,) = (await embedder.embed(["text"], "document")).vectors
    body = json.loads(route.calls.last.request.content)
    assert (body["model"], body.get("dimensions")) == (model, sent)
    assert vector.shape == (size,)
    assert embedder.config == EmbeddingConfig("openai", model, size)
    assert embedder.config.shortened is shortened
    await embedder.close()


@pytest.mark.parametrize(
    ("model", "dimensions", "said"),
    [
        ("nomic-embed-text", None, "EMBEDDING_DIMENSIONS"),
        ("text-embedding-3-small", 1537, "1537"),
        ("text-embedding-3-large", 3073, "3073"),
        ("text-embedding-ada-002", 512, "512"),
        ("text-embedding-ada-002", 2048, "2048"),
    ],
)
def test_dimensions_a_model_does_not_have_are_refused(model: str, dimensions: int | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        OpenAIEmbedder(api_key=KEY, metrics=Metrics(), model=model, dimensions=dimensions)
    assert model in caught.value.detail


async def test_a_proxy_is_asked_under_its_own_url(metrics: Metrics) -> None:
    base = "https://gateway.ai.cloudflare.com/v1/account/gateway/openai/"
    with respx.mock() as router:
        route = router.post(f"{base}embeddings").mock(return_value=vectors(axis(0)))
        embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, dimensions=DIMENSIONS, base_url=base)
        await embedder.ping()
        await embedder.close()
    assert inputs(route) == [["ping"]]


async def test_vectors_are_put_in_the_order_of_the_texts(route: respx.Route, embedder: OpenAIEmbedder) -> None:
    route.mock(return_value=answer([item(index, base64_of(axis(index))) for index in (2, 0, 1)]))
    result = await embedder.embed(["a", "b", "c"], "document")
    assert [int(np.argmax(vector)) for vector in result.vectors] == [0, 1, 2]


async def test_base64_is_little_endian_float32_and_numbers_are_taken_as_well(
    route: respx.Route, embedder: OpenAIEmbedder
) -> None:
    values = np.random.default_rng(1).standard_normal(DIMENSIONS).astype("<f4")
    values /= np.linalg.norm(values)
    route.mock(return_value=answer([item(0, base64_of(values)), item(1, values.astype(float).tolist())]))
    one, other = (await embedder.embed(["a", "b"], "document")).vectors
    np.testing.assert_allclose(one, values, rtol=1e-6)
    np.testing.assert_array_equal(one, other)
    assert one.dtype == np.float32
    assert one.flags.c_contiguous


async def test_vectors_that_are_not_of_unit_length_are_brought_to_it(
    route: respx.Route, embedder: OpenAIEmbedder
) -> None:
    route.mock(return_value=vectors(axis(3) * 17, -axis(4) * np.float32(1e-30)))
    one, other = (await embedder.embed(["a", "b"], "document")).vectors
    np.testing.assert_array_equal(one, axis(3))
    np.testing.assert_array_equal(other, -axis(4))


async def test_a_long_text_is_sent_in_windows_of_8000_bytes_and_averaged(
    route: respx.Route, embedder: OpenAIEmbedder
) -> None:
    route.mock(side_effect=replying)
    result = await embedder.embed(["x" * 8000, "é" * 6000], "document")
    assert [[len(text.encode()) for text in call] for call in inputs(route)] == [[8000, 8000, 4000]]
    one, other = result.vectors
    np.testing.assert_array_equal(one, axis(0))
    np.testing.assert_allclose(other, (2 * axis(1) + axis(2)) / 5**0.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["x" * 8000] * 75, [37, 37, 1]),
        (["x" * 3000] * 100, [100]),
        (["é" * 1500] * 101, [100, 1]),
        (["x"] * 2048, [2048]),
        (["x"] * 4097, [2048, 2048, 1]),
    ],
    ids=["windows", "300,000 bytes", "more bytes", "2,048 texts", "more texts"],
)
async def test_one_call_takes_2048_texts_and_300000_bytes(
    route: respx.Route, embedder: OpenAIEmbedder, metrics: Metrics, texts: list[str], sizes: list[int]
) -> None:
    route.mock(side_effect=replying)
    result = await embedder.embed(texts, "document")
    assert [len(call) for call in inputs(route)] == sizes
    expected = [number % DIMENSIONS for size in sizes for number in range(size)]
    assert [int(np.argmax(vector)) for vector in result.vectors] == expected
    assert result.tokens == len(texts)
    assert samples(metrics, "memory_gateway_embedding_tokens_sum") == {(MODEL,): len(texts)}
    assert samples(metrics, "memory_gateway_embedding_tokens_count") == {(MODEL,): len(sizes)}
    assert calls(metrics) == {("openai.embeddings", "ok"): len(sizes)}


async def test_no_texts_are_no_call(route: respx.Route, embedder: OpenAIEmbedder) -> None:
    assert list((await embedder.embed([], "document")).vectors) == []
    assert route.call_count == 0


async def test_an_empty_text_is_sent_as_a_space_as_openai_takes_none(
    route: respx.Route, embedder: OpenAIEmbedder
) -> None:
    route.mock(side_effect=replying)
    assert len((await embedder.embed(["", "a"], "document")).vectors) == 2
    assert inputs(route) == [[" ", "a"]]


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": None}])
async def test_tokens_that_nobody_counts_are_not_none_used(
    route: respx.Route, embedder: OpenAIEmbedder, usage: Any
) -> None:
    route.mock(return_value=answer([item(0, base64_of(axis(0)))], usage=usage))
    assert (await embedder.embed(["text"], "document")).tokens is None


@pytest.mark.parametrize("tokens", ["five", [5], {}])
async def test_tokens_that_are_no_number_are_not_counted(
    route: respx.Route, embedder: OpenAIEmbedder, tokens: Any
) -> None:
    route.mock(return_value=answer([item(0, base64_of(axis(0)))], usage={"total_tokens": tokens}))
    with suppress(UpstreamRejected):
        assert not (await embedder.embed(["text"], "document")).tokens


GOOD = base64_of(axis(0))
WRONG: dict[str, Any] = {
    "a vector missing": [item(0, GOOD)],
    "a vector too many": [item(0, GOOD), item(1, GOOD), item(2, GOOD)],
    "no vectors": [],
    "fewer dimensions": [item(0, GOOD), item(1, base64_of([1.0] * (DIMENSIONS - 1)))],
    "more dimensions": [item(0, GOOD), item(1, [1.0] * (DIMENSIONS + 1))],
    "half a number": [item(0, GOOD), item(1, "AAAA")],
    "no base64": [item(0, GOOD), item(1, "?" + GOOD[1:])],
    "no direction": [item(0, GOOD), item(1, base64_of([0.0] * DIMENSIONS))],
    "not a number": [item(0, GOOD), item(1, base64_of([float("nan")] * DIMENSIONS))],
    "null in numbers": [item(0, GOOD), item(1, [None] * DIMENSIONS)],
    "words for numbers": [item(0, GOOD), item(1, ["x"] * DIMENSIONS)],
    "nested": [item(0, GOOD), item(1, [[1.0] * DIMENSIONS])],
    "no embedding": [item(0, GOOD), {"index": 1}],
    "embedding null": [item(0, GOOD), item(1, None)],
    "no index": [item(0, GOOD), {"embedding": GOOD}],
    "index of another type": [item(0, GOOD), item("1", GOOD)],
    "no list": {"index": 0},
    "null": None,
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
async def test_vectors_that_are_not_one_a_text_are_not_believed(
    route: respx.Route, embedder: OpenAIEmbedder, data: Any
) -> None:
    route.mock(return_value=answer(data))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["a", "b"], "document")
    assert route.call_count == 1


@pytest.mark.parametrize("places", [(0, 0), (1, 1), (0, 2), (-1, 0)])
async def test_vectors_whose_places_are_not_those_of_the_texts_are_not_believed(
    route: respx.Route, embedder: OpenAIEmbedder, places: tuple[int, int]
) -> None:
    route.mock(return_value=answer([item(place, GOOD) for place in places]))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["a", "b"], "document")


@pytest.mark.parametrize("embedding", [base64_of([float("inf")] * DIMENSIONS), [1e300] * DIMENSIONS])
async def test_infinite_vectors_are_not_believed(route: respx.Route, embedder: OpenAIEmbedder, embedding: Any) -> None:
    route.mock(return_value=answer([item(0, embedding)]))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["a"], "document")


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b"1", b'"text"', b'{"data"', b"{}"])
async def test_a_body_that_is_no_answer_is_not_believed(
    route: respx.Route, embedder: OpenAIEmbedder, metrics: Metrics, body: bytes
) -> None:
    route.mock(return_value=httpx.Response(200, content=body))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["text"], "document")
    assert calls(metrics) == {("openai.embeddings", "upstream_rejected"): 1}
