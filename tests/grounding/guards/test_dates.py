"""Days are told by a source, or follow from when it was said; a reader is asked in the words of the source."""

from datetime import date

import pytest

from app.grounding import Checker, Source
from tests.grounding.guards.cases import found
from tests.grounding.pairs import noon

CASES = [
    ("The user met Ann on 9 March 2026.", "I met Ann yesterday.", []),
    ("The user met Ann on 2026-03-08.", "I met Ann yesterday.", ["2026-03-08"]),
    ("The user met Ann on 2026-03-10.", "I met Ann.", ["2026-03-10"]),
    ("The user met Ann on 2026-03-10.", "I met Ann today.", []),
    ("The fair is in July.", "The fair is in June.", ["July"]),
    ("The user met Ann in March 2026.", "I met Ann on 4 March 2026.", []),
    ("The user met Ann on 4 March 2026.", "I met Ann in March 2026.", ["4 March 2026"]),
    ("The user swims every Friday.", "I swim on Fridays, every Friday.", []),
    ("Der Nutzer fliegt am 24. März 2026.", "In zwei Wochen fliege ich.", []),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_a_day_that_no_source_tells_is_rejected(statement: str, line: str, rejected: list[str]) -> None:
    assert [each.removeprefix("on ") for each in found("dates", statement, line)] == rejected


def test_a_day_that_code_has_computed_is_told() -> None:
    statement = "The user met Ann on 2026-01-05."
    sources = [Source("I met Ann.", None, "user")]
    assert Checker().check(statement, sources).ungrounded
    assert list(Checker().check(statement, sources, computed=[date(2026, 1, 5)]).ungrounded) == []


def test_a_reader_is_asked_with_the_words_in_which_the_source_tells_the_day() -> None:
    said = Source("I met Ann yesterday.", noon("2026-03-10"), "user")
    ((_, claim),) = Checker().check("The user met Ann on 2026-03-09.", [said]).pairs
    assert "yesterday" in claim
    assert "2026-03-09" not in claim
