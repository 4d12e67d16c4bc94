"""What a measure or a moment is a value of, whatever the clause speaks of, and when none is told for sure."""

import pytest

from app.statements.rules import keys_asked, statements

MEASURES = {
    "The suite has 840 tests.": ("suite test/amount", "840"),
    "We're up to 911 tests in the suite.": ("suite test/amount", "911"),
    "The staging timeout is 30 seconds.": ("staging/timeout", "30 second"),
    "Cache TTL bumped to 15 minutes.": ("cache/ttl", "15 minut"),
    "After the audit we cut session tokens down to 8 hours.": ("token/duration", "8 hour"),
    "The webhook accepts payloads up to 256 KB.": ("payload webhook/limit", "256"),
    "We raised the webhook payload limit from 256 KB to 1 MB.": ("payload webhook/limit", "1"),
    "My psychiatrist upped the sertraline to 75 mg a day.": ("sertraline/dose", "75"),
    "The crawler job runs every 6 hours.": ("crawler/frequency", "every 6 hours"),
    "Support hours are now 8 to 18.": ("support/time", "8-18"),
    "They moved physio, it's Thursday at 12:15.": ("physio/day", "weekday 4 12:15"),
    "The chalet is small and sleeps 4.": ("chalet sleep/amount", "4"),
    "Ticket prices for the gala: 60 per head.": ("gala ticket/amount", "60"),
    "My spare key is under the flowerpot.": ("key spare/place", "flowerpot"),
    "Parser changes get reviewed by Henrike.": ("change parser/owner", "henrike"),
    "CSV export: in review": ("csv export/status", "in review"),
    "Tvättiden är ombokad till måndag klockan 18.": ("tvättid/day", "weekday 1 18:00"),
    "Der Stromabschlag wurde auf 112 Euro erhöht.": ("stromabschlag/amount", "112"),
    "Variablennamen sind ab jetzt englisch.": ("variablennam/language", "english"),
}

UNSURE = [
    "I ran 8 km today.",
    "340 visitors on Saturday.",
    "User meditated for 25 minutes.",
    "9 commits landed today.",
    "A meeting is on Tuesday at 10.",
    "The second monitor is 27 inches.",
    "Return 6 library items.",
    "Reply STOP 902 to end.",
    "The release notes of part 3 are long.",
    "The outdoor pool might open at 7.",
    "In town: the stationer, then the bank.",
    "Boiler repair: 180",
]


def keyed(text: str, speaker: str | None = None) -> list[tuple[str | None, str | None]]:
    return [(each.key, each.value) for each in statements(text, speaker) if each.key]


@pytest.mark.parametrize("text", MEASURES)
def test_a_value_of_whatever_a_clause_speaks_of_has_a_key(text: str) -> None:
    assert keyed(text) == [MEASURES[text]]


@pytest.mark.parametrize("text", UNSURE)
def test_what_only_happened_or_is_one_of_several_has_none(text: str) -> None:
    assert keyed(text) == []


def test_a_thing_of_one_of_several_speakers_is_theirs() -> None:
    assert keyed("My alarm has moved to 7:00.", "Ann") == [("ann alarm/time", "07:00")]
    assert keyed("My alarm has moved to 7:00.", "Bo") == [("bo alarm/time", "07:00")]


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("How many house plants do I own?", "house plant/amount"),
        ("How long do our session tokens last?", "token/duration"),
        ("How often does the crawler job run?", "crawler/frequency"),
        ("When is the penetration test?", "penetration test/day"),
        ("What's the API timeout?", "api/timeout"),
        ("Hur mycket kostar tvättiden?", "tvättid/amount"),
        ("Wie hoch ist der Stromabschlag?", "stromabschlag/amount"),
    ],
)
def test_a_question_asks_for_the_measure_of_what_it_names(query: str, key: str) -> None:
    assert key in keys_asked(query)


BOTH_HOLD = [
    ("The read timeout is 5 seconds.", "The connect timeout is now 2 seconds."),
    ("The bakery opens at 7.", "The bakery closes at 18."),
    ("The pool opens at 8 in summer.", "The pool opens at 10 in winter."),
    ("My piano teacher is Ann.", "My guitar teacher is Bo."),
    ("The wifi password is tulip.", "The door code is 4471."),
    ("Our product owner is Kim.", "Our scrum master is Lee."),
    ("Sprint 12 has 34 points.", "Sprint 13 has 29 points."),
    ("My son is 7 years old.", "My daughter is 9 years old."),
    ("The flat costs 900 a month.", "The garage costs 90 a month."),
    ("Öppettiderna är 9 till 17 på vardagar.", "Öppettiderna är 10 till 14 på lördagar."),
    ("Der kleine Saal fasst 40 Personen.", "Der große Saal fasst 120 Personen."),
]


@pytest.mark.parametrize(("first", "second"), BOTH_HOLD)
def test_values_of_two_things_have_two_keys(first: str, second: str) -> None:
    assert not {key for key, _ in keyed(first)} & {key for key, _ in keyed(second)}
