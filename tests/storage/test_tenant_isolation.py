"""Every statement that a request can send stays within its tenant, whatever other tenants hold.

A workload goes through every route and every tool as one tenant, and records what the tenant's database is given. Each
statement is then run by itself, under SQLite's authorizer, on a copy of the data in which other tenants hold the same
kinds of things, and again on a copy in which they hold nothing.
"""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import QuotaExhausted
from app.domain.golden import GoldenQuestion
from app.domain.memory import Tenant
from app.domain.messages import NewMessage
from app.domain.stages import Stage
from app.ports.database import Row, Statement
from app.services.archive.moving import ArchiveMover
from app.services.archive.reading import Archives
from app.services.golden.questions import GoldenQuestions
from app.services.ingest.ingester import Ingester
from app.services.snapshots.keeping import SnapshotKeeper
from app.storage.golden import StoredQuestion
from app.storage.scoped import ScopedStatement, TenantDatabase
from app.storage.tiers.tables import TIER_TABLES, TierTable
from tests.services.believing_reader import BelievingReader
from tests.support.memories import memory_ids
from tests.support.probes import PROBES, SECRET
from tests.support.scripted_model import ScriptedModel, classes, failing
from tests.support.service import Service, serving
from tests.support.tier_rows import added_to, row_of

TENANT = "acme"
NOW = 2_461_366.5  # a Julian day: both copies are read at one moment
# What a request may learn of the whole database: whether the indexer is missed, which configs are in use, free ids.
OF_NO_TENANT = {
    "outbox": {"due_at", "id", "operation", "revision"},
    "erasure": {"receipt", "advanced_at"},
    "long_term_memory": {"id", "rowid", ""},
    "revocation": {"revoked_at"},
    "tool_call_log": {"number"},  # of the new row, which a trigger bounds
}
COMPARED = """
INSERT INTO relation (tenant_id, agent_id, older_id, newer_id, name, probability, effect, version, compared_at)
SELECT tenant_id, agent_id, min(id), max(id), 'replaces', 0.7, 'newer_first', 'reader-1', 1
FROM long_term_memory GROUP BY tenant_id, agent_id HAVING count(*) > 1
"""
"""What a reader has found of each agent's memories."""
_PAIRS = "(SELECT tenant_id, agent_id, min(id) AS other, max(id) AS kept FROM long_term_memory GROUP BY 1, 2) AS pair"
CONSOLIDATED = (
    f"""
INSERT INTO consolidated (tenant_id, agent_id, other_id, kept_id, kind, undone, consolidation_id, consolidated_at)
SELECT tenant_id, agent_id, other, kept, 'memory', 1, 'run', 1 FROM {_PAIRS} WHERE other < kept
""",
    f"""
INSERT INTO shortcut (tenant_id, agent_id, other_id, kept_id, via_id)
SELECT tenant_id, agent_id, kept, other, other FROM {_PAIRS} WHERE other < kept
""",
    """
INSERT INTO consolidation (tenant_id, id, started_at, finished_at)
SELECT DISTINCT tenant_id, '01K2Z4M1V7Q8T3B5N6C7D8E9FB', 1, 2 FROM long_term_memory
""",
)
"""What a consolidation has merged of them."""
Access = tuple[str, str]
"""A table and a column of it that a statement reads."""


async def work(service: Service) -> None:
    """Ask everything of every route and tool, as one tenant among others."""
    for tenant, agent_id in (("owner", "keeper"), (TENANT, "bot"), ("globex", "bot")):
        for number in range(3):
            await service.store(
                f"{SECRET} {number}", tenant=tenant, agent_id=agent_id, session_id="s", metadata={"kind": "secret"}
            )
    await service.runtime.backends.database.run(list(map(Statement.write, (COMPARED, *CONSOLIDATED))))
    headers = service.credential(TENANT) | {"Idempotency-Key": "once"}
    for _ in range(2):
        body = {"agent_id": "bot", "content": "with a key", "occurred_at": "2026-01-31T00:00:00Z"}
        await service.client.post("/store", json=body, headers=headers)
    await service.recall("what was the launch code in January 2026?", tenant=TENANT)
    for tenant, agent_id in (("owner", "keeper"), ("globex", "bot"), (TENANT, "bot")):
        await learn(service, tenant)
        await keep_golden_questions(service, tenant, agent_id)
    for tenant in ("owner", TENANT):  # what is left of a deleted document
        context = service.runtime.services(tenant).context
        await context.put("dropped", SECRET, "text/plain")
        await context.delete("dropped")
    for tenant in ("owner", "globex", TENANT):
        for _ in range(2):  # one more than is kept
            await SnapshotKeeper(service.runtime.backends.of_tenant(tenant)).keep(1)
        for tier in (tier for tier in TIER_TABLES if tier.kind in {"runs", "episodes"}):
            await added_to(service.runtime.backends.database, tenant, tier, [row_of(tier, 7, "archived")])
        backends = service.runtime.backends.of_tenant(tenant)
        later = backends.clock() + 60_000
        assert await ArchiveMover(backends, "archived").move(later, now=backends.clock())
        (archived,) = await Archives(backends).list()
        await Archives(backends).item(archived.first_id)
    for probe in PROBES.values():
        await probe(service, TENANT, "bot")


