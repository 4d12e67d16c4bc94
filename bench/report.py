"""The figures: what was measured, against which limit, as a table and as files."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).parent / "results"
"""Where the files of results are."""
CPU = "ms CPU"
"""The unit of CPU milliseconds of the server process for each operation."""
_FLOOR_MS = 0.1
"""What the floor takes on the machine that the limits of CPU time are meant for."""
_HEAD = ("figure", "unit", "median", "min - max", "x floor", "limit", "")
_NOTES = """\
CPU is that of the server process, user and system, all threads, per operation. A figure is the median of
its rounds. The floor is a bare FastAPI application on uvicorn and httptools that parses the same bodies; it
is measured between the rounds, and "x floor" is the median of the rounds' ratios. A limit of CPU time is meant for a
machine on which the floor takes 0.1 ms: a figure that has a floor is over its limit where its ratio, times 0.1 ms, is.
What the floor took here is told below. Start is wall time from the start of the process to the first 200 on POST
/recall. Queries are distinct. One process answers, without a reader, where nothing else is said.
On Cloudflare's double an embedding takes 100 ms and every other call 40 ms; "its calls alone" are the same
three calls made without the service, from as many clients. One at a time the processor sleeps between the
calls and wakes with cold caches: the same work then takes about twice the CPU time, so that no limit is set.
16 at a time, a call waits for the one before it and then takes all that has gathered, to save calls: this is the
latency that it costs, and no limit is set.
Behind the edge, 140 ms are what the double waits before an embedding and before a query of the index; what it takes
itself, and the Worker and D1 on this machine, comes on top, and nothing is subtracted.
Rows and bytes on D1's engine are counted, so no recall may pass their limits; of its milliseconds, which are whole ones
on this machine, the median may not. "100k over 10k" is the median of the ratios of equal queries.
Beside long work, a figure is the p99 of a look of 2 s minus that of a look before the work; there are three of each.
An assembly and each of its parts take turns, one request at a time; its "x floor" is the slowest part alone.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a value for each round, and the floor's where there is one."""

    name: str
    unit: str
    values: Sequence[float]
    floor: Sequence[float] = ()
    limit: float | None = None

    @property
    def median(self) -> float:
        """The figure."""
        return median(self.values)

    @property
    def ratio(self) -> float | None:
        """How many times the floor."""
        if not self.floor:
            return None
        return median(value / floor for value, floor in zip(self.values, self.floor, strict=True))

    @property
    def over(self) -> bool:
        """Whether it is over its limit; CPU time is compared as if the floor of its rounds took 0.1 ms."""
        if self.limit is None:
            return False
        compared = self.median if self.unit != CPU or self.ratio is None else self.ratio * _FLOOR_MS
        return compared > self.limit

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        return (
            self.name,
            self.unit,
            _number(self.median),
            f"{_number(min(self.values))} - {_number(max(self.values))}",
            "" if self.ratio is None else f"{self.ratio:.1f}",
            "" if self.limit is None else f"{self.limit:g}",
            "" if self.limit is None else "OVER" if self.over else "ok",
        )

    def record(self) -> dict[str, object]:
        """Return it for the file of results."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": round(self.median, 4),
            "rounds": [round(value, 4) for value in self.values],
            "floor": [round(value, 4) for value in self.floor],
            "ratio": None if self.ratio is None else round(self.ratio, 2),
            "limit": self.limit,
            "ok": not self.over,
        }


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table that reads well as text and as Markdown."""
    return aligned([_HEAD, *(figure.row() for figure in figures)])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the head first, as a table that reads well as text and as Markdown."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([lines[0], rule, *lines[1:]])


def write(figures: Sequence[Figure], before: Mapping[str, object]) -> None:
    """Write ``latest.json`` and ``latest.md``; ``before`` are the circumstances."""
    measured = {**before, "floor, ms CPU": _floor(figures)}
    results = {**measured, "figures": [figure.record() for figure in figures]}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    text = f"# Benchmark results\n\n{table(figures)}\n\n{_NOTES}\n{listed(measured)}\n"
    (RESULTS / "latest.md").write_text(text, "utf-8")


def _floor(figures: Sequence[Figure]) -> float | None:
    """Return the CPU milliseconds of the floor, the median of all rounds; None where it was not measured."""
    values = [value for figure in figures if figure.unit == CPU for value in figure.floor]
    return round(median(values), 3) if values else None


def circumstances(seconds: float | None = None) -> dict[str, object]:
    """Return when, on what and of which commit something is measured, how busy that is, and how long it has taken.

    Asked before measuring, the load is that of others; asked after it, it is that of the measurement as well.
    """
    load, memory = (
        (f"{value:.2f}" for value in os.getloadavg()),
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    )
    found: dict[str, object] = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit(Path(__file__).parent),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "cpu": _cpu_model(),
        "memory": f"{memory / 1e9:.0f} GB",
        "load": f"{', '.join(load)} (1, 5 and 15 minutes, {'before' if seconds is None else 'at the end'})",
    }
    return found if seconds is None else {**found, "seconds": round(seconds)}


def listed(measured: Mapping[str, object]) -> str:
    """Return circumstances as the lines of a page."""
    return "\n".join(f"- {name}: {value}" for name, value in measured.items())


def told(measured: Mapping[str, object], name: str) -> str:
    """Return one of the circumstances of a part; those of an older run may have no load."""
    return str(measured.get(name, "not recorded" if name == "load" else ""))


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - three digits say enough


def commit(checkout: Path) -> str | None:
    """Name the commit of a checkout, with "-dirty" where files other than results differ from it; None outside one."""
    if not (described := _git(checkout, "describe", "--always", "--exclude=*")):
        return None
    differs = _git(checkout, "diff", "--name-only", "HEAD", "--", ":/", ":(top,exclude)bench/results")
    return f"{described}-dirty" if differs else described


def _git(checkout: Path, *arguments: str) -> str:
    """Return what git says; nothing where there is no git, or it fails."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, *arguments]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False).stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
