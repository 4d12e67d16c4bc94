"""What a source denies is not affirmed, and the other way round, as far as that is certain."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ("The user eats fish.", "I don't eat fish.", True),
    ("The user does not eat fish.", "I eat fish.", True),
    ("Der Nutzer isst Fisch.", "Fisch esse ich nie.", False),
    ("Användaren äter inte fisk.", "Jag äter fisk.", True),
    ("The frontend uses React.", "The frontend uses Vue and not React.", True),
    ("The frontend uses Vue.", "The frontend uses Vue and not React.", False),
    ("The user prefers pnpm over npm.", "Use pnpm, not npm.", False),
    ("The user doesn't eat meat.", "I quit eating meat.", False),
    ("The user is a vegetarian.", "I don't eat meat.", False),
    ("The user quit smoking.", "I don't smoke any more.", False),
    ("The user eats fish.", "I don't eat fish. Well, I eat fish now.", False),
    ("The user eats fish.", "Why don't I eat fish?", False),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_the_contrary_of_what_is_said_is_rejected_where_it_is_certain(
    statement: str, line: str, *, rejected: bool
) -> None:
    assert bool(found("negation", statement, line)) == rejected
