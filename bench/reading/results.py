"""A file of figures by part and column, each with what it was measured on; what is not measured anew stays."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from bench.reading.figure import Figure
from bench.report import aligned, told

Column: TypeAlias = dict[str, Any]
_MEASURED = ("commit", "date", "seconds", "load", "reader")


class Results:
    """The figures of a file: parts, each with columns, each with figures and circumstances."""

    def __init__(self, path: Path, title: str, notes: str) -> None:
        """Read the file, where there is one; it is ``.json``, and its page is ``.md`` beside it."""
        self._path = path
        self._title = title
        self._notes = notes
        self._parts: dict[str, dict[str, Column]] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def replace(self, part: str, column: str, figures: Sequence[Figure], measured: Mapping[str, object]) -> None:
        """Put figures in place of those that a column of a part had."""
        rows = [figure.record() for figure in figures]
        self._parts.setdefault(part, {})[column] = {"measured": dict(measured), "figures": rows}

    def table(self, part: str) -> str:
        """Return a part's figures, its columns side by side."""
        columns = self._parts[part]
        cells = {
            name: {row["name"]: Figure(**row).cell for row in column["figures"]} for name, column in columns.items()
        }
        names = dict.fromkeys(name for column in cells.values() for name in column)
        rows = [(name, *(column.get(name, "") for column in cells.values())) for name in names]
        return aligned([("figure", *cells), *rows])

    def write(self) -> None:
        """Write the file and its page."""
        self._path.write_text(json.dumps(self._parts, indent=1) + "\n", "utf-8")
        self._path.with_suffix(".md").write_text(self._page(), "utf-8")

    def _page(self) -> str:
        measured = [
            (part, name, *(told(column["measured"], key) for key in _MEASURED))
            for part, columns in self._parts.items()
            for name, column in columns.items()
        ]
        machine = {
            f"{column['measured']['cpus']} of {column['measured']['cpu']}"
            for columns in self._parts.values()
            for column in columns.values()
        }
        return "\n\n".join(
            [
                f"# {self._title}",
                *(f"## {part}\n\n{self.table(part)}" for part in self._parts),
                self._notes,
                f"Processors: {', '.join(sorted(machine))}. Each column by itself:",
                f"{aligned([('part', 'column', *_MEASURED), *measured])}\n",
            ]
        )
