"""The page of tables: its sections are measured apart, and each names the commit, the machine and its load."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import RESULTS, Figure, aligned, circumstances, table

_DATA, _PAGE = RESULTS / "table.json", RESULTS / "table.md"
_HEAD = """\
# What users have, and what it costs

CPU is that of the server's processes, user and system, all threads, in milliseconds for each request, with what it
leaves to the background. `29x` is how many times the floor of the same run: a bare FastAPI application that parses the
same bodies. Figures are medians of three rounds; the least and the most are in the lists below the tables. No question
comes twice. A limit of CPU time is an aim for a machine on which the floor takes 0.1 ms: the ratio is compared with it.
Each section says when it was measured, of which commit, and how busy the machine was just before.
`make bench` measures all of it, `make bench PARTS="table"` the first section alone.
"""


@dataclass(slots=True)
class Section:
    """A section while it is measured: its tables, and all figures with their rounds."""

    name: str
    title: str
    notes: str
    tables: list[tuple[str, list[tuple[str, ...]]]] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    _circumstances: Mapping[str, object] = field(default_factory=circumstances)
    _started: float = field(default_factory=time.monotonic)

    def show(self, caption: str, rows: Sequence[tuple[str, ...]]) -> None:
        """Add a table, the head first, and print it."""
        self.tables.append((caption, list(rows)))
        print(f"{caption}\n{aligned(rows)}\n", flush=True)

    def keep(self, data: Path = _DATA, page: Path = _PAGE) -> None:
        """Put the section in the place of what was measured before, and write the page."""
        told = {**self._circumstances, "seconds": round(time.monotonic() - self._started)}
        kept: dict[str, Any] = json.loads(data.read_text("utf-8")) if data.exists() else {}
        kept[self.name] = {
            "title": self.title,
            "notes": self.notes,
            "circumstances": told,
            "tables": self.tables,
            "figures": [figure.record() for figure in self.figures],
            "list": table(self.figures),
        }
        page.parent.mkdir(exist_ok=True)
        data.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        page.write_text("\n".join([_HEAD, *(_text(section) for section in kept.values())]), "utf-8")


def cell(figure: Figure) -> str:
    """Return a figure as a cell: the median, and how many times the floor where there is one."""
    ratio = "" if figure.ratio is None else f" ({figure.ratio:.0f}x)"
    return f"{number(figure.median)}{ratio}"


def number(value: float) -> str:
    """Return a number in as many digits as say something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits say enough


def _text(section: Mapping[str, Any]) -> str:
    parts = [f"## {section['title']}", section["notes"]]
    for caption, rows in section["tables"]:
        parts.append(f"{caption}\n\n{aligned(rows)}")
    parts.append("\n".join(f"- {name}: {value}" for name, value in section["circumstances"].items()))
    parts.append(f"<details><summary>All figures of this section</summary>\n\n{section['list']}\n\n</details>")
    return "\n\n".join(parts) + "\n"
