"""What of time a question asks for, in English, Swedish and German; nothing where that is not sure."""

import pytest

from app.language.dates.questions import TimeQuestion, time_question

DAY, LAST = TimeQuestion("day", happened=True), TimeQuestion("day", latest=True, happened=True)
TIMES = TimeQuestion("times", happened=True)


@pytest.mark.parametrize(
    ("asked", "questions"),
    [
        (
            TimeQuestion("past", happened=True),
            ["How long ago did I move?", "Wie lange ist das her?", "Seit wie lange? Seit dem Umzug?"],
        ),
        (
            TimeQuestion("past", lasts=True, happened=True),
            ["How long have I been at Acme?", "Hur länge har jag bott här?", "Wie lange wohne ich schon hier?"],
        ),
        (
            TimeQuestion("past", happened=True),
            [
                "Wie lange ist es her, dass ich nach Oslo gezogen bin?",
                "Wie lange ist es her, dass wir vor Ort waren?",
                "Wie lange ist es her, dass ich nach der Hochzeit umzog?",
            ],
        ),
        (DAY, ["Wann zog ich nach Berlin?", "Wann war ich vor Ort?"]),
        (TimeQuestion("day"), ["Wann ist das Rennen?", "When is the race?", "When was the invoice due?"]),
        (TIMES, ["Wie oft bin ich nach Berlin gefahren?", "Wie oft war ich dieses Jahr vor Ort?"]),
        (TimeQuestion("between", "day", happened=True), ["Wie viele Tage nach dem Umzug kam die Katze?"]),
        (
            TimeQuestion("day", ahead=True),
            ["When is the next team meeting?", "When will Anna move to Oslo?", "When does the shop open?"],
        ),
        (
            TimeQuestion("day", ahead=True),
            ["Wann ist das nächste Treffen?", "När är nästa möte?", "When does the Acme contract end?"],
        ),
        (
            TimeQuestion("past", "week", happened=True),
            ["How many weeks ago did I move?", "Vor wie vielen Wochen bin ich umgezogen?"],
        ),
        (
            TimeQuestion("past", "day", latest=True, happened=True),
            ["How many days is it since I last ran?", "Hur många dagar sedan sist?"],
        ),
        (TimeQuestion("future", "day"), ["How many days until the race?", "Wie viele Tage bis zum Rennen?"]),
        (TimeQuestion("between", "month", happened=True), ["How many months between the move and the wedding?"]),
        (
            TimeQuestion("day", lasts=True, happened=True),
            ["Since when do I work there?", "Seit wann wohne ich hier?", "Sedan när bor jag här?"],
        ),
        (DAY, ["When did I move?", "When did I run last year?", "När flyttade jag till Oslo?"]),
        (LAST, ["When did I last run?", "När sprang jag senast?", "Wann war ich zuletzt beim Arzt?"]),
        (LAST, ["When was the last time I ran?", "Wann war ich das letzte Mal dort?"]),
        (TIMES, ["How often did I run this year?", "How many times have I run?", "Wie oft war ich dort?"]),
        (TIMES, ["Hur ofta sprang jag i år?", "Hur många gånger har jag sprungit?"]),
    ],
)
def test_the_form_of_a_question_tells_what_it_asks_for(asked: TimeQuestion, questions: list[str]) -> None:
    assert [time_question(each) for each in questions] == [asked] * len(questions)


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
    assert time_question(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Wie oft muss ich die Tabletten nehmen?",
        "Hur ofta ska jag ta tabletterna?",
        "How often should I water the plant?",
        "How often do I need to water the plant?",
        "How often do I run?",
        "When must I pay the rent?",
        "Wann soll ich die Miete zahlen?",
        "När måste jag betala hyran?",
        "How long before a flight should I be at the airport?",
        "How long does it take until the paint is dry?",
        "How many days do parcels take after the order?",
        "Wie lange dauert es bis zum Flughafen?",
        "Hur lång tid tar det till flygplatsen innan jobbet?",
        "How often will I run?",
    ],
)
def test_what_is_asked_of_a_norm_a_habit_or_the_future_is_not_counted(question: str) -> None:
    assert time_question(question) is None


@pytest.mark.parametrize(
    "question",
    ["When did I not run?", "Wann war ich nicht beim Arzt?", "När sprang jag inte?", "How often didn't I run?"],
)
def test_a_question_with_a_negation_asks_for_nothing(question: str) -> None:
    assert time_question(question) is None


@pytest.mark.parametrize("question", ["Wann war ich nach der Hochzeit dort?", "Wann lief ich vor meinem Umzug?"])
def test_before_an_article_a_german_word_for_after_or_before_leans_on_another_event(question: str) -> None:
    assert time_question(question) is None
