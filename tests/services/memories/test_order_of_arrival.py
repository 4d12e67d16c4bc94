"""What holds at any time is a function of what was said and when, and not of the order in which it arrived."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.services.memories.test_what_holds import DAY, answers, say
from tests.support.gateways import bench_on
from tests.support.generation import examples

PLACES = ("Rome", "Oslo", "Lima")
statements = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(PLACES)), min_size=1, max_size=5, unique=True)


@settings(deadline=None, max_examples=examples(8))
@given(said=statements, order=st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_change_what_holds_at_any_time(
    said: list[tuple[int, str]], order: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = [next(group) for _, group in itertools.groupby(sorted(said), key=lambda one: one[0])]  # one a day

    async def held(arriving: list[tuple[int, str]]) -> list[list[str]]:
        async with bench_on(tmp_path_factory.mktemp("held")) as made:
            for day, place in arriving:
                await say(made, f"I live in {place}", day)
            return [sorted(await answers(made, top_k=20, as_of=day * DAY)) for day in range(8)]

    shuffled = list(said)
    order.shuffle(shuffled)
    assert asyncio.run(held(said)) == asyncio.run(held(shuffled)) == [expected(said, day) for day in range(8)]


def expected(said: list[tuple[int, str]], day: int) -> list[str]:
    """Say what holds on a day: the statements of the last value, back to where it began."""
    places = [place for at, place in said if at <= day]
    held = list(itertools.takewhile(lambda place: place == places[-1], reversed(places)))
    return [f"I live in {place}" for place in held]
