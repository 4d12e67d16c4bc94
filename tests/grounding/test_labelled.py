"""How many labelled statements that their sources do not support are let through, and how many good ones dropped."""

import pytest

from tests.grounding.pairs import pairs

FILES = {"open": (230, 220), "sealed": (34, 26)}


@pytest.mark.parametrize("name", FILES)
def test_at_most_two_in_a_hundred_unsupported_statements_are_let_through(name: str) -> None:
    unsupported = [pair for pair in pairs(name) if not pair.supported]
    assert len(unsupported) >= FILES[name][0]
    assert sum(not pair.found for pair in unsupported) <= 0.02 * len(unsupported)


@pytest.mark.parametrize("name", FILES)
def test_at_most_one_in_ten_supported_statements_is_dropped(name: str) -> None:
    supported = [pair for pair in pairs(name) if pair.supported]
    assert len(supported) >= FILES[name][1]
    assert sum(bool(pair.found) for pair in supported) <= 0.1 * len(supported)
