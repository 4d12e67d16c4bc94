"""What rules make of labelled corrections: they change almost nothing that holds, and find much of what does not."""

import pytest

from tests.statements.replay import CASES, Outcome, outcomes, table

CAUGHT = {"open": 0.67, "rare": 0.35, "everyday": 0.64}
"""The share of the superseded texts that the keys find, in each file."""
FILES = (*CAUGHT, "voices")


@pytest.fixture(scope="module")
def found() -> dict[str, list[Outcome]]:
    return {name: outcomes(CASES / f"{name}.jsonl") for name in FILES}


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_at_most_one_text_in_a_hundred_that_holds_is_superseded(found: dict[str, list[Outcome]], name: str) -> None:
    holds = sum(len(each.case["statements"]) - len(each.wanted) for each in found[name])
    assert sum(len(each.false) for each in found[name]) <= 0.01 * holds, table(found[name])


@pytest.mark.parametrize("name", FILES)
def test_at_most_one_case_in_a_hundred_has_a_false_supersession(found: dict[str, list[Outcome]], name: str) -> None:
    assert sum(bool(each.false) for each in found[name]) <= 0.01 * len(found[name]), table(found[name])


@pytest.mark.parametrize("name", CAUGHT)
def test_most_of_the_superseded_texts_are_caught(found: dict[str, list[Outcome]], name: str) -> None:
    labelled = sum(len(each.wanted) for each in found[name])
    assert sum(len(each.caught) for each in found[name]) >= CAUGHT[name] * labelled, table(found[name])


def test_a_question_asks_for_the_key_of_its_answer_in_seven_of_ten_cases_where_it_has_one(
    found: dict[str, list[Outcome]],
) -> None:
    keyed = [each for each in found["open"] if each.keyed]
    assert len(keyed) >= 0.5 * len(found["open"])
    assert sum(each.answered for each in keyed) >= 0.7 * len(keyed)
