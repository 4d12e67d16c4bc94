"""The double's D1 takes and refuses what the engine that D1 runs on does, with the same rows and in the same words.

Left out is what cannot agree: functions younger than this machine's SQLite, and limits that D1 documents and the
double holds to, while the engine takes more (2,000,000 bytes in a row, 32 arguments of a function).
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from memory_gateway_double.server import Handle
from tests.conformance.d1_engine import D1Engine

Ask = Callable[[list[Any]], tuple[httpx.Response, httpx.Response]]

TABLE = "CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER NOT NULL, note TEXT, CHECK (n < 1000)) STRICT"
ROW = "INSERT INTO t VALUES ('a', 1, NULL)"

TAKEN: dict[str, list[Any]] = {
    "numbers bind as REAL": [["SELECT typeof(?1) AS type, ?1 AS value", 1]],
    "a boolean binds as a number": [["SELECT typeof(?1) AS type, ?1 AS value", True]],
    "null binds as NULL": [["SELECT typeof(?1) AS type, ?1 AS value", None]],
    "a list of bytes binds as a BLOB": [["SELECT typeof(?1) AS type, hex(?1) AS value", [1, 2, 255]]],
    "a BLOB comes as a list of bytes": [["SELECT x'00ff10' AS value"]],
    "an integer column takes text of digits": [
        [TABLE],
        ["INSERT INTO t VALUES (?1, ?2, ?3) RETURNING *", "a", "7", "x"],
    ],
    "one JSON argument keeps types": [
        [
            "SELECT key, value, typeof(value) AS type FROM json_each(?1)",
            '{"i": 7, "r": 1.5, "s": "x", "n": null, "b": true}',
        ]
    ],
    "JSON operators": [["SELECT ?1 ->> '$.a.b' AS deep, ?1 -> 'a' AS json", '{"a": {"b": 1}}']],
    "large integers lose digits": [["SELECT 9007199254740993 AS value"]],
    "what is not finite is null": [["SELECT 9e999 AS value"]],
    "a row not there": [["SELECT 1 AS one WHERE FALSE"]],
    "columns of one name": [["SELECT 1 AS x, 2 AS x"]],
    "a hundred parameters": [[f"SELECT {' + '.join(f'?{n}' for n in range(1, 101))} AS sum", *["1"] * 100]],
    "plain question marks": [["SELECT ? AS a, ? AS b", "x", "y"]],
    "a parameter used twice": [["SELECT ?1 AS a, ?1 AS b", "x"]],
    "a LIKE pattern of 50 bytes": [["SELECT 'a' LIKE ?1 AS value", "x" * 50]],
    "five terms of a compound": [[" UNION ALL ".join(["SELECT 1 AS one"] * 5)]],
    "upsert with RETURNING": [
        [TABLE],
        [ROW],
        ["INSERT INTO t VALUES ('a', 2, 'new') ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING id, n"],
    ],
    "foreign keys hold": [["PRAGMA foreign_keys"]],
    "a table's columns": [[TABLE], ["PRAGMA table_info(t)"], ["SELECT name FROM pragma_table_info('t')"]],
    "full text search": [
        ["CREATE VIRTUAL TABLE f USING fts5(body, tokenize = 'porter unicode61')"],
        ["INSERT INTO f VALUES ('the cats were running')"],
        ["SELECT body FROM f WHERE f MATCH 'cat run'"],
    ],
    "mathematics": [["SELECT round(sqrt(2.0), 6) AS root, floor(1.7) AS floor"]],
    "iif": [["SELECT iif(1, 'a', 'b') AS one"]],
    "julianday": [["SELECT CAST((julianday('2026-01-01') - 2440587.5) * 86400000 AS INTEGER) AS ms"]],
    "row values": [["SELECT (1, 'b') > (1, 'a') AS greater"]],
    "a recursive query": [
        ["WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c"]
    ],
    "text of every kind": [["SELECT ?1 AS value, length(?1) AS length", "a\0b å 🦉 \u2028"]],
    "a surrogate alone, from JSON": [["SELECT ?1 ->> 'v' AS value", '{"v": "\\ud800"}']],
    "whole and negative reals": [["SELECT 1.0 AS one, -0.0 AS zero, 1e300 AS large"]],
    "a semicolon after": [["SELECT 1 AS one;"]],
    "a comment before": [["-- first\nSELECT 1 AS one"]],
    "every statement of a batch, in order": [[f"SELECT {n} AS n"] for n in range(100)],
    "a large argument": [["SELECT count(*) AS n FROM json_each(?1)", f"[{'0,' * 99_999}0]"]],
    "a database with nothing in it": [["SELECT name FROM sqlite_master"]],
    "how a query would run": [["EXPLAIN QUERY PLAN SELECT 1"]],
    "the time": [["SELECT typeof(CURRENT_TIMESTAMP) AS type, length(CURRENT_TIMESTAMP) AS length"]],
    "a window": [["SELECT value, sum(value) OVER (ORDER BY value) AS running FROM json_each('[1,2,3]')"]],
}
REFUSED: dict[str, list[Any]] = {
    "an unknown word": [["SELEC 1"]],
    "a table not there": [["SELECT * FROM absent"]],
    "an incomplete statement": [["SELECT"]],
    "too many variables": [["SELECT ?101", "x"]],
    "too few parameters": [["SELECT ?1, ?2", "x"]],
    "too many parameters": [["SELECT ?1", "x", "y"]],
    "a LIKE pattern of 51 bytes": [["SELECT 'a' LIKE ?1", "x" * 51]],
    "a GLOB pattern of 51 bytes": [["SELECT 'a' GLOB ?1", "x" * 51]],
    "a statement over 100,000 bytes": [[f"SELECT '{'x' * 100_000}'"]],
    "a value over 2,000,000 bytes": [["SELECT length(?1)", "x" * 2_000_001]],
    "six terms of a compound": [[" UNION ALL ".join(["SELECT 1"] * 6)]],
    "an expression too deep": [[f"SELECT 1{'+1' * 100}"]],
    "101 columns": [[f"CREATE TABLE wide ({', '.join(f'c{n}' for n in range(101))})"]],
    "ATTACH": [["ATTACH ':memory:' AS other"]],
    "a temporary table": [["CREATE TEMP TABLE x (y)"]],
    "PRAGMA user_version": [["PRAGMA user_version"]],
    "PRAGMA journal_mode": [["PRAGMA journal_mode"]],
    "PRAGMA integrity_check": [["PRAGMA integrity_check"]],
    "PRAGMA compile_options": [["PRAGMA compile_options"]],
    "names of Cloudflare's own": [["CREATE TABLE _cf_x (y)"]],
    "a broken CHECK": [[TABLE], ["INSERT INTO t VALUES ('a', 1000, NULL)"]],
    "a key twice": [[TABLE], [ROW], [ROW]],
    "NULL in a NOT NULL column": [[TABLE], ["INSERT INTO t VALUES ('a', NULL, NULL)"]],
    "text in a STRICT integer column": [[TABLE], ["INSERT INTO t VALUES ('a', '4x', NULL)"]],
    "a foreign key to nothing": [
        ["CREATE TABLE p (id TEXT PRIMARY KEY)"],
        ["CREATE TABLE c (p TEXT REFERENCES p (id))"],
        ["INSERT INTO c VALUES ('absent')"],
    ],
    "a trigger that refuses": [
        [TABLE],
        ["CREATE TRIGGER final BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'final'); END"],
        [ROW],
        ["UPDATE t SET n = 2"],
    ],
    "bad full text search": [["CREATE VIRTUAL TABLE f USING fts5(body)"], ["SELECT * FROM f WHERE f MATCH '\"'"]],
}
REFUSED_IN_OTHER_WORDS: dict[str, list[Any]] = {
    "101 parameters": [["SELECT 1", *["1"] * 101]],
    "an object as parameter": [["SELECT ?1", {"a": 1}]],
    "BEGIN": [["BEGIN"]],
    "SAVEPOINT": [["SAVEPOINT s"]],
    "VACUUM": [["VACUUM"]],
    "sqlite_version()": [["SELECT sqlite_version()"]],
    "load_extension()": [["SELECT load_extension('x')"]],
    "triggers nested too deep": [
        ["PRAGMA recursive_triggers = on"],
        ["CREATE TABLE t (n)"],
        ["CREATE TRIGGER on_and_on AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.n + 1); END"],
        ["INSERT INTO t VALUES (0)"],
    ],
    "no statement": [[""]],
    "a comment alone": [["-- nothing"]],
}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, verify=False) as http:
        yield http


@pytest.fixture
def ask(http: httpx.Client, double: Handle, engine: D1Engine) -> Ask:
    """Return what makes a batch run on a database of the double's and on one of the engine's."""
    options = double.double.options
    path = f"/accounts/{options.account_id}/d1/database"
    of_double = f"{double.cloudflare_url}{path}/{double.double.create_database(f'like-{uuid4()}')}/query"
    database = engine.empty_database()
    of_engine = f"{database.url}/client/v4{path}/{database.id}/query"
    headers = {"Authorization": f"Bearer {options.api_token}"}

    def asked(statements: list[Any]) -> tuple[httpx.Response, httpx.Response]:
        body = {"batch": [{"sql": sql, "params": params} for sql, *params in statements]}
        return http.post(of_double, json=body, headers=headers), http.post(of_engine, json=body)

    return asked


def cases(named: dict[str, list[Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("statements", [pytest.param(each, id=name) for name, each in named.items()])


@cases(TAKEN)
def test_both_give_the_same_rows(ask: Ask, statements: list[Any]) -> None:
    by_double, by_engine = ask(statements)
    assert by_engine.status_code == 200, by_engine.text
    assert by_double.status_code == 200, by_double.text
    theirs, ours = ([result["results"] for result in each.json()["result"]] for each in (by_engine, by_double))
    assert ours == theirs


@cases(REFUSED)
def test_both_refuse_in_the_same_words(ask: Ask, statements: list[Any]) -> None:
    by_double, by_engine = ask(statements)
    assert (by_engine.status_code, by_double.status_code) == (400, 400), by_engine.text
    assert by_double.json() == by_engine.json()


@cases(REFUSED_IN_OTHER_WORDS)
def test_both_refuse(ask: Ask, statements: list[Any]) -> None:
    by_double, by_engine = ask(statements)
    assert (by_engine.status_code, by_double.status_code) == (400, 400), by_engine.text
