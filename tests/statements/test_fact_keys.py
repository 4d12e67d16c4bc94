"""What a fact is about: the user alone is "the user"."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.facts import Fact
from app.statements.facts import read_fact, subject_of
from tests.support.generation import examples

USERS = ["user", "The user", "I", "me", "my", "myself"]
NOBODY_KNOWN = [
    "🍕",
    "A",
    "!!!",
    "-",
    "Team",
    "The Company",
    "Family",
    "Users",
    "the users",
    "-1",
    "a user",
    "userland",
]


def key(subject: str, predicate: str) -> str:
    (claim,) = read_fact(Fact(subject, predicate, "Oslo")).claims
    return claim.key


@pytest.mark.parametrize("subject", USERS)
def test_the_user_is_called_by_many_words(subject: str) -> None:
    assert key(subject, "lives in") == "user/lives_in"


@pytest.mark.parametrize("predicate", ["lives in", "has colour", "favourite food", "prefers to be paid back by"])
@pytest.mark.parametrize("subject", NOBODY_KNOWN)
def test_what_no_rule_knows_is_not_the_user(subject: str, predicate: str) -> None:
    assert key(subject, predicate).partition("/")[0] not in ("user", "we")


@pytest.mark.parametrize(
    ("one", "other"), [("Plan A", "Plan B"), ("Plan A", "Plan"), ("vitamin a", "vitamin"), ("Order 17", "Order 18")]
)
def test_a_letter_or_a_number_makes_another_subject(one: str, other: str) -> None:
    assert subject_of(one) != subject_of(other)


@pytest.mark.parametrize(("one", "other"), [("The Team", "team"), ("the staging server", "our staging server")])
def test_an_article_makes_no_other_subject(one: str, other: str) -> None:
    assert subject_of(one) == subject_of(other)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(min_size=1, max_size=30).filter(str.strip))
def test_no_text_is_taken_for_the_user(subject: str) -> None:
    assert (subject_of(subject) == "user") == (
        subject.strip(" .,;:!?_/").casefold() in {each.casefold() for each in USERS}
    )
