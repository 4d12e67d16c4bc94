"""Goals, and the table and the file that say which of them are met."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import RESULTS, circumstances

RESULT = RESULTS / "fairness.md"
_HEAD = "# Fairness\n\n`python -m bench.fairness` wrote this."
_NOTES = """\
Each latency is taken by one client on a connection that it keeps, one request after the other; the others are sent by
another process on the same machine, whose work counts in what the service is slowed down by. Answers that are no
success are said. Steps of the event loop are in CPU time of its thread. On a virtual machine that clock goes on while
the host runs others; what the host took meanwhile is subtracted.
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, what was measured, and whether that meets it."""

    goal: str
    measured: str
    met: bool


def table(goals: Sequence[Goal]) -> str:
    """Return the goals as a table."""
    rows = [f"| {goal.goal} | {goal.measured} | {'yes' if goal.met else 'NO'} |" for goal in goals]
    return "\n".join(["| goal | measured | met |", "|---|---|---|", *rows])


def write(goals: Sequence[Goal], seconds: float, path: Path = RESULT) -> None:
    """Write the table and the circumstances to the file of results."""
    measured = {**circumstances(seconds), "load average at the end": round(os.getloadavg()[0], 1)}
    told = "\n".join(f"- {name}: {value}" for name, value in measured.items())
    path.write_text(f"{_HEAD}\n\n{table(goals)}\n\n{_NOTES}\n{told}\n", "utf-8")
