"""The figures that a change is held to: what requests did when somebody last wrote it down."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.report import aligned
from bench.short.measuring import Counted

FILE = Path(__file__).with_name("figures.json")
_TOLERANCE = 0.05
"""How much more or less than the figure a count may be, as a share of it."""
_OF_STATEMENTS = 0.02
"""The same of SQLite's statements: of twenty, one more is one too many."""
_WIDER = {"recall of 60 words": 0.15}
"""Of a question of many words some words are looked up once or twice, by what was read before."""
_OF_PYTHON = frozenset({"instructions", "calls"})
"""Another version of Python has other bytecode; SQLite comes with its package, in one version."""
VERSION = "{}.{}".format(*sys.version_info)


def problems(counted: Counted, figures: Counted, version: str) -> Iterator[str]:
    """Say of each count that is not as the figure has it what to do; those of another Python are not compared."""
    for kind, counts in figures.items():
        for name, figure in counts.items():
            if name in _OF_PYTHON and version != VERSION:
                continue
            usual = _OF_STATEMENTS if name == "statements" else _TOLERANCE
            now, more = counted[kind][name], _WIDER.get(kind, usual)
            if now > figure * (1 + more):
                yield f"{kind}: {now} {name} where {figure} were enough"
            elif now < figure * (1 - more):
                yield f"{kind}: {now} {name}, and the figure is {figure}: lower it (python -m bench.short --write)"


def read() -> tuple[Counted, str]:
    """Return the figures, and the version of Python they are of."""
    told = json.loads(FILE.read_text("utf-8"))
    return told["requests"], told["python"]


def write(counted: Counted) -> None:
    """Make what was counted the figures."""
    FILE.write_text(json.dumps({"python": VERSION, "requests": counted}, indent=1) + "\n", "utf-8")


def table(counted: Counted, figures: Mapping[str, Mapping[str, int]]) -> str:
    """Return what was counted, beside the figures, as a table."""
    rows = [
        (kind, name, f"{count:,}", _change(count, figures.get(kind, {}).get(name)))
        for kind, counts in counted.items()
        for name, count in counts.items()
    ]
    return aligned([("request", "count", "now", "against the figure"), *rows])


def _change(count: int, figure: int | None) -> str:
    return "" if not figure else f"{count / figure - 1:+.1%}"
