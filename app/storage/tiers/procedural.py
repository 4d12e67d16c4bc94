"""Statements over workflows, their outcomes, and the runs that they are selected for."""

from dataclasses import dataclass

from app.domain import limits
from app.domain.author import Author
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.domain.workflows import ListedWorkflow, NewWorkflow
from app.ports.database import NOW
from app.storage.declared import behind, columns_of, insert, names_of
from app.storage.listing import ListPosition
from app.storage.rows import values_of
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import OF_RUN
from app.storage.tiers.workflow_weights import counts

_VERSION = "coalesce(workflow.version, 1)"
_LISTED = columns_of(ListedWorkflow, "workflow", alpha="", beta="", workflow_id="workflow.id", version=_VERSION)
_GIVEN = [name for name in names_of(NewWorkflow) if name != "workflow_id"]
_CHANGES = [name for name in _GIVEN if name not in {"agent_type", "task_type", "spec"}]
"""The columns that a put may change beside the spec, of which there are versions."""
_TENANT = "workflow.tenant_id = ?1 ->> 'tenant_id'"
_ONE = f"{_TENANT} AND workflow.id = ?1 ->> 'workflow_id'"
_OF_TASK = f"{_TENANT} AND workflow.agent_type = ?1 ->> 'agent_type' AND workflow.task_type = ?1 ->> 'task_type'"
_OWN = counts("?1 ->> 'only_agent'")
_COUNTS = f"""
SELECT (SELECT count(*) FROM workflow WHERE {_TENANT}) AS of_tenant,
  (SELECT count(*) FROM workflow WHERE {_OF_TASK}) AS of_task
"""
_ROOM = "held.of_tenant < ?1 ->> 'most' AND held.of_task < ?1 ->> 'most_of_task'"
_SAME_TYPES = "workflow.agent_type = ?1 ->> 'agent_type' AND workflow.task_type = ?1 ->> 'task_type'"
_NEW_TEXT = "workflow.spec <> ?1 ->> 'spec'"
_OF_IT = "kept.tenant_id = ?1 ->> 'tenant_id' AND kept.workflow_id = ?1 ->> 'workflow_id'"
# These delete the tallies and texts of a deleted workflow of this id: a new one begins without any.
_CLEAR = tuple(
    f"DELETE FROM {table} AS kept WHERE {_OF_IT} AND NOT EXISTS (SELECT 1 FROM workflow WHERE {_ONE})"
    for table in ("workflow_tally", "workflow_version")
)
_AUDIT_PUT = f"""
INSERT INTO audit (tenant_id, event, detail, created_at, written_by)
SELECT ?1 ->> 'tenant_id', 'workflow_put', json_object(
    'workflow_id', ?1 ->> 'workflow_id', 'version', coalesce({_VERSION} + ({_NEW_TEXT}), 1),
    'enabled', json(iif(?1 ->> 'enabled', 'true', 'false')), 'discount', ?1 ->> 'discount'
  ), {NOW}, ?1 ->> 'by'
FROM ({_COUNTS}) AS held LEFT JOIN workflow ON {_ONE}
WHERE workflow.id IS NULL AND {_ROOM} OR {_SAME_TYPES}
  AND ({" OR ".join([_NEW_TEXT, *(f"workflow.{name} <> ?1 ->> '{name}'" for name in _CHANGES)])})
"""
_KEEP_TEXT = f"""
INSERT INTO workflow_version (tenant_id, workflow_id, version, written_by, written_through, written_at, spec)
SELECT workflow.tenant_id, workflow.id, {_VERSION}, workflow.written_by, workflow.written_through,
  coalesce(workflow.written_at, workflow.created_at), workflow.spec
FROM workflow WHERE {_ONE} AND {_SAME_TYPES} AND {_NEW_TEXT}
ON CONFLICT DO NOTHING
"""
_PUT = insert(
    "workflow",
    " ".join(_GIVEN),
    f"""FROM ({_COUNTS}) AS held
WHERE EXISTS (SELECT 1 FROM workflow WHERE {_ONE}) OR {_ROOM}
ON CONFLICT (tenant_id, id) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in [*_CHANGES, "updated_at"])},
  (version, written_by, written_through, written_at) = (
    SELECT {_VERSION} + 1, excluded.written_by, excluded.written_through, excluded.written_at
    WHERE workflow.spec <> excluded.spec
    UNION ALL
    SELECT workflow.version, workflow.written_by, workflow.written_through, workflow.written_at
    WHERE workflow.spec = excluded.spec
  ),
  spec = excluded.spec
WHERE workflow.agent_type = excluded.agent_type AND workflow.task_type = excluded.task_type""",
    id="?1 ->> 'workflow_id'",
    created_at=NOW,
    updated_at=NOW,
    version="1",
    written_by="?1 ->> 'by'",
    written_through="?1 ->> 'through'",
    written_at=NOW,
)
_TRIM = f"""
DELETE FROM workflow_version AS kept WHERE {_OF_IT}
  AND kept.version < (SELECT {_VERSION} FROM workflow WHERE {_ONE}) - {limits.MAX_WORKFLOW_VERSIONS}
"""
_AUDIT_DELETE = f"""
INSERT INTO audit (tenant_id, event, detail, created_at, written_by)
SELECT workflow.tenant_id, 'workflow_deleted', json_object('workflow_id', workflow.id, 'version', {_VERSION}), {NOW},
  ?1 ->> 'by'
FROM workflow WHERE {_ONE}
"""
_DELETE = (
    f"DELETE FROM workflow_tally AS kept WHERE {_OF_IT}",
    f"DELETE FROM workflow_version AS kept WHERE {_OF_IT}",
    f"DELETE FROM workflow WHERE {_ONE}",
)
_PAGE = f"""
SELECT {_LISTED}, {_OWN} AS counts, 0 AS page_at, workflow.id AS page_tie FROM workflow WHERE {_TENANT}
  AND (?1 ->> 'agent_type' IS NULL OR workflow.agent_type = ?1 ->> 'agent_type')
  AND (?1 ->> 'task_type' IS NULL OR workflow.task_type = ?1 ->> 'task_type')
  AND (?1 ->> 'page_tie' IS NULL OR workflow.id > ?1 ->> 'page_tie') ORDER BY workflow.id LIMIT ?1 ->> 'limit'
"""
_NOTE = """
UPDATE agent_runs SET workflow_id = ?1 ->> 'workflow_id'
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND id = ?1 ->> 'run_id' AND status = 'running'
RETURNING id
"""
_KNOWN = f"""
SELECT (SELECT workflow.agent_type FROM workflow WHERE {_ONE}) AS workflow_type,
  (SELECT run.agent_type FROM agent_runs AS run WHERE {OF_RUN}) AS run_type,
  EXISTS (
    SELECT 1 FROM workflow_outcome AS outcome
    WHERE outcome.tenant_id = ?1 ->> 'tenant_id' AND outcome.workflow_id = ?1 ->> 'workflow_id'
      AND outcome.run_id = ?1 ->> 'run_id'
  ) AS counted
"""
_SCORE = insert(
    "workflow_scoring",
    "score author only_agent",
    f"""FROM workflow CROSS JOIN agent_runs AS run
WHERE {_ONE} AND {OF_RUN} AND run.agent_type = workflow.agent_type""",
    workflow_id="workflow.id",
    run_id="run.id",
    agent_id="run.agent_id",
    written_by="?1 ->> 'by'",
    written_through="?1 ->> 'through'",
)
# The agent that the choice is for: the agent of the run, or the one that the caller names.
_CHOOSER = f"coalesce((SELECT run.agent_id FROM agent_runs AS run WHERE {OF_RUN}), ?1 ->> 'chooser')"
_DRAWS = f"""
SELECT workflow.id AS workflow_id, {counts(_CHOOSER)} AS counts FROM workflow INDEXED BY workflow_of_task
WHERE {_OF_TASK} AND workflow.enabled ORDER BY workflow.id
"""
_VERSIONS = f"""
SELECT * FROM (
  SELECT {_VERSION} AS version, workflow.written_by, workflow.written_through,
    coalesce(workflow.written_at, workflow.created_at) AS written_at, workflow.spec
  FROM workflow WHERE {_ONE}
  UNION ALL
  SELECT kept.version, kept.written_by, kept.written_through, kept.written_at, kept.spec
  FROM workflow_version AS kept WHERE {_OF_IT}
) AS text
"""


