"""Quantities of a text, each in one form."""

from decimal import Decimal

import pytest

from app.language.numbers import quantities

CASES = [
    ("-3 degrees", [({-3}, "degree")]),
    ("minus 3 \u00b0C", [({-3}, "degree")]),
    ("5-10 km", [({5}, ""), ({10_000}, "metre")]),
    ("90 minutes, half an hour", [({5400}, "second"), ({1800}, "second")]),
    ("at 4 pm, 16:00 and 16 Uhr", [({960}, "clock")] * 3),
    ("half past seven", [({450, 1170}, "clock")]),
    ("$8,000 and 2k \u20ac", [({8, 8000}, "dollar"), ({2000}, "euro")]),
    ("10 000 kr", [({10_000}, "krona")]),
    ("twenty-one, einundzwanzig, tjugotre", [({21}, ""), ({21}, ""), ({23}, "")]),
    ("two million euros", [({2_000_000}, "euro")]),
    ("version 2.4.0, IPv4, B2", []),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_quantities_are_read_in_one_form(text: str, wanted: list[tuple[set[int], str]]) -> None:
    found = [({*each.values}, each.unit) for each in quantities(text)]
    assert found == [({Decimal(value) for value in values}, unit) for values, unit in wanted]
