"""Runs each experiment on an older checkout and on this one, and writes both figures into one table."""

import asyncio
import json
import pkgutil
import sys
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from bench.promises import experiments, ordinary
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement
from bench.report import RESULTS, aligned, circumstances, commit, told

_HERE = Path(__file__).parents[2]
_HEAD = ("figure", "unit", "before", "now", "wanted")
_SMALL = 100

_ORDINARY = "ordinary"
"""The experiment that compares what ordinary stores and recalls cost."""

Result: TypeAlias = dict[str, Any]
Experiment = Callable[[Checkout], Awaitable[list[Measurement]]]


def main() -> None:
    """Run all experiments, or those that are named, and write what they measured in place of what they had."""
    names = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
    parser = ArgumentParser(prog="python -m bench.promises", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT", help="with a .venv of its own")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join([*names, _ORDINARY])}; all without one"
    )
    given = parser.parse_args()
    if unknown := set(given.names) - {*names, _ORDINARY}:
        parser.error(f"there is no experiment {', '.join(sorted(unknown))}")
    before, now = Checkout(given.before.resolve()), Checkout(_HERE)
    path = RESULTS / "promises.json"
    results: dict[str, Result] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for name in given.names or [*names, _ORDINARY]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        started = time.monotonic()
        rows = asyncio.run(_measured(name, before, now))
        print(aligned([_HEAD, *rows]), flush=True)
        measured = {"before": commit(before.root), **circumstances(time.monotonic() - started)}
        results[name] = {"measured": measured, "figures": [dict(zip(_HEAD, row, strict=True)) for row in rows]}
        path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    path.with_suffix(".md").write_text(_page(results), "utf-8")


async def _measured(name: str, before: Checkout, now: Checkout) -> Sequence[tuple[str, ...]]:
    if name == _ORDINARY:
        return await ordinary.ratios(before, now)
    measure: Experiment = import_module(f"{experiments.__name__}.{name}").measure
    return await _compared(measure, before, now)


def _page(results: Mapping[str, Result]) -> str:
    """Return a table of all figures, and one of what each experiment was measured with."""
    figures = [tuple(figure[name] for name in _HEAD) for result in results.values() for figure in result["figures"]]
    keys = ("before", "commit", "date", "seconds", "load")
    measured = [(name, *(told(result["measured"], key) for key in keys)) for name, result in results.items()]
    machine = {f"{result['measured']['cpus']} of {result['measured']['cpu']}" for result in results.values()}
    return "\n\n".join(
        [
            "# Promises, before and now",
            aligned([_HEAD, *figures]),
            f"Processors: {', '.join(sorted(machine))}. Each experiment by itself:",
            f"{aligned([('experiment', *keys), *measured])}\n",
        ]
    )


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
