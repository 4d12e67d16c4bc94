"""Statements of the golden questions of a tenant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.memory import Scope, Tenant
from app.ports.database import Row
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement

MAX_WRITTEN = 20
"""Questions that one statement writes at most, of up to 64 KiB each."""

_READ = """
SELECT golden.agent_id, golden.id, golden.question FROM golden_question AS golden
WHERE golden.tenant_id = ?1 ->> 'tenant_id' ORDER BY golden.agent_id, golden.id
"""
_PUT = """
INSERT INTO golden_question (tenant_id, agent_id, id, question)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', value ->> 'id', value ->> 'question'
FROM json_each(?1, '$.questions') WHERE TRUE
ON CONFLICT (tenant_id, agent_id, id) DO UPDATE SET question = excluded.question
"""
_REMOVE = "DELETE FROM golden_question WHERE tenant_id = ?1 ->> 'tenant_id' RETURNING id"
_EXISTING = """
SELECT memory.id FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value AND memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
"""


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """A golden question as it is kept: its line of a file as JSON, without the tenant."""

    agent_id: str
    id: str
    question: str


def read(tenant_id: str) -> ScopedStatement:
    """Read the questions of the tenant, for ``read_stored``."""
    return ScopedStatement.read(Tenant(tenant_id), _READ)


def read_stored(rows: Iterable[Row]) -> list[StoredQuestion]:
    """Read the rows of ``read``."""
    return read_rows(StoredQuestion, list(rows))


def put(scope: Scope, questions: Sequence[StoredQuestion]) -> ScopedStatement:
    """Write questions of one agent."""
    return ScopedStatement.write(scope, _PUT, questions=[{"id": one.id, "question": one.question} for one in questions])


def remove(tenant_id: str) -> ScopedStatement:
    """Remove the questions of the tenant, and return a row for each."""
    return ScopedStatement.write(Tenant(tenant_id), _REMOVE)


def existing(scope: Scope, ids: Sequence[str]) -> ScopedStatement:
    """Read which of these memories the agent has."""
    return ScopedStatement.read(scope, _EXISTING, ids=list(ids))
