"""What a search takes of a model's analysis."""

from app.retrieval.query.analysis import MAX_SYNONYMS
from app.services.learning.analysing import MAX_STATEMENT, Analysed, analysed


def test_of_the_topics_those_that_were_shown_are_taken_at_most_three() -> None:
    shown = ["home", "diet", "car", "cat"]
    assert analysed(Analysed(["Home", "work"], [], ""), shown).topics == ["home"]
    assert analysed(Analysed([*shown, "home"], [], ""), shown).topics == ["home", "diet", "car"]


def test_where_none_was_shown_topics_are_taken_in_their_normal_form() -> None:
    assert analysed(Analysed(["User's home city", "", "\u0000"], [], ""), []).topics == ["user_s_home_city"]


def test_synonyms_and_the_statement_are_bounded() -> None:
    found = analysed(Analysed([], ["van"] * 24, "a  statement\n" * 99), [])
    assert len(found.synonyms) == MAX_SYNONYMS
    assert len(found.statement) == MAX_STATEMENT
    assert "\n" not in found.statement
