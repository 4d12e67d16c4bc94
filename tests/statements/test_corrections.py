"""What the rules make of labelled corrections: they hide almost nothing that holds, and find most of what does not."""

import pytest

from tests.statements.replay import Outcome, outcomes, table


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    return outcomes()


def test_at_most_one_text_in_a_hundred_that_holds_is_superseded(found: list[Outcome]) -> None:
    holds = sum(len(each.case["statements"]) - len(each.wanted) for each in found)
    assert sum(len(each.false) for each in found) <= 0.01 * holds, table(found)


def test_at_most_one_case_in_a_hundred_has_a_false_supersession(found: list[Outcome]) -> None:
    assert sum(bool(each.false) for each in found) <= 0.01 * len(found), table(found)


def test_at_least_seventy_in_a_hundred_superseded_texts_are_caught(found: list[Outcome]) -> None:
    labelled = sum(len(each.wanted) for each in found)
    assert sum(len(each.caught) for each in found) >= 0.7 * labelled, table(found)


def test_a_question_asks_for_the_key_of_its_answer_in_seven_of_ten_cases_where_it_has_one(found: list[Outcome]) -> None:
    keyed = [each for each in found if each.keyed]
    assert len(keyed) >= 0.5 * len(found)
    assert sum(each.answered for each in keyed) >= 0.7 * len(keyed)
