"""What of time a question asks for, in English, Swedish and German; nothing where that is not sure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates.asked import TimeAsked, time_asked

DAY, LAST, TIMES = TimeAsked("day"), TimeAsked("day", latest=True), TimeAsked("times")


@pytest.mark.parametrize(
    ("asked", "questions"),
    [
        (
            TimeAsked("past"),
            ["How long ago did I move?", "How long have I been at Acme?", "Hur länge har jag bott här?"],
        ),
        (
            TimeAsked("past"),
            ["Wie lange wohne ich schon hier?", "Wie lange ist das her?", "Seit wie lange? Seit dem Umzug?"],
        ),
        (TimeAsked("past", "week"), ["How many weeks ago did I move?", "Vor wie vielen Wochen bin ich umgezogen?"]),
        (
            TimeAsked("past", "day", latest=True),
            ["How many days is it since I last ran?", "Hur många dagar sedan sist?"],
        ),
        (TimeAsked("future", "day"), ["How many days until the race?", "Wie viele Tage bis zum Rennen?"]),
        (TimeAsked("between", "month"), ["How many months between the move and the wedding?"]),
        (
            DAY,
            ["Since when do I work there?", "When did I move?", "Seit wann wohne ich hier?", "Sedan när bor jag här?"],
        ),
        (DAY, ["When did I run last year?", "När flyttade jag till Oslo?", "Wann ist das Rennen?"]),
        (LAST, ["When did I last run?", "När sprang jag senast?", "Wann war ich zuletzt beim Arzt?"]),
        (LAST, ["When was the last time I ran?", "Wann war ich das letzte Mal dort?"]),
        (TIMES, ["How often did I run this year?", "How many times have I run?", "Wie oft war ich dort?"]),
        (TIMES, ["Hur ofta sprang jag i år?", "Hur många gånger har jag sprungit?"]),
    ],
)
def test_the_form_of_a_question_tells_what_it_asks_for(asked: TimeAsked, questions: list[str]) -> None:
    assert [time_asked(each) for each in questions] == [asked] * len(questions)


@pytest.mark.parametrize(
    "question",
    [
        "How long does the race take?",
        "How long did it take to convince her?",
        "How many people ran yesterday?",
        "When I lived in Oslo, what did I run in?",
        "När jag bodde i Oslo, vad hette min hund?",
        "When did I run after the wedding?",
        "When did I last run before the wedding?",
        "How often did I run since the wedding?",
        "How often a week do I run?",
        "Where do I live?",
        "",
    ],
)
def test_what_has_another_form_or_leans_on_another_event_asks_for_nothing(question: str) -> None:
    assert time_asked(question) is None


@given(st.text(max_size=2_000))
def test_any_text_is_read(question: str) -> None:
    assert time_asked(question) == time_asked(f"  {question}")
