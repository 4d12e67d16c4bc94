"""What held before: told behind what holds, and never without the day until which it held."""

import pytest

from app.services.answering.composing import Length
from tests.services.answering.made import answer, entry, former, lines

OSLO = entry("I moved to Oslo.", "2026-05-01", id_="oslo")
FORMERS = {"oslo": [former("I live in Rome.", "2026-01-08", "2026-05-01")]}
NOW, BEFORE = "2026-05-01: I moved to Oslo.", "Before 2026-05-01: I live in Rome."


@pytest.mark.parametrize("length", ["medium", "long"])
@pytest.mark.parametrize("relevance", [None, {"oslo": 0.9}], ids=["without a reader", "with a reader"])
def test_what_held_before_is_told_behind_what_holds(length: Length, relevance: dict[str, float] | None) -> None:
    assert lines("Where do I live?", OSLO, formers=FORMERS, length=length, relevance=relevance) == [NOW, BEFORE]
    assert lines("Where do I live?", OSLO, formers=FORMERS, relevance=relevance) == [NOW]


def test_where_nothing_is_told_nothing_is_told_of_before() -> None:
    assert lines("Where do I live?", OSLO, formers=FORMERS, relevance={"oslo": 0.1}) == []


def test_several_formers_are_told_the_latest_first_as_many_as_the_length_allows() -> None:
    formers = {"oslo": [former("I live in Bonn.", "2024-01-08", "2026-01-08"), *FORMERS["oslo"]]}
    formers["oslo"].append(former("I live in Ulm.", "2023-01-08", "2024-01-08"))
    found = [NOW, BEFORE, "Before 2026-01-08: I live in Bonn.", "Before 2024-01-08: I live in Ulm."]
    assert lines("Where did I live before?", OSLO, formers=formers, length="long") == found
    assert lines("Where did I live before?", OSLO, formers=formers, length="medium") == found[:3]


def test_a_former_memory_of_several_sentences_is_not_told_because_it_is_not_clear_which_one_ended() -> None:
    formers = {"oslo": [former("My cat is Miso. I live in Rome.", "2026-01-08", "2026-05-01")]}
    assert lines("Where did I live before?", OSLO, formers=formers, length="long") == [NOW]


def test_a_former_statement_cites_the_memory_that_came_in_its_place() -> None:
    found = answer("Where did I live before?", OSLO, formers=FORMERS, length="medium")
    assert found.cited == ("oslo",)
    assert [(quote.text, quote.until) for quote in found.quotes] == [
        ("I moved to Oslo.", None),
        ("I live in Rome.", FORMERS["oslo"][0].until),
    ]


def test_a_former_statement_has_its_speaker_and_its_own_days() -> None:
    formers = {"oslo": [former("Ann: I moved to Rome last week.", "2026-01-08", "2026-05-01")]}
    moved = entry("Ann: I moved to Oslo.", id_="oslo")
    (_, before) = lines("Where did Ann live before?", moved, formers=formers, length="medium")
    assert before == "Before 2026-05-01, Ann: I moved to Rome last week [2025-12-29 to 2026-01-04]."
