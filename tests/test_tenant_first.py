"""Every statement a request sends is bound to its tenant, by its first condition."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from app import in_use
from app.adapters.local import sqlite_index
from app.admission import Admission
from app.audit import Audit
from app.in_use import InUse
from app.index.erasure import Erasures
from app.index.outbox import Outbox
from app.index.watch import watch
from app.model import EmbeddingConfig, Filter, NewMemory, Scope
from app.ports.database import Statement
from app.quotas import Defaults, Quotas
from app.tiers.agents import Agents
from app.tiers.bulk import ROOM_NAMES, Bulk, Line
from app.tiers.candidates import Candidates, Wanted
from app.tiers.listing import MemoryListing, Place
from app.tiers.long_term import LongTermMemory
from app.transfer import queueing

SCOPE = Scope("acme", "bot")
CONFIG = EmbeddingConfig("hashing", "ngrams-v1", 384)
WHERE = Filter(created_after=1, created_before=9, metadata={"k": 1})
TENANT = r"\w*\.?tenant_id = (\?1 ->> 'tenant_id'|\w+\.tenant_id)"
BOUND = (
    r"(?:WHERE|ON) (\w+)\.tenant_id = (?:\?1 ->> 'tenant_id'|\w+\.tenant_id)"
    r" AND \1\.agent_id = (?:\?1 ->> 'agent_id'|\w+\.agent_id)"
)
"""A row's alias, and that its first two conditions are the scope."""
IN_SCOPE = (
    "'scope : \"' || lower(hex(?1 ->> 'tenant_id')) || 'g' || lower(hex(?1 ->> 'agent_id'))"
    " || '0\" AND {content segments} : ' || term.value"
)
"""What is looked for in the index of words, whose rows name no tenant: a word of the scope's, in FTS5's syntax."""


BEYOND = {"taken", "removed"}
"""Ids are unique over all tenants: these learn of others' whether one is free, and nothing else."""


def statements() -> Iterator[tuple[str, Statement]]:
    """Every statement the request path can make, by the method that makes it."""
    memory, queue = LongTermMemory(SCOPE), Outbox(SCOPE)
    vector = np.zeros(384, np.float32)
    new, admission = NewMemory("text"), Admission(SCOPE, "1", NewMemory("text"), InUse(CONFIG), "key")
    yield "insert", memory.insert(new, admission, created_at=1)
    yield "delete", memory.delete("1")
    audit = Audit(SCOPE)
    yield "stored", audit.stored(admission, now=1, tokens=1, milliseconds=1.0)
    yield "deleted", audit.deleted("1", now=1)
    yield "remember", admission.remember()
    yield "leave_out", admission.leave_out()
    yield "admit", admission.admit()
    quotas, agents, listing = Quotas("acme", Defaults()), Agents("acme"), MemoryListing("acme")
    yield "read_quotas", quotas.read("bot")
    yield "agents", quotas.agents()
    yield "set_quotas", quotas.set("bot", {"memories": 1})
    yield "clear", quotas.clear("bot")
    yield "settings", agents.settings("bot")
    yield "set_agents", agents.set("bot", {"retention_days": 1, "long_term_enabled": False})
    for agent_id, place in ((None, None), ("bot", None), (None, Place(1, "1")), ("bot", Place(1, "1"))):
        yield "page", listing.page(agent_id, WHERE, most=5, after=place)
    yield "one", listing.one("bot", "1")
    for filterable in (None, {"k"}):
        yield "queue_upsert", queue.queue_upsert(new, {"index": vector}, admission, filterable=filterable)
    yield "queue_delete", queue.queue_delete("1")
    yield "pending", queue.pending(WHERE, "index")
    for number, where in enumerate((WHERE, Filter())):
        yield "gather", gathering(where, ['"x"'][:number], also="1" if number else None)
    for statement in Erasures("acme").accept("1", "bot"):
        yield "accept", statement
    line: Line = dict.fromkeys(("agent_id", "id", "content_hash", "vector", "deleted", "embedded", *ROOM_NAMES), "x")
    bulk = Bulk("acme", "bot")
    yield "no_room", bulk.no_room([line], Defaults())
    yield "survey", bulk.survey()
    yield "page", bulk.page((1, "1"), last=9, now=1)
    yield "by_id", bulk.by_id(["1"])
    yield "by_content", bulk.by_content([line])
    yield "erasing", bulk.erasing(["bot"])
    yield "insert", bulk.insert([line], InUse(CONFIG), Defaults())
    yield "imported", bulk.imported([line], CONFIG, now=1)
    yield "queue", queueing.queue("acme", [line], InUse(CONFIG), Defaults())
    yield "waiting", queueing.waiting("acme", [("bot", "1")], "index")
    yield "read_erasure", Erasures("acme").read("1", None)


