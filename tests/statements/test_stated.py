"""What a memory states, and who speaks in it."""

import pytest

from app.domain.claim import AS_SAID
from app.statements.stated import read

SAID = {
    "Standup time: 10:15": ("standup/time", AS_SAID),
    "Correction: The cache TTL is 5 minutes.": ("cache/ttl", "5 minut"),
    "Note: my rent is 900": ("user/rent", "900"),
    "Caroline: I moved to Oslo.": ("caroline/lives_in", "oslo"),
    "Mary Ann: my dentist is Dr. Hale!": ("mary ann/dentist", "hale"),
    "user: I moved to Oslo.": ("user/lives_in", "oslo"),
}
BOTH_HOLD = [
    ("My email is a@x.com.", "My work email is b@y.com."),
    ("My address is 5 Elm Street.", "My billing address is 9 Oak Street."),
    ("Min e-post är a@x.se", "Min jobbmejl är b@y.se"),
    ("My friend is called Tom.", "My friend is called Eva."),
    ("My daughter is called Ida.", "My daughter is called Lea."),
    ("Meine Tochter heißt Ida.", "Meine Tochter heißt Lea."),
]
REPLACES = [
    ("My favourite colour is blue.", "Actually, my favourite colour is green."),
    ("Meine Lieblingsfarbe ist Blau.", "Nein, meine Lieblingsfarbe ist jetzt Rot."),
    ("The deploy password rotates every 30 days.", "Correction: the deploy password rotates every 60 days."),
]
TYPES = {
    "Use pnpm, not npm.": "instruction",
    "I live in Oslo.": "fact",
    "I moved to Oslo.": "fact",
    "I have to return the library books by the 20th of April.": "task",
    "We walked along the river.": "event",
}


@pytest.mark.parametrize("text", SAID)
def test_what_stands_before_a_colon_is_a_speaker_only_if_it_is_a_name_and_speaks(text: str) -> None:
    assert SAID[text] in [(claim.key, claim.value) for claim in read(text, {}).claims]


def test_a_machine_that_stands_before_a_colon_states_nothing() -> None:
    assert read("assistant: I live in Rome.", {}).claims == []


@pytest.mark.parametrize("text", TYPES)
def test_a_memory_is_of_the_type_of_what_it_states(text: str) -> None:
    assert read(text, {}).type == TYPES[text]


@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_what_holds_beside_something_else_has_a_key_of_its_own(one: str, other: str) -> None:
    keys = [{claim.key for claim in read(text, {}).claims} for text in (one, other)]
    assert keys[0].isdisjoint(keys[1])


@pytest.mark.parametrize(("old", "new"), REPLACES)
def test_a_correction_has_the_key_of_what_it_corrects(old: str, new: str) -> None:
    (before,), (after,) = (read(text, {}).claims for text in (old, new))
    assert before.key == after.key
    assert before.value != after.value
