"""Once a run is undone, all is as if it had never learned a fact, in whatever order they were told."""

import asyncio
import tempfile
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.facts import Fact
from app.domain.undoing import Selected
from tests.services.memories.test_undo_taught import OTHER_RUN, RUN, as_said
from tests.services.tiers.test_facts_undone import DAY, objects, tier
from tests.support.gateways import bench_on
from tests.support.generation import examples
from tests.support.scopes import begin_run

Told: TypeAlias = tuple[int, int, float, str | None, bool]
"""Key, value, confidence, run, and whether it is told as single."""
KEYS = (("user", "lives in", ("Rome", "Oslo", "Lima")), ("api", "port", ("8080", "9090", "7070")))
told = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from([0.3, 1.0]),
        st.sampled_from([None, RUN, RUN, OTHER_RUN]),
        st.sampled_from([True, True, False]),
    ),
    min_size=2,
    max_size=8,
)


async def state(path: Path, tellings: list[tuple[int, Told]], *, undone: bool) -> object:
    async with bench_on(path) as bench:
        await begin_run(bench.backends, RUN)
        await begin_run(bench.backends, OTHER_RUN)
        for day, (key, value, sureness, run_id, single) in tellings:
            subject, predicate, values = KEYS[key]
            fact = Fact(subject, predicate, values[value], sureness, learned_from_run_id=run_id, single=single)
            await tier(bench).learn("bot", fact, occurred_at=day * DAY)
        if undone:
            await as_said(bench, Selected(run_id=RUN))
        page = (await tier(bench).facts("bot", history=True, limit=100)).items
        return [(each.fact, each.since, each.until, each.holds) for each in page], await objects(bench)


def as_if_never_learned(said: list[Told]) -> None:
    numbered = list(enumerate(said, 1))
    others = [each for each in numbered if each[1][3] != RUN]
    with tempfile.TemporaryDirectory() as path:
        for name in ("undone", "never"):
            (Path(path) / name).mkdir()
        undone = asyncio.run(state(Path(path) / "undone", numbered, undone=True))
        assert undone == asyncio.run(state(Path(path) / "never", others, undone=False))


@settings(max_examples=examples(40), deadline=None)
@given(told)
def test_once_a_run_is_undone_all_is_as_if_it_had_never_learned_a_fact(said: list[Told]) -> None:
    as_if_never_learned(said)
