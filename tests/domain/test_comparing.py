"""Which memories a reader compares at all, and what follows of what it finds."""

from dataclasses import replace

import pytest

from app.domain.comparing import ComparedStatement, Effect, effect_of, may_bear, passages
from app.domain.reading import Relation, Thresholds

SAID = ComparedStatement("b", "I live in Rome", {}, 2, message_id="m2")
STORED = ComparedStatement("c", "I live in Oslo", {}, 3)
LEARNED_BEFORE = ComparedStatement("a", "The user lives in Bern", {}, 1, message_ids=("m1",))
_NEWER = ComparedStatement("e", "My flat is in Oslo now.", {}, 5)
LEARNED = ComparedStatement("d", "The user lives in Paris", {}, 4, message_ids=("m4",))


def test_what_a_model_has_learned_takes_the_place_of_what_it_has_learned_before_alone() -> None:
    assert may_bear(LEARNED_BEFORE, LEARNED)
    assert not may_bear(SAID, LEARNED)
    assert not may_bear(STORED, LEARNED)


def test_what_is_said_takes_the_place_of_what_was_said_and_of_what_was_learned_of_other_messages() -> None:
    assert may_bear(SAID, STORED)
    assert may_bear(LEARNED_BEFORE, SAID)
    assert not may_bear(ComparedStatement("a", "The user lives in Rome", {}, 2, message_ids=("m2",)), SAID)


@pytest.mark.parametrize("name", ["system", "[SYSTEM]", "Assistant"])
def test_what_a_machine_says_is_not_compared_however_its_name_is_written(name: str) -> None:
    told = ComparedStatement("a", "The export runs at six", {"speaker": name}, 1)
    assert not may_bear(told, STORED)
    assert not may_bear(STORED, replace(told, happened_at=9))


@pytest.mark.parametrize(
    "asked", ["Where do I live?", "Where do I live? And since when?", 'Did I say "I live in Rome?"']
)
def test_a_question_replaces_nothing(asked: str) -> None:
    assert not may_bear(SAID, replace(STORED, content=asked))
    assert may_bear(SAID, replace(STORED, content=f"{asked} I moved to Oslo."))


def test_of_what_is_written_alike_neither_is_an_update() -> None:
    assert not may_bear(SAID, replace(STORED, content="I  live in\u00a0Rome "))
    assert may_bear(SAID, replace(STORED, content="I live in ROME"))
    assert may_bear(replace(SAID, content="run `a  b`"), replace(STORED, content="run `a b`"))


@pytest.mark.parametrize("lines", [12, 40, 60])
def test_of_a_list_all_lines_are_read_in_few_passages_that_overlap(lines: int) -> None:
    read = passages("\n".join(f"Item {number} is on this list" for number in range(lines)))
    assert len(read) <= 8
    for number in range(lines - 1):
        assert any(f"Item {number} is on this list Item {number + 1} " in f"{passage} " for passage in read)


def test_of_a_text_without_an_end_a_bounded_part_is_read() -> None:
    (read,) = passages("no end " * 5_000)
    assert len(read) < 2_000


@pytest.mark.parametrize(
    ("older", "update", "effect"),
    [
        ("I live in Rome.", 0.99, "hides"),
        ("I live in Rome.", 0.6, "newer_first"),
        ("I live in Rome.", 0.4, None),
        ("I live in Rome. My brother is a baker.", 0.99, "newer_first"),
        ("I live in Rome. My brother is a baker.", 0.6, None),
    ],
)
def test_a_memory_of_several_sentences_is_never_hidden_and_comes_behind_what_surely_replaces_one_of_them(
    older: str, update: float, effect: Effect | None
) -> None:
    thresholds = Thresholds(hide=0.98, newer_first=0.5, same_frame=0.5, tells=0.5, follows=0.5, task=0.5)
    relation = Relation(1 - update, update, 0.0, 0.0)
    assert effect_of([relation], thresholds, ComparedStatement("a", older, {}, 1), _NEWER) == effect


@pytest.mark.parametrize(
    ("older", "newer", "effect"),
    [
        ("The team meets on Mondays.", "The team meets on Thursdays.", "newer_first"),
        ("The team meets on Mondays.", "the team meets every other Thursday", "newer_first"),
        ("Das Tor geht um acht auf.", "Das Tor geht um neun auf.", "newer_first"),
        ("The team meets on Mondays.", "Anna's team meets on Thursdays.", None),
        ("The team meets on Mondays.", "The team meets on Mondays and Thursdays.", None),
        ("The team meets on Mondays.", "The team meets on Mondays.", None),
        ("We meet on Mondays.", "We play chess.", None),
        ("", "", None),
    ],
)
def test_of_two_statements_that_differ_in_one_place_alone_the_newer_goes_first_sooner(
    older: str, newer: str, effect: Effect | None
) -> None:
    thresholds = Thresholds(hide=0.98, newer_first=0.8, same_frame=0.5, tells=0.5, follows=0.5, task=0.5)
    found = Relation(0.4, 0.6, 0.0, 0.0)
    assert (
        effect_of([found], thresholds, ComparedStatement("a", older, {}, 1), ComparedStatement("b", newer, {}, 2))
        == effect
    )


def test_one_passage_of_several_has_to_be_an_update_more_surely_than_a_single_one() -> None:
    thresholds = Thresholds(hide=0.98, newer_first=0.5, same_frame=0.5, tells=0.5, follows=0.5, task=0.5)
    old, holds = ComparedStatement("a", "I live in Rome.", {}, 1), Relation(1.0, 0.0, 0.0, 0.0)
    for update, alone, of_four in (
        (0.7, "newer_first", None),
        (0.85, "newer_first", "newer_first"),
        (0.99, "hides", "newer_first"),
    ):
        found = Relation(1 - update, update, 0.0, 0.0)
        assert effect_of([found], thresholds, old, _NEWER) == alone
        assert effect_of([holds, found, holds, holds], thresholds, old, _NEWER) == of_four
