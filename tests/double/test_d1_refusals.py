"""The double's D1: what it refuses, and in which words."""

from typing import Any

import pytest

from tests.double.conftest import Sql, code


@pytest.mark.parametrize(
    ("setup", "statement", "message"),
    [
        ("SELECT 1", "selec 1", 'near "selec": syntax error at offset 0: SQLITE_ERROR'),
        ("SELECT 1", "SELECT * FROM nope", "no such table: nope: SQLITE_ERROR"),
        (
            "CREATE TABLE t (c UNIQUE)",
            "INSERT INTO t VALUES (1), (1)",
            "UNIQUE constraint failed: t.c: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)",
        ),
        (
            "CREATE TABLE t (c NOT NULL)",
            "INSERT INTO t VALUES (NULL)",
            "NOT NULL constraint failed: t.c: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_NOTNULL)",
        ),
        (
            "CREATE TABLE t (c INTEGER) STRICT",
            "INSERT INTO t VALUES ('4x')",
            "cannot store TEXT value in INTEGER column t.c: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_DATATYPE)",
        ),
        (
            "CREATE TABLE p (a PRIMARY KEY); CREATE TABLE c (a REFERENCES p)",
            "INSERT INTO c VALUES (1)",
            "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
        ),
        (
            "CREATE TABLE p (a PRIMARY KEY); CREATE TABLE c (a REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
            "INSERT INTO c VALUES (1)",
            "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
        ),
    ],
)
def test_sqlite_errors_come_with_their_names(sql: Sql, setup: str, statement: str, message: str) -> None:
    sql.ask(setup)
    answer = sql.ask(statement)
    assert code(answer) == (400, 7500)
    assert answer.json()["errors"][0]["message"] == message
    assert answer.json()["result"] is None


@pytest.mark.parametrize(
    "statement",
    [
        "BEGIN",
        "/* x */ begin immediate",
        "COMMIT",
        "SAVEPOINT a",
        "ATTACH 'x' AS x",
        "VACUUM",
        "CREATE TEMP TABLE t (a)",
        "CREATE TABLE temp.t (a)",
        "PRAGMA user_version",
        "PRAGMA journal_mode",
        "PRAGMA page_size = 1024",
        "SELECT * FROM pragma_compile_options",
        "CREATE TABLE _cf_secret (a)",
        "CREATE VIRTUAL TABLE t USING fts4(a)",
    ],
)
def test_what_d1_does_not_allow_is_not_authorized(sql: Sql, statement: str) -> None:
    assert sql.error(statement) == "not authorized: SQLITE_AUTH"


@pytest.mark.parametrize("function", ["sqlite_version()", "load_extension('x')", "sqlite_source_id()"])
def test_functions_that_d1_does_not_allow_are_refused(sql: Sql, function: str) -> None:
    assert sql.error(f"SELECT {function}").startswith("not authorized to use function")


def test_pragmas_that_d1_allows_work_for_one_call(sql: Sql) -> None:
    assert sql.rows("PRAGMA foreign_keys") == [{"foreign_keys": 1}]
    assert sql.ask("PRAGMA foreign_keys = off; SELECT * FROM pragma_foreign_keys").json()["result"][1]["results"] == [
        {"foreign_keys": 1}
    ]
    both = sql.ask("PRAGMA case_sensitive_like = on; SELECT 'a' LIKE 'A' AS same").json()["result"]
    assert both[1]["results"] == [{"same": 0}]
    assert sql.rows("SELECT 'a' LIKE 'A' AS same") == [{"same": 1}]
    assert sql.ask("CREATE TABLE t (a); PRAGMA table_info(t)").json()["result"][1]["results"][0]["name"] == "a"


def test_sql_over_a_hundred_thousand_bytes_is_refused(sql: Sql) -> None:
    assert len(sql.rows(f"SELECT '{'x' * 99_980}'")) == 1
    assert sql.error(f"SELECT '{'x' * 100_000}'") == "statement too long: SQLITE_TOOBIG"
    halves = sql.ask(f"SELECT '{'x' * 60_000}'; SELECT '{'y' * 60_000}'")
    assert halves.status_code == 200


@pytest.mark.parametrize("param", ["x" * 2_000_001, [1] * 2_000_001])
def test_a_value_over_two_million_bytes_is_refused(sql: Sql, param: Any) -> None:
    assert sql.error("SELECT length(?)", param) == "string or blob too big: SQLITE_TOOBIG"


def test_a_value_that_sql_makes_too_large_is_refused(sql: Sql) -> None:
    assert sql.error("SELECT zeroblob(2000001)") == "string or blob too big: SQLITE_TOOBIG"
    assert sql.error("CREATE TABLE t AS SELECT zeroblob(1500000), zeroblob(1500000)").endswith("SQLITE_TOOBIG")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (f"SELECT 'a' LIKE '{'x' * 51}'", "pattern too complex"),
        (f"SELECT 'a' GLOB '{'x' * 51}'", "pattern too complex"),
        (" UNION ".join(f"SELECT {n}" for n in range(6)), "too many terms in compound SELECT"),
        (f"SELECT {' + '.join(['1'] * 102)}", "Expression tree is too large"),
        (f"CREATE TABLE t ({', '.join(f'c{n}' for n in range(101))})", "too many columns"),
    ],
)
def test_sqlite_is_held_to_d1s_limits(sql: Sql, statement: str, words: str) -> None:
    assert words in sql.error(statement)
