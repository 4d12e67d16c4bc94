import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.local.scope_vectors import ScopeCache, ScopeVectors, cosines
from app.domain.memory import Scope

DIMENSIONS = 4


def rows(first: int, count: int) -> list[tuple[int, str, bytes]]:
    return [(n, f"id{n}", np.full(DIMENSIONS, n, "<f4").tobytes()) for n in range(first, first + count)]


def filled(count: int) -> ScopeVectors:
    vectors = ScopeVectors(DIMENSIONS)
    vectors.append(rows(1, count))
    return vectors


def test_a_snapshot_shows_no_later_change() -> None:
    vectors = filled(100)
    before = vectors.snapshot()
    vectors.append(rows(101, 300))
    vectors.keep(np.array([1, 400]))
    assert before.numbers.tolist() == list(range(1, 101))
    assert before.values[0].tolist() == list(range(1, 101))
    assert before.ids[:100] == [f"id{n}" for n in range(1, 101)]
    assert vectors.snapshot().ids == ["id1", "id400"]


@given(st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=12))
def test_what_is_held_is_what_was_added_and_not_removed(steps: list[tuple[int, bool]]) -> None:
    vectors, held, last = ScopeVectors(DIMENSIONS), list[int](), 0
    for count, remove in steps:
        vectors.append(rows(last + 1, count))
        held += range(last + 1, last + 1 + count)
        last += count
        if remove:
            held = held[::2]
            vectors.keep(np.array(held, np.int64))
    snapshot = vectors.snapshot()
    assert snapshot.numbers.tolist() == held
    assert snapshot.values[0].tolist() == held
    assert snapshot.ids[: len(held)] == [f"id{n}" for n in held]
    assert vectors.last == (held[-1] if held else 0)


def test_a_scope_that_fits_stays_after_it_has_grown_by_one() -> None:
    cache = ScopeCache(DIMENSIONS, budget=filled(1000).size)
    scope = Scope("acme", "bot")
    vectors = cache.get(scope)
    for first, count in ((1, 990), (991, 1), (992, 9)):
        vectors.append(rows(first, count))
        cache.resized(scope, vectors.size)
        assert cache.fits(vectors.count)
        assert cache.get(scope) is vectors
    vectors.append(rows(1001, 1))
    cache.resized(scope, vectors.size)
    assert not cache.fits(vectors.count)
    assert cache.get(scope).count == 0


def test_scopes_that_hold_nothing_count_too() -> None:
    cache = ScopeCache(DIMENSIONS, budget=10 * ScopeVectors(DIMENSIONS).size)
    scopes = [Scope("acme", f"agent{n}") for n in range(100)]
    first = cache.get(scopes[0])
    for scope in scopes:
        cache.resized(scope, cache.get(scope).size)
    assert cache.get(scopes[0]) is not first


def test_the_scopes_searched_longest_ago_go_first() -> None:
    cache = ScopeCache(DIMENSIONS, budget=2 * filled(10).size)
    scopes = [Scope("acme", name) for name in ("a", "b", "c")]
    for scope in scopes[:2]:
        cache.get(scope).append(rows(1, 10))
        cache.resized(scope, cache.get(scope).size)
    cache.get(scopes[0])
    cache.get(scopes[2]).append(rows(1, 10))
    cache.resized(scopes[2], cache.get(scopes[2]).size)
    assert [cache.get(scope).count for scope in scopes] == [10, 0, 10]


@pytest.mark.parametrize("used", [1, 3, 8])
def test_a_query_has_the_same_cosines_however_many_of_its_dimensions_are_zero(used: int) -> None:
    random = np.random.default_rng(used)
    values = random.standard_normal((8, 50), np.float32)
    queries = np.zeros((2, 8), np.float32)
    queries[:, :used] = random.standard_normal((2, used), np.float32)
    for query, found in zip(queries, cosines(queries, values), strict=True):
        assert found == pytest.approx([float(query @ values[:, column]) for column in range(50)], abs=1e-5)
