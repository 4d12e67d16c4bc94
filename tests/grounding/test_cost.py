"""Checking costs in proportion to what is read, and no more is read than the bounds say."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType

import pytest

from app.grounding import Checked, Checker, Source
from app.grounding.checking import MAX_ALL_SOURCES, MAX_SOURCE, MAX_SOURCES, MAX_STATEMENT
from app.grounding.evidence import MAX_PAIRS, MAX_TOKENS, size
from bench.hostile import TEXTS
from tests.grounding.pairs import noon
from tests.support.cost import best, within

SAID = noon("2026-03-10")
UNITS = ["Ann likes tea. ", "yesterday ", "in two weeks ", "5 km ", "I ", "and ", '"x" ', "{", "not ", "Om en vecka "]


def check(statement: str, sources: Sequence[Source]) -> Checked:
    return Checker().check(statement, sources)


def calls(statement: str, text: str) -> int:
    """Return how many functions are called to check a statement."""
    return called(lambda: check(statement, [Source(text, SAID, "user")]))


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
    first, *others = (called(partial(checker.check, each, [source])) for each in statements)
    assert sum(others) < first


@pytest.mark.parametrize("text", TEXTS)
def test_no_source_takes_long(text: str) -> None:
    source = Source(TEXTS[text](MAX_SOURCE), SAID, "user")
    assert within(best(lambda: check("The user likes tea.", [source])), 1.5)


def test_what_is_beyond_the_bounds_is_no_evidence() -> None:
    statement = "I own a zeppelin."
    said = Source("I own a zeppelin.", SAID, "user")
    assert check(statement, [said]).verbatim
    other = Source("x", SAID, "user")
    filled = Source("x" * MAX_SOURCE, SAID, "user")
    for sources in (
        [*[other] * MAX_SOURCES, said],
        [Source("x" * MAX_SOURCE + ". " + said.text, SAID, "user")],
        [*[filled] * (MAX_ALL_SOURCES // MAX_SOURCE), said],
    ):
        found = check(statement, sources)
        assert not found.verbatim
        assert all("zeppelin" not in evidence for evidence, _ in found.pairs)


def test_a_statement_that_is_too_long_to_be_read_is_not_grounded() -> None:
    sentence = "I own a zeppelin. "
    long = sentence * (MAX_STATEMENT // len(sentence) + 1)
    assert check(long[:MAX_STATEMENT], [Source(long[:MAX_STATEMENT], SAID, "user")]).verbatim
    assert check(long, [Source(long, SAID, "user")]).ungrounded


def test_a_reader_is_shown_few_pairs_of_few_tokens_each_however_much_is_cited() -> None:
    lines = "\n".join(
        f"Customer {number} in Oslo has ordered {number * 7} chairs for street {number}." for number in range(400)
    )
    found = check("Customer 371 in Oslo ordered chairs.", [Source(lines, SAID, "user")] * 3)
    assert 1 < len(found.pairs) <= MAX_PAIRS
    assert all(size(evidence) + size(claim) <= MAX_TOKENS for evidence, claim in found.pairs)
    assert all("Customer 371 " in evidence for evidence, _ in found.pairs[:1])


def test_where_all_sources_fit_into_a_pair_it_is_the_only_one() -> None:
    sources = [Source("We moved to Oslo.", SAID, "user"), Source("The flat has three rooms.", SAID, "user")]
    found = check("The user's flat in Oslo has three rooms.", sources)
    assert found.pairs == [("We moved to Oslo.\nThe flat has three rooms.", "The user's flat in Oslo has three rooms.")]
