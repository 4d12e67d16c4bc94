"""Circuit breakers: calls to a product that does not answer are refused at once, until it answers again (ADR 0049)."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import structlog

from app.domain.circuits import Circuit, CircuitState
from app.domain.errors import CircuitOpen, UpstreamTimeout
from app.observability.metrics import Metrics

TIME_OUTS = 3
"""The number of calls in a row without an answer in time that opens a circuit."""
PAUSE_SECONDS = 5.0
"""How long an open circuit refuses every call before it lets one through."""

Clock = Callable[[], float]


class CircuitReport(Protocol):
    """Takes each new state of a circuit; ``opened`` says that the circuit was closed until now."""

    def __call__(self, name: str, state: CircuitState, *, opened: bool = False) -> None:
        """Take the state."""
        ...


def _unheard(name: str, state: CircuitState, *, opened: bool = False) -> None:
    """Ignore the state."""


class Breaker:
    """One circuit. Only time-outs open it: a call that is refused, or cannot reach the product, fails at once.

    Every other outcome closes the circuit, an error too. A call that its caller cancels does not count. Once the
    circuit is open, calls that began before change nothing: the next probe decides.
    """

    def __init__(self, name: str, *, clock: Clock = time.monotonic, report: CircuitReport = _unheard) -> None:
        """Begin with a closed circuit."""
        self.name = name
        self._clock = clock
        self._report = report
        self._state: CircuitState = "closed"
        self._time_outs = 0
        self._began = 0
        """How often the circuit was opened or closed: a call that began at another number changes nothing."""
        self._opened = 0
        self._open_since = 0.0
        self._probe_at = 0.0
        self._error: str | None = None

    def check(self) -> None:
        """Return if a call may be made now.

        Raises:
            CircuitOpen: no call may be made now; the error says after how many seconds one may.
        """
        if self._state == "closed":
            return
        wait = self._probe_at - self._clock()
        if self._state == "half_open" or wait > 0:
            detail = f"{self.name} did not answer {TIME_OUTS} calls in a row in time: no call is made for the moment."
            raise CircuitOpen(detail, retry_after=max(1, math.ceil(wait)))

    @contextmanager
    def call(self, *, counts: bool = True) -> Iterator[None]:
        """Make the call in the body, and count its outcome for the circuit.

        Args:
            counts: Whether a time-out of the call counts; False where the call had less time than such calls need.

        Raises:
            CircuitOpen: no call may be made now.
        """
        self.check()
        probes = self._state == "open"
        if probes:
            self._become("half_open")
        began = self._began
        try:
            yield
        except UpstreamTimeout as error:
            if probes:
                self._open(error)
            elif counts and began == self._began:
                self._time_outs += 1
                if self._time_outs == TIME_OUTS:
                    self._open(error)
            raise
        except Exception:
            self._answered(began)
            raise
        except BaseException:  # the call was cancelled: the next call is the probe instead
            if probes:
                self._become("open")
            raise
        self._answered(began)

    @property
    def circuit(self) -> Circuit:
        """The state of the circuit now."""
        seconds = None if self._state == "closed" else self._clock() - self._open_since
        return Circuit(self.name, self._state, seconds, self._opened, self._error)

    def _answered(self, began: int) -> None:
        if began != self._began:
            return
        self._time_outs = 0
        if self._state != "closed":
            self._began += 1
            seconds = round(self._clock() - self._open_since, 1)
            structlog.get_logger().info("circuit_closed", circuit=self.name, seconds=seconds)
            self._become("closed")

    def _open(self, error: UpstreamTimeout) -> None:
        now = self._clock()
        self._began += 1
        self._time_outs = 0
        self._probe_at = now + PAUSE_SECONDS
        self._error = error.detail
        newly = self._state == "closed"
        if newly:
            self._opened += 1
            self._open_since = now
            structlog.get_logger().warning("circuit_opened", circuit=self.name, reason=error.detail)
        self._become("open", opened=newly)

    def _become(self, state: CircuitState, *, opened: bool = False) -> None:
        self._state = state
        self._report(self.name, state, opened=opened)


class Breakers:
    """The circuits of one process, by name. Every replica has its own."""

    def __init__(self, metrics: Metrics, clock: Clock = time.monotonic) -> None:
        """Begin without circuits; ``metrics`` records every state."""
        self._metrics = metrics
        self._clock = clock
        self._breakers: dict[str, Breaker] = {}

    def of(self, name: str) -> Breaker:
        """Return the circuit of this name, the same one every time."""
        breaker = self._breakers.get(name)
        if breaker is None:
            breaker = self._breakers[name] = Breaker(name, clock=self._clock, report=self._metrics.upstream.circuit)
            self._metrics.upstream.circuit(name, "closed")
        return breaker

    def circuits(self) -> Sequence[Circuit]:
        """Return the state of each circuit, sorted by name."""
        return [self._breakers[name].circuit for name in sorted(self._breakers)]
