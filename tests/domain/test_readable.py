"""Which texts a reader is asked about."""

from dataclasses import replace

import pytest

from app.domain.comparing import may_bear
from app.domain.reading import is_readable
from tests.domain.test_comparing import SAID, STORED


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("I live in Rome", True),
        ("Zażółć gęślą jaźń", True),
        ("4711 - 12:30", True),
        ("", True),
        ("\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059", False),
        ("\u0623\u0633\u0643\u0646 \u0641\u064a \u0631\u0648\u0645\u0627", False),
        ("\u042f \u0436\u0438\u0432\u0443 \u0432 \u0420\u0438\u043c\u0435", False),
        ("the word \u6771\u4eac is Japanese", True),
    ],
)
def test_a_reader_reads_the_script_that_it_was_trained_with(text: str, *, readable: bool) -> None:
    assert is_readable(text) is readable


def test_what_is_in_another_script_is_compared_with_nothing() -> None:
    other = "\u6771\u4eac\u306b\u4f4f\u3093\u3067"
    assert may_bear(SAID, STORED)
    assert not may_bear(replace(SAID, content=other), STORED)
    assert not may_bear(SAID, replace(STORED, content=other))
