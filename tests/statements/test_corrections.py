"""What rules make of labelled corrections: they change almost nothing that holds, and find most of what does not."""

import pytest

from tests.statements.replay import CASES, Outcome, cases, crossed, outcomes, table

CAUGHT = {"open": 0.67, "rare": 0.35, "everyday": 0.64}
"""The share of the superseded texts that the keys find, in each file."""
REPLACED = {"open": 0.85, "rare": 0.75, "everyday": 0.94, "voices": 0.87}
"""The share that the keys or a recall of the question find."""
FALSE = {"open": 0.006, "rare": 0.014, "everyday": 0.003, "voices": 0.009}
"""The share of the texts that hold which a recall may take for corrected."""
FOREIGN = 10


@pytest.fixture(scope="module")
def found() -> dict[str, list[Outcome]]:
    return {name: outcomes(CASES / f"{name}.jsonl") for name in REPLACED}


@pytest.mark.thorough
@pytest.mark.parametrize("name", REPLACED)
def test_at_most_one_text_in_a_hundred_that_holds_is_superseded(found: dict[str, list[Outcome]], name: str) -> None:
    holds = sum(len(each.case["statements"]) - len(each.wanted) for each in found[name])
    assert sum(len(each.false) for each in found[name]) <= 0.01 * holds, table(found[name])


@pytest.mark.parametrize("name", REPLACED)
def test_at_most_one_case_in_a_hundred_has_a_false_supersession(found: dict[str, list[Outcome]], name: str) -> None:
    assert sum(bool(each.false) for each in found[name]) <= 0.01 * len(found[name]), table(found[name])


@pytest.mark.parametrize("name", CAUGHT)
def test_most_of_the_superseded_texts_are_caught(found: dict[str, list[Outcome]], name: str) -> None:
    labelled = sum(len(each.wanted) for each in found[name])
    assert sum(len(each.caught) for each in found[name]) >= CAUGHT[name] * labelled, table(found[name])


@pytest.mark.parametrize("name", REPLACED)
def test_keys_or_a_recall_find_most_of_what_is_corrected_in_any_words(
    found: dict[str, list[Outcome]], name: str
) -> None:
    labelled = sum(len(each.wanted) for each in found[name])
    assert sum(len(each.replaced & each.wanted) for each in found[name]) >= REPLACED[name] * labelled, table(
        found[name]
    )


@pytest.mark.parametrize("name", REPLACED)
def test_a_recall_takes_hardly_any_text_that_holds_for_corrected(found: dict[str, list[Outcome]], name: str) -> None:
    holds = sum(len(each.case["statements"]) - len(each.wanted) for each in found[name])
    assert sum(len(each.corrected - each.wanted) for each in found[name]) <= FALSE[name] * holds, table(found[name])


@pytest.mark.thorough
@pytest.mark.parametrize("foreign", [FOREIGN // 4, pytest.param(FOREIGN, marks=pytest.mark.long)])
def test_statements_of_other_cases_correct_next_to_nothing(foreign: int) -> None:
    crossing = list(crossed([case for name in REPLACED for case in cases(CASES / f"{name}.jsonl")], foreign))
    assert len(crossing) == foreign * 951
    assert sum(crossing) <= 0.005 * len(crossing)


def test_a_question_asks_for_the_key_of_its_answer_in_seven_of_ten_cases_where_it_has_one(
    found: dict[str, list[Outcome]],
) -> None:
    keyed = [each for each in found["open"] if each.keyed]
    assert len(keyed) >= 0.5 * len(found["open"])
    assert sum(each.answered for each in keyed) >= 0.7 * len(keyed)
