"""Which memories a reader compares at all."""

from app.domain.comparing import Statement, may_bear

SAID = Statement("b", "I live in Rome", {}, 2, message_id="m2")
STORED = Statement("c", "I live in Oslo", {}, 3)
LEARNED_BEFORE = Statement("a", "The user lives in Bern", {}, 1, message_ids=("m1",))
LEARNED = Statement("d", "The user lives in Paris", {}, 4, message_ids=("m4",))


def test_what_a_model_has_learned_takes_the_place_of_what_it_has_learned_before_alone() -> None:
    assert may_bear(LEARNED_BEFORE, LEARNED)
    assert not may_bear(SAID, LEARNED)
    assert not may_bear(STORED, LEARNED)


def test_what_is_said_takes_the_place_of_what_was_said_and_of_what_was_learned_of_other_messages() -> None:
    assert may_bear(SAID, STORED)
    assert may_bear(LEARNED_BEFORE, SAID)
    assert not may_bear(Statement("a", "The user lives in Rome", {}, 2, message_ids=("m2",)), SAID)