async def keep_golden_questions(service: Service, tenant: str, agent_id: str) -> None:
    questions = GoldenQuestions(service.runtime.backends.of_tenant(tenant))
    await questions.keep([StoredQuestion("bot", f"{number}", "{}") for number in range(2)])
    memories = await memory_ids(service, tenant_id=tenant, agent_id=agent_id)
    await questions.check_gold([GoldenQuestion(tenant, agent_id, "q", "?", memories)])


async def learn(service: Service, tenant: str) -> None:
    """Have a model read what is said to an agent of a tenant, fail at it, and learn it then."""
    model = ScriptedModel({"extract": failing(QuotaExhausted("No credit is left."))})
    backends = replace(service.runtime.backends, model=model, reader=BelievingReader()).of_tenant(tenant)
    ingester = Ingester(backends)
    said = [NewMessage("user", f"I like number{number}") for number in range(9)]
    ingestion = await ingester.ingest("learns", said, "s")
    rounds: list[dict[Stage, Callable[[str], Any]]] = [{"classify": partial(classes, {"number1": "topic"})}, {}]
    for answers in rounds:
        while (found := await ingester.ingestion("learns", str(ingestion.id))).finished_at is None:
            await asyncio.sleep(0.02)
        assert await ingester.learning(found) is not None
        model.answers = answers
        await ingester.retry("learns", str(ingestion.id))
    await ingester.dry_run("learns", [NewMessage("user", "I like tea")], "s")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ScopedStatement]]:
    """The statements of the workload, each once, and the data as it left them."""
    statements: dict[tuple[str, tuple[str, ...]], ScopedStatement] = {}
    run = TenantDatabase.run

    async def recording(self: TenantDatabase, given: Sequence[ScopedStatement]) -> list[list[Row]]:
        statements.update(
            {
                (each.sql, each.parameters): each
                for each in given
                if isinstance(each.argument, dict) and each.argument["tenant_id"] == TENANT
            }
        )
        return await run(self, given)

    data = tmp_path_factory.mktemp("data")

    async def record() -> None:
        async with serving(data, indexer_seconds=30) as service:
            await work(service)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TenantDatabase, "run", recording)
        asyncio.run(record())
    return data / "memory.sqlite3", list(statements.values())


@pytest.fixture(scope="module")
def distinct(recorded: tuple[Path, list[ScopedStatement]]) -> list[ScopedStatement]:
    """At most a few statements of each text."""
    kept: dict[str, list[ScopedStatement]] = {}
    for statement in recorded[1]:
        kept.setdefault(statement.sql, []).append(statement)
    return [statement for same in kept.values() for statement in [*same[:3], *same[-3:]]]


@pytest.fixture(scope="module")
def crowded(recorded: tuple[Path, list[ScopedStatement]]) -> sqlite3.Connection:
    """The data, in which other tenants hold the same kinds of things."""
    source = sqlite3.connect(recorded[0])
    return copied(source)


@pytest.fixture(scope="module")
def alone(crowded: sqlite3.Connection) -> sqlite3.Connection:
    """The same data without any other tenant."""
    connection = copied(crowded)
    for table in tenant_tables(connection):
        connection.execute(f"DELETE FROM {table} WHERE tenant_id <> ?", (TENANT,))
    connection.commit()
    return connection


def copied(source: sqlite3.Connection) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    source.backup(connection)
    connection.row_factory = sqlite3.Row
    connection.create_function("julianday", 1, lambda _: NOW)
    connection.create_function("unhex", 1, bytes.fromhex)  # the standard library's SQLite may be older
    return connection


