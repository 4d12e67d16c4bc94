"""What is searched for where a question asks what held before."""

import pytest

from app.services.answer.asking import searched


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("Where did I live earlier?", "Where did I live?"),
        ("Where did I previously live?", "Where did I live?"),
        ("Formerly, who was my dentist?", ", who was my dentist?"),
        ("Var bodde jag förut?", "Var bodde jag?"),
        ("Wo habe ich früher gewohnt?", "Wo habe ich gewohnt?"),
        ("Where does the earliest tram leave?", "Where does the earliest tram leave?"),
        ("Wo ist die frühere Rechnung?", "Wo ist die frühere Rechnung?"),
        ("Earlier?", "Earlier?"),
    ],
)
def test_a_search_leaves_out_the_adverbs_of_what_held_before(query: str, left: str) -> None:
    assert searched(query) == left
