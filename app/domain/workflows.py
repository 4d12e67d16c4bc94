"""Workflows that compete for a task, and the success of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain import limits, posterior
from app.domain.json_types import Json


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """A workflow to put; its attributes are those of ``Workflow``. It checks its bounds when it is made.

    Raises:
        InvalidRequest: a field is outside its bounds; every such field is named.
    """

    workflow_id: str
    agent_type: str
    task_type: str
    spec: Mapping[str, Json]
    discount: float = 1.0
    enabled: bool = True

    def __post_init__(self) -> None:
        """Check the bounds."""
        limits.check(
            ("workflow_id", limits.AGENT_ID, self.workflow_id),
            ("agent_type", limits.AGENT_ID, self.agent_type),
            ("task_type", limits.AGENT_ID, self.task_type),
            ("spec", limits.WORKFLOW_SPEC, self.spec),
            ("discount", limits.DISCOUNT, self.discount),
        )


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of a workflow's rate of success: a Beta distribution, ``alpha`` and ``beta`` at least 1.

    It differs by the credential that asks, since the outcomes of other credentials have a bounded weight
    (docs/decisions/0045-outcomes-have-authors.md).
    """

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        """The mean of the posterior."""
        return posterior.mean(self.alpha, self.beta)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the 95 % around the posterior's median."""
        return posterior.interval(self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class ListedWorkflow(Posterior):
    """A workflow without its ``spec``.

    Attributes:
        workflow_id: The workflow's id, unique in the tenant.
        agent_type: The type of the agents that the workflow is for.
        task_type: The type of the task that the workflow competes for.
        discount: The part of the workflow's counts that is left at each outcome of its task; 1: all of them.
        enabled: Whether the workflow may be selected.
        created_at: In milliseconds since the epoch, as is ``updated_at``, the moment when it was put last.
        version: The version of the workflow's text, from 1.
    """

    workflow_id: str
    agent_type: str
    task_type: str
    discount: float
    enabled: bool
    created_at: int
    updated_at: int
    version: int


@dataclass(frozen=True, slots=True)
class Workflow(ListedWorkflow):
    """A workflow; ``spec`` says what is done in it, in a form of the caller's choice."""

    spec: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """The author and the date of a text that a workflow has or had, without the text.

    Attributes:
        version: The number of the text, from 1; the workflow has the text of the highest number.
        written_by: The id of the credential that wrote the text; None: none did, or texts had no authors yet.
        written_at: When the text was written, in milliseconds since the epoch.
    """

    version: int
    written_by: str | None
    written_through: str | None
    written_at: int


@dataclass(frozen=True, slots=True)
class WorkflowVersion(WorkflowText):
    """A text that a workflow has or had."""

    spec: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Selection(Posterior):
    """The workflow that was chosen; ``sampled`` is the rate that was drawn for it, the highest of all workflows'."""

    workflow_id: str
    spec: Mapping[str, Json]
    sampled: float


@dataclass(frozen=True, slots=True)
class Outcome(Posterior):
    """A workflow's posterior after an outcome; ``counted`` is false where the run had an outcome already."""

    counted: bool
