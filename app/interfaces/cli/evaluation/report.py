"""What was measured of a set, as a table and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from app.interfaces.cli.evaluation.figures import MEASURES, SetFigures, UnitFigures
from app.interfaces.cli.evaluation.intervals import Estimate
from app.interfaces.cli.golden_report import table


@dataclass(frozen=True, slots=True)
class SetReport:
    """The figures of a set, and what they were made of."""

    name: str
    conversations: int
    memories: int
    cut: int
    """Turns that were longer than a memory may be, and lost their end."""
    asked: int
    without_evidence: int
    embedder: str
    reader: str | None
    seconds: float
    figures: SetFigures

    def data(self) -> dict[str, Any]:
        """Return all as JSON, shares from 0 to 1."""
        figures = self.figures
        return {
            "set": self.name,
            "conversations": self.conversations,
            "memories": self.memories,
            "cut": self.cut,
            "questions": self.asked,
            "without_evidence": self.without_evidence,
            "embedder": self.embedder,
            "reader": self.reader,
            "seconds": self.seconds,
            **{unit: _unit(of) for unit, of in figures.units.items()},
            "categories": {name: _unit(of) for name, of in figures.categories.items()},
            "changed": None if figures.changed is None else asdict(figures.changed),
        }

    def text(self) -> str:
        """Return the tables, in percent with 95 % intervals, each line under what it counts."""
        figures = self.figures
        ks = list(next(iter(figures.units.values())).at)
        rows = [
            [f"{unit} {measure}", str(of.questions), *(_share(of.at[k][measure]) for k in ks)]
            for unit, of in figures.units.items()
            for measure in MEASURES
        ]
        if (changed := figures.changed) is not None:
            rows.append(["newest is first", str(changed.questions), _share(changed.first)])
            rows.append(["newest before older", str(changed.questions), _share(changed.ahead)])
        width = 2 + len(ks)
        head = ["figure", "questions", *(f"at {k}" for k in ks)]
        parts = [self._made_of(), table(head, [[*row, *[""] * (width - len(row))] for row in rows])]
        if len(figures.categories) > 1:
            rows = [
                [name, str(of.questions), *(_share(of.at[k]["any"]) for k in ks)]
                for name, of in figures.categories.items()
            ]
            parts.append(table(["turn any, by category", "questions", *(f"at {k}" for k in ks)], rows))
        return "\n\n".join(parts)

    def _made_of(self) -> str:
        left_out = f"{self.without_evidence} questions have no evidence and are left out"
        cut = f", {self.cut} of them cut" if self.cut else ""
        return (
            f"{self.name}: {self.conversations} conversations, {self.memories} memories{cut}, {self.asked} questions; "
            f"{left_out}.\n{self.embedder}, reader {self.reader or 'none'}, {self.seconds:.0f} seconds."
        )


def _unit(of: UnitFigures) -> dict[str, Any]:
    return {"questions": of.questions, "at": {str(k): _estimates(figures) for k, figures in of.at.items()}}


def _estimates(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: asdict(estimate) for name, estimate in figures.items()}


def _share(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}-{100 * estimate.high:.1f})"
