"""Which part of a long memory is read for a query."""

import pytest

from app.retrieval.passages import MAX_LOOKED_AT, passage
from app.retrieval.query.terms import terms

FILLER = "Nothing of it is said here. " * 30


def test_a_short_text_is_its_own_passage() -> None:
    assert passage("The fox sleeps.", terms("a fox"), 240) == "The fox sleeps."


def test_a_passage_begins_with_the_sentence_that_has_most_of_the_words() -> None:
    text = f"The fox. {FILLER}The red foxes live in the barn behind the mill. {FILLER}"
    found = passage(text, terms("Where do red foxes live?"), 100)
    assert found.startswith("The red foxes live in the barn behind the mill. Nothing")
    assert len(found) <= 100


def test_of_passages_with_as_many_words_the_first_is_taken() -> None:
    text = f"The fox is one. {FILLER}The fox is two. {FILLER}"
    assert passage(text, terms("fox"), 100).startswith("The fox is one.")


def test_a_text_without_the_words_is_read_from_its_beginning() -> None:
    text = f"Monday. {FILLER}"
    assert passage(text, terms("fox"), 100).startswith("Monday.")
    assert passage(text, (), 100).startswith("Monday.")


@pytest.mark.parametrize(
    "text",
    ["fox" * 11_000, "fox " * 8_000, "\n" * 33_000, "\u72d0\u72f8 " * 11_000, "a.b." * 8_000, "\u0130" * 33_000],
    ids=["no space", "one word", "line ends", "another script", "stops", "longer in lower case"],
)
def test_of_any_text_no_more_is_read_than_asked(text: str) -> None:
    found = passage(text, terms("fox \u72d0 a b"), 240)
    assert len(found) <= 240
    assert found in text


def test_only_the_beginning_of_a_very_long_text_is_looked_at() -> None:
    text = f"Monday. {'x ' * MAX_LOOKED_AT}The fox."
    assert passage(text, terms("fox"), 100).startswith("Monday.")
