"""What the indexer spends of the account's rate limit, counted by the double."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from app.domain.memory import NewMemory
from app.indexing.indexer import IDLE_ROUNDS
from tests.support.backends import running_on
from tests.support.gateways import Bench, bench_on
from tests.support.tables import set_rows

PAUSE = 15.0
A_CHUNK = ("vectorize.upsert", "vectorize.get_by_ids", "vectorize.delete_by_ids")
MAX_A_CHUNK = 20
"""Ids of one ``get_by_ids``, the smallest chunk there is."""


class Watched:
    """An indexer whose pauses pass at once, and the calls it made in each minute."""

    def __init__(self, bench: Bench, double: object) -> None:
        self.bench = bench
        self.double = double
        self.seconds = 0.0
        self.calls: dict[int, Counter[str]] = {}

    async def run(self, seconds: float) -> None:
        until = self.seconds + seconds
        while self.seconds < until:
            self.double.reset_calls()  # type: ignore[attr-defined]
            delay = min(max(PAUSE, await self.bench.indexer.round()), PAUSE * IDLE_ROUNDS)
            made: Counter[str] = Counter(self.double.calls())  # type: ignore[attr-defined]
            self.calls.setdefault(int(self.seconds // 60), Counter()).update(made)
            self.bench.later(round(delay))
            self.seconds += delay

    def besides_chunks(self) -> list[int]:
        return [sum(n for name, n in made.items() if name not in A_CHUNK) for made in self.calls.values()]

    def chunks(self) -> int:
        return sum(made[name] for made in self.calls.values() for name in A_CHUNK)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    with running_on("cloudflare") as account:
        async with bench_on(tmp_path, account) as bench:
            yield Watched(bench, account.doubles[tmp_path].double)


@pytest.mark.thorough
async def test_with_work_it_makes_at_most_eight_calls_a_minute_and_one_for_each_chunk(watched: Watched) -> None:
    gateway, index = watched.bench.gateway, watched.bench.index
    for n in range(60):
        await gateway.store("bot", NewMemory(f"delivered {n}"))
    index.error = Unavailable("The index is away.")
    ids = [await gateway.store("bot", NewMemory(f"not delivered {n}")) for n in range(60)]
    for id_ in ids[:30]:
        await gateway.delete("bot", id_)
    index.error = None
    await watched.run(20 * 60)
    assert await watched.bench.queued() == {}
    assert max(watched.besides_chunks()) <= 8
    # An upsert and a deletion sent, and the last of them again, so that the index is seen to go on; 60 and 30 vectors
    # confirmed; 30 looked at before and after their deletion.
    sent, confirmed, looked_at_twice = 1 + 1 + 1, 60 // MAX_A_CHUNK + 2, 2 + 2
    # What took seconds to store or delete falls due over seconds too, and so perhaps in two rounds: each group once,
    # which are two that are sent, two that are confirmed, and two looks.
    in_two_rounds = 2 + 2 + 2
    assert watched.chunks() <= sent + confirmed + looked_at_twice + in_two_rounds


async def test_without_work_it_makes_one_call_in_five_minutes(watched: Watched) -> None:
    await watched.run(3600)
    assert sum(watched.besides_chunks()) == 12
    assert watched.chunks() == 0


async def test_a_dead_letter_is_no_work(watched: Watched) -> None:
    watched.bench.index.error = Unavailable("The index is away.")
    await watched.bench.gateway.store("bot", NewMemory("text"))
    await set_rows(watched.bench, "outbox", {"dead": "refused", "due_at": 9007199254740991})
    await watched.run(60)
    watched.calls.clear()
    await watched.run(3600)
    assert sum(watched.besides_chunks()) == 12
