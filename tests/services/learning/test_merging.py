import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.learned import Proposal
from app.services.learning.merging import merge
from tests.services.learning.conversations import proposed

LIVES = "The user lives in Oslo."


def contents(*statements: str) -> list[str]:
    """Return what is left of statements that cite one message."""
    return sorted(each.content for each in merge([proposed(statement) for statement in statements]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LIVES, "the user lives in OSLO"),
        (LIVES, "The user lives in Oslo, Norway, since 2024."),
        ("The user moved to Oslo on 2026-05-03.", "On 2026-05-03 the user moved to Oslo from Rome."),
        ("The user does not eat fish.", "The user doesn't eat fish or meat."),
        ("Användaren bor i Oslo.", "Användaren bor sedan 2024 i Oslo."),
    ],
)
def test_two_that_say_the_same_are_one_and_the_more_complete_is_kept(first: str, second: str) -> None:
    assert contents(first, second) == [max(first, second, key=len)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user prefers pnpm over npm.", "The user prefers npm over pnpm."),
        ("Ann likes Bob.", "Bob likes Ann."),
        ("Ann likes Bob.", "Bob likes Ann since May."),
        ("The user flies to Oslo.", "The user flies from Oslo."),
        ("The user eats fish.", "The user never eats fish."),
        ("The user is a nurse.", "The user was a nurse."),
        ("The user pays 20.", "The user pays 30 in all."),
        (LIVES, "The user lives in Rome."),
    ],
)
def test_two_that_say_something_else_stay_two(first: str, second: str) -> None:
    assert contents(first, second) == sorted((first, second))


def test_one_that_says_more_of_another_message_stays_beside_it() -> None:
    both = [proposed(LIVES, "m1"), proposed("The user lives in Oslo, Norway.", "m2")]
    assert len(merge(both)) == 2


def test_equal_words_are_one_whatever_they_cite() -> None:
    both = [proposed(LIVES, "m2"), proposed("the user lives in oslo", "m1")]
    assert merge(both, ["m1", "m2"]) == [proposed(LIVES, "m1", "m2")]


def test_one_that_comes_to_share_a_message_by_another_is_one_too() -> None:
    most = "The user lives in Oslo since 2024 with Ann."
    found = merge(
        [
            proposed(most, "m1"),
            proposed("The user lives in Oslo since 2024.", "m2"),
            proposed("The user lives with Ann.", "m1", "m2"),
        ]
    )
    assert found == [proposed(most, "m1", "m2")]


def test_what_happened_on_two_days_is_two() -> None:
    short, long = "The user ran.", "The user ran 10 km."
    assert len(merge([proposed(short, happened_at=1), proposed(long, happened_at=2)])) == 2
    assert merge([proposed(short, happened_at=1), proposed(long)]) == [proposed(long, happened_at=1)]


def test_messages_stand_in_the_order_in_which_they_were_said() -> None:
    said = ["m9", "m1", "m5"]
    (found,) = merge([proposed(LIVES, "m1", "m5"), proposed(LIVES, "m9", "m1")], said)
    assert list(found.message_ids) == said


WORDS = ("user", "ann", "oslo", "not", "likes", "lives", "runs", "in", "to", "from", "on", "2024", "20")
words = st.sampled_from(WORDS)
statement = st.lists(words, min_size=1, max_size=5).map(" ".join)
proposal = st.builds(
    Proposal,
    st.one_of(statement, statement.map(str.title)),
    st.lists(st.sampled_from(["m1", "m2", "m3", "m4"]), min_size=1, max_size=3, unique=True),
    st.sampled_from([None, None, 1, 2]),
)
several = st.lists(proposal, max_size=12)


@given(several, st.randoms(use_true_random=False))
def test_the_order_of_proposals_changes_nothing(found: list[Proposal], chance: random.Random) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert merge(shuffled) == merge(found)


@given(several)
def test_to_merge_again_changes_nothing(found: list[Proposal]) -> None:
    once = merge(found)
    assert merge(once) == once


@given(several)
def test_what_is_merged_cites_the_messages_of_all_and_none_is_lost(found: list[Proposal]) -> None:
    once = merge(found)
    for each in found:
        assert any({*each.message_ids} <= {*kept.message_ids} and _holds(kept, each) for kept in once)
    for kept in once:
        citing = [each for each in found if {*each.message_ids} <= {*kept.message_ids}]
        assert {*kept.message_ids} == {id_ for each in citing for id_ in each.message_ids}
        assert kept.content in {each.content for each in citing}


def _holds(kept: Proposal, each: Proposal) -> bool:
    return set(each.content.lower().split()) <= set(kept.content.lower().split())


@given(several)
def test_nothing_denied_becomes_one_with_what_is_not(found: list[Proposal]) -> None:
    denied = {each.content.lower().split().count("not") for each in found}
    assert {each.content.lower().split().count("not") for each in merge(found)} == denied


def test_many_proposals_of_many_messages_are_merged_in_time_that_grows_with_their_number() -> None:
    def many(number: int) -> Sequence[Proposal]:
        return [
            proposed(f"The user has the card {place} of {place % 7}.", f"m{place // 30}") for place in range(number)
        ]

    assert len(merge(many(6_000))) == 6_000
