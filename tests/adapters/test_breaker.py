"""A circuit: open after three time-outs in a row, one probe at a time, closed by whatever comes back in time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from structlog.testing import capture_logs

from app.adapters.breaker import PAUSE_SECONDS, TIME_OUTS, Breaker, Breakers
from app.domain.errors import CircuitOpen, UpstreamRejected, UpstreamTimeout
from app.observability.metrics import Metrics
from tests.observability.samples import samples

TIMED_OUT = UpstreamTimeout("Thing did not answer in time.")


@dataclass
class _Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Call:
    """A call that is under way, and can be ended."""

    breaker: Breaker
    guard: Any = field(init=False)

    def __post_init__(self) -> None:
        self.guard = self.breaker.call()
        self.guard.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        if error is None:
            self.guard.__exit__(None, None, None)
            return
        with suppress(type(error)):
            self.guard.__exit__(type(error), error, None)


def opened(breaker: Breaker) -> None:
    for _ in range(TIME_OUTS):
        Call(breaker).end(TIMED_OUT)


def test_three_time_outs_in_a_row_open_it_and_then_no_call_is_made_until_the_pause_is_over() -> None:
    clock = _Clock()
    breaker = Breaker("thing", clock=clock)
    for _ in range(TIME_OUTS - 1):
        Call(breaker).end(TIMED_OUT)
    assert breaker.circuit.state == "closed"
    Call(breaker).end(TIMED_OUT)
    clock.now += 1.5
    with pytest.raises(CircuitOpen, match="thing did not answer") as refused:
        Call(breaker)
    assert (refused.value.retry_after, refused.value.status) == (4, 503)
    assert breaker.circuit.seconds == 1.5
    assert breaker.circuit.error == TIMED_OUT.detail


@pytest.mark.parametrize("answer", [None, UpstreamRejected("no")], ids=["an answer", "a refusal"])
def test_whatever_comes_back_in_time_ends_the_row(answer: Exception | None) -> None:
    breaker = Breaker("thing")
    for _ in range(TIME_OUTS):
        Call(breaker).end(TIMED_OUT)
        Call(breaker).end(TIMED_OUT)
        Call(breaker).end(answer)
    assert breaker.circuit.state == "closed"


def test_a_call_that_had_too_little_time_says_nothing() -> None:
    breaker = Breaker("thing")
    for _ in range(TIME_OUTS):
        with suppress(UpstreamTimeout), breaker.call(counts=False):
            raise TIMED_OUT
    assert breaker.circuit.state == "closed"


def test_a_probe_whose_caller_leaves_makes_room_for_the_next() -> None:
    clock = _Clock()
    breaker = Breaker("thing", clock=clock)
    opened(breaker)
    clock.now += PAUSE_SECONDS
    Call(breaker).end(asyncio.CancelledError())
    Call(breaker).end()
    assert breaker.circuit.state == "closed"


def test_opening_and_closing_are_logged_and_counted_once() -> None:
    clock, metrics = _Clock(), Metrics()
    breakers = Breakers(metrics, clock)
    breaker = breakers.of("thing")
    with capture_logs() as logs:
        opened(breaker)
        assert samples(metrics, "memory_gateway_circuit_state") == {("thing",): 2}
        clock.now += PAUSE_SECONDS
        Call(breaker).end(TIMED_OUT)
        clock.now += PAUSE_SECONDS
        probe = Call(breaker)
        assert samples(metrics, "memory_gateway_circuit_state") == {("thing",): 1}
        probe.end()
    assert samples(metrics, "memory_gateway_circuit_state") == {("thing",): 0}
    assert samples(metrics, "memory_gateway_circuit_opened_total") == {("thing",): 1}
    assert [(entry["event"], entry["circuit"]) for entry in logs] == [
        ("circuit_opened", "thing"),
        ("circuit_closed", "thing"),
    ]
    assert logs[1]["seconds"] == 2 * PAUSE_SECONDS
    assert [(one.name, one.opened, one.seconds) for one in breakers.circuits()] == [("thing", 1, None)]


class CircuitLaw(RuleBasedStateMachine):
    """Calls that begin and end in any order, at any time, against what a circuit promises."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = _Clock()
        self.breaker = Breaker("thing", clock=self.clock)
        self.calls: list[tuple[Call, bool]] = []
        """Those under way, and whether each is a probe."""
        self.pause_ends: float | None = None
        """None while it is closed."""
        self.row = 0
        self.older: list[Call] = []
        """Those that began before it was last opened or closed."""

    @rule()
    def begin(self) -> None:
        probing = any(probe for _, probe in self.calls)
        may = self.pause_ends is None or (self.clock.now >= self.pause_ends and not probing)
        if may:
            self.calls.append((Call(self.breaker), self.pause_ends is not None))
            return
        with pytest.raises(CircuitOpen) as refused:
            Call(self.breaker)
        assert 1 <= (refused.value.retry_after or 0) <= PAUSE_SECONDS

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), how=st.sampled_from(["answer", "refusal", "time-out", "left"]))
    def end(self, data: st.DataObject, how: str) -> None:
        call, probe = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        errors: dict[str, BaseException] = {
            "refusal": UpstreamRejected("no"),
            "time-out": TIMED_OUT,
            "left": asyncio.CancelledError(),
        }
        call.end(errors.get(how))
        if how == "left" or (call in self.older and not probe):
            return
        if how == "time-out":
            self.row += 1
            if probe or self.row == TIME_OUTS:
                self._changed(self.clock.now + PAUSE_SECONDS)
        else:
            self.row = 0
            if probe:
                self._changed(None)

    def _changed(self, pause_ends: float | None) -> None:
        self.pause_ends, self.row = pause_ends, 0
        self.older = [call for call, _ in self.calls]

    @rule(seconds=st.sampled_from([0.5, 2.0, PAUSE_SECONDS]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def one_probe_at_a_time_and_none_while_closed(self) -> None:
        probes = sum(probe for _, probe in self.calls)
        assert probes <= (self.pause_ends is not None)
        wanted = "closed" if self.pause_ends is None else "half_open" if probes else "open"
        assert self.breaker.circuit.state == wanted


TestCircuitLaw = CircuitLaw.TestCase
TestCircuitLaw.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
