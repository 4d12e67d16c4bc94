"""Types of workflows.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow.

    Attributes:
        alpha: 1, and all scores, as they count for who asks.
        beta: 1, and what the scores lack of 1, as they count for who asks.
        interval: The bounds between which the rate of success lies with a probability of 95 %.
        updated_at: When it was put last.
        version: Of its spec, from 1.
    """

    alpha: float
    beta: float
    mean: float
    workflow_id: str
    agent_type: str
    task_type: str
    discount: float
    enabled: bool
    interval: tuple[float, ...]
    created_at: datetime
    updated_at: datetime
    version: int
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """Who wrote a spec of a workflow, by which way and when.

    Attributes:
        written_by: The credential's id; absent: none, or it is not known.
        channel: By which way it came, such as ``http``; absent: it is not known.
        written_through: The old name of ``channel``, given until the next version.
    """

    version: int
    written_at: datetime
    written_by: str | None = None
    channel: str | None = None
    written_through: str | None = None


@dataclass(frozen=True, slots=True)
class WorkflowVersions:
    """The specs of a workflow, newest first; the first is that which it has."""

    versions: tuple[WorkflowText, ...]


@dataclass(frozen=True, slots=True)
class WorkflowVersion:
    """A spec of a workflow.

    Attributes:
        written_by: The credential's id; absent: none, or it is not known.
        channel: By which way it came, such as ``http``; absent: it is not known.
        written_through: The old name of ``channel``, given until the next version.
    """

    version: int
    written_at: datetime
    spec: dict[str, Any]
    written_by: str | None = None
    channel: str | None = None
    written_through: str | None = None


@dataclass(frozen=True, slots=True)
class ListedWorkflow:
    """A workflow without its spec.

    Attributes:
        alpha: 1, and all scores, as they count for who asks.
        beta: 1, and what the scores lack of 1, as they count for who asks.
        interval: The bounds between which the rate of success lies with a probability of 95 %.
        updated_at: When it was put last.
        version: Of its spec, from 1.
    """

    alpha: float
    beta: float
    mean: float
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
class WorkflowPage:
    """Workflows, in order of id.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    workflows: tuple[ListedWorkflow, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SelectedWorkflow:
    """The workflow that was chosen.

    Attributes:
        alpha: 1, and all scores, as they count for who asks.
        beta: 1, and what the scores lack of 1, as they count for who asks.
        interval: The bounds between which the rate of success lies with a probability of 95 %.
        sampled: The rate that was drawn for it: the highest of all.
    """

    alpha: float
    beta: float
    mean: float
    workflow_id: str
    spec: dict[str, Any]
    interval: tuple[float, ...]
    sampled: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The workflow's posterior with the outcome.

    Attributes:
        alpha: 1, and all scores, as they count for who asks.
        beta: 1, and what the scores lack of 1, as they count for who asks.
        counted: False: an outcome of this run was counted before, and nothing was changed.
    """

    alpha: float
    beta: float
    mean: float
    counted: bool
