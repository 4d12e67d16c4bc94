"""What of a ranking becomes the answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.retrieval.pool import Candidate
from app.retrieval.selection import distinct, tokens, within
from tests.retrieval.pools import candidate


def of(*contents: str) -> list[Candidate]:
    return [candidate(str(n), content) for n, content in enumerate(contents)]


def test_copies_in_case_white_space_and_unicode_form_give_way_to_the_first() -> None:
    ranked = of(
        "The  Fox",
        "the fox\n",
        "THE\u00a0FOX",
        "\uff34he fox",
        "the fox.",
        "stra\u00dfe",
        "STRASSE",
        "cafe\u0301",
        "café",
    )
    assert [each.id for each in distinct(ranked)] == ["0", "4", "5", "7"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", 1), ("four", 1), ("fours", 2), ("é", 1), ("东京", 2), ("abcdé", 2), ("a" * 400, 100)],
)
def test_a_token_is_four_ascii_characters_or_another_one(text: str, count: int) -> None:
    assert tokens(text) == count


def test_what_does_not_fit_gives_way_to_a_shorter_one_behind_it() -> None:
    ranked = of("a" * 16, "b" * 40, "c" * 8, "d" * 5, "e" * 4)
    assert [each.id for each in within(ranked, 7)] == ["0", "2", "4"]
    assert [each.id for each in within(ranked, 3)] == ["2", "4"]
    assert list(within(ranked, None)) == ranked


@settings(deadline=None)
@given(st.lists(st.text("aé", min_size=1, max_size=30)), st.integers(1, 40))
def test_together_the_entries_never_have_more_tokens_than_asked_for(contents: list[str], most: int) -> None:
    ranked = of(*contents)
    kept = list(within(ranked, most))
    left = most - sum(tokens(each.content) for each in kept)
    assert left >= 0
    assert all(tokens(each.content) > left for each in ranked if each not in kept)