def gathering(where: Filter, terms: list[str], also: str | None = None) -> Statement:
    return Candidates(SCOPE).gather(
        Wanted(terms, [("1", 1.0)], "index", pending_most=5, where=where, periods=[(1, 2)], fill=3, also=also)
    )


def test_no_method_that_makes_a_statement_is_forgotten_here() -> None:
    makers = {
        name
        for owner in (
            *(LongTermMemory, Outbox, Audit, Admission, Erasures, Bulk, queueing),
            *(Quotas, Agents, MemoryListing, Candidates),
        )
        for name, method in vars(owner).items()
        if getattr(method, "__annotations__", {}).get("return") in (Statement, list[Statement])
    }
    assert makers - BEYOND == {re.sub("_(erasure|quotas|agents)$", "", name) for name, _ in statements()}


# What is asked of rows that the same statement has read before, and of the index of words: see the next test.
OF_READ_ROWS = {
    "gather": (
        *("asked.", "telling.", "term.", "step.", "row IS NOT NULL"),
        *("memory_number.number = rough.number", "memory_words MATCH ", "FALSE"),
    )
}


@pytest.mark.parametrize(("name", "statement"), list(statements()))
def test_a_statement_names_the_tenant_before_anything_else(name: str, statement: Statement) -> None:
    conditions = re.findall(r"\b(?:WHERE|ON)\s+(?!CONFLICT)(.*?)(?= AND |\n|\)|$)", statement.sql)
    # Of the bound tenant's row, or of no row; the last but two are about an id, which is unique over all tenants.
    about_values: tuple[str, ...] = (
        *("config.", "coalesce(", "NOT EXISTS", "held.", "present.metadata ->", "holder.id"),
        *("min(coalesce(quota.", "store.", "EXISTS (", "NOT ("),
    )
    about_values += OF_READ_ROWS.get(name, ())
    about_rows = [c for c in conditions if not c.startswith(about_values) and "wanted" not in c]
    assert all(re.fullmatch(TENANT, condition) for condition in about_rows), about_rows
    # Rows are written with the bound tenant and no other.
    assert about_rows or re.search(r"(SELECT|VALUES \()\s*\?1 ->> 'tenant_id'", statement.sql), name
    assert isinstance(statement.argument, dict)
    assert statement.argument["tenant_id"] == "acme"


