"""What is said of one person is not told of another, as far as that is certain."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ("The user eats fish.", "My aunt eats fish.", "user", True),
    ("The user eats fish.", "She eats fish.", "user", True),
    ("The user eats fish.", "I eat fish.", "user", False),
    ("The user's aunt eats fish.", "My aunt eats fish.", "user", False),
    ("The user has a dog.", "My dog is called Rex.", "user", False),
    ("Användaren äter fisk.", "Min syster äter fisk.", "user", True),
    ("Der Nutzer mag Fisch.", "Meine Schwester mag Fisch.", "user", True),
    ("The user likes tea.", "I like tea.", "assistant", True),
    ("The user likes tea.", "You like tea.", "assistant", False),
    ("The user likes tea.", "I like tea.", "", False),
    ("The assistant likes tea.", "I like tea.", "user", True),
    ("The user uses pnpm.", "Use pnpm.", "user", False),
]


@pytest.mark.parametrize(("statement", "line", "speaker", "rejected"), CASES)
def test_what_is_said_of_another_is_rejected(statement: str, line: str, speaker: str, *, rejected: bool) -> None:
    assert bool(found("person", statement, line, speaker=speaker)) == rejected


def test_a_name_beside_does_not_make_somebody_of_the_speaker() -> None:
    assert found("person", "Ann likes tea.", "I like tea.", "Hello Ann!", speaker="Bob")
    assert not found("person", "Ann likes tea.", "I like tea.", speaker="Ann")
