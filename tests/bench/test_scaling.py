"""What docs/scaling.md says is what the arithmetic gives."""

from pathlib import Path

import pytest

from bench.scaling import Limits, Measured, Plan, Use, costs, needs, plans

DOCUMENT = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text("utf-8")


@pytest.mark.parametrize("told", [needs, costs], ids=["needs", "costs"])
def test_the_document_has_the_tables_that_the_arithmetic_gives(told: object) -> None:
    assert callable(told)
    assert told(plans()) in DOCUMENT


def test_the_document_tells_the_time_of_a_recall_that_the_arithmetic_uses() -> None:
    milliseconds = Measured().recall_milliseconds
    assert f"about {milliseconds:g} ms at 10,000 memories" in DOCUMENT
    assert f"about {1000 / milliseconds:.0f} recalls a second" in DOCUMENT


def test_a_database_is_added_for_each_8_gigabytes() -> None:
    measured, without_log = Measured(memory_bytes=8_000), Use(log_days=0.0, recalls_a_store=0.0)
    assert [Plan(count, measured, use=without_log).databases for count in (1, 10**6, 10**6 + 1)] == [1, 1, 2]


def test_a_database_is_added_for_the_recalls_that_its_thread_cannot_answer() -> None:
    small = Measured(memory_bytes=0, recall_bytes=0, recall_milliseconds=1000.0)
    plan = Plan(10**6, small)
    assert plan.databases == 2
    assert 1 < plan.peak(plan.recalls) <= 2


def test_each_database_has_an_index_and_a_large_one_needs_more() -> None:
    tiny = Measured(memory_bytes=1, recall_bytes=0)
    assert Plan(32 * 10**6, tiny, use=Use(recalls_a_store=0.0)).indexes == 2


def test_rest_carries_what_stays_within_its_limit_of_calls() -> None:
    plan = Plan(10**6)
    assert plan.transport == "edge"
    assert Plan(10**6, limits=Limits(rest_calls_a_second=plan.calls_alone)).transport == "REST"
