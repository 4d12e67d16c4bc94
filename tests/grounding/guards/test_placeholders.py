"""A template is filled in, or what looks like one stands in a source."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ("The user lives in {city}.", "I live in Rome.", ["{city}"]),
    ("The user lives in [CITY].", "I live in Rome.", ["[CITY]"]),
    ("The name is <name>.", "I am Rome.", ["<name>"]),
    ("The user writes {city} in templates.", "I write {city} in my templates.", []),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_a_placeholder_that_no_source_has_is_rejected(statement: str, line: str, rejected: list[str]) -> None:
    assert found("placeholders", statement, line) == rejected
