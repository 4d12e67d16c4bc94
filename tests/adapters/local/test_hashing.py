"""The hashing embedder."""

import asyncio
import itertools
import string
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from app.adapters.local.hashing import HashingEmbedder
from app.domain.embedding import EmbeddingConfig, Vector

TEXT = "The customer prefers invoices in Swedish."
CALL = """
import asyncio
from app.adapters.local.hashing import HashingEmbedder
(vector,) = asyncio.run(HashingEmbedder().embed(["Größe: 12 x 34 mm, 東京 🙂"], "document")).vectors
print(vector.tobytes().hex())
"""


def embed(*texts: str) -> list[Vector]:
    return list(asyncio.run(HashingEmbedder().embed(texts, "document")).vectors)


def cosines(*texts: str) -> npt.NDArray[np.float32]:
    vectors = np.array(embed(*texts))
    return vectors @ vectors.T


def test_it_names_its_algorithm_as_the_model() -> None:
    assert HashingEmbedder().config == EmbeddingConfig("hashing", "ngrams-v1", 384)


def test_a_known_text_has_the_vector_it_always_had() -> None:
    (vector,) = embed(TEXT)
    places = np.flatnonzero(vector)[:8]
    assert places.tolist() == [3, 22, 25, 36, 44, 57, 60, 112]
    one = 0.149886
    np.testing.assert_allclose(vector[places], [one, one, -one, -one, one, one, one, one], atol=1e-6)


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_computes_the_same_vector(seed: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CALL],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.strip() == embed("Größe: 12 x 34 mm, 東京 🙂")[0].tobytes().hex()


def test_a_text_is_nearer_to_a_variant_of_it_than_to_another_text() -> None:
    near = cosines(TEXT, "Customers prefer an invoice in Swedish", "My dog swims in the lake on Sundays")
    assert near[0, 1] > 2 * near[0, 2]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Straße in MÜNCHEN", "strasse in munchen"),
        ("two  words\n", "two words"),
        ("\uff46\uff55\uff4c\uff4c \uff57\uff49\uff44\uff54\uff48", "full width"),
        ("école", "e\u0301cole"),
    ],
)
def test_case_accents_and_white_space_do_not_count(text: str, same: str) -> None:
    one, other = embed(text, same)
    np.testing.assert_array_equal(one, other)


def test_a_repeated_word_does_not_drown_the_others() -> None:
    assert cosines("invoice " * 50 + "in Swedish", "invoice in Swedish")[0, 1] > 0.6


@pytest.mark.thorough
def test_texts_without_a_word_differ_from_each_other() -> None:
    signs = list(string.punctuation) + ["".join(pair) for pair in itertools.permutations(string.punctuation[::3], 2)]
    texts = [*signs, "", " ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u0301", "🙂", "🙃", "…", "。"]
    assert (cosines(*texts) > 0.98).sum() == len(texts)


def test_a_text_over_many_characters_is_embedded_beside_the_event_loop() -> None:
    async def order() -> list[str]:
        finished: list[str] = []

        async def embed(name: str, text: str) -> None:
            await embedder.embed([text], "document")
            finished.append(name)

        embedder = HashingEmbedder()
        await asyncio.gather(embed("long", "some words " * 20000), embed("short", "some words"))
        return finished

    assert asyncio.run(order()) == ["short", "long"]
