"""Numbers stand in a source with their sign and their unit."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ("The user has four cats.", "I have three cats.", ["four"]),
    ("The user has 3 cats.", "I have three cats.", []),
    ("The walk is 5 miles.", "The walk is 5 km.", ["5 miles"]),
    ("The walk is 5000 m.", "The walk is 5 km.", []),
    ("It takes 90 minutes.", "That takes 1.5 hours.", []),
    ("The train leaves at 16:30.", "The train leaves at 4 pm.", ["16:30"]),
    ("The train leaves at 16:00.", "The train leaves at 4 pm.", []),
    ("The shop opens at 7:30.", "They open at half past seven.", []),
    ("Der Laden öffnet um 7:30.", "Sie machen um halb acht auf.", []),
    ("It was -12 degrees.", "We had 12 degrees.", ["-12 degrees"]),
    ("It was 12 degrees.", "It was minus 12 degrees.", ["12 degrees"]),
    ("It was minus 12 degrees.", "It was \u221212 degrees.", []),
    ("The range is 10 km.", "It is 5-10 km.", []),
    ("The limit is 10,000 requests.", "Our limit is 10k requests.", []),
    ("The rent is 1.500 euros.", "I pay \u20ac1,500.", []),
    ("The rent is 1,500 dollars.", "I pay \u20ac1,500.", ["1,500 dollars"]),
    ("The user is 34 years old.", "I'm 34.", []),
    ("Die Nutzerin hat einundzwanzig Schafe.", "Ich habe 21 Schafe.", []),
    ("Boken har tjugotre kapitel.", "Den har 32 kapitel.", ["tjugotre"]),
    ("One of them is red.", "A red car stands there.", []),
    ("The user met Ann on 9 March 2026.", "I met Ann yesterday.", []),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_a_number_that_no_source_has_is_rejected(statement: str, line: str, rejected: list[str]) -> None:
    assert found("numbers", statement, line) == rejected
