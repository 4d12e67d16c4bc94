"""What a tenant's calls of models cost on a day, against its limits."""

import pytest

from app.domain.errors import QuotaExceeded
from app.domain.quotas import ModelLimits
from app.ports.language_model import Spent
from app.services.models.spend import DAY_MS, DaySpend, ModelSpend

NOON = 20_000 * DAY_MS + DAY_MS // 2
CALL = Spent("extract", "http/model", 100)


def test_calls_are_let_in_up_to_the_limit_of_the_day_and_the_refusal_says_what_and_when() -> None:
    spend = ModelSpend(ModelLimits(calls_per_day=2))
    for _ in range(2):
        spend.check("a", NOON)
        spend.add("a", CALL, NOON)
    with pytest.raises(QuotaExceeded) as refused:
        spend.check("a", NOON)
    assert "limit of 2 calls" in refused.value.detail
    assert refused.value.reached == "model_calls_per_day;scope=tenant;used=2;limit=2"
    assert refused.value.retry_after == 12 * 60 * 60


def test_tokens_have_a_limit_of_their_own() -> None:
    spend = ModelSpend(ModelLimits(tokens_per_day=150))
    spend.add("a", CALL, NOON)
    spend.check("a", NOON)
    spend.add("a", CALL, NOON)
    with pytest.raises(QuotaExceeded, match="150 tokens"):
        spend.check("a", NOON)


def test_a_tenant_that_has_used_its_own_leaves_others_theirs() -> None:
    spend = ModelSpend(ModelLimits(calls_per_day=1))
    spend.add("a", CALL, NOON)
    spend.check("b", NOON)


def test_the_next_day_begins_at_nothing() -> None:
    spend = ModelSpend(ModelLimits(calls_per_day=1))
    spend.add("a", CALL, NOON)
    spend.check("a", NOON + DAY_MS // 2)
    assert spend.used("a", NOON + DAY_MS // 2) == (0, 0)


def test_what_is_taken_is_written_once_by_day_and_stage() -> None:
    spend = ModelSpend()
    spend.add("a", CALL, NOON)
    spend.add("a", CALL, NOON)
    spend.add("a", Spent("verify", "http/model", 7), NOON)
    spend.add("a", CALL, NOON + DAY_MS)
    assert sorted(spend.take(), key=lambda each: (each.day, each.stage)) == [
        DaySpend("a", 20_000, "extract", calls=2, tokens=200),
        DaySpend("a", 20_000, "verify", calls=1, tokens=7),
        DaySpend("a", 20_001, "extract", calls=1, tokens=100),
    ]
    assert spend.take() == []


def test_a_call_whose_tokens_are_not_told_is_written_as_a_call() -> None:
    spend = ModelSpend()
    spend.add("a", Spent("extract", "http/model", 0), NOON)
    assert spend.take() == [DaySpend("a", 20_000, "extract", calls=1, tokens=0)]


def test_what_could_not_be_written_is_taken_again() -> None:
    spend = ModelSpend()
    spend.add("a", CALL, NOON)
    taken = spend.take()
    spend.restore(taken)
    spend.add("a", CALL, NOON)
    assert spend.take() == [DaySpend("a", 20_000, "extract", calls=2, tokens=200)]


def test_what_other_processes_have_spent_counts_once_it_is_read() -> None:
    spend = ModelSpend(ModelLimits(calls_per_day=10))
    spend.add("a", CALL, NOON)
    spend.take()
    spend.add("a", CALL, NOON)  # while the first one is being written
    spend.read(20_000, {"a": (9, 900), "b": (3, 30)})
    assert spend.used("a", NOON) == (10, 1000)
    assert spend.used("b", NOON) == (3, 30)
    with pytest.raises(QuotaExceeded):
        spend.check("a", NOON)


def test_what_was_read_of_a_day_that_has_ended_is_left_out() -> None:
    spend = ModelSpend()
    spend.add("a", CALL, NOON + DAY_MS)
    spend.read(20_000, {"a": (9, 900)})
    assert spend.used("a", NOON + DAY_MS) == (1, 100)


def test_tenants_that_limits_hold_for_are_told_once_after_they_have_asked() -> None:
    spend = ModelSpend(ModelLimits(calls_per_day=10))
    for tenant in ("b", "a", "b"):
        spend.check(tenant, NOON)
    assert spend.asking() == ["a", "b"]
    assert spend.asking() == []


def test_without_limits_nothing_has_to_be_read() -> None:
    spend = ModelSpend()
    spend.check("a", NOON)
    assert spend.asking() == []


def test_what_is_not_written_yet_is_told_of_today_alone() -> None:
    spend = ModelSpend()
    spend.add("a", CALL, NOON)
    spend.add("b", CALL, NOON)
    assert spend.unwritten("a", NOON) == (1, 100)
    assert spend.unwritten("a", NOON + DAY_MS) == (0, 0)
    spend.take()
    assert spend.unwritten("a", NOON) == (0, 0)
