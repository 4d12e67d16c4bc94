"""The laws of the store: it is a dict of the newest values, and filters as LangGraph's own store does."""

import asyncio
import json
import os
from collections.abc import Sequence
from itertools import count, product
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.langgraph import MemoryStore, conditions, store

Value: TypeAlias = dict[str, Any]
Namespace: TypeAlias = tuple[str, ...]

NAMESPACES = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "0", "a.b"])
NAMES = st.sampled_from(["a", "b"]) | st.text(max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.integers()
    | st.sampled_from([0.5, 1.0, "1", "a"])
    | st.text(max_size=9)
)
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=3
)
VALUES = st.dictionaries(NAMES, NESTED, max_size=2)
OPERATORS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
COMPARISONS = st.dictionaries(OPERATORS | st.sampled_from(["$in", "a"]), NESTED, min_size=1, max_size=2)
WANTED = st.recursive(
    SCALARS | st.dictionaries(OPERATORS, st.integers(-2, 2), min_size=1, max_size=2) | COMPARISONS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=3,
)
FILTERS = st.dictionaries(NAMES, WANTED, max_size=2)
WRITES = st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=12)
"""At most as many as a recall finds, so that nothing is crowded out. None deletes."""
EXAMPLES = 30 if "LONG" in os.environ else 8


def passing(store: BaseStore, prefix: Namespace, **asked: Any) -> dict[tuple[Namespace, str], Value] | None:
    """Return what a search finds; None where the filter compares what cannot be compared."""
    try:
        found = store.search(prefix, limit=99, **asked)
    except (TypeError, ValueError, OverflowError):
        return None
    return {(item.namespace, item.key): item.value for item in found}


def check(store: MemoryStore, root: str, writes: Sequence[tuple[Namespace, str, Value | None]], where: Value) -> None:
    reference = InMemoryStore()
    newest: dict[tuple[Namespace, str], Value] = {}
    for below, key, value in writes:
        place = ((root, *below), key)
        newest.pop(place, None)
        if value is None:
            store.delete(*place)
            reference.delete(*place)
        else:
            newest[place] = value
            store.put(*place, value)
            reference.put(*place, value)
        item = store.get(*place)
        assert (None if item is None else item.value) == value
    for prefix in {(root, *below[:depth]) for below, _, _ in writes for depth in range(3)}:
        inside = {place: value for place, value in newest.items() if place[0][: len(prefix)] == prefix}
        listed = [((item.namespace, item.key), item.value) for item in store.search(prefix, limit=99)]
        assert listed == list(inside.items())[::-1]
        part = [(item.namespace, item.key) for item in store.search(prefix, limit=2, offset=1)]
        assert part == [place for place, _ in listed[1:3]]
        found = store.search(prefix, query=json.dumps(writes[0][2]), limit=20)
        assert len(found) == len(inside)
        assert {(item.namespace, item.key): item.value for item in found} == inside
        for query in (None, "a"):
            assert passing(store, prefix, filter=where, query=query) == passing(reference, prefix, filter=where)
        assert store.list_namespaces(prefix=prefix) == sorted({namespace for namespace, _ in inside})


async def test_the_store_is_a_dict_of_the_newest_values(client: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PAGE", 3)  # so that few values have many pages
    roots = count()

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(WRITES, FILTERS)
    def holds(writes: Sequence[tuple[Namespace, str, Value | None]], where: Value) -> None:
        check(MemoryStore(client), f"root {next(roots)}", writes, where)

    await asyncio.to_thread(holds)


def alike(value: Value, where: Value) -> None:
    """Fail where the filter does not let pass what it lets pass in LangGraph's own store."""
    reference = InMemoryStore()
    reference.put(("a",), "k", value)
    try:
        passes: bool | None = conditions.passes(value, where)
    except (TypeError, ValueError, OverflowError):
        passes = None
    found = passing(reference, ("a",), filter=where)
    assert passes == (None if found is None else bool(found)), (value, where)


@settings(max_examples=1000 if "LONG" in os.environ else 200, deadline=None)
@given(VALUES, FILTERS)
def test_a_filter_lets_pass_what_langgraph_s_own_store_does(value: Value, where: Value) -> None:
    alike(value, where)


@pytest.mark.parametrize("name", ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "a"])
def test_every_operator_compares_as_langgraph_s_own_store_does(name: str) -> None:
    operands = [None, False, True, 0, 1, 1.0, 1.5, "1", "a", [], [1], {}, {"a": 1}]
    for held, operand in product(operands, operands):
        for wanted in ({name: operand}, {name: operand, "$gte": 1}, operand):
            alike({"k": held}, {"k": wanted})
    alike({}, {"k": {name: 1}})
