"""Quotations stand in a source word for word."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ('The sign says "No dogs".', "The sign says No cats.", ["No dogs"]),
    ('The sign says "no  dogs!"', "The sign says No dogs.", []),
    ("Das Buch heißt „Der Berg“.", "Ich lese Der Bergmann.", ["Der Berg"]),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_a_quotation_that_no_source_has_is_rejected(statement: str, line: str, rejected: list[str]) -> None:
    assert found("quotations", statement, line) == rejected


def test_of_very_many_quotations_not_all_are_believed() -> None:
    assert found("quotations", 'He said "no" ' * 17, "He said no.") == ["no"]
