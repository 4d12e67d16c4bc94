import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.learned import Proposal
from app.services.learning.merging import MAX_ALIKE, alike, merge
from tests.services.learning.conversations import proposed

LIVES = "The user lives in Oslo."


def merged(found: Sequence[Proposal], said: Sequence[str] = ()) -> list[Proposal]:
    """Return what is left where each follows that may follow."""
    return merge(found, said, alike(found))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LIVES, "the user lives  in OSLO"),
        (LIVES, "The user lives in Oslo, Norway, since 2024."),
        ("Anv\u00e4ndaren bor i Oslo.", "Anv\u00e4ndaren bor sedan 2024 i Oslo."),
        ("U\u017cytkownik mieszka w Oslo.", "U\u017cytkownik mieszka teraz w Oslo."),
    ],
)
def test_of_two_that_say_the_same_the_more_complete_is_kept(first: str, second: str) -> None:
    (kept,) = merged([proposed(first), proposed(second)])
    assert kept.content == max(first, second, key=len)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user prefers pnpm over npm.", "The user prefers npm over pnpm."),
        ("Ann likes Bob.", "Bob likes Ann since May."),
        ("The user flies to Oslo.", "The user flies from Oslo."),
        ("The user is a nurse.", "The user was a nurse."),
        ("The user pays 20.", "The user pays 30 in all."),
        (LIVES, "The user lives in Rome."),
        ("It was -3 degrees.", "It was 3 degrees."),
    ],
)
def test_two_that_say_something_else_stay_two_whatever_a_reader_says(first: str, second: str) -> None:
    assert len(merged([proposed(first), proposed(second)])) == 2


def test_what_does_not_follow_from_the_more_complete_one_stays() -> None:
    both = [proposed("The user eats fish."), proposed("The user never eats fish.")]
    assert alike(both) == [("The user never eats fish.", "The user eats fish.")]
    assert len(merge(both)) == 2


def test_no_more_pairs_are_read_than_the_bound_says() -> None:
    said = [proposed(" ".join(["yes"] * number)) for number in range(1, 20)]
    assert len(alike(said)) == MAX_ALIKE


def test_one_that_says_more_of_another_message_stays_beside_it() -> None:
    both = [proposed(LIVES, "m1"), proposed("The user lives in Oslo, Norway.", "m2")]
    assert len(merged(both)) == 2


def test_equal_words_are_one_whatever_they_cite() -> None:
    both = [proposed(LIVES, "m2"), proposed("the user lives in oslo", "m1")]
    assert merge(both, ["m1", "m2"]) == [proposed(LIVES, "m1", "m2")]


def test_one_that_is_a_part_of_a_part_is_one_too() -> None:
    said = [
        proposed(LIVES, "m1"),
        proposed("The user lives in Oslo now.", "m1", "m2"),
        proposed("The user lives in Oslo now and then.", "m2"),
    ]
    assert merged(said) == [proposed("The user lives in Oslo now and then.", "m1", "m2")]


def test_what_happened_on_two_days_is_two() -> None:
    short, long = "The user ran.", "The user ran 10 km."
    assert len(merged([proposed(short, happened_at=1), proposed(long, happened_at=2)])) == 2
    assert merged([proposed(short, happened_at=1), proposed(long)]) == [proposed(long, happened_at=1)]


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
    assert merged(shuffled) == merged(found)


@given(several)
def test_to_merge_again_changes_nothing(found: list[Proposal]) -> None:
    once = merged(found)
    assert merge(once, (), alike(found)) == once


@given(several)
def test_what_is_merged_cites_the_messages_of_all_and_none_is_lost(found: list[Proposal]) -> None:
    once = merged(found)
    for each in found:
        assert any({*each.message_ids} <= {*kept.message_ids} and _holds(kept, each) for kept in once)
    for kept in once:
        citing = [each for each in found if {*each.message_ids} <= {*kept.message_ids}]
        assert {*kept.message_ids} == {id_ for each in citing for id_ in each.message_ids}
        assert kept.content in {each.content for each in citing}


def _holds(kept: Proposal, each: Proposal) -> bool:
    return set(each.content.lower().split()) <= set(kept.content.lower().split())


@given(several)
def test_nothing_is_dropped_for_another_that_it_does_not_follow_from(found: list[Proposal]) -> None:
    assert {each.content.lower() for each in merge(found)} == {each.content.lower() for each in found}


def test_many_proposals_of_many_messages_are_merged_in_time_that_grows_with_their_number() -> None:
    def many(number: int) -> Sequence[Proposal]:
        return [
            proposed(f"The user has the card {place} of {place % 7}.", f"m{place // 30}") for place in range(number)
        ]

    assert len(merge(many(6_000))) == 6_000
