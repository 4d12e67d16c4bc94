"""What every embedder must do, run on each of them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai import WorkersAIEmbedder
from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.adapters.openai.embedder import OpenAIEmbedder
from app.adapters.prefixed import PrefixedEmbedder, Prefixes
from app.domain.embedding import Vector
from app.observability.metrics import Metrics
from app.ports.embedder import Embedder, Embeddings
from memory_gateway_double.server import Handle
from tests.contracts.conftest import cloudflare_client
from tests.support.generation import examples

WORDS = ["apple", "river", "stone", "paper", "green", "window", "seven", "music", "doctor", "train", "winter", "garden"]
SENTENCES = [f"On day {day} the team in Malmö shipped order number {day * 37}." for day in range(8)]
UNUSUAL = {
    "nothing but spaces": "   ",
    "nothing but control characters": "\x01\x02\x7f\u200b",
    "punctuation": "?!",
    "emoji": "👩‍👩‍👧 🙂🙂 🇸🇪",
    "right to left": "אני גר בתל אביב \u202eמרחבا العربية",  # noqa: RUF001 - look-alikes
    "Chinese": "她在上海的一家医院工作。",
    "lone accents": "\u0301\u0308",
    "one character, 32 KiB": "x" * 32768,
    "one emoji, 32 KiB": "🙂" * 8192,
    "one word, 8 KiB": "word " * 1638,
}


class OwnedEmbedder(Embedder, Protocol):
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """An embedder and what a contract cannot know of it."""

    make: Callable[[], OwnedEmbedder]
    windows: Sequence[tuple[str, int]]
    """A text too long for the model, as the windows it is taken in, each with its length in the model's measure."""
    tolerance: float = 1e-6
    """By how much a vector's values may depend on the texts beside it."""


def embedder_transformer(*, exact: bool) -> Subject:
    directory = packaged_model_dir()
    assert directory is not None, "the model's package is not installed"
    # Every word is one token, and a window holds 254 of them between its control tokens.
    words = [WORDS[position % len(WORDS)] for position in range(600)]
    windows = [words[:254], words[254:508], words[508:]]
    return Subject(
        lambda: TransformerEmbedder(directory, exact=exact),
        [(" ".join(window), len(window)) for window in windows],
        tolerance=1e-6 if exact else 2e-3,
    )


def embedder_hashing() -> Subject:
    # Takes any text at once.
    return Subject(HashingEmbedder, [(" ".join(SENTENCES), 1)])


def embedder_prefixed() -> Subject:
    # Of a long text only the first window has the prefix, so that the embedder below must take any text at once.
    return Subject(
        lambda: PrefixedEmbedder(HashingEmbedder(), Prefixes("query: ", "passage: ")), [(" ".join(SENTENCES), 1)]
    )


def embedder_openai(double: Handle) -> Subject:
    options = double.double.options
    return Subject(
        lambda: OpenAIEmbedder(
            api_key=options.openai_api_key, base_url=double.openai_url, metrics=Metrics(), dimensions=256
        ),
        _windows_of_bytes(8_000),
    )


def embedder_workers_ai(double: Handle, model: str, window_bytes: int) -> Subject:
    return Subject(lambda: _Owned(cloudflare_client(double), model), _windows_of_bytes(window_bytes))


class _Owned(WorkersAIEmbedder):
    """Closes the client that was made for it alone."""

    def __init__(self, client: CloudflareClient, model: str) -> None:
        super().__init__(client, model)
        self._own_client = client

    async def close(self) -> None:
        await self._own_client.close()


