import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.local.scope_cache import ScopeCache
from app.adapters.local.scope_vectors import BLOCK, ScopeVectors, Snapshot, cosines
from app.domain.memory import Scope

DIMENSIONS = 4


def rows(first: int, count: int) -> list[tuple[int, str, bytes]]:
    return [(n, f"id{n}", np.full(DIMENSIONS, n, "<f4").tobytes()) for n in range(first, first + count)]


def filled(count: int) -> ScopeVectors:
    vectors = ScopeVectors(DIMENSIONS)
    vectors.append(rows(1, count))
    return vectors


def ids_of(snapshot: Snapshot) -> list[str]:
    return snapshot.ids.at(range(len(snapshot.numbers)))


def first_row(snapshot: Snapshot) -> list[float]:
    return [value for block in snapshot.blocks for value in block[0].tolist()]


def test_a_snapshot_shows_no_later_change() -> None:
    vectors = filled(100)
    before = vectors.snapshot()
    vectors.append(rows(101, 300))
    vectors.keep(np.array([1, 400]))
    assert before.numbers.tolist() == list(range(1, 101))
    assert first_row(before) == list(range(1, 101))
    assert ids_of(before) == [f"id{n}" for n in range(1, 101)]
    assert ids_of(vectors.snapshot()) == ["id1", "id400"]


@given(st.lists(st.tuples(st.integers(1, 90) | st.sampled_from([BLOCK - 1, BLOCK + 1]), st.booleans()), max_size=9))
def test_what_is_held_is_what_was_added_and_not_removed(steps: list[tuple[int, bool]]) -> None:
    vectors, held, last = ScopeVectors(DIMENSIONS), list[int](), 0
    for count, remove in steps:
        vectors.append(rows(last + 1, count))
        held += range(last + 1, last + 1 + count)
        last += count
        if remove:
            removed, held = held[1::2], held[::2]
            if count % 2:
                vectors.keep(np.array(held, np.int64))
            else:
                vectors.remove(removed)
    snapshot = vectors.snapshot()
    assert snapshot.numbers.tolist() == held
    assert first_row(snapshot) == held
    assert ids_of(snapshot) == [f"id{n}" for n in held]
    assert vectors.last == (held[-1] if held else 0)


@given(st.lists(st.integers(1, 3 * BLOCK), min_size=1, max_size=40, unique=True))
def test_a_removal_leaves_few_blocks_and_copies_those_alone_that_it_changes(removed: list[int]) -> None:
    vectors = filled(3 * BLOCK)
    before = vectors.snapshot().blocks
    vectors.remove(removed)
    after = vectors.snapshot().blocks
    changed = {(number - 1) // BLOCK for number in removed}
    assert [n for n, block in enumerate(before) if any(block is each for each in after)] == sorted({0, 1, 2} - changed)
    assert len(after) == 3
    vectors.remove(range(1, 3 * BLOCK - 9))
    assert len(vectors.snapshot().blocks) <= 1


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


@pytest.mark.parametrize("count", [0, 1, 5, 65])
def test_a_scope_of_few_vectors_takes_about_the_memory_that_counts(count: int) -> None:
    dimensions, scopes = 384, list[ScopeVectors]()
    held = [(n, f"{n:026}", bytes(4 * dimensions)) for n in range(1, count + 1)]
    tracemalloc.start()
    for _ in range(20):
        scopes.append(ScopeVectors(dimensions))
        for row in held:
            scopes[-1].append([row])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 2.2 * sum(vectors.size for vectors in scopes)


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


@pytest.mark.parametrize("count", [1, 2, 6])
@pytest.mark.parametrize("used", [0, 1, 3, 8])
def test_a_query_has_the_same_cosines_however_many_of_its_dimensions_are_zero(used: int, count: int) -> None:
    random = np.random.default_rng(used)
    values = random.standard_normal((8, 50), np.float32)
    queries = np.zeros((count, 8), np.float32)
    queries[:, :used] = random.standard_normal((count, used), np.float32)
    for query, found in zip(queries, cosines(queries, [values[:, :20], values[:, 20:]]), strict=True):
        assert found == pytest.approx([float(query @ values[:, column]) for column in range(50)], abs=1e-5)


def test_a_query_has_the_same_cosines_to_the_last_bit_beside_a_few_others() -> None:
    random = np.random.default_rng(1)
    blocks = [random.standard_normal((384, columns), np.float32) for columns in (BLOCK, BLOCK, 777)]
    queries = random.standard_normal((3, 384), np.float32)
    queries[0, random.permutation(384)[:337]] = 0
    queries[1, random.permutation(384)[:200]] = 0
    found = cosines(queries, blocks)
    assert found.tobytes() == np.concatenate([cosines(query[None], blocks) for query in queries]).tobytes()
