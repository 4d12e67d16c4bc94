"""Statements over workflows, their outcomes, and the runs that they are selected for."""

from dataclasses import dataclass

from app.domain import limits
from app.domain.json_types import to_json
from app.domain.memory import Scope, Tenant
from app.domain.workflows import Workflow
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement

_LISTED = (
    "workflow.id AS workflow_id, workflow.agent_type, workflow.task_type, workflow.alpha, workflow.beta,"
    " workflow.discount, workflow.enabled, workflow.created_at, workflow.updated_at"
)
_TENANT = "workflow.tenant_id = ?1 ->> 'tenant_id'"
_ONE = f"{_TENANT} AND workflow.id = ?1 ->> 'workflow_id'"
_OF_TASK = f"{_TENANT} AND workflow.agent_type = ?1 ->> 'agent_type' AND workflow.task_type = ?1 ->> 'task_type'"
_COUNTS = f"""
SELECT (SELECT count(*) FROM workflow WHERE {_TENANT}) AS of_tenant,
  (SELECT count(*) FROM workflow WHERE {_OF_TASK}) AS of_task
"""
_PUT = f"""
INSERT INTO workflow (tenant_id, id, agent_type, task_type, spec, discount, enabled, created_at, updated_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'workflow_id', ?1 ->> 'agent_type', ?1 ->> 'task_type', ?1 ->> 'spec',
  ?1 ->> 'discount', ?1 ->> 'enabled', {NOW}, {NOW}
FROM ({_COUNTS}) AS held
WHERE EXISTS (SELECT 1 FROM workflow WHERE {_ONE})
  OR held.of_tenant < ?1 ->> 'most' AND held.of_task < ?1 ->> 'most_of_task'
ON CONFLICT (tenant_id, id) DO UPDATE
SET spec = excluded.spec, discount = excluded.discount, enabled = excluded.enabled, updated_at = excluded.updated_at
WHERE workflow.agent_type = excluded.agent_type AND workflow.task_type = excluded.task_type
"""
_DELETE = f"DELETE FROM workflow WHERE {_ONE}"
# Of a credential for one agent alone, the runs of others are not there.
_RUN = """
run.tenant_id = ?1 ->> 'tenant_id' AND (?1 ->> 'agent_id' IS NULL OR run.agent_id = ?1 ->> 'agent_id')
AND run.id = ?1 ->> 'run_id'
"""
_NOTE = """
UPDATE agent_runs SET workflow_id = ?1 ->> 'workflow_id'
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND id = ?1 ->> 'run_id' AND status = 'running'
RETURNING id
"""
_KNOWN = f"""
SELECT (SELECT workflow.agent_type FROM workflow WHERE {_ONE}) AS workflow_type,
  (SELECT run.agent_type FROM agent_runs AS run WHERE {_RUN}) AS run_type,
  EXISTS (
    SELECT 1 FROM workflow_outcome AS outcome
    WHERE outcome.tenant_id = ?1 ->> 'tenant_id' AND outcome.workflow_id = ?1 ->> 'workflow_id'
      AND outcome.run_id = ?1 ->> 'run_id'
  ) AS counted
"""
_SCORE = f"""
INSERT INTO workflow_scoring (tenant_id, workflow_id, run_id, score)
SELECT workflow.tenant_id, workflow.id, run.id, ?1 ->> 'score'
FROM workflow CROSS JOIN agent_runs AS run
WHERE {_ONE} AND {_RUN} AND run.agent_type = workflow.agent_type
"""


@dataclass(frozen=True, slots=True)
class Draw:
    """What a selection draws from."""

    workflow_id: str
    alpha: float
    beta: float


@dataclass(frozen=True, slots=True)
class RunState:
    """The run that a workflow is selected for."""

    agent_id: str
    agent_type: str
    status: str


@dataclass(frozen=True, slots=True)
class Known:
    """What an outcome names, as it was before it: None is not there."""

    workflow_type: str | None
    run_type: str | None
    counted: bool


