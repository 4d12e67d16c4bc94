"""No table of a tenant is forgotten: erasure, export, import and counts know each one from one declaration."""

import sqlite3
from collections.abc import Iterator

import pytest

from app.storage.migrations.runner import known_migrations
from app.storage.tiers.tables import TIER_TABLES, TierTable

OF_THE_CORE = {
    *("long_term_memory", "outbox", "idempotency", "idempotency_count", "agent", "usage", "message", "ingestion"),
    *("namespace", "profile", "claim", "memory_source", "pass", "proposal", "model_spend"),
    # What stays when its tenant is erased: what was done, the proofs of erasures, and what an operator has set.
    *("audit", "administrative_act", "erasure", "quota", "revocation", "credential"),
}
"""Tables with rows of tenants that ``app.storage.system.erasing`` and the triggers of memories take care of."""
OF_THE_DIRECTORY = {"tenant_places", "tenant_moves", "tenant_epochs", "tenant_changes", "tenant_renumbered"}
"""Tables that say in which shard a tenant lives, and hold nothing of what it stores."""

OF_THE_WHOLE = {
    *("embedding_in_use", "embedding_config", "reembedding", "cosine_scale", "index_build"),
    *("lease", "call_share", "shards", "reconcile", "reconcile_listed", "reading", "schema_compatibility"),
    # The index of words, which is derived: its text begins with the scope, and the id leads to the memory.
    *("memory_number", "memory_words", "words_index"),
}
"""Tables of the whole deployment: of indexes, processes and jobs."""


@pytest.fixture(scope="module")
def schema() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for migration in known_migrations():
        for statement in migration.statements:
            connection.execute(statement)
    yield connection
    connection.close()


def columns_of(schema: sqlite3.Connection, table: str) -> list[tuple[str, int]]:
    """The columns of a table, each with its place in the primary key, from 1; 0: it is not in it."""
    return [(row[1], row[5]) for row in schema.execute(f"PRAGMA table_info({table})")]


def test_every_table_with_a_tenant_is_of_the_core_or_declared_for_a_tier(schema: sqlite3.Connection) -> None:
    tables = [name for (name,) in schema.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    of_tenants = {table for table in tables if "tenant_id" in dict(columns_of(schema, table))}
    assert of_tenants - OF_THE_DIRECTORY == OF_THE_CORE | {tier.table for tier in TIER_TABLES}
    assert len({tier.kind for tier in TIER_TABLES}) == len(TIER_TABLES)


def test_a_table_without_a_tenant_is_of_the_whole_deployment(schema: sqlite3.Connection) -> None:
    tables = [name for name, kind in schema.execute("SELECT name, type FROM pragma_table_list") if kind != "shadow"]
    without = {name for name in tables if "tenant_id" not in dict(columns_of(schema, name))}
    views = {name for (name,) in schema.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    assert {name for name in without - views if not name.startswith("sqlite_")} == OF_THE_WHOLE


@pytest.mark.parametrize("tier", TIER_TABLES, ids=lambda tier: tier.kind)
def test_a_tier_declares_the_columns_and_the_key_that_its_table_has(
    schema: sqlite3.Connection, tier: TierTable
) -> None:
    columns = columns_of(schema, tier.table)
    key = tuple(name for name, place in sorted(columns, key=lambda column: column[1]) if place)
    assert key == ("tenant_id", *tier.key)
    assert (tier.of_agent or tier.names_agent) == ("agent_id" in tier.columns)
    assert not (tier.of_agent and tier.names_agent)
    names = {name for name, _ in columns} - {"tenant_id"}
    # A table without another key has one row of counts, which triggers fill in.
    assert set(tier.columns) == names if tier.key else set(tier.columns) <= names
    assert len(set(tier.columns)) == len(tier.columns)


@pytest.mark.parametrize("tier", TIER_TABLES, ids=lambda tier: tier.kind)
def test_an_erasure_finds_the_rows_of_its_scope_by_an_index(schema: sqlite3.Connection, tier: TierTable) -> None:
    agent = "coalesce(held.agent_id, '')" if tier.names_agent else "held.agent_id"
    whose = f"AND {agent} BETWEEN 'bot' AND 'bot'" if tier.of_agent or tier.names_agent else ""
    plan = schema.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM {tier.table} AS held WHERE held.tenant_id = 't' {whose}")
    (said,) = [row[3] for row in plan]
    assert "tenant_id=?" in said
    assert not tier.of_agent or "agent_id" in said
    assert not tier.names_agent or "<expr>" in said
