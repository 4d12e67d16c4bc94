"""To forget a memory and to take that back is as if nothing had happened, whatever else happens in between."""

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Superseded
from tests.services.profiles.test_forgetting import DAY, by, listed, recalled, tell
from tests.support.gateways import bench_on
from tests.support.generation import examples

said = st.tuples(
    st.sampled_from(["I live in Rome", "I live in Oslo", "I moved to Rome", "The cat is black"]),
    st.none() | st.sampled_from([DAY, 2 * DAY, 3 * DAY]),
)
QUESTIONS = ("Where do I live?", "Rome", "black cat")


@settings(deadline=None, max_examples=examples(12))
@given(before=st.lists(said, min_size=1, max_size=3), after=st.lists(said, max_size=2), which=st.integers(0, 2))
def test_to_forget_and_remember_again_is_as_if_nothing_had_happened(
    before: list[tuple[str, int | None]],
    after: list[tuple[str, int | None]],
    which: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async def end(*, forgetting: bool) -> list[object]:
        async with bench_on(tmp_path_factory.mktemp("end")) as made:
            profiles = by(made)
            ids = [(await tell(made, each[0], occurred_at=each[1])).id for each in before]
            forgotten = ids[which % len(ids)]
            if forgetting:
                try:
                    await profiles.forget("bot", forgotten)
                except Superseded:
                    forgetting = False
            for each in after:
                await tell(made, each[0], occurred_at=each[1])
            if forgetting:
                await profiles.unforget("bot", forgotten)
            recalls = [
                sorted(await recalled(made, query, **({} if day is None else {"as_of": day * DAY})))
                for query, day in itertools.product(QUESTIONS, (None, 1, 2, 3))
            ]
            return [recalls, await listed(profiles), [list(row.values()) for row in await made.rows(STATE)]]

    assert asyncio.run(end(forgetting=True)) == asyncio.run(end(forgetting=False))


STATE = """
SELECT memory.content, memory.occurred_at, memory.forgotten_at, memory.forgotten_by, memory.superseded_at IS NULL,
  memory.expires_at, memory.identity IS NULL, claim.key, claim.value, claim.opens, claim.superseded_at IS NULL
FROM long_term_memory AS memory LEFT JOIN claim ON claim.memory_id = memory.id ORDER BY memory.rowid, claim.key
"""
