"""What held before: told where it is asked for, and never without the day until which it held."""

import pytest

from app.domain.query import Entry
from app.services.answer.composing import Length, compose
from tests.services.answer.made import answer, entry, former, lines, noon

OSLO = entry("I moved to Oslo.", "2026-05-01", id_="oslo")
FORMERS = {"oslo": [former("I live in Rome.", "2026-01-08", "2026-05-01")]}
NOW, BEFORE = "2026-05-01: I moved to Oslo.", "Before 2026-05-01: I live in Rome."


@pytest.mark.parametrize(
    "query", ["Where did I live before?", "Where did I live previously?", "Where did I use to live earlier?"]
)
@pytest.mark.parametrize("length", ["short", "medium", "long"])
def test_a_question_for_history_is_answered_by_what_held_before_and_what_holds(query: str, length: Length) -> None:
    assert lines(query, OSLO, formers=FORMERS, length=length) == [BEFORE, NOW]


def test_a_question_for_a_key_tells_what_held_before_in_more_than_a_short_answer() -> None:
    assert lines("Where do I live?", OSLO, formers=FORMERS) == [NOW]
    assert lines("Where do I live?", OSLO, formers=FORMERS, length="medium") == [NOW, BEFORE]


def test_another_question_tells_nothing_of_before() -> None:
    assert lines("What happened with Oslo?", OSLO, formers=FORMERS, length="long") == [NOW]


def test_what_a_recall_found_to_be_corrected_is_told_as_what_held_before_or_not_at_all() -> None:
    said = "Tuesdays don't work for the gym because of choir, I'm going Wednesdays now."
    old, new = entry("My gym night is Tuesday.", id_="old"), entry(said, "2026-05-04", id_="new")

    def told(query: str, *entries: Entry, corrections: dict[str, list[str]]) -> list[str]:
        at = noon("2026-05-20")
        return compose(query, entries, {}, reference_time=at, length="long", corrections=corrections).text.splitlines()

    now, before = f"2026-05-04: {said}", "Before 2026-05-04: My gym night is Tuesday."
    assert told("Which evening do I go to the gym?", old, new, corrections={"old": ["new"]}) == [now]
    assert told("Which evening did I go to the gym before?", old, new, corrections={"old": ["new"]}) == [before, now]
    both = [now, "2026-05-01: My gym night is Tuesday."]
    assert told("Which evening do I go to the gym?", old, new, corrections={}) == both
    assert told("Which evening do I go to the gym?", old, corrections={"old": ["new"]}) == both[1:]


def test_several_formers_are_told_the_latest_first() -> None:
    formers = {"oslo": [former("I live in Bonn.", "2024-01-08", "2026-01-08"), *FORMERS["oslo"]]}
    assert lines("Where did I live before?", OSLO, formers=formers, length="long") == [
        BEFORE,
        "Before 2026-01-08: I live in Bonn.",
        NOW,
    ]


def test_of_a_former_memory_that_says_more_only_the_statement_of_the_key_is_told() -> None:
    formers = {"oslo": [former("My cat is Miso. I live in Rome. It rains.", "2026-01-08", "2026-05-01")]}
    assert lines("Where did I live before?", OSLO, formers=formers, length="long") == [BEFORE, NOW]


def test_a_former_memory_of_which_it_is_not_clear_what_ended_is_not_told() -> None:
    formers = {"oslo": [former("My cat is Miso. It rains.", "2026-01-08", "2026-05-01")]}
    assert lines("Where did I live before?", OSLO, formers=formers, length="long") == [NOW]


def test_an_entry_that_no_longer_holds_is_marked_by_the_statement_that_came_after_it() -> None:
    old = entry("I live in Rome. My flat is small.", "2026-01-08")
    found = lines("Where do I live?", old, OSLO, length="medium")
    assert found[0] == NOW
    assert BEFORE in found
    assert not any(line.startswith("2026-01-08: I live") for line in found)


def test_an_entry_that_the_caller_names_as_a_former_one_is_marked_though_the_rules_know_no_key() -> None:
    old, new = "The heron nests by the mill.", "The heron has left the mill for the weir."
    formers = {"new": [former(old, "2026-01-08", "2026-05-01")]}
    found = lines("Where is the heron by the mill?", entry(old, "2026-01-08"), entry(new, id_="new"), formers=formers)
    assert found == [f"2026-05-01: {new}"]
    query = "Where was the heron earlier?"
    found = lines(query, entry(old, "2026-01-08"), entry(new, id_="new"), formers=formers)
    assert found == [f"Before 2026-05-01: {old}", f"2026-05-01: {new}"]
    found = lines("Where does the heron nest?", entry(old, "2026-01-08"), formers=formers | {"old": []}, length="long")
    assert found == [f"2026-01-08: {old}"]  # the entry that came in its place is none of those that were found


def test_what_is_said_of_days_ahead_ends_nothing_yet() -> None:
    rome, later = entry("I live in Rome.", "2026-01-08"), entry("I live in Oslo.", "2026-08-01")
    assert "2026-01-08: I live in Rome." in lines("Where do I live?", rome, later, length="medium")


def test_the_same_value_in_other_words_ends_nothing() -> None:
    found = lines("Where do I live?", entry("I live in Oslo.", "2026-01-08"), OSLO, length="medium")
    assert set(found) <= {NOW, "2026-01-08: I live in Oslo."}


def test_a_former_statement_cites_the_memory_that_came_in_its_place() -> None:
    found = answer("Where did I live before?", OSLO, formers=FORMERS)
    assert found.cited == ("oslo",)
    assert [(quote.text, quote.until) for quote in found.quotes] == [
        ("I live in Rome.", FORMERS["oslo"][0].until),
        ("I moved to Oslo.", None),
    ]


def test_a_former_statement_has_its_speaker_and_its_own_days() -> None:
    formers = {"oslo": [former("Ann: I moved to Rome last week.", "2026-01-08", "2026-05-01")]}
    (before, _) = lines("Where did Ann live before?", entry("Ann: I moved to Oslo.", id_="oslo"), formers=formers)
    assert before == "Before 2026-05-01, Ann: I moved to Rome last week [2025-12-29 to 2026-01-04]."


def test_the_frame_is_in_the_language_of_the_question() -> None:
    swedish = {"1": [former("Jag bor i Lund.", "2026-01-08", "2026-05-01")]}
    assert "Före 2026-05-01: Jag bor i Lund." in lines(
        "Var bodde jag tidigare?", entry("Jag bor i Malmö.", id_="1"), formers=swedish
    )
    german = {"1": [former("Ich wohne in Bonn.", "2026-01-08", "2026-05-01")]}
    assert "Vor dem 2026-05-01: Ich wohne in Bonn." in lines(
        "Wo wohnte ich früher?", entry("Ich wohne in Köln.", id_="1"), formers=german
    )
