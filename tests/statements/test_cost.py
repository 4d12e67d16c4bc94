"""Reading statements costs in proportion to the content, whatever it is made of, and little for a usual one."""

from collections.abc import Callable
from functools import partial

import pytest

from app.language.sentences import MAX_SENTENCE, MAX_SENTENCES, sentences
from app.statements.rules import keys_asked, statements
from bench.hostile import TEXTS
from tests.support.cost import best, within
from tests.support.hostile import cases

STORE = (
    "We moved from Jenkins to GitHub Actions last week. My phone number is 555-0199 now. Our contact at Brightwater "
    "is Maria Lindqvist, and the deadline for the proposal has been moved to March 29, so tell her."
)
READERS: dict[str, Callable[[str], object]] = {"statements": statements, "keys_asked": keys_asked}


@pytest.mark.parametrize(("reader", "text"), cases(READERS, TEXTS, one_in=2))
def test_reading_costs_in_proportion_to_the_content(reader: str, text: str) -> None:
    quarter, whole = (TEXTS[text](size) for size in (8 * 1024, 32 * 1024))
    small, large = (best(partial(READERS[reader], made)) for made in (quarter, whole))
    assert within(large, 0.15)
    assert large < 9 * small + 0.004


@pytest.mark.parametrize(
    "word", ["to ", "is ", "from a to ", "we moved ", "npm ", "in the ", "my ", "9 ", "a:", "May 1 "]
)
def test_words_of_the_rules_in_a_row_cost_no_more_than_others(word: str) -> None:
    assert within(best(lambda: statements(word * (32 * 1024 // len(word)))), 0.15)
    line = word * (MAX_SENTENCE // len(word)) + "\n"
    assert within(best(lambda: statements(line * 80)), 0.3)


def test_a_usual_store_costs_well_under_a_millisecond() -> None:
    assert within(best(lambda: [statements(STORE) for _ in range(50)]) / 50, 0.0009)


def test_no_more_is_looked_at_than_is_said() -> None:
    found = sentences("One. " * 500 + "x" * 5000, "en")
    assert len(found) == MAX_SENTENCES
    (long,) = sentences("x" * 5000, "en")
    assert len(long.text) == MAX_SENTENCE
