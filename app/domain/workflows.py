"""Workflows that compete for a task, and how well each has done."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain import limits, posterior
from app.domain.json_types import Json


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """A workflow as it is put; its attributes are those of ``Workflow``. It checks its bounds when it is made.

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
    """What is known of a workflow's rate of success: a Beta distribution, ``alpha`` and ``beta`` at least 1.

    It is that of who asks, since the outcomes of others have a bounded weight
    (docs/decisions/0045-outcomes-have-authors.md).
    """

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        """Its mean."""
        return posterior.mean(self.alpha, self.beta)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the 95 % around its median."""
        return posterior.interval(self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class ListedWorkflow(Posterior):
    """A workflow without what is done in it.

    Attributes:
        workflow_id: Its id, one in its tenant.
        agent_type: The agents that it is for.
        task_type: The task that it competes for.
        discount: What is left of its counts at each outcome of its task; 1: all.
        enabled: Whether it is selected.
        created_at: In milliseconds since the epoch, as ``updated_at``, which is when it was put last.
        version: Of its text, from 1.
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
    """A workflow; ``spec`` is what is done in it, which is its caller's business."""

    spec: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """A text that a workflow has or had, without the text: who wrote it, by which way and when.

    Attributes:
        version: From 1; the highest is that which the workflow has.
        written_by: The credential's id; None: none, or it was written before texts had authors.
        written_at: In milliseconds since the epoch.
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
    """The workflow that was chosen, with the rate that was drawn for it: the highest of all."""

    workflow_id: str
    spec: Mapping[str, Json]
    sampled: float


@dataclass(frozen=True, slots=True)
class Outcome(Posterior):
    """A workflow's posterior behind an outcome; ``counted`` is false where the run had one already."""

    counted: bool
