"""The state of a circuit: whether calls to a product are made, or refused at once because it did not answer."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

CircuitState: TypeAlias = Literal["closed", "half_open", "open"]
"""``closed``: calls are made. ``open``: calls are refused. ``half_open``: one call is made, to test for an answer."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """One circuit, for operators.

    Attributes:
        name: The product, and the kind of its calls, such as ``vectorize.query``.
        state: See ``CircuitState``.
        seconds: For how long the circuit has not been closed; None where it is closed.
        opened: How often this process has opened the circuit.
        error: The detail of the last time-out that opened the circuit; None where none ever did.
    """

    name: str
    state: CircuitState
    seconds: float | None
    opened: int
    error: str | None
