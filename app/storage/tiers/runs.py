"""The run that a statement names, and its agent, for the statements of every tier."""

from app.domain.memory import Scope, Tenant
from app.storage.scoped import ScopedStatement

OF_RUN = """run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
  AND (?1 ->> 'agent_id' IS NULL OR run.agent_id = ?1 ->> 'agent_id')"""
"""The condition on ``agent_runs AS run``; in a statement for one agent, other agents' runs do not pass it."""


def agent_of_run(owner: Scope | Tenant, run_id: str) -> ScopedStatement:
    """Read the ``agent_id`` of a run, which never changes; no row where the owner has no such run."""
    return ScopedStatement.read(owner, f"SELECT run.agent_id FROM agent_runs AS run WHERE {OF_RUN}", run_id=run_id)
