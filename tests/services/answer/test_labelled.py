"""Labelled questions: how often the short answer has the sentence that answers."""

from tests.services.answer.made import Case, cases


def told(min_score: float) -> list[Case]:
    return [case for case in cases("open", min_score=min_score) if case.labels["kind"] != "unknown"]


def test_the_right_sentence_is_in_nine_of_ten_short_answers_where_no_entry_is_cut() -> None:
    found = [case for case in told(0.0) if case.labels["right"] is not None]
    assert len(found) == 40
    assert sum(case.is_right for case in found) >= 36


def test_what_can_be_computed_is_and_nothing_else() -> None:
    for min_score in (0.0, 0.5):
        found = [case for case in told(min_score) if "begins" in case.labels]
        assert len(found) == 8
        assert [case.labels["id"] for case in found if not case.is_computed] == []


def test_nothing_is_answered_where_no_entry_is_sure() -> None:
    unknown = [case for case in cases("open", min_score=0.5) if case.labels["kind"] == "unknown"]
    assert [case.answer.text for case in unknown] == ["", "", ""]
