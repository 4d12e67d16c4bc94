"""The versions of a key are a function of its claims, whatever came first and whatever was deleted in between."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from app.domain.memory import NewMemory
from app.services.memories.gateway import LongTermMemoryGateway
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.memories import memory_rows
from tests.support.tables import count_of, insert_rows, rows_of
from tests.support.told import told

Claimed = tuple[int, str, str]
"""When a value was claimed, by which memory, and the value."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def versions(claimed: list[Claimed]) -> dict[str, tuple[int, str | None, int | None]]:
    """Say of each memory whether it opens a version, and what supersedes it and since when."""
    runs = [list(run) for _, run in groupby(sorted(claimed), key=lambda claim: claim[2])]
    openers: list[tuple[int | None, str | None]] = [run[0][:2] for run in runs[1:]] + [(None, None)]
    return {
        id_: (int(place == 0), opener, at)
        for run, (at, opener) in zip(runs, openers, strict=False)
        for place, (_, id_, _) in enumerate(run)
    }


@pytest.mark.parametrize("seed", range(max(5, examples(12))))
async def test_versions_follow_from_the_claims_alone(bench: Bench, seed: int) -> None:
    chosen, claimed = random.Random(seed), list[Claimed]()
    for _ in range(14):
        if claimed and chosen.random() < 0.3:
            gone = claimed.pop(chosen.randrange(len(claimed)))
            await bench.gateway.delete("bot", gone[1])
        else:
            day, place = chosen.randint(1, 8), chosen.choice("ABC")
            content = f"I live in {place}ville"
            at = day * 86_400_000
            id_ = await bench.gateway.store(
                "bot", NewMemory(content, told(content), session_id=str(len(claimed)), occurred_at=at)
            )
            if id_ not in {claim[1] for claim in claimed}:
                claimed.append((at, id_, place))
        wanted = versions(claimed)
        rows = await rows_of(
            bench, "claim", "memory_id", "opens", "superseded_by", "superseded_at", by="happened_at, memory_id"
        )
        assert {row["memory_id"]: (row["opens"], row["superseded_by"], row["superseded_at"]) for row in rows} == wanted
        superseded = {
            row["id"]: row["superseded_at"]
            for row in await memory_rows(bench, "id", "superseded_at", by="id", tenant_id="acme")
        }
        assert superseded == {id_: state[2] for id_, state in wanted.items()}


async def say(bench: Bench, place: str, at: int | None = None, *, clock: int | None = None) -> str:
    """Store where somebody lives, said at a moment, or when the service's clock shows another one than it does."""
    backends = bench.backends if clock is None else replace(bench.backends, clock=lambda: clock)
    gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
    return await gateway.store("bot", NewMemory(f"I live in {place}", told(f"I live in {place}"), occurred_at=at))


async def test_of_a_key_no_more_than_its_newest_claims_are_kept_and_what_came_before_stays_superseded(
    bench: Bench,
) -> None:
    row = {"tenant_id": "acme", "agent_id": "bot", "key": "user/lives_in", "whole": 1}
    own = ({"happened_at": n, "memory_id": f"{n:026d}", "value": f"v{n % 7}"} for n in range(600))
    await insert_rows(bench, "claim", *(row | each for each in own))
    assert await count_of(bench, "claim") == 500
    assert await count_of(bench, "claim", opens=1, superseded_by=None) == 1


async def test_what_holds_is_found_by_a_store_of_its_content_once_what_had_its_place_is_deleted(bench: Bench) -> None:
    first, correction, again = [await say(bench, place) for place in ("Rome", "Oslo", "Rome")]
    await bench.gateway.delete("bot", correction)
    assert await say(bench, "Rome") == again
    await bench.gateway.delete("bot", again)
    assert await say(bench, "Rome") == first


async def test_what_holds_is_found_by_a_store_of_its_content_once_what_had_its_place_is_superseded(
    bench: Bench,
) -> None:
    now = bench.backends.clock()
    correction = await say(bench, "Oslo", now + 60_000)
    first, again = await say(bench, "Rome", clock=now), await say(bench, "Rome", clock=now + 1000)
    await bench.gateway.delete("bot", correction)
    assert await say(bench, "Rome") in {first, again}
    await say(bench, "Lima", now + 500)
    assert await say(bench, "Rome") == again