@dataclass(frozen=True, slots=True)
class Workflows:
    """Statements over the workflows of one tenant, bound here.

    ``scope`` in them is the only agent whose runs may be named, or the tenant.
    """

    tenant_id: str

    def put(self, workflow: Workflow) -> ScopedStatement:
        """Make a workflow, where there is room for one more, or change what may change of it."""
        return ScopedStatement.write(
            self._tenant,
            _PUT,
            workflow_id=workflow.workflow_id,
            agent_type=workflow.agent_type,
            task_type=workflow.task_type,
            spec=to_json(workflow.spec),
            discount=workflow.discount,
            enabled=int(workflow.enabled),
            most=limits.MAX_WORKFLOWS,
            most_of_task=limits.MAX_WORKFLOWS_OF_TASK,
        )

    def counts(self, agent_type: str, task_type: str) -> ScopedStatement:
        """Count the workflows: ``of_tenant``, and ``of_task``."""
        return ScopedStatement.read(self._tenant, _COUNTS, agent_type=agent_type, task_type=task_type)

    def one(self, workflow_id: str) -> ScopedStatement:
        """Read a workflow, as rows of ``Workflow``."""
        sql = f"SELECT {_LISTED}, workflow.spec FROM workflow WHERE {_ONE}"
        return ScopedStatement.read(self._tenant, sql, workflow_id=workflow_id)

    def delete(self, workflow_id: str) -> ScopedStatement:
        """Delete a workflow; its outcomes stay until they are too old."""
        return ScopedStatement.write(self._tenant, _DELETE, workflow_id=workflow_id)

    def page(self, agent_type: str | None, task_type: str | None, *, limit: int, after: str | None) -> ScopedStatement:
        """Read the next workflows behind an id, as rows of ``ListedWorkflow``; None is of every type."""
        return ScopedStatement.read(
            self._tenant,
            f"SELECT {_LISTED} FROM workflow WHERE {_TENANT}"
            " AND (?1 ->> 'agent_type' IS NULL OR workflow.agent_type = ?1 ->> 'agent_type')"
            " AND (?1 ->> 'task_type' IS NULL OR workflow.task_type = ?1 ->> 'task_type')"
            " AND (?1 ->> 'after' IS NULL OR workflow.id > ?1 ->> 'after') ORDER BY workflow.id LIMIT ?1 ->> 'limit'",
            agent_type=agent_type,
            task_type=task_type,
            after=after,
            limit=limit,
        )

    def draws(self, agent_type: str, task_type: str) -> ScopedStatement:
        """Read what is selected from, in order of id, as rows of ``Draw``."""
        sql = (
            "SELECT workflow.id AS workflow_id, workflow.alpha, workflow.beta FROM workflow INDEXED BY workflow_of_task"
            f" WHERE {_OF_TASK} AND workflow.enabled ORDER BY workflow.id"
        )
        return ScopedStatement.read(self._tenant, sql, agent_type=agent_type, task_type=task_type)

    def run(self, scope: Scope | Tenant, run_id: str | None) -> ScopedStatement:
        """Read a run, as rows of ``RunState``."""
        sql = f"SELECT run.agent_id, run.agent_type, run.status FROM agent_runs AS run WHERE {_RUN}"
        return ScopedStatement.read(scope, sql, run_id=run_id)

    def note(self, scope: Scope, run_id: str, workflow_id: str) -> ScopedStatement:
        """Note in a run of an agent what was selected for it; no row comes back where it is not running any more."""
        return ScopedStatement.write(scope, _NOTE, run_id=run_id, workflow_id=workflow_id)

    def score(self, scope: Scope | Tenant, workflow_id: str, run_id: str, score: float) -> list[ScopedStatement]:
        """Count the outcome of a run for a workflow, where both are there, of one agent type, and it is the first.

        The first statement reads ``Known``, the last the workflow.
        """
        return [
            ScopedStatement.read(scope, _KNOWN, workflow_id=workflow_id, run_id=run_id),
            ScopedStatement.write(scope, _SCORE, workflow_id=workflow_id, run_id=run_id, score=score),
            self.one(workflow_id),
        ]

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)
