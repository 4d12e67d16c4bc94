"""Writes what the bar found as JSON and as Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.bar.figures import JUDGED, KS, MARGIN, Below, Row, below
from bench.report import aligned

_JUDGED = " or ".join(f"recall@{k}" for k in JUDGED)
NOTES = f"""\
All methods are told the same memories and asked the same questions: those that have evidence. Neighbours are other
memories in the same store that have nothing to do with the questions. Beside neighbours the conversations of a data set
without sessions are one store. vectors: the exact cosine of the product's own embedding model; BM25: SQLite's FTS5;
RRF: reciprocal rank fusion of the two, of the best 100 of each, with 60. The product is asked over HTTP.

hit@k is whether any evidence is among the first k entries, recall@k the share of the evidence among them; sessions@k is
the share of the sessions that hold the evidence among the first k different sessions of the {KS[-1]} entries.

The product fails where {_JUDGED} is more than {MARGIN:g} point below that of any plain method.
"""


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured, and on what."""

    rows: Sequence[Row]
    data: Sequence[Mapping[str, object]]
    """As ``bench.quality.results.inventory`` counts it."""
    circumstances: Mapping[str, object]

    @property
    def below(self) -> list[Below]:
        """Where the product does not pass."""
        return below(self.rows)

    def verdict(self) -> str:
        """Say whether it passes, and where it does not."""
        if not self.below:
            return "Passed: nowhere below the bar."
        return f"Below the bar, {len(self.below)} figures:\n\n" + "\n".join(f"- {one}" for one in self.below)

    def table(self) -> str:
        """Return the figures in percent."""
        names = [f"{name}@{k}" for name in ("hit", "recall", "sessions") for k in KS]
        head = ["data", "neighbours", "method", "questions", *names]
        return aligned([head, *(_cells(row) for row in self.rows)])

    def write(self, directory: Path) -> None:
        """Write ``bar.json`` and ``bar.md``."""
        directory.mkdir(parents=True, exist_ok=True)
        record = {
            **self.circumstances,
            "data": list(self.data),
            "notes": NOTES,
            "rows": [row.record() for row in self.rows],
            "below": [str(one) for one in self.below],
        }
        (directory / "bar.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        about = "\n".join(f"- {name}: {value}" for name, value in self.circumstances.items())
        text = f"# The bar\n\n{self.verdict()}\n\n{self.table()}\n\n{NOTES}\n{about}\n"
        (directory / "bar.md").write_text(text, "utf-8")


def _cells(row: Row) -> list[str]:
    figures = [f"{100 * of[k]:.1f}" if of else "" for of in (row.hit, row.recall, row.sessions) for k in KS]
    return [row.dataset, str(row.size), row.method, str(row.questions), *figures]
