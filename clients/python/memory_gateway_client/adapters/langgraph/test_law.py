"""The law of the store: it is a dict of the newest values, whatever is put, deleted and searched."""

import asyncio
import json
import os
from collections.abc import Sequence
from itertools import count
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.langgraph import MemoryStore, store

Value: TypeAlias = dict[str, bool | int | str | None]
Namespace: TypeAlias = tuple[str, ...]

NAMESPACES = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "0", "a.b"])
VALUES = st.dictionaries(
    st.text(max_size=4), st.none() | st.booleans() | st.integers() | st.text(max_size=9), max_size=2
)
WRITES = st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=12)
"""At most as many as a recall finds, so that nothing is crowded out. None deletes."""
EXAMPLES = 30 if "LONG" in os.environ else 8


def check(store: MemoryStore, root: str, writes: Sequence[tuple[Namespace, str, Value | None]]) -> None:
    newest: dict[tuple[Namespace, str], Value] = {}
    for below, key, value in writes:
        place = ((root, *below), key)
        newest.pop(place, None)
        if value is None:
            store.delete(*place)
        else:
            newest[place] = value
            store.put(*place, value)
        item = store.get(*place)
        assert (None if item is None else item.value) == value
    for prefix in {(root, *below[:depth]) for below, _, _ in writes for depth in range(3)}:
        inside = {place: value for place, value in newest.items() if place[0][: len(prefix)] == prefix}
        listed = [((item.namespace, item.key), item.value) for item in store.search(prefix, limit=99)]
        assert listed == list(inside.items())[::-1]
        found = store.search(prefix, query=json.dumps(writes[0][2]), limit=20)
        assert len(found) == len(inside)
        assert {(item.namespace, item.key): item.value for item in found} == inside
        assert store.list_namespaces(prefix=prefix) == sorted({namespace for namespace, _ in inside})


async def test_the_store_is_a_dict_of_the_newest_values(client: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PAGE", 3)  # so that few values have many pages
    roots = count()

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(WRITES)
    def holds(writes: Sequence[tuple[Namespace, str, Value | None]]) -> None:
        check(MemoryStore(client), f"root {next(roots)}", writes)

    await asyncio.to_thread(holds)
