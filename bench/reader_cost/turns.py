"""Measures things in turn, so that what slows the machine slows all of them alike, and makes ratios of the rounds."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import TypeAlias

from bench.reading.figure import Figure

Turn: TypeAlias = Callable[[], Awaitable[float]]
"""Does the next share of work, and returns what one operation of it has cost."""
Columns: TypeAlias = dict[str, list[Figure]]
"""Figures by the name of what was measured, and the ratios of the second to the first."""
RATIO = "ratio"


async def in_turn(turns: Mapping[str, Turn], rounds: int) -> list[dict[str, float]]:
    """Return what each costs, by its name, in each round; the one that goes first is another each time.

    One more round goes before them: what is slow only once is done in it.
    """
    costs = []
    for number in range(rounds + 1):
        order = list(turns) if number % 2 else list(turns)[::-1]
        costs.append({name: await turns[name]() for name in order})
    return costs[1:]


def add(columns: Columns, name: str, unit: str, rounds: Sequence[Mapping[str, float]]) -> None:
    """Add a figure to each column: the median of the rounds; and the median of their ratios, second over first."""
    first, second = (column for column in columns if column != RATIO)
    for column in (first, second):
        columns[column].append(Figure(name, median(costs[column] for costs in rounds), unit=unit))
    columns[RATIO].append(Figure(name, median(costs[second] / costs[first] for costs in rounds)))
