"""Procedural memory of one tenant: workflows that compete for a task, selected by Thompson sampling."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, TypeVar

from app.domain import limits, posterior
from app.domain.errors import Conflict, FieldError, InvalidRequest, NotFound, QuotaExceeded
from app.domain.memory import Scope, Tenant, owner_of
from app.domain.workflows import (
    ListedWorkflow,
    NewWorkflow,
    Outcome,
    Selection,
    Workflow,
    WorkflowText,
    WorkflowVersion,
)
from app.ports.database import Row
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import write
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers.procedural import Draw, OutcomeTarget, SelectingRun, Workflows
from app.storage.tiers.workflow_weights import counted

_T = TypeVar("_T")

_TRIES = 3
"""Draws of one selection: another draw is made where the drawn workflow was deleted before it could be read."""
SCORE_DECIMALS: Final = 6
"""Decimals to which a score is rounded: sums of such scores are the same in any order."""


class ProceduralMemory:
    """Keeps the workflows of one tenant, selects among them and counts their outcomes.

    The tenant is bound here, and no method takes another. Where a method takes ``agent_id``, this is the only agent
    whose runs may be named; None: the runs of all agents. The posteriors are those of the request's author.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._workflows = Workflows(backends.tenant_id, backends.author)

    async def put(self, workflow: NewWorkflow) -> Workflow:
        """Make a workflow, or change its ``spec``, ``discount`` and ``enabled``, and return it with its counts.

        A ``spec`` that is replaced stays as a version.

        Raises:
            Conflict: the workflow is there for another agent type or task type; nothing was changed.
            QuotaExceeded: the tenant, or the task, has as many workflows as it may.
            Erasing, Unauthenticated, Unavailable: as ``write`` says.
        """
        workflow = await self._backends.screened(workflow)
        *_, rows, (counts,) = await self._write(
            *self._workflows.put(workflow),
            self._workflows.one(workflow.workflow_id),
            self._workflows.counts(workflow.agent_type, workflow.task_type),
        )
        if not rows:
            raise _full(workflow, counts)
        put = _read(Workflow, rows)[0]
        changed = [
            FieldError(name, f"is {there}, and cannot change: delete the workflow, or take another id")
            for name, asked, there in (
                ("agent_type", workflow.agent_type, put.agent_type),
                ("task_type", workflow.task_type, put.task_type),
            )
            if asked != there
        ]
        if changed:
            raise Conflict("; ".join(f"{error.field} {error.message}" for error in changed) + ".", errors=changed)
        return put

    async def get(self, workflow_id: str) -> Workflow:
        """Return a workflow.

        Raises:
            NotFound: the tenant has no such workflow.
            InvalidRequest: the id has not the form of a workflow's id.
            Unavailable: the database does not answer.
        """
        limits.check(*_names(workflow_id))
        (rows,) = await self._database.run([self._workflows.one(workflow_id)])
        if not rows:
            raise _no_workflow()
        return _read(Workflow, rows)[0]

    async def delete(self, workflow_id: str) -> None:
        """Delete a workflow with its texts; an id that names no workflow is no error.

        A run that the workflow has counted is not counted again, even for a later workflow of the same id.

        Raises:
            InvalidRequest: the id has not the form of a workflow's id.
            Erasing, Unauthenticated, Unavailable: as ``write`` says.
        """
        limits.check(*_names(workflow_id))
        await write(self._backends, self._tenant, self._workflows.delete(workflow_id), kind="upkeep")

    async def versions(self, workflow_id: str) -> list[WorkflowText]:
        """Return the texts of a workflow without their specs, newest first: the text in use, then those it replaced.

        Raises:
            NotFound: the tenant has no such workflow.
            InvalidRequest: the id has not the form of a workflow's id.
            Unavailable: the database does not answer.
        """
        limits.check(*_names(workflow_id))
        (rows,) = await self._database.run([self._workflows.versions(workflow_id)])
        if not rows:
            raise _no_workflow()
        return read_rows(WorkflowText, rows)

    async def version(self, workflow_id: str, version: int) -> WorkflowVersion:
        """Return one text of a workflow.

        Raises:
            NotFound: the tenant has no such workflow, or this version of its text is not kept any more.
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(*_names(workflow_id), ("version", limits.WORKFLOW_VERSION, version))
        (rows,) = await self._database.run([self._workflows.version(workflow_id, version)])
        if not rows:
            raise NotFound(
                "The tenant has no such workflow, or not this version of its text.",
                errors=[FieldError("version", "names no version that is kept")],
            )
        return read_row(WorkflowVersion, rows[0])

    async def restore(self, workflow_id: str, version: int) -> Workflow:
        """Give a workflow the text of an older version, as its newest version; its other fields stay.

        Raises:
            NotFound: as ``version`` says.
            InvalidRequest: a field is over its limits.
            Unavailable, Erasing, Unauthenticated: as ``put`` says.
        """
        text, kept = await self.version(workflow_id, version), await self.get(workflow_id)
        new = NewWorkflow(workflow_id, kept.agent_type, kept.task_type, text.spec, kept.discount, kept.enabled)
        return await self.put(new)

    async def page(
        self,
        agent_type: str | None = None,
        task_type: str | None = None,
        *,
        limit: int,
        after: ListPosition | None = None,
    ) -> ListPage[ListedWorkflow]:
        """Return the next workflows of these types, in the order of their ids; None: of every type.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(*_names(None, agent_type, task_type), ("limit", limits.LIST_LIMIT, limit))
        wanted = self._workflows.page(agent_type, task_type, limit=limit + 1, after=after)
        (rows,) = await self._database.run([wanted])
        return list_page(ListedWorkflow, [counted(row) for row in rows], limit)

    async def select(
        self,
        agent_type: str,
        task_type: str,
        *,
        seed: int | None = None,
        run_id: str | None = None,
        agent_id: str | None = None,
        chooser: str | None = None,
    ) -> Selection:
        """Draw a rate from the posterior of each enabled workflow of the task; return the workflow of the highest rate.

        The posterior is that of the agent that the choice is for.

        Args:
            agent_type: The agent's type.
            task_type: The type of the task.
            seed: Makes the draws the same for the same counts; None: fresh entropy.
            run_id: The running run in which the choice is noted.
            agent_id: The only agent whose run may be named; None: the runs of all agents.
            chooser: The agent that the choice is for, where neither the credential nor a run names an agent.

        Raises:
            NotFound: the task has no enabled workflow, or the tenant has no such running run.
            InvalidRequest: a field is over its limits, or the run is of another agent type.
            Erasing, Unauthenticated, Unavailable: as ``write`` says.
        """
        limits.check(
            *_names(None, agent_type, task_type), ("seed", limits.SEED, seed), ("run_id", limits.RUN_ID, run_id)
        )
        scope = self._scope(agent_id)
        drawing = self._workflows.draws(scope, agent_type, task_type, run_id=run_id, chooser=chooser)
        for _ in range(_TRIES):
            draws, runs = await self._database.run([drawing, self._workflows.run(scope, run_id)])
            run = None if run_id is None else _running(runs, agent_type)
            drawn = _read(Draw, draws)
            if not drawn:
                break
            rates = posterior.draw([(draw.alpha, draw.beta) for draw in drawn], seed)
            best = max(range(len(rates)), key=rates.__getitem__)
            rows = await self._chosen(drawn[best].workflow_id, run, run_id)
            if rows:
                spec = _read(Workflow, rows)[0].spec
                return Selection(**asdict(drawn[best]), spec=spec, sampled=rates[best])
        raise NotFound("There is no enabled workflow for this task.")

    async def outcome(self, workflow_id: str, run_id: str, score: float, *, agent_id: str | None = None) -> Outcome:
        """Count the score of a run with a workflow, 0 to 1. The same run again changes nothing.

        Raises:
            NotFound: the tenant has no such workflow, or no such run.
            InvalidRequest: a field is over its limits, or the run is of another agent type than the workflow.
            Erasing, Unauthenticated, Unavailable: as ``write`` says; the outcome may be counted, and to post it again
                is safe.
        """
        limits.check(*_names(workflow_id), ("run_id", limits.RUN_ID, run_id), ("score", limits.SCORE, score))
        scope = self._scope(agent_id)
        counting = self._workflows.score(scope, workflow_id, run_id, round(float(score), SCORE_DECIMALS))
        (before,), _, rows = await write(self._backends, scope, counting)
        known = read_row(OutcomeTarget, before)
        if known.workflow_type is None or not rows:
            raise _no_workflow()
        if known.run_type is None:
            raise _no_run("The tenant has no such run.")
        if known.run_type != known.workflow_type:
            raise _other_type("run_id", known.run_type, f"the workflow is for {known.workflow_type}")
        after = _read(Workflow, rows)[0]
        return Outcome(after.alpha, after.beta, counted=not known.counted)

    async def _chosen(self, workflow_id: str, run: SelectingRun | None, run_id: str | None) -> list[Row]:
        """Read the workflow that was chosen, and note it in the run, where the request names a run."""
        wanted = self._workflows.one(workflow_id)
        if run is None or run_id is None:
            (rows,) = await self._database.run([wanted])
            return rows
        scope = Scope(self._backends.tenant_id, run.agent_id)
        rows, noted = await write(self._backends, scope, [wanted, self._workflows.note(scope, run_id, workflow_id)])
        if not noted:
            raise _no_run("The run has just ended.")
        return rows

    async def _write(self, *statements: ScopedStatement) -> list[list[Row]]:
        return await write(self._backends, self._tenant, statements)

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self._backends.tenant_id)

    def _scope(self, agent_id: str | None) -> Scope | Tenant:
        return owner_of(self._backends.tenant_id, agent_id)