@dataclass(frozen=True, slots=True)
class Draw:
    """A workflow that a selection may draw, with the posterior of its rate of success."""

    workflow_id: str
    alpha: float
    beta: float


@dataclass(frozen=True, slots=True)
class SelectingRun:
    """The run that a workflow is selected for."""

    agent_id: str
    agent_type: str
    status: str


@dataclass(frozen=True, slots=True)
class OutcomeTarget:
    """The workflow and the run of an outcome, as they were before it; the type of one that does not exist is None."""

    workflow_type: str | None
    run_type: str | None
    counted: bool


@dataclass(frozen=True, slots=True)
class Workflows:
    """Statements over the workflows of one tenant, for one author; both are bound here.

    Their ``scope`` is the only agent whose runs may be named, or the tenant. A row of a workflow has its ``counts`` as
    they are for the author (``workflow_weights.counted``).
    """

    tenant_id: str
    author: Author

    def put(self, workflow: NewWorkflow) -> list[ScopedStatement]:
        """Make a workflow, where there is room for one more, or change its changeable columns; its old text is kept."""
        room: dict[str, Json] = {"most": limits.MAX_WORKFLOWS, "most_of_task": limits.MAX_WORKFLOWS_OF_TASK}
        values = values_of(workflow) | room
        return [self._write(sql, **values) for sql in (*_CLEAR, _AUDIT_PUT, _KEEP_TEXT, _PUT, _TRIM)]

    def counts(self, agent_type: str, task_type: str) -> ScopedStatement:
        """Count the workflows of the tenant and of a task: one row."""
        return ScopedStatement.read(self._tenant, _COUNTS, agent_type=agent_type, task_type=task_type)

    def one(self, workflow_id: str) -> ScopedStatement:
        """Read a workflow, as rows of ``Workflow``."""
        return self._read(
            f"SELECT {_LISTED}, {_OWN} AS counts, workflow.spec FROM workflow WHERE {_ONE}", workflow_id=workflow_id
        )

    def delete(self, workflow_id: str) -> list[ScopedStatement]:
        """Delete a workflow with its tallies and its texts; its outcomes stay."""
        return [self._write(sql, workflow_id=workflow_id) for sql in (_AUDIT_DELETE, *_DELETE)]

    def versions(self, workflow_id: str) -> ScopedStatement:
        """Read the texts of a workflow without their specs, newest first, as rows of ``WorkflowText``."""
        columns = "text.version, text.written_by, text.written_through, text.written_at"
        sql = f"SELECT {columns} FROM ({_VERSIONS}) AS text ORDER BY text.version DESC"
        return self._read(sql, workflow_id=workflow_id)

    def version(self, workflow_id: str, version: int) -> ScopedStatement:
        """Read one text of a workflow, as rows of ``WorkflowVersion``."""
        sql = f"SELECT * FROM ({_VERSIONS}) AS text WHERE text.version = ?1 ->> 'version'"
        return self._read(sql, workflow_id=workflow_id, version=version)

    def page(
        self, agent_type: str | None, task_type: str | None, *, limit: int, after: ListPosition | None
    ) -> ScopedStatement:
        """Read the next workflows in order of id, as rows of ``ListedWorkflow``; a type of None stands for all."""
        return self._read(_PAGE, agent_type=agent_type, task_type=task_type, limit=limit, **behind(after))

    def draws(
        self, scope: Scope | Tenant, agent_type: str, task_type: str, *, run_id: str | None, chooser: str | None
    ) -> ScopedStatement:
        """Read the workflows that a selection draws from, in order of id, as rows of ``Draw``.

        ``chooser`` is the agent that the choice is for, where there is no run.
        """
        return ScopedStatement.read(
            scope,
            _DRAWS,
            agent_type=agent_type,
            task_type=task_type,
            run_id=run_id,
            chooser=self.author.agent_id or chooser,
            by=self.author.credential_id,
        )

    def run(self, scope: Scope | Tenant, run_id: str | None) -> ScopedStatement:
        """Read a run, as rows of ``SelectingRun``."""
        sql = f"SELECT run.agent_id, run.agent_type, run.status FROM agent_runs AS run WHERE {OF_RUN}"
        return ScopedStatement.read(scope, sql, run_id=run_id)

    def note(self, scope: Scope, run_id: str, workflow_id: str) -> ScopedStatement:
        """Note in an agent's run which workflow was selected; returns no row where the run is not running any more."""
        return ScopedStatement.write(scope, _NOTE, run_id=run_id, workflow_id=workflow_id)

    def score(self, scope: Scope | Tenant, workflow_id: str, run_id: str, score: float) -> list[ScopedStatement]:
        """Count a run's first outcome for a workflow, where both exist and are of one agent type.

        The first statement reads ``OutcomeTarget``, the last the workflow.
        """
        scoring = ScopedStatement.write(
            scope,
            _SCORE,
            workflow_id=workflow_id,
            run_id=run_id,
            score=score,
            by=self.author.credential_id,
            through=self.author.channel,
            author=self.author.reach,
            only_agent=self.author.agent_id,
        )
        known = ScopedStatement.read(scope, _KNOWN, workflow_id=workflow_id, run_id=run_id)
        return [known, scoring, self.one(workflow_id)]

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)

    def _read(self, sql: str, **values: Json) -> ScopedStatement:
        author = self.author
        return ScopedStatement.read(self._tenant, sql, by=author.credential_id, only_agent=author.agent_id, **values)

    def _write(self, sql: str, **values: Json) -> ScopedStatement:
        author = self.author
        return ScopedStatement.write(self._tenant, sql, by=author.credential_id, through=author.channel, **values)  # type: ignore[arg-type]  # no name of it is repeatable
