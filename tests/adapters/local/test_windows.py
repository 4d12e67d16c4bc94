"""Windows over long texts: laws of cutting, gathering and averaging."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.adapters.windows import TextWindow, average, batches, split
from app.domain.embedding import Vector
from app.domain.errors import UpstreamRejected

CHARACTERS = st.sampled_from([*"ab \n\t\r\u00a0\u3000é東🙂", "\u0301"]) | st.characters(exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=60)
BOUNDS = st.integers(4, 24)
"""A window holds at least the longest character of UTF-8."""
WORDS = st.text(st.sampled_from("abcé東🙂"), min_size=1, max_size=3)


def without_space(text: str) -> str:
    return "".join(text.split())


def random_vectors(seed: int, count: int, dimensions: int = 8) -> list[Vector]:
    return list(np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32))


def windows_of(*sizes: Sequence[int]) -> list[TextWindow]:
    """For each text its windows, of so many bytes."""
    return [TextWindow(text, "x" * size) for text, each in enumerate(sizes) for size in each]


@given(texts=st.lists(TEXTS, max_size=5), most=BOUNDS)
def test_every_window_is_within_the_bound(texts: list[str], most: int) -> None:
    assert all(0 < window.size <= most for window in split(texts, most))


@given(texts=st.lists(TEXTS, max_size=5), most=BOUNDS)
def test_nothing_but_white_space_is_lost_and_no_character_is_split(texts: list[str], most: int) -> None:
    windows = split(texts, most)
    for number, text in enumerate(texts):
        joined = "".join(window.content for window in windows if window.text == number)
        assert without_space(joined) == without_space(text)


@given(texts=st.lists(TEXTS, max_size=5), most=BOUNDS)
def test_every_text_has_windows_of_its_own_in_the_order_of_the_texts(texts: list[str], most: int) -> None:
    numbers = [window.text for window in split(texts, most)]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(texts)))
    alone = [window.content for text in texts for window in split([text], most)]
    assert [window.content for window in split(texts, most)] == alone


@given(text=TEXTS.filter(bool))
def test_a_text_within_the_bound_is_one_window_as_it_is(text: str) -> None:
    assert split([text], max(4, len(text.encode()))) == [TextWindow(0, text)]


@given(words=st.lists(WORDS, min_size=1, max_size=20), most=st.integers(12, 30), space=st.sampled_from(" \n\t\r"))
def test_a_word_within_the_bound_is_not_split(words: list[str], most: int, space: str) -> None:
    windows = split([space.join(words)], most)
    assert [word for window in windows for word in window.content.split()] == words


@given(words=st.lists(WORDS, min_size=2, max_size=20), most=st.integers(12, 30))
def test_a_window_takes_as_many_words_as_fit(words: list[str], most: int) -> None:
    contents = [window.content for window in split([" ".join(words)], most)]
    for content, following in pairwise(contents):
        assert len(f"{content} {following.split()[0]}".encode()) > most


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000", "\u00a0"])
@pytest.mark.parametrize("count", [1, 8, 9, 100])
def test_a_text_of_nothing_but_spaces_is_one_window(blank: str, count: int) -> None:
    (window,) = split([blank * count], 8)
    assert window.content
    assert not window.content.strip()


def test_an_empty_text_is_a_space() -> None:
    assert split([""], 8) == [TextWindow(0, " ")]


@pytest.mark.parametrize("most", [500, 2000, 8000])
@pytest.mark.parametrize("text", ["x" * 32768, "🙂" * 8192, "word " * 6553, "東" * 10922, "\u0301" * 16384])
def test_32_kib_are_as_few_windows_as_can_be(text: str, most: int) -> None:
    windows = split([text], most)
    assert all(window.size > most - 5 for window in windows[:-1])
    assert "".join(window.content for window in windows).replace(" ", "") == text.replace(" ", "")


@given(sizes=st.lists(st.integers(1, 12), max_size=30), most=st.integers(1, 6), max_bytes=st.integers(1, 30))
def test_calls_hold_the_windows_in_order_within_both_bounds_and_no_fewer_than_fit(
    sizes: list[int], most: int, max_bytes: int
) -> None:
    windows = windows_of(sizes)
    calls = list(batches(windows, limit=most, max_bytes=max_bytes))
    assert [window for call in calls for window in call] == windows
    held = [sum(window.size for window in call) for call in calls]
    assert all(1 <= len(call) <= most for call in calls)
    assert all(size <= max_bytes or len(call) == 1 for size, call in zip(held, calls, strict=True))
    for size, call, following in zip(held, calls, calls[1:], strict=False):
        assert len(call) == most or size + following[0].size > max_bytes


@given(sizes=st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=4), max_size=5), seed=st.integers(0, 2**32))
def test_an_average_is_one_vector_of_unit_length_a_text(sizes: list[list[int]], seed: int) -> None:
    windows = windows_of(*sizes)
    averages = average(windows, random_vectors(seed, len(windows)), 8)
    assert len(averages) == len(sizes)
    for vector in averages:
        assert vector.shape == (8,)
        assert vector.dtype == np.float32
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-6


@given(size=st.integers(1, 9000), scale=st.floats(1e-30, 1e30), seed=st.integers(0, 2**32))
def test_an_average_of_one_window_is_its_vector_whatever_its_length(size: int, scale: float, seed: int) -> None:
    (vector,) = random_vectors(seed, 1)
    (averaged,) = average(windows_of([size]), [(vector * scale).astype(np.float32)], 8)
    np.testing.assert_allclose(averaged, vector / np.linalg.norm(vector), atol=1e-6)


@given(one=st.integers(1, 9000), other=st.integers(1, 9000), scale=st.floats(1e-3, 1e3))
def test_a_window_counts_by_its_bytes_and_not_by_its_vectors_length(one: int, other: int, scale: float) -> None:
    axes = np.eye(2, dtype=np.float32)
    (averaged,) = average(windows_of([one, other]), [axes[0] * np.float32(scale), axes[1]], 2)
    np.testing.assert_allclose(averaged, np.array([one, other]) / np.hypot(one, other), atol=1e-6)


@given(
    sizes=st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=4), min_size=1, max_size=5),
    others=st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=4), max_size=5),
    seed=st.integers(0, 2**32),
)
def test_an_average_does_not_depend_on_the_other_texts(
    sizes: list[list[int]], others: list[list[int]], seed: int
) -> None:
    windows = windows_of(*sizes, *others)
    vectors = random_vectors(seed, len(windows))
    own = len(windows_of(*sizes))
    alone = average(windows[:own], vectors[:own], 8)
    together = average(windows, vectors, 8)
    np.testing.assert_allclose(together[: len(sizes)], alone, atol=1e-6)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 4), there=st.integers(0, 4))
def test_another_number_of_vectors_than_windows_is_refused(seed: int, count: int, there: int) -> None:
    assume(count != there)
    with pytest.raises(UpstreamRejected, match="8 dimensions"):
        average(windows_of([1] * count), random_vectors(seed, there), 8)


@pytest.mark.parametrize("shape", [(7,), (9,), (0,), (), (1, 8), (8, 1)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(UpstreamRejected, match="8 dimensions"):
        average(windows_of([1], [1]), [*random_vectors(1, 1), np.ones(shape, np.float32)], 8)


NOWHERE = {"nothing": [[0, 0]], "not a number": [[np.nan, 1]], "two that cancel": [[1, 2], [-2, -4]]}


@pytest.mark.parametrize("vectors", NOWHERE.values(), ids=NOWHERE)
def test_a_vector_without_direction_is_refused_beside_good_ones(vectors: list[list[float]]) -> None:
    good = np.array([1, 0], np.float32)
    windows = windows_of([1], [1] * len(vectors), [1])
    with pytest.raises(UpstreamRejected):
        average(windows, [good, *(np.array(vector, np.float32) for vector in vectors), good], 2)


def test_an_infinite_vector_is_refused_without_a_warning() -> None:
    with pytest.raises(UpstreamRejected):
        average(windows_of([1]), [np.array([np.inf, 1], np.float32)], 2)


def test_one_window_without_direction_is_refused_beside_the_texts_others() -> None:
    with pytest.raises(UpstreamRejected):
        average(windows_of([1, 1]), [np.array([1, 0], np.float32), np.zeros(2, np.float32)], 2)


def test_no_windows_are_no_vectors() -> None:
    assert split([], 8) == []
    assert list(batches([], limit=1, max_bytes=1)) == []
    assert average([], [], 8) == []
