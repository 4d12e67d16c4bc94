"""The meter, against a plain list of what passed, on a clock that a test turns.

The clock moves in eighths of a second, which floating point holds exactly.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.adapters.cloudflare.call_budget import WINDOW_SECONDS, CallBudget
from app.domain.errors import CloudflareBlocks, DatabaseUnavailable, RateLimited
from tests.adapters.cloudflare.wire import Clock
from tests.support.generation import examples

WINDOW = 300
EIGHTHS = st.integers(0, 8 * 400).map(lambda eighths: eighths / 8)


def refused(call_budget: CallBudget) -> int:
    """Assert that no call passes; return the seconds to wait."""
    with pytest.raises(RateLimited) as caught:
        call_budget.take()
    assert caught.value.retry_after is not None
    return caught.value.retry_after


class Metering(RuleBasedStateMachine):
    """A meter beside what is known of it: when calls passed, and until when none may."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.limit = 3
        self.call_budget = CallBudget(self.limit, clock=self.clock)
        self.passed: list[float] = []
        self.blocked_until = -math.inf

    @property
    def within(self) -> int:
        return sum(self.clock.now - WINDOW < at for at in self.passed)

    @property
    def free(self) -> bool:
        return self.clock.now >= self.blocked_until and self.within < self.limit

    def take(self) -> None:
        self.call_budget.take()
        self.passed.append(self.clock.now)

    @rule(seconds=EIGHTHS)
    def time_goes_by(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(seconds=st.integers(0, 400))
    def cloudflare_blocks(self, seconds: int) -> None:
        self.call_budget.block(seconds)
        self.blocked_until = max(self.blocked_until, self.clock.now + seconds)

    @precondition(lambda self: self.free)
    @rule()
    def a_call_within_the_share_passes(self) -> None:
        self.take()

    @precondition(lambda self: not self.free)
    @rule(calls=st.integers(1, 3))
    def a_refused_call_changes_nothing(self, calls: int) -> None:
        assert len({refused(self.call_budget) for _ in range(calls)}) == 1

    @precondition(lambda self: not self.free)
    @rule()
    def the_wait_is_exact_to_the_second(self) -> None:
        """What refuses now may give way to the other limit, so waits are followed until a call passes."""
        for _ in range(2):
            wait = refused(self.call_budget)
            self.clock.now += wait - 1
            assert refused(self.call_budget) >= 1
            self.clock.now += 1
            if self.free:
                break
        self.take()

    @invariant()
    def the_calls_left_are_those_that_may_pass(self) -> None:
        assert self.call_budget.left() == (self.limit - self.within if self.clock.now >= self.blocked_until else 0)

    @invariant()
    def no_window_holds_more_than_the_share(self) -> None:
        for start in self.passed:
            assert sum(start <= at < start + WINDOW for at in self.passed) <= self.limit


TestMetering = Metering.TestCase
TestMetering.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


@given(limit=st.integers(1, 6), pauses=st.lists(EIGHTHS, max_size=40))
def test_calls_that_come_as_they_like_never_overdraw_any_window(limit: int, pauses: list[float]) -> None:
    clock = Clock()
    call_budget = CallBudget(limit, clock=clock)
    passed: list[float] = []
    for pause in pauses:
        clock.now += pause
        try:
            call_budget.take()
        except RateLimited:
            assert sum(at > clock.now - WINDOW for at in passed) == limit
        else:
            passed.append(clock.now)
    assert all(sum(start <= at < start + WINDOW for at in passed) <= limit for start in passed)


def test_the_window_is_cloudflares_unless_it_is_told() -> None:
    clock = Clock()
    assert WINDOW_SECONDS == WINDOW
    call_budget = CallBudget(1, window=2, clock=clock)
    call_budget.take()
    assert refused(call_budget) == 2
    clock.now += 2
    call_budget.take()


def test_a_part_of_a_second_counts_as_a_whole_one() -> None:
    clock = Clock()
    call_budget = CallBudget(1, clock=clock)
    call_budget.take()
    clock.now += 299.875
    assert refused(call_budget) == 1


def test_a_shorter_block_does_not_end_a_longer_one() -> None:
    clock = Clock()
    call_budget = CallBudget(None, clock=clock)
    call_budget.block(100)
    call_budget.block(10)
    assert refused(call_budget) == 100


def test_a_meter_without_a_share_counts_nothing_and_waits_out_blocks() -> None:
    clock = Clock()
    call_budget = CallBudget(None, clock=clock)
    for _ in range(5000):
        call_budget.take()
    assert call_budget.left() == math.inf
    call_budget.block(30)
    assert (refused(call_budget), call_budget.left()) == (30, 0)
    clock.now += 30
    call_budget.take()


def test_background_work_leaves_a_quarter_of_the_window_to_requests() -> None:
    clock = Clock()
    call_budget = CallBudget(8, clock=clock)
    for _ in range(6):
        call_budget.take(background=True)
        clock.now += 10
    with pytest.raises(RateLimited, match="background") as caught:
        call_budget.take(background=True)
    assert caught.value.retry_after == WINDOW - 60
    for _ in range(2):
        call_budget.take()
    assert refused(call_budget) == WINDOW - 60


def test_background_work_waits_until_requests_have_their_quarter_again() -> None:
    clock = Clock()
    call_budget = CallBudget(8, clock=clock)
    for _ in range(8):
        call_budget.take()
        clock.now += 10
    with pytest.raises(RateLimited) as caught:
        call_budget.take(background=True)
    assert caught.value.retry_after is not None
    clock.now += caught.value.retry_after - 1
    with pytest.raises(RateLimited):
        call_budget.take(background=True)
    clock.now += 1
    call_budget.take(background=True)


def test_background_work_has_nothing_of_a_budget_of_one_and_all_of_one_that_counts_nothing() -> None:
    call_budget = CallBudget(1)
    for _ in range(2):
        with pytest.raises(RateLimited):
            call_budget.take(background=True)
        if call_budget.left():
            call_budget.take()
    uncounted = CallBudget(None)
    for _ in range(5000):
        uncounted.take(background=True)


def test_what_cloudflare_says_is_left_holds_where_it_is_less() -> None:
    clock = Clock()
    call_budget = CallBudget(100, clock=clock)
    call_budget.record_announced_limit("default", remaining=2, reset_seconds=40)
    assert call_budget.left() == 2
    call_budget.take()
    call_budget.take()
    assert refused(call_budget) == 40
    clock.now += 40
    assert call_budget.left() == 98


def test_of_what_cloudflare_says_is_left_a_process_takes_its_part() -> None:
    call_budget = CallBudget(100, clock=Clock())
    call_budget.lease(25, 60.0, unreported=25)
    call_budget.record_announced_limit("default", remaining=40, reset_seconds=40)
    assert call_budget.left() == 10


@pytest.mark.parametrize(
    ("remaining", "reset_seconds"), [(0, 0), (0, 301), (0, 999_999), (5_000, 10), (999_999, 300), (0, -5)]
)
def test_what_cloudflare_cannot_mean_changes_nothing(remaining: int, reset_seconds: int) -> None:
    call_budget = CallBudget(100, clock=Clock())
    call_budget.record_announced_limit("default", remaining, reset_seconds)
    assert call_budget.left() == 100


def test_a_call_that_asks_for_a_share_is_counted_and_made_even_if_nothing_is_left_but_not_in_a_block() -> None:
    clock = Clock()
    call_budget = CallBudget(1, clock=clock)
    for _ in range(3):
        call_budget.record()
    assert (call_budget.left(), refused(call_budget)) == (0, WINDOW)
    call_budget.block(30)
    with pytest.raises(CloudflareBlocks):
        call_budget.record()


def test_background_work_waits_while_a_tenth_is_left_and_during_a_block() -> None:
    clock = Clock()
    call_budget = CallBudget(100, clock=clock)
    for _ in range(89):
        call_budget.take()
    assert not call_budget.low
    call_budget.take()
    assert call_budget.low
    uncounted = CallBudget(None, clock=clock)
    assert not uncounted.low
    uncounted.block(1)
    assert uncounted.low


def test_calls_at_the_pace_wait_no_longer_than_a_step_of_the_window_and_use_all_of_it() -> None:
    clock = Clock()
    call_budget = CallBudget(300, clock=clock)
    for _ in range(150):
        call_budget.take()
    made = 150
    while clock.now < 1000 + 4 * WINDOW:
        clock.now += 1 / max(call_budget.pace(), 0.1)
        if not call_budget.left():
            assert refused(call_budget) <= WINDOW / 30
        else:
            call_budget.take()
            made += 1
    assert made >= 0.97 * 4 * 300


def test_a_process_that_counts_no_more_is_not_refused() -> None:
    call_budget = CallBudget(1, clock=Clock())
    call_budget.take()
    call_budget.stop_counting()
    for _ in range(10):
        call_budget.take()


def test_a_share_that_arrives_after_counting_stopped_changes_nothing() -> None:
    budget = CallBudget(2)
    budget.stop_counting()
    budget.lease(1, 60, unreported=1)
    for _ in range(5):
        budget.take()
    assert budget.limit is None


def test_a_process_makes_few_calls_before_it_reports_and_what_it_may_make_is_counted_from_the_report_on() -> None:
    budget = CallBudget(100, clock=Clock())
    budget.lease(50, 60, unreported=10)
    assert passing(budget) == 9, "one is left for the report"
    assert budget.begin_report(8) == 1
    budget.record()
    assert passing(budget) == 0
    budget.lease(50, 60, unreported=10)
    assert passing(budget) == 8, "the report was one of the ten"


def test_while_a_report_is_under_way_fewer_calls_are_made_and_a_lost_answer_allows_no_more() -> None:
    budget = CallBudget(100, clock=Clock())
    budget.lease(50, 60, unreported=30)
    assert (budget.begin_report(8), passing(budget)) == (8, 7)
    assert (budget.begin_report(8), passing(budget)) == (1, 0)
    assert budget.left() > 0


async def test_calls_that_have_to_wait_for_a_report_are_made_after_it() -> None:
    budget = CallBudget(100, clock=Clock())
    budget.lease(50, 60, unreported=3)
    reports: list[int] = []

    async def report() -> None:
        reports.append(budget.begin_report(8))
        budget.lease(50, 60, unreported=3)

    budget.report_by(report)
    for _ in range(10):
        await budget.admit()
        budget.take()
    assert len(reports) == 4
    assert budget.lacks_calls, "it spends faster than its share lasts"


async def test_a_lease_that_has_ended_lets_no_call_pass_until_it_is_renewed_and_then_the_share_is_what_it_was() -> None:
    clock = Clock()
    budget = CallBudget(1_000, clock=clock, unleased=150)
    budget.lease(360, 45, unreported=1_000)
    for _ in range(300):
        budget.take()
    clock.now += 45
    with pytest.raises(DatabaseUnavailable) as caught:
        budget.take()
    assert not isinstance(caught.value, RateLimited)
    assert budget.begin_report(8) == 0, "another process may have taken the share"

    async def report() -> None:
        budget.lease(360, 45, unreported=1_000)

    budget.report_by(report)
    await budget.admit()
    budget.take()
    assert budget.left() == 59


async def test_a_call_whose_report_met_a_block_is_refused_until_the_block_ends() -> None:
    budget = CallBudget(100, clock=Clock())
    budget.lease(50, 60, unreported=1)

    async def report() -> None:
        budget.block(30)
        raise DatabaseUnavailable("The report was refused.")

    budget.report_by(report)
    with pytest.raises(CloudflareBlocks):
        await budget.admit()


def passing(budget: CallBudget) -> int:
    """Make calls until one has to wait for a report, and return how many passed."""
    for passed in range(100):
        try:
            budget.take()
        except DatabaseUnavailable:
            return passed
    return 100


def test_in_a_block_one_call_in_thirty_seconds_finds_out_whether_it_is_over() -> None:
    clock = Clock()
    budget = CallBudget(100, clock=clock)
    budget.block(300)
    clock.now += 29
    assert not budget.probes
    clock.now += 1
    assert budget.probes
    budget.record()
    with pytest.raises(CloudflareBlocks):
        budget.record()
    budget.block(270)  # it is not
    clock.now += 30
    budget.record()
    assert refused(budget) == 240
    budget.answered()
    budget.take()


def test_what_was_asked_before_a_block_and_is_answered_in_it_ends_no_block() -> None:
    budget = CallBudget(100, clock=Clock())
    budget.record()
    budget.block(300)
    budget.answered()
    assert refused(budget) == 300


def test_where_a_block_is_looked_at_those_who_are_refused_are_told_when() -> None:
    clock = Clock()
    budget = CallBudget(None, clock=clock)

    async def report() -> None:
        """Do nothing."""

    budget.report_by(report)
    budget.block(300)
    assert refused(budget) == 35
    clock.now += 280
    assert refused(budget) == 5
    budget.block(10)
    assert refused(budget) == 20