def tenant_tables(connection: sqlite3.Connection) -> list[str]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [
        name
        for (name,) in tables.fetchall()
        if any(column["name"] == "tenant_id" for column in connection.execute(f"PRAGMA table_info({name})"))
    ]


def answers(connection: sqlite3.Connection, statement: Statement) -> list[tuple[Any, ...]]:
    """Run a statement and take back what it changed."""
    try:
        return [tuple(row) for row in connection.execute(statement.sql, statement.parameters)]
    except sqlite3.IntegrityError as error:  # refused by a trigger: that is an answer too
        return [(str(error),)]
    finally:
        connection.rollback()


def held_by_others(connection: sqlite3.Connection) -> list[list[tuple[Any, ...]]]:
    return [
        [tuple(row) for row in connection.execute(f"SELECT * FROM {table} WHERE tenant_id <> ?", (TENANT,))]
        for table in tenant_tables(connection)
    ]


def accesses(connection: sqlite3.Connection, statement: Statement) -> set[Access]:
    """Return what a statement reads, as SQLite asks its authorizer before the statement may run."""
    seen: set[Access] = set()

    def authorize(action: int, table: str | None, column: str | None, _: str | None, __: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table is not None:
            seen.add((table, column or ""))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
    try:
        answers(connection, statement)
    finally:
        connection.set_authorizer(None)
    return seen


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def test_the_workload_sends_statements_of_every_kind(distinct: list[ScopedStatement]) -> None:
    texts = {statement.sql for statement in distinct}
    assert len(texts) >= 25, "every route and tool was asked"
    assert any(statement.writes for statement in distinct)


@pytest.mark.parametrize("tier", TIER_TABLES, ids=lambda tier: tier.table)
def test_the_workload_reaches_every_tier_s_table_where_other_tenants_hold_rows(
    crowded: sqlite3.Connection, distinct: list[ScopedStatement], tier: TierTable
) -> None:
    others = crowded.execute(f"SELECT count(*) FROM {tier.table} WHERE tenant_id <> ?", (TENANT,)).fetchone()[0]
    reading = [each for each in distinct if re.search(rf"\b{tier.table}\b", each.sql)]
    assert others > 0
    assert reading


def test_a_statement_names_its_tenant_in_its_argument(distinct: list[ScopedStatement]) -> None:
    for statement in distinct:
        assert isinstance(statement.argument, dict)
        assert statement.argument["tenant_id"] == TENANT


def test_a_statement_that_reads_a_table_of_tenants_looks_at_whose_each_row_is(
    crowded: sqlite3.Connection, distinct: list[ScopedStatement]
) -> None:
    tables = set(tenant_tables(crowded))
    for statement in {each.sql: each for each in distinct}.values():
        read = accesses(crowded, statement)
        for table in tables & {name for name, _ in read}:
            columns = {column for name, column in read if name == table}
            assert "tenant_id" in columns or columns <= OF_NO_TENANT.get(table, set()), (table, statement.sql)


def test_what_other_tenants_hold_changes_no_answer(
    crowded: sqlite3.Connection, alone: sqlite3.Connection, distinct: list[ScopedStatement]
) -> None:
    for statement in distinct:
        among, by_itself = answers(crowded, statement), answers(alone, statement)
        told = {each for row in among if row not in by_itself for each in row}
        # An id is unique over all tenants: that one is taken is told, of an id that the request itself has named.
        assert told <= {*leaves(statement.argument), None, 0, 1}, statement.sql


def test_no_statement_changes_what_other_tenants_hold(
    crowded: sqlite3.Connection, distinct: list[ScopedStatement]
) -> None:
    before = held_by_others(crowded)
    assert any(before)
    for sql, statements in groupby((each for each in distinct if each.writes), key=lambda each: each.sql):
        for statement in statements:
            with suppress(sqlite3.IntegrityError):
                crowded.execute(sql, statement.parameters).fetchall()
        after = held_by_others(crowded)
        crowded.rollback()
        assert after == before, sql


async def test_a_tenant_s_database_refuses_a_statement_of_another_tenant() -> None:
    class Untouched:
        async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
            raise AssertionError(statements)

    database = TenantDatabase(TENANT, Untouched())  # type: ignore[arg-type]  # nothing of it is called
    with pytest.raises(ValueError, match="another tenant"):
        await database.run([ScopedStatement.read(Tenant("globex"), "SELECT ?1")])
