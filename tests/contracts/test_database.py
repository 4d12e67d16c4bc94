"""What every ``Database`` must do."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.errors import DatabaseRejected, UpstreamTimeout
from app.domain.json_types import Json
from app.ports.database import Database, RunRefused, Statement
from app.ports.vector_index import AwaitedHits
from tests.contracts.conftest import Opened
from tests.support.generation import examples

CREATE = Statement("CREATE TABLE thing (id TEXT PRIMARY KEY, n INTEGER NOT NULL, note TEXT) STRICT", writes=True)
COUNT = Statement("SELECT count(*) AS n FROM thing")

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def insert(id_: str, n: Json = 1, note: str | None = None) -> Statement:
    return Statement(
        "INSERT INTO thing (id, n, note) VALUES (?1 ->> 'id', ?1 ->> 'n', ?1 ->> 'note')",
        {"id": id_, "n": n, "note": note},
        writes=True,
    )


async def test_rows_come_by_column_name_in_the_order_of_the_statements(database: Database) -> None:
    await database.run([CREATE])
    first, second, third = await database.run(
        [insert("a", 1), Statement("SELECT id, n, note FROM thing"), Statement("SELECT 1 AS one WHERE FALSE")]
    )
    assert (first, second, third) == ([], [{"id": "a", "n": 1, "note": None}], [])


async def test_hits_of_an_index_that_is_not_beside_the_database_are_left_to_who_awaits_them(database: Database) -> None:
    awaited = AwaitedHits()
    statement = Statement("SELECT ?1 ->> 'asked' AS asked", {"asked": "x"}, awaits=awaited)
    assert await database.run([statement]) == [[{"asked": "x"}]]
    assert (awaited.hits, awaited.error) == (None, None)


async def test_a_run_that_fails_changes_nothing(database: Database) -> None:
    await database.run([CREATE])
    with pytest.raises(DatabaseRejected):
        await database.run([insert("a"), insert("b"), insert("a")])
    assert await database.run([COUNT]) == [[{"n": 0}]]


async def test_a_run_after_a_failed_one_works(database: Database) -> None:
    await database.run([CREATE])
    with pytest.raises(DatabaseRejected):
        await database.run([insert("a", "no number")])
    await database.run([insert("a")])
    assert await database.run([COUNT]) == [[{"n": 1}]]


@pytest.mark.parametrize(
    "sql",
    ["SELEC 1", "SELECT * FROM absent", "SELECT ?1 FROM thing WHERE", "INSERT INTO thing (id, n) VALUES (NULL, NULL)"],
)
async def test_a_wrong_statement_is_rejected(database: Database, sql: str) -> None:
    await database.run([CREATE])
    with pytest.raises(DatabaseRejected):
        await database.run([Statement(sql, writes=True)])


async def test_more_than_a_hundred_parameters_are_rejected(database: Database) -> None:
    with pytest.raises(DatabaseRejected):
        await database.run([Statement("SELECT ?101", {})])


async def test_a_statement_over_a_hundred_thousand_bytes_is_rejected(database: Database) -> None:
    with pytest.raises(DatabaseRejected):
        await database.run([Statement(f"SELECT '{'x' * 100_000}'")])


async def test_a_like_pattern_over_fifty_bytes_is_rejected(database: Database) -> None:
    with pytest.raises(DatabaseRejected):
        await database.run([Statement("SELECT 'a' LIKE ?1 ->> 'pattern'", {"pattern": "x" * 51})])


async def test_a_value_over_two_million_bytes_is_rejected(database: Database) -> None:
    with pytest.raises(DatabaseRejected):
        await database.run([Statement("SELECT length(?1)", ["x" * 2_000_001])])


async def test_a_check_constraint_is_enforced(database: Database) -> None:
    await database.run([Statement("CREATE TABLE small (n INTEGER CHECK (n < 10)) STRICT", writes=True)])
    with pytest.raises(DatabaseRejected):
        await database.run([Statement("INSERT INTO small VALUES (10)", writes=True)])


async def test_returning_gives_the_rows_written(database: Database) -> None:
    await database.run([CREATE])
    statement = insert("a", 7)
    (rows,) = await database.run([Statement(f"{statement.sql} RETURNING id, n", statement.argument, writes=True)])
    assert rows == [{"id": "a", "n": 7}]


async def test_many_rows_travel_in_one_argument(database: Database) -> None:
    await database.run([CREATE])
    rows: list[Json] = [{"id": f"id{n}", "n": n} for n in range(5000)]
    sql = "INSERT INTO thing (id, n) SELECT value ->> 'id', value ->> 'n' FROM json_each(?1)"
    await database.run([Statement(sql, rows, writes=True)])
    assert await database.run([COUNT]) == [[{"n": 5000}]]


async def test_a_trigger_can_refuse_a_change(database: Database) -> None:
    trigger = "CREATE TRIGGER final BEFORE UPDATE OF n ON thing BEGIN SELECT RAISE(ABORT, 'final'); END"
    await database.run([CREATE, Statement(trigger, writes=True), insert("a")])
    with pytest.raises(RunRefused) as refused:
        await database.run([insert("b"), Statement("UPDATE thing SET n = 2", writes=True), insert("c")])
    assert refused.value.reason == "final"
    assert await database.run([COUNT]) == [[{"n": 1}]]


async def test_a_trigger_that_says_more_than_a_word_is_a_rejection_like_any_other(database: Database) -> None:
    trigger = "CREATE TRIGGER final BEFORE UPDATE ON thing BEGIN SELECT RAISE(ABORT, 'n may not change'); END"
    await database.run([CREATE, Statement(trigger, writes=True), insert("a")])
    with pytest.raises(DatabaseRejected) as refused:
        await database.run([Statement("UPDATE thing SET n = 2", writes=True)])
    assert not isinstance(refused.value, RunRefused)


async def test_a_view_with_a_trigger_is_a_gate_in_front_of_a_run(database: Database) -> None:
    """The first refusal of a batch of rows undoes what the rows before it and the statements before them did."""
    gate = "CREATE VIEW gate AS SELECT NULL AS id, NULL AS n"
    trigger = """
    CREATE TRIGGER checked INSTEAD OF INSERT ON gate
    BEGIN
      SELECT CASE
        WHEN found.taken THEN RAISE(ABORT, 'taken')
        WHEN found.large THEN RAISE(ABORT, 'too_large')
      END
      FROM (SELECT EXISTS (SELECT 1 FROM thing WHERE thing.id = new.id) AS taken, new.n > 9 AS large) AS found;
      INSERT INTO thing (id, n) VALUES ('seen ' || new.id, new.n);
    END
    """
    await database.run([CREATE, Statement(gate, writes=True), Statement(trigger, writes=True), insert("taken")])

    def through(*rows: Json) -> list[Statement]:
        sql = "INSERT INTO gate (id, n) SELECT value ->> 0, value ->> 1 FROM json_each(?1, '$.rows')"
        return [insert("before"), Statement.write(sql, rows=list(rows)), insert("behind")]

    for last, reason in (("taken", "taken"), ("b", "too_large")):
        with pytest.raises(RunRefused) as refused:
            await database.run(through(["a", 1], [last, 10]))
        assert refused.value.reason == reason
        assert await database.run([COUNT]) == [[{"n": 1}]]
    await database.run(through(["a", 1], ["b", 2]))
    assert await database.run([COUNT]) == [[{"n": 5}]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(50))
@given(text=texts, number=st.integers(-(2**53), 2**53), nothing=st.none())
async def test_values_come_back_as_they_went_in(database: Database, text: str, number: int, nothing: None) -> None:
    sql = "SELECT ?1 ->> 'text' AS text, ?1 ->> 'number' AS number, ?1 ->> 'nothing' AS absent"
    (rows,) = await database.run([Statement(sql, {"text": text, "number": number, "nothing": nothing})])
    assert rows == [{"text": text, "number": number, "absent": nothing}]


async def test_what_one_connection_wrote_another_reads_at_once(open_database: Opened) -> None:
    async with open_database() as first, open_database() as second:
        await first.run([CREATE])
        for n in range(20):
            await first.run([insert(f"id{n}")])
            assert await second.run([COUNT]) == [[{"n": n + 1}]]


async def test_concurrent_runs_are_all_kept(open_database: Opened) -> None:
    async with open_database() as first, open_database() as second:
        await first.run([CREATE, insert("counter", 0)])
        add = Statement("UPDATE thing SET n = n + 1 WHERE id = 'counter'", writes=True)
        await asyncio.gather(*(database.run([add]) for database in (first, second) for _ in range(100)))
        assert await first.run([Statement("SELECT n FROM thing")]) == [[{"n": 200}]]


async def test_of_concurrent_runs_only_the_failing_ones_are_undone(database: Database) -> None:
    """A run that got no answer in time, which happens on a busy machine, was made whole or not at all."""
    await database.run([CREATE])
    pairs = [(f"id{n}", "taken" if n % 2 else f"other{n}") for n in range(40)]
    runs = [database.run([insert(first), insert(second)]) for first, second in pairs]
    outcomes = await asyncio.gather(*runs, return_exceptions=True)
    (rows,) = await database.run([Statement("SELECT id FROM thing")])
    there = {row["id"] for row in rows}
    pending = 0
    for (first, second), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, list):
            assert {first, second} <= there
        elif isinstance(outcome, UpstreamTimeout):
            assert first not in there or second in there
            pending += 1
        else:
            assert isinstance(outcome, DatabaseRejected)
            assert second == "taken"
            assert first not in there
    kept = {n for n in range(40) if pairs[n][0] in there}
    assert 21 - pending <= len(kept) <= 21
    assert len(there) == 2 * len(kept)


async def test_what_was_acknowledged_survives_closing(open_database: Opened) -> None:
    async with open_database() as database:
        await database.run([CREATE, insert("a")])
    async with open_database() as database:
        assert await database.run([COUNT]) == [[{"n": 1}]]


async def test_ping_returns_when_the_database_answers(database: Database) -> None:
    await database.ping()


async def test_a_backend_has_a_name(database: Database) -> None:
    assert database.backend
