"""What the service answers of workflows. Times are aware datetimes; what a newer service adds is not read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of a workflow's rate of success: a Beta distribution, Beta(1, 1) at first.

    Attributes:
        alpha: 1, and all scores.
        beta: 1, and what the scores lack of 1.
    """

    alpha: float
    beta: float
    mean: float


@dataclass(frozen=True, slots=True)
class ListedWorkflow(Posterior):
    """A workflow without its spec.

    Attributes:
        agent_type: The agents that it is for.
        task_type: The task that it competes for.
        discount: What is left of its counts at each outcome of its task; 1 forgets nothing.
        enabled: Whether it is selected.
        interval: The two bounds between which the rate of success lies with a probability of 95 %.
        updated_at: When it was put last.
    """

    workflow_id: str
    agent_type: str
    task_type: str
    discount: float
    enabled: bool
    interval: tuple[float, ...]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Workflow(ListedWorkflow):
    """A workflow; ``spec`` is what is done in it, as it was put."""

    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """Workflows in order of id; where there are more, ``cursor`` goes on with the same listing."""

    workflows: tuple[ListedWorkflow, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SelectedWorkflow(Posterior):
    """The workflow that was chosen; ``sampled`` is the rate that was drawn for it, the highest of all."""

    workflow_id: str
    spec: dict[str, Any]
    interval: tuple[float, ...]
    sampled: float


@dataclass(frozen=True, slots=True)
class Outcome(Posterior):
    """A workflow's posterior with an outcome; ``counted`` is false where the run had one already."""

    counted: bool
