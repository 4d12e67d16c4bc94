"""The run that a statement names, and whose it is: what every tier asks of runs."""

from app.domain.memory import Scope, Tenant
from app.storage.scoped import ScopedStatement

OF_RUN = """run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
  AND (?1 ->> 'agent_id' IS NULL OR run.agent_id = ?1 ->> 'agent_id')"""
"""The condition on ``agent_runs AS run``: for one agent alone, the runs of others are not there."""


def agent_of_run(owner: Scope | Tenant, run_id: str) -> ScopedStatement:
    """Read the ``agent_id`` of a run, which is of one agent for ever; no row where the owner has no such run."""
    return ScopedStatement.read(owner, f"SELECT run.agent_id FROM agent_runs AS run WHERE {OF_RUN}", run_id=run_id)