def _windows_of_bytes(most: int) -> list[tuple[str, int]]:
    """A text of three windows, each as full of words as the measure allows."""
    words = [WORDS[position % len(WORDS)] for position in range(most // 2)]
    windows: list[str] = []
    while len(windows) < 3:
        taken = next(n for n in range(len(words), 0, -1) if len(" ".join(words[:n])) <= most)
        windows.append(" ".join(words[:taken]))
        words = words[taken:]
    return [(window, len(window)) for window in windows]


class Embedding:
    """An embedder called from tests that are not coroutines, always in one event loop."""

    def __init__(self, subject: Subject, runner: asyncio.Runner) -> None:
        self.windows = subject.windows
        self.tolerance = subject.tolerance
        self.embedder = subject.make()
        self._runner = runner

    def embed(self, *texts: str) -> list[Vector]:
        return list(self._runner.run(self.embedder.embed(texts, "document")).vectors)

    def embed_concurrently(self, texts: Sequence[str]) -> list[Vector]:
        async def all_at_once() -> list[Embeddings]:
            return await asyncio.gather(*(self.embedder.embed([text], "document") for text in texts))

        return [vector for embedded in self._runner.run(all_at_once()) for vector in embedded.vectors]

    def embed_query(self, text: str) -> Vector:
        (vector,) = self._runner.run(self.embedder.embed([text], "query")).vectors
        return vector

    def ping(self) -> None:
        self._runner.run(self.embedder.ping())

    def close(self) -> None:
        self._runner.run(self.embedder.close())


@pytest.fixture(
    scope="module",
    params=[
        *("transformer", "transformer, exact", "hashing", "prefixed", "openai", "@cf/baai/bge-m3"),
        pytest.param("@cf/qwen/qwen3-embedding-0.6b", marks=pytest.mark.thorough),
    ],
)
def embedding(request: pytest.FixtureRequest) -> Iterator[Embedding]:
    subjects: dict[str, Callable[[], Subject]] = {
        "transformer": lambda: embedder_transformer(exact=False),
        "transformer, exact": lambda: embedder_transformer(exact=True),
        "hashing": embedder_hashing,
        "prefixed": embedder_prefixed,
        "openai": lambda: embedder_openai(request.getfixturevalue("double")),
    }
    remote = partial(embedder_workers_ai, model=request.param, window_bytes=8_000)
    make = subjects.get(request.param, lambda: remote(request.getfixturevalue("double")))
    with asyncio.Runner() as runner:
        embedding = Embedding(make(), runner)
        yield embedding
        embedding.close()


def assert_usable(embedding: Embedding, vector: Vector) -> None:
    assert vector.dtype == np.float32
    assert vector.shape == (embedding.embedder.config.dimensions,)
    assert abs(np.linalg.norm(vector.astype(np.float64)) - 1) < 1e-6


def test_a_vector_is_float32_and_has_the_configs_dimensions_and_unit_length(embedding: Embedding) -> None:
    for vector in embedding.embed("The customer prefers invoices in Swedish.", "a", " ".join(SENTENCES)):
        assert_usable(embedding, vector)


def test_vectors_come_in_the_order_of_the_texts(embedding: Embedding) -> None:
    forwards = embedding.embed(*SENTENCES)
    backwards = embedding.embed(*reversed(SENTENCES))
    np.testing.assert_allclose(forwards, backwards[::-1], atol=embedding.tolerance)
    nearest = np.argmax(np.array(forwards) @ np.array(backwards).T, axis=1)
    assert nearest.tolist() == list(reversed(range(len(SENTENCES))))


@settings(deadline=None, max_examples=examples(30))
@given(texts=st.lists(st.text(max_size=60) | st.sampled_from([*SENTENCES, " ".join(SENTENCES)]), max_size=5))
def test_a_batch_gives_the_same_vectors_as_single_calls(embedding: Embedding, texts: list[str]) -> None:
    together = embedding.embed(*texts)
    assert len(together) == len(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(vector, embedding.embed(text)[0], atol=embedding.tolerance)


def test_the_same_text_gives_the_same_vector_again(embedding: Embedding) -> None:
    np.testing.assert_array_equal(embedding.embed(*SENTENCES), embedding.embed(*SENTENCES))


def test_different_texts_have_different_vectors(embedding: Embedding) -> None:
    cosines = np.array(embedding.embed(*SENTENCES)) @ np.array(embedding.embed(*SENTENCES)).T
    assert (cosines > 0.99999).sum() == len(SENTENCES)


def test_no_texts_have_no_vectors(embedding: Embedding) -> None:
    assert embedding.embed() == []


def test_the_last_sentence_of_a_long_text_counts(embedding: Embedding) -> None:
    start = " ".join(SENTENCES)
    one, other = embedding.embed(f"{start} Anna moved to Berlin.", f"{start} The invoice is still unpaid.")
    assert np.abs(one - other).max() > 1e-4


def test_a_long_text_is_the_average_of_its_windows_by_their_length(embedding: Embedding) -> None:
    texts = [text for text, _ in embedding.windows]
    lengths = np.array([length for _, length in embedding.windows])
    average = lengths @ np.array(embedding.embed(*texts))
    (whole,) = embedding.embed(" ".join(texts))
    np.testing.assert_allclose(whole, average / np.linalg.norm(average), atol=embedding.tolerance)


def test_a_short_text_is_not_changed_by_a_long_one_beside_it(embedding: Embedding) -> None:
    (alone,) = embedding.embed("Anna moved to Berlin.")
    _, beside = embedding.embed(" ".join(SENTENCES * 3), "Anna moved to Berlin.")
    np.testing.assert_allclose(beside, alone, atol=embedding.tolerance)


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_text_has_a_usable_vector(embedding: Embedding, text: str) -> None:
    (vector,) = embedding.embed(text)
    assert_usable(embedding, vector)


def test_a_query_lies_near_the_document_of_the_same_words(embedding: Embedding) -> None:
    documents = np.array(embedding.embed(*SENTENCES))
    assert np.argmax(documents @ embedding.embed_query(SENTENCES[7])) == 7


def test_sixteen_calls_at_once_give_what_they_give_one_after_another(embedding: Embedding) -> None:
    texts = [*SENTENCES, *WORDS[:6], " ".join(SENTENCES), "x " * 300]
    np.testing.assert_allclose(
        embedding.embed_concurrently(texts),
        [embedding.embed(text)[0] for text in texts],
        atol=embedding.tolerance,
    )


def test_a_ping_is_answered(embedding: Embedding) -> None:
    embedding.ping()
