"""Large values: a pointer in their place, from which the very text comes back."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.errors import BlobGone, QuotaExceeded, Unavailable
from app.domain.json_types import to_json
from app.ports.object_store import NoObjectStore
from app.services.tiers.blobs import Blobs
from app.services.tiers.large_values import LargeValues
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.objects import keys

AT_THE_LIMIT = to_json("é" * (limits.LARGE_VALUE_BYTES // 2 - 1))
LARGE = to_json({"text": "é" * (limits.LARGE_VALUE_BYTES // 2)})
POINTER = {"id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "sha256": "0" * 64, "size": 1, "media_type": "application/json"}


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def values(bench: Bench, tenant: str = "acme") -> LargeValues:
    return LargeValues(bench.backends.of_tenant(tenant, ADMINISTRATOR))


async def test_a_small_value_stays_as_it_is_and_a_larger_one_becomes_a_pointer(bench: Bench) -> None:
    assert len(AT_THE_LIMIT.encode()) == limits.LARGE_VALUE_BYTES
    assert await values(bench).keep("bot", AT_THE_LIMIT) == AT_THE_LIMIT
    assert await keys(bench.backends.objects) == []
    kept = await values(bench).keep("bot", LARGE)
    (blob,) = (await Blobs(bench.backends.of_tenant("acme")).list("bot", limit=10)).blobs
    assert json.loads(kept) == {
        "blob": {"id": blob.id, "sha256": blob.sha256, "size": len(LARGE.encode()), "media_type": "application/json"}
    }
    assert await values(bench).load("bot", kept) == LARGE


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(max_size=5) | st.just({"blob": POINTER}),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["blob", "a"]), inner, max_size=2),
        max_leaves=5,
    ),
    agent=st.sampled_from(["bot", None]),
)
async def test_any_value_comes_back_whatever_it_looks_like(bench: Bench, value: object, agent: str | None) -> None:
    text = json.dumps(value)
    assert await values(bench).load(agent, await values(bench).keep(agent, text)) == text


async def test_what_a_pointer_names_is_read_by_its_owner_alone(bench: Bench) -> None:
    kept = await values(bench).keep("bot", LARGE)
    for tenant, agent in (("acme", "other"), ("acme", None), ("other", "bot")):
        with pytest.raises(BlobGone):
            await values(bench, tenant).load(agent, kept)


async def test_a_dropped_value_is_gone_and_a_small_one_needs_no_dropping(bench: Bench) -> None:
    kept = await values(bench).keep("bot", LARGE)
    for text in (kept, kept, AT_THE_LIMIT):
        await values(bench).drop("bot", text)
    assert await keys(bench.backends.objects) == []
    with pytest.raises(BlobGone):
        await values(bench).load("bot", kept)


async def test_a_pointer_that_was_changed_gives_nothing_out(bench: Bench) -> None:
    kept = json.loads(await values(bench).keep("bot", LARGE))
    kept["blob"]["sha256"] = "0" * 64
    with pytest.raises(BlobGone):
        await values(bench).load("bot", json.dumps(kept))


async def test_a_value_that_has_no_room_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BLOBS", 0)
    with pytest.raises(QuotaExceeded):
        await values(bench).keep("bot", LARGE)


async def test_without_an_object_store_small_values_work_all_the_same(bench: Bench) -> None:
    bench.backends = replace(bench.backends, objects=NoObjectStore())
    small = to_json({"a": [1, 2]})
    assert await values(bench).load("bot", await values(bench).keep("bot", small)) == small
    with pytest.raises(Unavailable, match="R2_BUCKET"):
        await values(bench).keep("bot", LARGE)
