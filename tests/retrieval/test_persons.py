"""A question of somebody about themselves, as facts speak of them."""

import pytest

from app.retrieval.query.persons import of_the_user
from app.retrieval.query.terms import MAX_READ


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("What is the name of the woman I am with?", "What is the name of the woman the user is with?"),
        ("What am I driving now, and where?", "What is the user driving now, and where?"),
        ("Where is my dentist?", "Where is the user's dentist?"),
        ("What must not be in a cake for me?", "What must not be in a cake for the user?"),
        ("Where is the key that I\u2019m looking for?", "Where is the key that the user is looking for?"),
    ],
)
def test_who_asks_is_the_user(query: str, said: str) -> None:
    assert of_the_user(query) == said


@pytest.mark.parametrize(
    "query",
    ["When did World War I end for us?", "What is in Phase I?", "¿Dónde me operé?", "my dentist", "Where is Ann?", ""],
)
def test_what_is_not_said_of_oneself_in_english_stays_as_it_is(query: str) -> None:
    assert of_the_user(query) == query


def test_a_very_long_query_is_no_sentence() -> None:
    query = "where is my key? " * MAX_READ
    assert of_the_user(query) == query