def _read(kind: type[_T], rows: Sequence[Row]) -> list[_T]:
    """Read rows of workflows with their counts."""
    return read_rows(kind, map(counted, rows))


def _names(
    workflow_id: str | None, agent_type: str | None = None, task_type: str | None = None
) -> tuple[tuple[str, limits.Bound, str | None], ...]:
    return (
        ("workflow_id", limits.AGENT_ID, workflow_id),
        ("agent_type", limits.AGENT_ID, agent_type),
        ("task_type", limits.AGENT_ID, task_type),
    )


def _running(rows: list[Row], agent_type: str) -> SelectingRun:
    """Return the run that a workflow is selected for."""
    run = read_row(SelectingRun, rows[0]) if rows else None
    if run is None or run.status != "running":
        raise _no_run("The tenant has no such run, or it has ended.")
    if run.agent_type != agent_type:
        raise _other_type("agent_type", run.agent_type, f"the workflow is asked for {agent_type}")
    return run


def _other_type(field: str, run_type: str, asked: str) -> InvalidRequest:
    return InvalidRequest.of_field(field, f"does not fit: the run is of an agent of the type {run_type}, and {asked}")


def _no_workflow() -> NotFound:
    return NotFound("The tenant has no such workflow.")


def _no_run(detail: str) -> NotFound:
    return NotFound(detail, errors=[FieldError("run_id", "names no such run")])


def _full(workflow: NewWorkflow, counts: Row) -> QuotaExceeded:
    most, most_of_task = limits.MAX_WORKFLOWS, limits.MAX_WORKFLOWS_OF_TASK
    if int(counts["of_task"] or 0) >= most_of_task:
        used, most, what = counts["of_task"], most_of_task, f"workflows for {workflow.task_type}"
    else:
        used, what = counts["of_tenant"], "workflows"
    return QuotaExceeded(
        f"This tenant has {most} {what}, and no more may be put. Delete those that are not used.",
        reached=f"workflows;scope=tenant;used={used};limit={most}",
    )