@pytest.mark.parametrize("terms", [[], ['"x"']])
def test_what_recall_chooses_from_is_of_the_scope(terms: list[str]) -> None:
    sql = gathering(WHERE, terms).sql
    tables = re.findall(r"(?:FROM|JOIN) (long_term_memory|outbox|usage)\b(?: AS (\w+))?", sql)
    read = Counter(alias or table for table, alias in tables)
    bound = Counter(re.findall(BOUND, sql))
    assert read == bound
    assert set(read) == {"memory", "beside", "outbox", "usage"}
    known = {"long_term_memory", "outbox", "usage", "memory_words", "memory_number", "json_each"}
    made = set(re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", sql)) | {"(SELECT", "("}
    assert set(re.findall(r"(?:FROM|JOIN) (\w+|\(SELECT|\()", sql)) <= known | made
    # Whose a row of the index of words is it does not tell: it is asked for the scope's words, and for nothing else,
    assert ("memory_words MATCH" in sql) == bool(terms)
    looked_for = re.findall(r"memory_words MATCH (.*?)(?: LIMIT | AND |\n)", sql.replace(IN_SCOPE, "IN_SCOPE"))
    assert set(looked_for) <= {"expressed.expression", "every.expression"}
    expressions = set(re.findall(r"([\w.]+(?:\([^()]*\))?) AS expression", sql.replace(IN_SCOPE, "IN_SCOPE")))
    assert expressions <= {"IN_SCOPE", "group_concat(expression, ' AND ')"}
    # and the memory whose number it has is read as any other, or is one that has been.
    numbers = re.findall(r"JOIN (memory_number.*?)\bWHERE (.*?)$", sql, re.DOTALL | re.MULTILINE)
    for joined, condition in numbers:
        assert (
            "memory_number.id = memory.id" in condition
            or "memory.id = memory_number.id" in condition
            or condition == "memory_number.number = rough.number"
        ), joined


def test_what_looks_beyond_the_tenant_learns_two_bits_and_which_configs_are_kept() -> None:
    sql = watch("acme").sql.split(f", {in_use.COLUMNS}")[0]
    assert re.findall(r"SELECT (.*?) FROM", sql) == ["(SELECT count(*) + count(receipt)", "1", "1", "1"]
    configs = set(re.findall(r"SELECT (.*?)\s+FROM (\w+)", in_use.COLUMNS))
    assert configs == {
        ("json_array(config.provider, config.model, config.dimensions, config.index_name)", "embedding_config"),
        ("of_tenant.index_name", "embedding_of_tenant"),
        ("in_use.index_name", "embedding_in_use"),
        ("in_use.epoch", "embedding_in_use"),
        ("1", "long_term_memory"),
    }
    assert sql.count("WHERE erasure.tenant_id = ?1 ->> 'tenant_id'") == 1
    assert re.findall(r"(NOT EXISTS|EXISTS) \(SELECT 1 FROM (\w+)", sql) == [
        ("NOT EXISTS", "lease"),
        ("EXISTS", "outbox"),
        ("EXISTS", "erasure"),
    ]


def test_an_import_learns_of_other_tenants_whether_an_id_is_free() -> None:
    bulk = Bulk("acme")
    taken, removed = bulk.taken(["1"]).sql, bulk.removed(["1"]).sql
    assert re.findall(r"SELECT (.*?)\s+FROM", taken, re.DOTALL) == ["wanted.value AS id", "1"]
    line: Line = dict.fromkeys(("agent_id", "id", "content_hash", "vector", "deleted", "embedded", *ROOM_NAMES), "x")
    queue = queueing.queue("acme", [line], InUse(CONFIG), Defaults()).sql
    assert "NOT EXISTS (SELECT 1 FROM long_term_memory AS holder WHERE holder.id = line.value ->> 'id')" in queue
    columns = re.findall(r"SELECT (.*?)\s+FROM", removed, re.DOTALL)[0].split(",")
    assert columns[0] == "outbox.id"
    assert all("CASE WHEN outbox.tenant_id = ?1 ->> 'tenant_id' THEN" in column for column in columns[1:])


# The indexer, the eraser and reconcile ask the index whose an id is and which ids it has at all, without a scope;
# neither is on a request's path, and neither answers a vector or a text.
CROSSES_SCOPES = {"_HELD", "_LISTED"}


def test_every_statement_of_the_local_index_names_the_tenant_first_except_two_that_cross_scopes() -> None:
    texts = {k: sql for k, sql in vars(sqlite_index).items() if isinstance(sql, str) and "local_vector" in sql}
    assert texts.keys() >= CROSSES_SCOPES
    bound = {name: sql for name, sql in texts.items() if name not in CROSSES_SCOPES}
    assert len(bound) >= 9
    for sql in bound.values():
        where = re.findall(r"WHERE (.*?) AND ", sql)
        assert where == ["tenant_id = ?1 ->> 'tenant_id'"] or "VALUES (" in sql, sql
