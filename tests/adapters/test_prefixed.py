"""Prefixes: which model needs which, and what an embedder is sent."""

import json
import re

import numpy as np
import pytest
import respx

from app.adapters.local.hashing import HashingEmbedder
from app.adapters.openai.embedder import OpenAIEmbedder
from app.adapters.prefixed import PrefixedEmbedder, Prefixes, prefixed
from app.domain.embedding import EmbeddingConfig
from app.observability.metrics import Metrics
from app.ports.embedder import Purpose
from tests.adapters.openai.wire import KEY, URL, axis, vectors

SEARCHING = "Represent this sentence for searching relevant passages: "
E5 = Prefixes("query: ", "passage: ")
KNOWN = {
    "intfloat/multilingual-e5-small": E5,
    "multilingual-e5-large": E5,
    "E5-Base-v2": E5,
    "multilingual-e5-small-3520d32b": E5,
    "@cf/baai/bge-small-en-v1.5": Prefixes(SEARCHING),
    "BAAI/bge-large-en": Prefixes(SEARCHING),
    "mixedbread-ai/mxbai-embed-large-v1": Prefixes(SEARCHING),
    "mxbai-embed-large:335m": Prefixes(SEARCHING),
    "Snowflake/snowflake-arctic-embed-m": Prefixes(SEARCHING),
    "snowflake-arctic-embed:latest": Prefixes(SEARCHING),
    "nomic-embed-text": Prefixes("search_query: ", "search_document: "),
    "nomic-ai/nomic-embed-text-v1.5": Prefixes("search_query: ", "search_document: "),
    "@cf/google/embeddinggemma-300m": Prefixes("task: search result | query: ", "title: none | text: "),
}
WITHOUT = [
    *("text-embedding-3-small", "ngrams-v1", "all-minilm-l6-v2", "@cf/baai/bge-m3", "@cf/qwen/qwen3-embedding-0.6b"),
    # These need another text, or none.
    *("multilingual-e5-large-instruct", "e5-mistral-7b-instruct", "snowflake-arctic-embed2", "bge-small-zh-v1.5"),
    *("snowflake-arctic-embed-l-v2.0", "my-e5-small", "bge-small-en-v1.5-tuned"),
]


@pytest.mark.parametrize(("model", "prefixes"), KNOWN.items())
def test_a_model_is_known_by_its_name_whatever_the_vendor_the_case_and_the_tag(model: str, prefixes: Prefixes) -> None:
    assert Prefixes.of_model(model) == prefixes


@pytest.mark.parametrize("model", WITHOUT)
def test_a_model_that_is_not_known_gets_no_prefix(model: str) -> None:
    assert Prefixes.of_model(model) == Prefixes()


def test_a_prefix_that_is_given_counts_and_an_empty_one_is_no_prefix() -> None:
    assert Prefixes.of_model("multilingual-e5-small", query="Q: ") == Prefixes("Q: ", "passage: ")
    assert Prefixes.of_model("multilingual-e5-small", query="", document="") == Prefixes()
    assert Prefixes.of_model("text-embedding-3-small", document="D: ") == Prefixes("", "D: ")


def test_the_query_prefix_of_a_known_model_goes_with_its_own_document_prefix_alone() -> None:
    assert Prefixes.of_model("multilingual-e5-small", document="passage: ") == E5
    assert Prefixes.of_model("multilingual-e5-small", document="") == Prefixes()
    assert Prefixes.of_model("multilingual-e5-small", document="Text: ") == Prefixes("", "Text: ")
    assert Prefixes.of_model("multilingual-e5-small", query="query: ", document="") == Prefixes("query: ")
    assert Prefixes.of_model("bge-small-en-v1.5", document="") == Prefixes(SEARCHING)


def test_an_embedder_without_prefixes_is_not_wrapped() -> None:
    embedder = HashingEmbedder()
    assert prefixed(embedder, Prefixes()) is embedder


@pytest.mark.parametrize(
    ("purpose", "sent"), [("query", ["query: one", "query: "]), ("document", ["passage: one", "passage: "])]
)
async def test_the_prefix_of_the_purpose_is_sent_before_each_text(purpose: Purpose, sent: list[str]) -> None:
    with respx.mock() as router:
        route = router.post(URL).mock(return_value=vectors(axis(0), axis(1)))
        plain = OpenAIEmbedder(api_key=KEY, metrics=Metrics(), model="multilingual-e5-small", dimensions=64)
        embedder = prefixed(plain, Prefixes.of_model(plain.config.model))
        await embedder.embed(["one", ""], purpose, tenant_id="acme")
        body = json.loads(route.calls.last.request.content)
        await embedder.close()
    assert (body["model"], body["input"]) == ("multilingual-e5-small", sent)


async def test_each_purpose_gets_the_vectors_of_its_own_texts() -> None:
    plain = HashingEmbedder()
    embedder = PrefixedEmbedder(plain, Prefixes("query: ", "passage: "))
    each: list[tuple[Purpose, str]] = [("query", "query: red"), ("document", "passage: red")]
    for purpose, text in each:
        (ours,) = (await embedder.embed(["red"], purpose)).vectors
        (theirs,) = (await plain.embed([text], purpose)).vectors
        np.testing.assert_array_equal(ours, theirs)


def test_a_document_prefix_makes_another_config_and_a_query_prefix_does_not() -> None:
    plain = HashingEmbedder()
    assert PrefixedEmbedder(plain, Prefixes("query: ")).config == plain.config
    configs = [PrefixedEmbedder(plain, Prefixes("", text)).config for text in ("passage: ", "Passage: ", "passage:")]
    assert len({plain.config, *configs}) == 4
    assert len({config.index_name for config in (plain.config, *configs)}) == 4
    for config in configs:
        assert re.fullmatch(r"ngrams-v1#[0-9a-f]{8}", config.model)
        assert re.fullmatch(r"lt-memory-hashing-ngrams-v1-[0-9a-f]{8}", config.index_name)
        assert config.without_document_prefix == plain.config


@pytest.mark.parametrize("model", ["ngrams-v1", "name#1234567", "name#12345678-a1b2c3d4", "#12345678"])
def test_a_name_without_a_digest_behind_it_stays_as_it_is(model: str) -> None:
    config = EmbeddingConfig("local", model, 8)
    assert config.without_document_prefix is config


def test_a_shortened_model_stays_shortened_with_a_prefix() -> None:
    short = EmbeddingConfig("openai", "text-embedding-3-small", 256, shortened=True)
    config = short.with_document_prefix("D: ")
    assert config.shortened
    assert config.index_name.endswith("-256")
    assert config.without_document_prefix == short
