"""Labelled questions for lengths of time and for days: what can be computed is, and nothing else."""

from tests.services.answer.made import cases


def test_what_can_be_computed_is_and_nothing_else() -> None:
    found = [case for case in cases("open") if case.labels["kind"] != "unknown" and "begins" in case.labels]
    assert len(found) == 8
    assert [case.labels["id"] for case in found if case.labels["begins"] and not case.is_computed] == []
