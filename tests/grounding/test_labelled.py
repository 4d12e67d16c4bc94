"""What guards do to labelled statements: they reject many that are false and few that are true."""

from collections import Counter

import pytest

from tests.grounding.pairs import pairs

FILES = {"open": (220, 0.02), "sealed": (26, 0.1)}
EXACT = ("number", "unit", "date", "name", "quotation", "template", "negation")


@pytest.mark.parametrize("name", FILES)
def test_guards_reject_few_supported_statements(name: str) -> None:
    least, share = FILES[name]
    supported = [pair for pair in pairs(name) if pair.supported]
    assert len(supported) >= least
    assert sum(bool(pair.found) for pair in supported) <= share * len(supported)


def test_guards_reject_what_is_wrong_in_a_number_a_unit_a_date_a_name_a_quotation_or_a_denial() -> None:
    false = [pair for pair in pairs("open") if not pair.supported and pair.kind in EXACT]
    passed = Counter(pair.kind for pair in false if not pair.found)
    assert passed.total() <= 0.1 * len(false), passed
