"""What the bench makes of looks at a quiet tenant, without and with work that takes long."""

from collections import Counter

from bench.fairness.long_work import Compared
from bench.fairness.victim import Noticed


def look(*seconds: float, failed: int = 0) -> Noticed:
    return Noticed({"recall": list(seconds)}, Counter(recall=failed))


def test_what_work_adds_is_told_for_each_look() -> None:
    told = Compared("work", [look(0.01, 0.02), look(0.03)], [look(0.05, 0.01), look(0.03)], [200], [])
    assert [round(each) for each in told.added("recall")] == [30, 0]


def test_requests_that_failed_are_those_of_both_tenants() -> None:
    told = Compared("work", [look(0.01)], [look(0.01, failed=2)], [200, 429, 503], [])
    assert told.failed == 4
    assert "work (3 answered, 2 refused)" in told.row()
