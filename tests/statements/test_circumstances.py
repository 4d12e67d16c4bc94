"""Statements that hold under other circumstances, on other days or elsewhere, do not replace each other."""

import json
from pathlib import Path

import pytest

from app.domain.claim import AS_SAID
from app.statements.rules import statements

BOTH = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "corrections" / "both.jsonl").read_text("utf-8").splitlines()
]
"""Pairs that both hold (tests/data/corrections/ORIGIN.md)."""


def told(text: str) -> dict[str, str]:
    return {each.key: each.value for each in statements(text) if each.key is not None and each.value is not None}


def replaces(later: str, earlier: str) -> bool:
    """Tell whether a statement ends an earlier one."""
    before, after = told(earlier), told(later)
    return any(key in after and after[key] != value for key, value in before.items())


def test_of_pairs_that_both_hold_at_most_one_in_fifty_is_replaced() -> None:
    assert len(BOTH) == 70
    hidden = [pair for pair in BOTH if replaces(pair["later"], pair["earlier"])]
    assert len(hidden) <= len(BOTH) // 50, hidden


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The standup is at 9:15 on Mondays.", "The standup is at 10:00 on Thursdays."),
        ("The review takes 30 minutes during the sprint.", "The review takes 2 hours during the release."),
        ("The backup runs at 02:00 on the first Sunday of the month.", "The backup runs at 04:00 on the last Friday."),
        ("At the Hamburg site our forklift limit is 2 tons.", "At the Bremen site our forklift limit is 3 tons."),
        ("Yoga is at 18:00.", "Yoga is at 7:30."),
        ("My phone number before 10 am is 555-0101.", "My phone number after 10 am is 555-0202."),
    ],
)
def test_other_days_times_places_and_conditions_hold_side_by_side(earlier: str, later: str) -> None:
    assert not replaces(later, earlier)
    assert not replaces(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Yoga is on Tuesdays.", "Yoga has moved to Thursdays."),
        ("I play tennis on Saturdays.", "Tennis is on Sundays now."),
        ("I live in Rome, near the market.", "I moved to Oslo in May."),
        ("During the sprint the review takes 30 minutes.", "During the sprint the review takes 45 minutes."),
        ("In winter the shop closes at 16:00.", "In winter the shop now closes at 17:00."),
        ("The board meeting is on March 18 in the Lisbon office.", "The board meeting is on March 25."),
        ("My rent is 900 euros a month.", "My rent is 950 euros a month."),
    ],
)
def test_a_change_and_the_same_circumstances_replace(earlier: str, later: str) -> None:
    assert replaces(later, earlier)


def test_days_that_hold_together_have_one_value() -> None:
    assert set(told("Yoga is on Tuesdays.").values()) == set(told("Yoga is on Sundays.").values()) == {AS_SAID}
