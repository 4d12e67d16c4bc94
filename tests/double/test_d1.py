"""The double's D1: bindings, results, batches and databases."""

from typing import Any

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.double.conftest import Client, Sql, code


def test_a_result_is_a_list_with_one_entry_per_statement(sql: Sql) -> None:
    answer = sql.batch("CREATE TABLE t (a)", "INSERT INTO t VALUES (7)", "SELECT a FROM t")
    results = answer.json()["result"]
    assert [entry["results"] for entry in results] == [[], [], [{"a": 7}]]
    assert all(entry["success"] for entry in results)
    assert results[1]["meta"]["changes"] == 1
    assert results[1]["meta"]["changed_db"] is True
    assert {"duration", "last_row_id", "rows_read", "rows_written", "size_after"} <= set(results[2]["meta"])


def test_raw_answers_columns_and_rows_and_keeps_columns_of_one_name(sql: Sql) -> None:
    answer = sql.ask("SELECT 1 AS a, 2 AS a", path="raw")
    assert answer.json()["result"][0]["results"] == {"columns": ["a", "a"], "rows": [[1, 2]]}
    assert sql.rows("SELECT 1 AS a, 2 AS a") == [{"a": 2}]


@pytest.mark.parametrize(
    ("param", "kind", "value"),
    [
        (1, "real", 1),
        (1.5, "real", 1.5),
        (True, "real", 1),
        (None, "null", None),
        ("1", "text", "1"),
        ([0, 255, 16], "blob", [0, 255, 16]),
    ],
)
def test_numbers_are_bound_as_real_and_bytes_as_blob(sql: Sql, param: Any, kind: str, value: Any) -> None:
    assert sql.rows("SELECT typeof(?) AS kind, ?2 AS value", param, param) == [{"kind": kind, "value": value}]


def test_an_object_cannot_be_bound(sql: Sql) -> None:
    assert code(sql.ask("SELECT ?", {"a": 1})) == (400, 7400)


def test_integers_beyond_doubles_lose_precision(sql: Sql) -> None:
    assert sql.rows("SELECT 9007199254740993 AS n, 9e999 AS inf, 2.0 AS whole") == [
        {"n": 9007199254740992, "inf": None, "whole": 2}
    ]


def test_a_json_text_carries_what_a_parameter_cannot(sql: Sql) -> None:
    rows = sql.rows("SELECT typeof(value) AS kind FROM json_each(?)", '[1, null, 1.5, "a"]')
    assert [row["kind"] for row in rows] == ["integer", "null", "real", "text"]


@pytest.mark.parametrize("placeholders", ["?, ?", "?1, ?2", ":a, :b", "?2, ?1", "?1, ?"])
def test_every_kind_of_placeholder_is_bound(sql: Sql, placeholders: str) -> None:
    rows = sql.ask(f"SELECT {placeholders}", "x", "y", path="raw").json()["result"][0]["results"]["rows"]
    assert [sorted(row) for row in rows] == [["x", "y"]]


def test_columns_are_named_after_what_was_written(sql: Sql) -> None:
    assert sql.rows("SELECT typeof(?)", 1) == [{"typeof(?)": "real"}]


def test_placeholders_in_texts_comments_and_names_are_none(sql: Sql) -> None:
    assert sql.rows("""SELECT '?' AS a, "b?" AS "c?", ? AS d -- ? ;\n FROM (SELECT 1 AS "b?") /* ?9 */""", "x") == [
        {"a": "?", "c?": 1, "d": "x"}
    ]


@pytest.mark.parametrize("params", [[], ["a", "b"]])
def test_a_wrong_number_of_bindings_is_refused(sql: Sql, params: list[Any]) -> None:
    assert sql.error("SELECT ?", *params) == "Wrong number of parameter bindings for SQL query."


def test_more_than_a_hundred_parameters_are_refused(sql: Sql) -> None:
    hundred = ", ".join(["?"] * 100)
    assert sql.rows(f"SELECT max({hundred[:94]}) AS most", *range(32)) == [{"most": 31}]
    assert len(sql.ask(f"SELECT {hundred}", *range(100), path="raw").json()["result"][0]["results"]["rows"][0]) == 100
    assert sql.error(f"SELECT * FROM (SELECT {hundred}), (SELECT ?)", *range(101)).startswith("too many SQL variables")


def test_several_statements_in_one_text_run_in_order(sql: Sql) -> None:
    text = "CREATE TABLE t (a); INSERT INTO t VALUES (';'); /* ; */ SELECT a FROM t; -- end;\n"
    assert [entry["results"] for entry in sql.ask(text).json()["result"]] == [[], [], [{"a": ";"}]]


def test_a_trigger_is_one_statement(sql: Sql) -> None:
    trigger = "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); SELECT CASE WHEN 1 THEN 2 END; END"
    answer = sql.ask(f"CREATE TABLE t (a); CREATE TABLE u (a); {trigger}; INSERT INTO t VALUES (1); SELECT a FROM u")
    assert answer.json()["result"][-1]["results"] == [{"a": 1}]


