"""To forget a memory and to take that back is as if nothing had happened, whatever else happens in between."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Superseded
from tests.services.profiles.test_forgetting import DAY, by, listed, recalled, tell
from tests.support.gateways import Bench, bench_on
from tests.support.generation import examples
from tests.support.memories import memory_rows
from tests.support.tables import rows_of

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
            return [recalls, await listed(profiles), await state(made)]

    assert asyncio.run(end(forgetting=True)) == asyncio.run(end(forgetting=False))


async def state(bench: Bench) -> list[list[Any]]:
    """Return each memory as it is, but for the moments, and what it claims."""
    found: list[list[Any]] = []
    for row in await memory_rows(bench, by="rowid"):
        claims = await rows_of(bench, "claim", "key", "value", "opens", "superseded_at", by="key", memory_id=row["id"])
        fields = [row[name] for name in ("content", "occurred_at", "forgotten_at", "forgotten_by", "expires_at")]
        absent = [row["superseded_at"] is None, row["identity"] is None]
        found.append(
            [*fields, *absent, [(one["key"], one["value"], one["opens"], not one["superseded_at"]) for one in claims]]
        )
    return found
