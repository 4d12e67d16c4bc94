"""How many labelled statements that their sources do not support are let through, and how many good ones dropped."""

from tests.grounding.pairs import pairs


def test_at_most_two_in_a_hundred_unsupported_statements_are_let_through() -> None:
    unsupported = [pair for pair in pairs("open") if not pair.supported]
    assert len(unsupported) >= 130
    assert sum(not pair.found for pair in unsupported) <= 0.02 * len(unsupported)


def test_at_most_one_in_ten_supported_statements_is_dropped() -> None:
    supported = [pair for pair in pairs("open") if pair.supported]
    assert len(supported) >= 115
    assert sum(bool(pair.found) for pair in supported) <= 0.1 * len(supported)
