"""D1: what one run sends, what it takes from the answer, and what is never sent."""

import json
from typing import Any

import httpx
import pytest
import respx

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.domain.errors import DatabaseRejected, UpstreamRejected
from app.ports.database import Statement
from tests.adapters.cloudflare.wire import answer, body_of

PATH = "/d1/database/db-1/query"
READ = Statement("SELECT 1 AS one")


def done(*rows: list[dict[str, Any]]) -> httpx.Response:
    """A batch that was run, each statement with its rows."""
    return answer([{"success": True, "results": each, "meta": {"changes": 1, "duration": 0.1}} for each in rows])


@pytest.fixture
def database(client: CloudflareClient) -> D1Database:
    return D1Database(client, "db-1")


async def test_a_run_is_one_batch_with_every_value_in_one_json_text(
    api: respx.MockRouter, database: D1Database
) -> None:
    route = api.post(PATH).mock(return_value=done([], []))
    argument: dict[str, Any] = {"text": 'Malmö "x"\n', "whole": 2**62, "none": None, "list": [1, 2.5, True]}
    statements = [Statement("INSERT INTO t SELECT ?1", argument, writes=True), Statement("SELECT ?1", ["a"])]
    await database.run(statements)
    body = body_of(route.calls.last)
    assert list(body) == ["batch"]
    assert [statement["sql"] for statement in body["batch"]] == ["INSERT INTO t SELECT ?1", "SELECT ?1"]
    ((first,), (second,)) = [statement["params"] for statement in body["batch"]]
    assert json.loads(first) == argument
    assert "Malmö" in first
    assert json.loads(second) == ["a"]


async def test_a_statement_without_an_argument_has_no_parameters(api: respx.MockRouter, database: D1Database) -> None:
    route = api.post(PATH).mock(return_value=done([{"one": 1}]))
    await database.ping()
    assert body_of(route.calls.last) == {"batch": [{"sql": "SELECT 1 AS one", "params": []}]}


async def test_rows_come_back_in_the_order_of_their_statements(api: respx.MockRouter, database: D1Database) -> None:
    rows = [[{"n": number, "text": "x", "none": None, "real": 0.5}] * number for number in (2, 0, 3)]
    api.post(PATH).mock(return_value=done(*rows))
    assert await database.run([READ] * 3) == rows


async def test_a_statement_whose_results_are_left_out_has_no_rows(api: respx.MockRouter, database: D1Database) -> None:
    api.post(PATH).mock(return_value=answer([{"success": True}, {"success": True, "results": None}]))
    assert await database.run([READ] * 2) == [[], []]


async def test_no_statements_are_no_call(api: respx.MockRouter, database: D1Database) -> None:
    assert await database.run([]) == []
    assert len(api.calls) == 0


@pytest.mark.parametrize("failed", [{"success": False, "error": "x"}, {"results": []}, {"success": 1}, None, "x"])
async def test_one_failed_statement_fails_the_run(
    api: respx.MockRouter, database: D1Database, failed: dict[str, Any] | None
) -> None:
    route = api.post(PATH).mock(return_value=answer([{"success": True, "results": []}, failed]))
    with pytest.raises(DatabaseRejected, match="reports a statement"):
        await database.run([READ] * 2)
    assert route.call_count == 1


@pytest.mark.parametrize(
    "result",
    [
        [],
        [{"success": True, "results": []}],
        [{"success": True, "results": []}] * 3,
        {"success": True, "results": []},
        None,
    ],
    ids=["none", "fewer", "more", "no list", "null"],
)
async def test_another_number_of_results_than_statements_is_not_believed(
    api: respx.MockRouter, database: D1Database, result: Any
) -> None:
    route = api.post(PATH).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected, match="2 statements"):
        await database.run([READ] * 2)
    assert route.call_count == 1


@pytest.mark.parametrize("rows", [{"columns": ["one"], "rows": [[1]]}, "text", 1])
async def test_rows_that_are_no_rows_are_not_believed(api: respx.MockRouter, database: D1Database, rows: Any) -> None:
    api.post(PATH).mock(return_value=answer([{"success": True, "results": rows}]))
    with pytest.raises(UpstreamRejected):
        await database.ping()


def sql_of(size: int) -> str:
    """A statement of so many bytes, most of them in characters of two."""
    text = f"SELECT '{'é' * ((size - 10) // 2)}'"
    return text + " " * (size - len(text.encode()))


def value_of(size: int) -> str:
    """A text whose JSON, in a list, has so many bytes."""
    text = "é" * ((size - 4) // 2)
    return text + "x" * (size - 4 - len(text.encode()))


WITHIN = [
    [READ] * 100,
    [Statement(sql_of(100_000))],
    [Statement("SELECT ?1", [value_of(2_000_000)])],
    [Statement("\n  select 1")],
    [Statement("WITH a AS (SELECT 1) SELECT * FROM a", writes=True)],
]
BEYOND = [
    ([READ] * 101, "101 statements"),
    ([READ, Statement(sql_of(100_001))], "longer than the 100000 bytes"),
    ([READ, Statement("SELECT ?1", [value_of(2_000_001)])], "larger than the 2000000 bytes"),
    ([READ, Statement("DELETE FROM t")], "may write does not say so"),
    ([Statement("INSERT INTO t VALUES (1)")], "may write does not say so"),
    ([Statement("PRAGMA foreign_keys = off")], "may write does not say so"),
    ([Statement("WITH a AS (SELECT 1) DELETE FROM t", repeatable=True)], "may write does not say so"),
    ([Statement("-- SELECT\nDELETE FROM t")], "may write does not say so"),
]


@pytest.mark.parametrize("statements", WITHIN, ids=["statements", "sql", "value", "lower case", "writes"])
async def test_what_is_within_d1s_limits_is_sent(
    api: respx.MockRouter, database: D1Database, statements: list[Statement]
) -> None:
    route = api.post(PATH).mock(return_value=done(*([] for _ in statements)))
    await database.run(statements)
    assert route.call_count == 1


@pytest.mark.parametrize(("statements", "said"), BEYOND, ids=range(len(BEYOND)))
async def test_what_d1_would_refuse_is_not_sent(
    api: respx.MockRouter, database: D1Database, statements: list[Statement], said: str
) -> None:
    with pytest.raises(DatabaseRejected, match=said):
        await database.run(statements)
    assert len(api.calls) == 0
