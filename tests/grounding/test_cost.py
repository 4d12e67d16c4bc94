"""Checking costs in proportion to what is read, and no more is read than the bounds say."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from app.grounding import Checker, Source, ungrounded
from app.grounding.checking import MAX_ALL_SOURCES, MAX_SOURCE, MAX_SOURCES, MAX_STATEMENT
from bench.hostile import TEXTS
from tests.grounding.pairs import noon
from tests.support.cost import best, within

SAID = noon("2026-03-10")
UNITS = ["Ann likes tea. ", "yesterday ", "in two weeks ", "5 km ", "I ", "and ", '"x" ', "{", "not ", "Om en vecka "]


def calls(statement: str, text: str) -> int:
    """Return how many functions are called to check a statement."""
    return called(lambda: ungrounded(statement, [Source(text, SAID, "user")]))


def called(work: Callable[[], object]) -> int:
    """Return how many functions are called by work."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_source_takes_at_most_about_four_times_the_calls(unit: str) -> None:
    statement = "The user likes tea, walks 5 km and met Ann yesterday."
    small, large = (calls(statement, unit * (size // len(unit))) for size in (5_000, 20_000))
    assert large < 5 * small + 2_000


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_statement_takes_at_most_about_four_times_the_calls(unit: str) -> None:
    text = "Ann likes tea. We walk 5 km in two weeks, not yesterday. " * 20
    small, large = (calls(unit * (size // len(unit)), text) for size in (1_500, 6_000))
    assert large < 6 * small + 20_000


def test_a_source_is_read_once_however_many_statements_cite_it() -> None:
    table = "\n".join(f"{number},customer{number},Street {number % 97},Oslo,2026-03-10" for number in range(300))
    source, checker = Source(table, SAID, "user"), Checker()
    statements = [f"Customer{number} lives at Street {number} in Oslo." for number in range(1, 21)]
    first, *others = (called(partial(checker.ungrounded, each, [source])) for each in statements)
    assert sum(others) < first


@pytest.mark.parametrize("text", TEXTS)
def test_no_source_takes_long(text: str) -> None:
    source = Source(TEXTS[text](MAX_SOURCE), SAID, "user")
    assert within(best(lambda: ungrounded("The user likes tea.", [source])), 1.5)


def test_what_is_beyond_the_bounds_is_no_evidence() -> None:
    statement = "The user owns a zeppelin."
    said = Source("I own a zeppelin.", SAID, "user")
    assert ungrounded(statement, [said]) == []
    other = Source("x", SAID, "user")
    assert ungrounded(statement, [*[other] * MAX_SOURCES, said])
    assert ungrounded(statement, [Source("x" * MAX_SOURCE + " " + said.text, SAID, "user")])
    assert ungrounded(statement, [*[Source("x" * MAX_SOURCE, SAID, "user")] * (MAX_ALL_SOURCES // MAX_SOURCE), said])


def test_a_statement_that_is_too_long_to_be_read_is_not_grounded() -> None:
    sentence = "I own a zeppelin. "
    long = sentence * (MAX_STATEMENT // len(sentence) + 1)
    assert ungrounded(long[:MAX_STATEMENT], [Source(long[:MAX_STATEMENT], SAID, "user")]) == []
    assert ungrounded(long, [Source(long, SAID, "user")]) != []
