"""The double's D1 tells the time by the double's clock."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.double.conftest import Client, Sql

NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
AHEAD_SECONDS = 3600


@pytest.fixture(scope="module", params=[1, 60], ids="x{}".format)
def scaled(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A double whose clock runs this fast and, where it is not the machine's, is an hour ahead."""
    with running(DoubleOptions(rate_limit=False)) as handle, Client.connected(handle) as client:
        if request.param != 1:
            handle.double.clock.scale = 1e6
            while handle.double.clock.now() < time.time() + AHEAD_SECONDS:
                time.sleep(0.001)
        handle.double.clock.scale = request.param
        yield client


@pytest.fixture
def sql(scaled: Client, request: pytest.FixtureRequest) -> Sql:
    return Sql(scaled, scaled.handle.double.create_database(f"db-{abs(hash(request.node.name)):x}"))


def test_the_services_clock_is_the_doubles_to_a_few_milliseconds(sql: Sql) -> None:
    clock = sql.client.handle.double.clock
    before = clock.now()
    (row,) = sql.rows(f"SELECT {NOW} AS now")
    assert before * 1000 - 2 <= row["now"] <= clock.now() * 1000


def test_the_clock_never_steps_back(sql: Sql) -> None:
    told = [row["now"] for _ in range(200) for row in sql.rows(f"SELECT {NOW} AS now")]
    assert told == sorted(told)
    assert told[0] < told[-1]


def test_now_is_one_moment_for_all_of_a_statement(sql: Sql) -> None:
    (row,) = sql.rows(
        """
        SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') AS moment, datetime('now') AS datetime, date('NOW') AS date,
          time(x'6e6f77') AS time, unixepoch('now') AS seconds, strftime('%J', 'now') AS julian,
          julianday('now') AS julianday, julianday() AS bare, date() AS today, strftime('%s') AS text,
          julianday('now', '+1 day') - julianday('now') AS day
        """
    )
    moment = datetime.fromisoformat(row["moment"]).replace(tzinfo=UTC)
    assert row["datetime"] == f"{row['date']} {row['time']}" == moment.strftime("%Y-%m-%d %H:%M:%S")
    assert row["today"] == row["date"]
    assert row["seconds"] == int(row["text"]) == int(moment.timestamp())
    assert row["julianday"] == row["bare"] == pytest.approx(float(row["julian"]), abs=1e-8)
    assert (row["julianday"] - 2440587.5) * 86400 == pytest.approx(moment.timestamp(), abs=0.001)
    assert row["day"] == 1
    rows = sql.rows(
        f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
        f"SELECT DISTINCT julianday('now') - i + i > 0 AS seen, {NOW} AS now FROM n"
    )
    assert len(rows) == 1


def test_the_current_words_and_defaults_follow_the_clock(sql: Sql) -> None:
    clock = sql.client.handle.double.clock
    sql.ask("CREATE TABLE t (n, word TEXT DEFAULT CURRENT_TIMESTAMP, called TEXT DEFAULT (datetime('now')))")
    before = int(clock.now())
    (row,) = sql.rows(
        "INSERT INTO t (n) VALUES (1) RETURNING unixepoch(word) AS word, unixepoch(called) AS called, "
        "unixepoch(CURRENT_DATE || ' ' || CURRENT_TIME) AS apart"
    )
    assert before <= row["word"] == row["called"] == row["apart"] <= clock.now()


@pytest.mark.parametrize(
    "asked",
    [
        "date('2026-02-28', '+1 day')",
        "time('12:00', 'localtime', 'utc')",
        "datetime(1092941466, 'unixepoch')",
        "datetime(1092941466.5, 'auto')",
        "julianday('2026-02-28T12:00:00.125Z')",
        "unixepoch('2026-02-28 12:00:00+02:00')",
        "strftime('%Y %j %w %% now', '2026-02-28')",
        "strftime('now', '2026-02-28')",
        "date('now', 'nonsense')",
        "date('nonsense')",
        "date(' now')",
        "date(NULL)",
        "strftime()",
        "strftime(NULL)",
        "julianday(2460000)",
        "date(x'323032362d30322d3238')",
    ],
)
def test_what_does_not_ask_for_now_is_answered_by_sqlite_itself(sql: Sql, asked: str) -> None:
    with closing(sqlite3.connect(":memory:")) as sqlite:
        ((value, type_),) = sqlite.execute(f"SELECT {asked}, typeof({asked})")
    assert sql.rows(f"SELECT {asked} AS value, typeof({asked}) AS type") == [{"value": value, "type": type_}]


def test_a_moment_in_a_column_can_be_indexed_and_used_in_a_trigger_and_a_view(sql: Sql) -> None:
    sql.ask("CREATE TABLE t (at TEXT, day TEXT GENERATED ALWAYS AS (date(at)) STORED, touched INTEGER)")
    sql.ask("CREATE INDEX of_day ON t (strftime('%Y-%m', at))")
    sql.ask(f"CREATE TRIGGER touch AFTER INSERT ON t BEGIN UPDATE t SET touched = {NOW}; END")
    sql.ask("CREATE VIEW today AS SELECT date('now') AS today")
    sql.rows("INSERT INTO t (at) VALUES ('2026-02-28 10:00')")
    before = sql.client.handle.double.clock.now() * 1000
    (row,) = sql.rows("SELECT day, touched, today FROM t, today WHERE strftime('%Y-%m', at) = '2026-02'")
    assert row["day"] == "2026-02-28"
    assert 0 <= before - row["touched"] < AHEAD_SECONDS * 1000
    assert row["today"] >= datetime.now(UTC).date().isoformat()
