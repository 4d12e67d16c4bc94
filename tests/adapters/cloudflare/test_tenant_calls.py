"""Tenants that share scarce calls: who asks much leaves the others theirs, and a promised call is made."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.domain.errors import RateLimited
from tests.adapters.cloudflare.wire import Clock

LIMIT = 300
WINDOW = 300
"""A call a second."""


class Scarce:
    """A budget that tenants share, where a request makes one call."""

    def __init__(
        self, limit: int | None = LIMIT, weights: dict[str, float] | None = None, clock: Clock | None = None
    ) -> None:
        self.clock = clock or Clock()
        self.budget = CallBudget(limit, clock=self.clock)
        self.tenants = TenantCalls(self.budget, weights, clock=self.clock)

    def use_up(self, tenant_id: str) -> None:
        """Ask until nothing is left for the tenant."""
        while self.ask(tenant_id) == 0:
            pass

    def ask(self, tenant_id: str) -> int:
        """Make a request; return 0, or for how many seconds it is to wait."""
        try:
            self.tenants.admit(tenant_id)
        except RateLimited as refused:
            return refused.retry_after or WINDOW
        self.budget.take()
        self.tenants.charge([tenant_id])
        return 0

    def served(self, tenants: dict[str, int], seconds: int) -> dict[str, int]:
        """Let each tenant ask so often a second; return how many of its requests were served."""
        done = dict.fromkeys(tenants, 0)
        for _ in range(seconds):
            self.clock.now += 1
            for tenant_id, times in tenants.items():
                done[tenant_id] += sum(self.ask(tenant_id) == 0 for _ in range(times))
        return done


def test_a_tenant_alone_may_spend_much_of_the_window_at_once_and_then_goes_at_a_pace_that_lasts() -> None:
    scarce = Scarce()
    at_once = sum(scarce.ask("acme") == 0 for _ in range(LIMIT))
    assert 0.7 * LIMIT <= at_once <= 0.8 * LIMIT
    done = scarce.served({"acme": 3}, WINDOW - 1)["acme"]
    assert 0.95 * LIMIT <= at_once + done <= LIMIT


@pytest.mark.thorough
def test_one_that_asks_much_leaves_the_others_as_much_as_it_has() -> None:
    scarce = Scarce()
    asking = {"loud": 50, "b": 1, "c": 1, "d": 1}
    scarce.served(asking, WINDOW)
    done = scarce.served(asking, 2 * WINDOW)
    assert sum(done.values()) >= 0.9 * 2 * LIMIT
    assert min(done["b"], done["c"], done["d"]) >= 0.9 * done["loud"]


def test_what_a_tenant_does_not_ask_for_is_the_others() -> None:
    scarce = Scarce()
    done = scarce.served({"loud": 5}, WINDOW)
    for _ in range(WINDOW // 20):
        done["loud"] += scarce.served({"loud": 5}, 20)["loud"]
        if wait := scarce.ask("quiet"):
            done["loud"] += scarce.served({"loud": 5}, wait - 1)["loud"]
            scarce.clock.now += 1
            assert scarce.ask("quiet") == 0
    assert done["loud"] >= 0.9 * 2 * LIMIT


def test_a_tenant_has_as_much_more_as_its_weight_says() -> None:
    scarce = Scarce(weights={"gold": 3.0})
    scarce.served({"gold": 5, "b": 5}, WINDOW)
    done = scarce.served({"gold": 5, "b": 5}, 2 * WINDOW)
    assert done["gold"] == pytest.approx(3 * done["b"], rel=0.15)


@given(agents=st.integers(1, 12), tenants=st.integers(1, 4))
def test_nearly_all_who_come_back_when_told_are_served(agents: int, tenants: int) -> None:
    scarce = Scarce()
    asks = [(0.0, f"t{n % tenants}", False) for n in range(agents)]
    waited = in_vain = 0
    for second in range(WINDOW):
        scarce.clock.now += 1
        for place, (at, tenant_id, told) in enumerate(asks):
            if at <= second:
                wait = scarce.ask(tenant_id)
                waited += told
                in_vain += told and wait > 0
                asks[place] = (second + max(wait, 1), tenant_id, wait > 0)
    assert in_vain <= 0.12 * waited + 2, "another of the tenant may come first, and takes what was promised"


def test_those_who_are_refused_come_back_together_and_calls_wait_for_each_other_meanwhile() -> None:
    scarce = Scarce()
    assert scarce.tenants.linger() == 0
    scarce.use_up("acme")
    assert scarce.tenants.linger() > 0
    back = []
    for _ in range(20):
        scarce.clock.now += 0.2
        if wait := scarce.ask("acme"):
            back.append((scarce.clock.now + wait) % 5)
    assert back
    assert max(back) <= 1
    scarce.clock.now += WINDOW
    assert scarce.tenants.linger() == 0


def test_where_no_calls_are_counted_everyone_may_begin() -> None:
    scarce = Scarce(limit=None)
    assert [scarce.ask("acme") for _ in range(5_000)] == [0] * 5_000


def test_a_block_is_waited_out_by_requests_too() -> None:
    scarce = Scarce()
    scarce.budget.block(120)
    assert scarce.ask("acme") == 120


@pytest.mark.thorough
def test_tenants_that_ask_no_more_are_forgotten() -> None:
    scarce = Scarce()
    for number in range(5_000):
        scarce.ask(f"tenant-{number}")
    scarce.clock.now += 2 * WINDOW
    scarce.ask("acme")
    (kept,) = [value for value in vars(scarce.tenants).values() if isinstance(value, dict) and value]
    assert list(kept) == ["acme"]


@given(jumps=st.lists(st.floats(0, 1e9), min_size=1, max_size=5))
def test_a_clock_that_jumps_ahead_breaks_nothing(jumps: list[float]) -> None:
    scarce = Scarce()
    for jump in jumps:
        for _ in range(LIMIT):
            scarce.ask("acme")
        scarce.clock.now += jump
        assert 0 <= scarce.budget.left() <= LIMIT
        assert math.isfinite(scarce.budget.pace())


def test_background_work_rests_from_a_refusal_until_ten_seconds_after_the_last() -> None:
    scarce = Scarce()
    for tenant_id in ("a", "b", "c", "d"):
        assert scarce.ask(tenant_id) == 0
    assert not scarce.tenants.low
    for tenant_id in ("a", "b", "c", "d"):
        scarce.use_up(tenant_id)
    assert scarce.budget.left() > LIMIT / 2, "much is left, but others ask too"
    assert scarce.tenants.low
    scarce.clock.now += 9
    assert scarce.tenants.low
    scarce.clock.now += 2
    assert not scarce.tenants.low
