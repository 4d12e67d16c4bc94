"""The queries of Analytics Engine read the columns that the Worker writes, and weigh a row by what it stands for.

SQLite runs them here, with the few functions of Analytics Engine that it lacks. No account has run them.
"""

import json
import re
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.deploy.dockerfile import ROOT
from tests.deploy.test_edge import CONFIGURATIONS, EDGE

CALLS = (EDGE / "src" / "calls.ts").read_text(encoding="utf-8")
QUERIES = {path.name: path.read_text(encoding="utf-8") for path in sorted((EDGE / "analytics").glob("*.sql"))}
Point = tuple[int, str, dict[str, str], dict[str, float]]
"""For how many calls it stands, whose they are, and its blobs and doubles by name."""


def _columns(name: str) -> list[str]:
    (written,) = re.findall(rf"export const {name} = (\[.*?\]) as const;", CALLS)
    columns: list[str] = json.loads(written)
    return columns


BLOBS, DOUBLES = _columns("BLOBS"), _columns("DOUBLES")
"""The names of the columns, which the Worker writes in this order."""
NAMES = {
    "index1": "tenant",
    **{f"blob{number}": name for number, name in enumerate(BLOBS, 1)},
    **{f"double{number}": name for number, name in enumerate(DOUBLES, 1)},
}


class _Quantile:
    """``quantileExactWeighted`` as an aggregate of SQLite."""

    def __init__(self) -> None:
        self.level, self.values = 0.0, list[tuple[float, int]]()

    def step(self, level: float, value: float, weight: int) -> None:
        self.level = level
        self.values.append((value, weight))

    def finalize(self) -> float:
        wanted, seen = self.level * sum(weight for _, weight in self.values), 0
        for value, weight in sorted(self.values):
            seen += weight
            if seen >= wanted:
                return value
        return self.values[-1][0]


def ran(query: str, points: Sequence[Point], *, age: timedelta = timedelta(hours=1)) -> list[dict[str, Any]]:
    """Return what a query of the folder finds among points that are so old."""
    names = ["timestamp", "_sample_interval", *NAMES]
    with sqlite3.connect(":memory:") as database:
        database.row_factory = sqlite3.Row
        database.create_aggregate("quantile", 3, _Quantile)  # type: ignore[arg-type]  # its stub wants other numbers
        database.execute(f"CREATE TABLE memory_gateway_calls ({', '.join(names)})")
        at = (datetime.now(UTC) - age).strftime("%Y-%m-%d %H:%M:%S")
        for stands_for, tenant, blobs, doubles in points:
            row = [tenant, *(blobs.get(name, "") for name in BLOBS), *(doubles.get(name, 0.0) for name in DOUBLES)]
            database.execute(
                f"INSERT INTO memory_gateway_calls VALUES ({','.join('?' * len(names))})", [at, stands_for, *row]
            )
        sql = re.sub(r"NOW\(\) - INTERVAL '(\d+)' DAY", r"datetime('now', '-\1 day')", QUERIES[query])
        sql = re.sub(r"quantileExactWeighted\(([\d.]+)\)\(", r"quantile(\1, ", sql)
        sql = sql.replace("toStartOfInterval(timestamp, INTERVAL '1' DAY)", "date(timestamp)")
        return [dict(row) for row in database.execute(sql)]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_says_of_each_column_what_the_worker_writes_there(name: str) -> None:
    comment = " ".join(line.removeprefix("-- ") for line in QUERIES[name].splitlines() if line.startswith("--"))
    told = dict(re.findall(r"((?:index|blob|double)\d+) (?:is )?(\w+)", comment))
    assert told == NAMES


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_reads_no_column_that_is_not_written_and_calls_each_by_its_name(name: str) -> None:
    sql = re.sub(r"^--.*$", "", QUERIES[name], flags=re.MULTILINE)
    assert set(re.findall(r"\b(?:index|blob|double)\d+\b", sql)) <= set(NAMES)
    assert set(NAMES.items()) >= set(re.findall(r"^ +((?:index|blob|double)\d+) AS (\w+)", sql, re.MULTILINE))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_dataset_is_off_until_its_line_is_uncommented_and_is_what_the_queries_read(name: str) -> None:
    text = (EDGE / name).read_text(encoding="utf-8")
    (line,) = re.findall(r'^  // ("analytics_engine_datasets".*)$', text, re.MULTILINE)
    config = json.loads(re.sub(r"^\s*//.*$", "", text.replace(f"// {line}", line), flags=re.MULTILINE))
    assert config["analytics_engine_datasets"] == [{"binding": "CALLS", "dataset": "memory_gateway_calls"}]
    assert "CALLS?: AnalyticsEngineDataset" in CALLS
    assert all("FROM memory_gateway_calls\n" in query for query in QUERIES.values())


def test_latency_is_told_by_route_and_tool_and_weighs_a_sampled_row() -> None:
    recall = {"method": "POST", "route": "/recall"}
    tool = {"method": "POST", "route": "/mcp", "tool": "recall"}
    points: list[Point] = [
        (98, "acme", recall, {"ms": 10.0}),
        (1, "acme", recall, {"ms": 500.0}),
        (1, "beta", recall, {"ms": 900.0}),
        (1, "acme", tool, {"ms": 30.0}),
    ]
    assert ran("latency.sql", points) == [
        {**recall, "tool": "", "calls": 100, "p50_ms": 10.0, "p99_ms": 500.0},
        {**tool, "calls": 1, "p50_ms": 30.0, "p99_ms": 30.0},
    ]


def test_errors_are_told_by_tenant_and_code_and_count_what_a_row_stands_for() -> None:
    refused = {"outcome": "quota_exceeded", "status": "429"}
    points: list[Point] = [
        (10, "acme", refused, {}),
        (1, "acme", refused, {}),
        (2, "beta", {"outcome": "erasing", "status": "200"}, {}),
        (50, "beta", {"outcome": "ok", "status": "200"}, {}),
        (50, "beta", {"outcome": "degraded", "status": "200"}, {}),
    ]
    assert ran("errors.sql", points) == [
        {"tenant": "acme", **refused, "calls": 11},
        {"tenant": "beta", "outcome": "erasing", "status": "200", "calls": 2},
    ]


def test_cost_is_told_by_tenant_and_day_and_counts_what_a_row_stands_for() -> None:
    points: list[Point] = [
        (4, "acme", {}, {"embedding_tokens": 250_000, "embedded_characters": 10}),
        (1, "acme", {}, {"model_tokens": 1_000_000}),
        (1, "beta", {}, {}),
    ]
    acme, beta = ran("cost.sql", points, age=timedelta(days=3))
    assert (acme["tenant"], acme["calls"], acme["embedding_tokens"], acme["embedded_characters"]) == (
        "acme",
        5,
        1_000_000,
        40,
    )
    assert (acme["model_tokens"], acme["cost"]) == (1_000_000, pytest.approx(0.62))
    assert (beta["tenant"], beta["calls"], beta["cost"]) == ("beta", 1, 0)
    assert ran("cost.sql", points, age=timedelta(days=31)) == []


def test_the_documentation_names_every_query() -> None:
    for page in (EDGE / "README.md", ROOT / "docs" / "operations.md"):
        for name in QUERIES:
            assert name in page.read_text(encoding="utf-8"), (page, name)
