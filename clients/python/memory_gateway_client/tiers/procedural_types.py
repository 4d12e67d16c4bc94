"""What the service answers of workflows. Times are aware datetimes; what a newer service adds is not read."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of a workflow's rate of success, as it is for who asks: a Beta distribution, Beta(1, 1) at first.

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
        version: Of its spec, from 1.
    """

    workflow_id: str
    agent_type: str
    task_type: str
    discount: float
    enabled: bool
    interval: tuple[float, ...]
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Workflow(ListedWorkflow):
    """A workflow; ``spec`` is what is done in it, as it was put."""

    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """Who wrote a spec of a workflow, by which way and when.

    Attributes:
        written_by: The credential's id; None: there was none, or it is not known.
        channel: The channel, such as ``http``; None: it is not known.
    """

    version: int
    written_at: datetime
    written_by: str | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class WorkflowVersions:
    """The specs of a workflow, newest first; the first is that which it has."""

    versions: tuple[WorkflowText, ...]


@dataclass(frozen=True, slots=True)
class WorkflowVersion(WorkflowText):
    """A spec that a workflow has, or had."""

    spec: dict[str, Any] = field(kw_only=True)


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
