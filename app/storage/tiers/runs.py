"""The run that a statement names, and its agent, for the statements of every tier."""

from app.domain.canaries import CANARY_AGENT
from app.domain.memory import Scope, Tenant
from app.storage.scoped import ScopedStatement

OF_RUN = """run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
  AND (?1 ->> 'agent_id' IS NULL OR run.agent_id = ?1 ->> 'agent_id')"""
"""The condition on ``agent_runs AS run``; in a statement for one agent, other agents' runs do not pass it."""
OF_WRITTEN_RUN = f"""{OF_RUN}
  AND (?1 ->> 'agent_id' IS NOT NULL OR run.agent_id <> '{CANARY_AGENT}')"""
"""The same for statements that write: who reaches all agents does not write to a canary's run, where nothing counts."""


def agent_of_run(owner: Scope | Tenant, run_id: str) -> ScopedStatement:
    """Read the ``agent_id`` of a run, which never changes; no row where the owner has no such run, or may not write."""
    sql = f"SELECT run.agent_id FROM agent_runs AS run WHERE {OF_WRITTEN_RUN}"
    return ScopedStatement.read(owner, sql, run_id=run_id)
