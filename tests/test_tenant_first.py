"""Every statement a request sends is bound to its tenant, by its first condition."""

import re
from collections.abc import Iterator

import numpy as np
import pytest

from app.adapters.local import sqlite_index
from app.audit import Audit
from app.index import in_use
from app.index.outbox import Outbox
from app.model import EmbeddingConfig, Filter, NewMemory, Scope
from app.ports.database import Statement
from app.tiers.long_term import LongTermMemory

SCOPE = Scope("acme", "bot")
CONFIG = EmbeddingConfig("hashing", "ngrams-v1", 384)
WHERE = Filter(created_after=1, created_before=9, metadata={"k": 1})
TENANT = r"\w*\.?tenant_id = (\?1 ->> 'tenant_id'|\w+\.tenant_id)"


def statements() -> Iterator[tuple[str, Statement]]:
    """Every statement the request path can make, by the method that makes it."""
    memory, queue = LongTermMemory(SCOPE), Outbox(SCOPE)
    vector = np.zeros(384, np.float32)
    yield "insert", memory.insert(NewMemory("text"), memory_id="1", created_at=1, config=CONFIG)
    yield "delete", memory.delete("1")
    yield "read", memory.read(["1"], WHERE, most=5)
    yield "newest", memory.newest(WHERE, most=5)
    audit = Audit(SCOPE)
    yield "stored", audit.stored("0", now=1, config=CONFIG, tokens=1, milliseconds=1.0)
    yield "queue_upsert", queue.queue_upsert("1", vector, content_hash="0", config=CONFIG)
    yield "queue_delete", queue.queue_delete("1")
    yield "pending", queue.pending(WHERE)


def test_no_method_that_makes_a_statement_is_forgotten_here() -> None:
    makers = {
        name
        for owner in (LongTermMemory, Outbox, Audit)
        for name, method in vars(owner).items()
        if getattr(method, "__annotations__", {}).get("return") is Statement
    }
    assert makers == {name for name, _ in statements()}


@pytest.mark.parametrize(("name", "statement"), list(statements()))
def test_a_statement_names_the_tenant_before_anything_else(name: str, statement: Statement) -> None:
    conditions = re.findall(r"\b(?:WHERE|ON)\s+(?!CONFLICT)(.*?)(?= AND |\n|$)", statement.sql)
    about_rows = [c for c in conditions if not c.startswith(("in_use.", "NOT EXISTS", "held.")) and "wanted" not in c]
    assert all(re.fullmatch(TENANT, condition) for condition in about_rows), about_rows
    # Rows are written with the bound tenant and no other.
    assert about_rows or re.search(r"SELECT\s+\?1 ->> 'tenant_id'", statement.sql), name
    assert isinstance(statement.argument, dict)
    assert statement.argument["tenant_id"] == "acme"


def test_the_statement_without_a_tenant_learns_no_more_than_whether_there_is_any_memory() -> None:
    sql = "SELECT provider, model, dimensions FROM embedding_in_use WHERE EXISTS (SELECT 1 FROM long_term_memory)"
    assert in_use.READ.sql == sql


def test_every_statement_of_the_local_index_names_the_tenant_first() -> None:
    texts = [value for name, value in vars(sqlite_index).items() if isinstance(value, str) and "local_vector" in value]
    assert len(texts) >= 7
    for sql in texts:
        where = re.findall(r"WHERE (.*?) AND ", sql)
        assert where == ["tenant_id = ?1 ->> 'tenant_id'"] or "VALUES (" in sql, sql