def test_several_statements_with_parameters_are_refused(sql: Sql) -> None:
    answer = sql.ask("SELECT 1; SELECT ?", "a")
    assert code(answer) == (400, 7400)
    assert "params with multiple statements is not supported" in answer.text


def test_fts5_works(sql: Sql) -> None:
    sql.batch(
        "CREATE VIRTUAL TABLE f USING fts5(body, tokenize = 'porter unicode61')", "INSERT INTO f VALUES ('running')"
    )
    assert sql.rows("SELECT body, bm25(f) < 0 AS better FROM f WHERE f MATCH ?", "run") == [
        {"body": "running", "better": 1}
    ]


def test_a_failing_batch_leaves_nothing(sql: Sql) -> None:
    sql.ask("CREATE TABLE t (a UNIQUE)")
    assert sql.batch("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)").status_code == 400
    assert sql.rows("SELECT count(*) AS n FROM t") == [{"n": 0}]
    assert sql.ask("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)").status_code == 400
    assert sql.rows("SELECT count(*) AS n FROM t") == [{"n": 0}]


def test_a_failing_batch_keeps_what_came_before_where_batches_are_not_atomic(sql: Sql) -> None:
    sql.ask("CREATE TABLE t (a UNIQUE)")
    sql.client.control("PUT", "options", {"atomic_batch": False})
    try:
        assert sql.batch("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)").status_code == 400
    finally:
        sql.client.control("PUT", "options", {"atomic_batch": True})
    assert sql.rows("SELECT count(*) AS n FROM t") == [{"n": 1}]


def test_a_database_answers_after_an_error(sql: Sql) -> None:
    sql.error("SELECT * FROM nope")
    assert sql.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_query_that_takes_too_long_is_stopped() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with running(DoubleOptions(time_scale=300)) as handle, Client.connected(handle) as client:
        answer = Sql(client, handle.double.create_database("slow")).ask(endless)
    assert answer.status_code == 500
    assert "exceeded timeout which caused object to be reset" in answer.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "Invalid property: sql => Required"),
        ({"sql": 1}, "Invalid property: sql => Required"),
        ({"batch": []}, "Invalid property: batch"),
        ({"batch": ["SELECT 1"]}, "Invalid property: batch"),
        ({"sql": "SELECT 1", "params": "a"}, "Invalid property: params"),
        ({"sql": " -- nothing\n"}, "no SQL statement"),
        ([], "malformed"),
    ],
)
def test_a_malformed_query_is_refused(sql: Sql, body: Any, words: str) -> None:
    answer = sql.client.post(f"/d1/database/{sql.uuid}/query", body)
    assert code(answer) == (400, 7400)
    assert words in answer.text


def test_databases_are_created_listed_and_deleted(client: Client) -> None:
    created = client.post("/d1/database", {"name": "fresh", "primary_location_hint": "weur"})
    uuid = created.json()["result"]["uuid"]
    assert created.status_code == 200
    assert code(client.post("/d1/database", {"name": "fresh"})) == (400, 7502)
    assert client.get(f"/d1/database/{uuid}").json()["result"]["num_tables"] == 0
    assert [entry["uuid"] for entry in client.get("/d1/database?name=fresh").json()["result"]] == [uuid]
    assert client.call("DELETE", f"/d1/database/{uuid}").json() == {
        "success": True,
        "errors": [],
        "messages": [],
        "result": None,
    }
    assert code(client.get(f"/d1/database/{uuid}")) == (404, 7404)


def test_a_database_tells_the_jurisdiction_that_it_was_created_in(client: Client) -> None:
    told = []
    for name, body in (("bound", {"jurisdiction": "eu"}), ("free", {})):
        uuid = client.post("/d1/database", {"name": name, **body}).json()["result"]["uuid"]
        told.append(client.get(f"/d1/database/{uuid}").json()["result"]["jurisdiction"])
    assert told == ["eu", None]


def test_databases_are_listed_in_pages_of_ten(client: Client) -> None:
    for n in range(11):
        client.handle.double.create_database(f"many-{n}")
    first = client.get("/d1/database?name=many-").json()
    second = client.get("/d1/database?name=many-&page=2").json()
    assert (len(first["result"]), len(second["result"])) == (10, 1)
    assert first["result_info"]["total_count"] == 11


@pytest.mark.parametrize(
    ("body", "words"),
    [({}, "name => Required"), ({"name": "a b"}, "name"), ({"name": "a", "jurisdiction": "mars"}, "jurisdiction")],
)
def test_a_database_that_cannot_be_is_refused(client: Client, body: Any, words: str) -> None:
    answer = client.post("/d1/database", body)
    assert code(answer) == (400, 7400)
    assert words in answer.text


def test_an_unknown_database_is_not_found_and_a_name_is_no_id(client: Client) -> None:
    absent = "00000000-0000-4000-8000-000000000000"
    assert code(client.post(f"/d1/database/{absent}/query", {"sql": "SELECT 1"})) == (404, 7404)
    assert code(client.post("/d1/database/name/query", {"sql": "SELECT 1"})) == (400, 7400)
