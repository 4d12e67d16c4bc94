"""A figure, as it is written to a file and into a table."""

from dataclasses import asdict, dataclass
from typing import Any

_SMALL = 100


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured; ``of``: how many things it is the share of, where it is a share."""

    name: str
    value: float
    of: int | None = None
    unit: str = ""

    @property
    def cell(self) -> str:
        """What a table has of it."""
        if self.of is not None:
            return f"{100 * self.value:.1f} % of {self.of}"
        number = f"{self.value:.3g}" if abs(self.value) < _SMALL else f"{self.value:,.0f}"
        return f"{number} {self.unit}".rstrip()

    def record(self) -> dict[str, Any]:
        """Return it for a file of results."""
        return {**asdict(self), "value": round(self.value, 4)}


def share(name: str, count: float, of: int) -> Figure:
    """Return a count as a share of so many."""
    return Figure(name, count / of if of else 0.0, of)
