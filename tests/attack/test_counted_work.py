"""What a request does is counted, and held to what it did when the figures were written down (bench/short)."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import pytest

from app.ports.database import Row, Statement
from app.runtime.backends import Backends
from bench.short import figures
from bench.short.figures import VERSION
from bench.short.measuring import Change, apart, count
from tests.support.doubles import FailingDatabase

EMPTY = "recall of an empty agent"
FIGURES = {"recall": {"instructions": 1000, "steps": 100}}


class OneMoreQuery(FailingDatabase):
    """Reads a row that nobody needs, with each run."""

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        return (await super().run([*statements, Statement.read("SELECT count(*) FROM shards")]))[:-1]


class OneMoreLoop(FailingDatabase):
    """Looks at a thousand numbers, with each run: without a call, and without a query."""

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        total = 0
        for number in range(1000):
            total += number
        return await super().run(statements)


def with_a_query(backends: Backends) -> Backends:
    return replace(backends, database=OneMoreQuery(backends.database))


def with_a_loop(backends: Backends) -> Backends:
    return replace(backends, database=OneMoreLoop(backends.database))


@pytest.fixture(scope="module")
def process() -> Iterator[Executor]:
    with apart() as running:
        yield running


def test_a_request_does_as_much_as_the_figures_say(process: Executor) -> None:
    held, version = figures.read()
    assert list(figures.problems(process.submit(count).result(), held, version)) == []


@pytest.mark.parametrize(("change", "seen"), [(with_a_query, "statements"), (with_a_loop, "instructions")])
def test_a_query_or_a_loop_that_is_added_is_seen(process: Executor, change: Change, seen: str) -> None:
    usual = process.submit(count, [EMPTY]).result()
    worse = process.submit(count, [EMPTY], change).result()
    assert any(f"{seen} where" in told for told in figures.problems(worse, usual, VERSION))


def test_counts_within_a_twentieth_are_no_problem() -> None:
    assert list(figures.problems({"recall": {"instructions": 1050, "steps": 95}}, FIGURES, VERSION)) == []


def test_a_count_that_is_a_twentieth_higher_is_a_problem() -> None:
    (told,) = figures.problems({"recall": {"instructions": 1051, "steps": 100}}, FIGURES, VERSION)
    assert told == "recall: 1051 instructions where 1000 were enough"


def test_a_count_that_is_a_twentieth_lower_asks_for_a_lower_figure() -> None:
    (told,) = figures.problems({"recall": {"instructions": 1000, "steps": 94}}, FIGURES, VERSION)
    assert "lower it" in told


def test_a_single_statement_more_is_a_problem() -> None:
    (told,) = figures.problems({"recall": {"statements": 21}}, {"recall": {"statements": 20}}, VERSION)
    assert told == "recall: 21 statements where 20 were enough"


def test_another_version_of_python_is_held_to_the_steps_of_the_database_alone() -> None:
    counted = {"recall": {"instructions": 5000, "steps": 200}}
    assert [told.split()[2] for told in figures.problems(counted, FIGURES, "3.99")] == ["steps"]
