"""Runs each experiment on an older checkout and on this one, and writes both figures into one table."""

import asyncio
import json
import pkgutil
import sys
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench.promises import experiments, ordinary
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement
from bench.report import RESULTS, aligned, circumstances, commit

_HERE = Path(__file__).parents[2]
_HEAD = ("figure", "unit", "before", "now", "wanted")
_SMALL = 100

Experiment = Callable[[Checkout], Awaitable[list[Measurement]]]


def main() -> None:
    """Run all experiments, or those that are named; only a whole run is written to ``promises``."""
    names = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
    parser = ArgumentParser(prog="python -m bench.promises", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT", help="with a .venv of its own")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all without one")
    given = parser.parse_args()
    if unknown := set(given.names) - set(names):
        parser.error(f"there is no experiment {', '.join(sorted(unknown))}")
    before, now, started = Checkout(given.before.resolve()), Checkout(_HERE), time.monotonic()
    rows: list[tuple[str, ...]] = []
    for name in given.names or names:
        measure: Experiment = import_module(f"{experiments.__name__}.{name}").measure
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += asyncio.run(_compared(measure, before, now))
    if not given.names:
        rows += asyncio.run(ordinary.ratios(before, now))
    table = aligned([_HEAD, *rows])
    print(table)
    if not given.names:
        measured = {**circumstances(time.monotonic() - started), "before": commit(before.root)}
        lines = "\n".join(f"- {key}: {value}" for key, value in measured.items())
        (RESULTS / "promises.md").write_text(f"# Promises, before and now\n\n{table}\n\n{lines}\n", "utf-8")
        records = {**measured, "figures": [dict(zip(_HEAD, row, strict=True)) for row in rows]}
        (RESULTS / "promises.json").write_text(json.dumps(records, indent=1) + "\n", "utf-8")


async def _compared(measure: Experiment, before: Checkout, now: Checkout) -> Sequence[tuple[str, ...]]:
    old = {figure.name: figure for figure in await measure(before)}
    new = await measure(now)
    return [
        (figure.name, figure.unit, _value(old[figure.name].value), _value(figure.value), figure.wanted)
        for figure in new
    ]


def _value(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if abs(value) < _SMALL else f"{value:,.0f}"


if __name__ == "__main__":
    main()
