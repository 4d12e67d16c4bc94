"""The steps of a deployment's plan, each with the state in which the account was found."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

Progress = Callable[[str], object]
"""Receives a line of text about what was done."""


class StepStatus(StrEnum):
    """How a part of a deployment was found."""

    EXISTS = "exists"
    CREATE = "to create"
    REPAIR = "differs, is repaired"
    BLOCKED = "cannot be repaired"
    LEFT = "left to you"
    DELETE = "to delete"


@dataclass(frozen=True, slots=True)
class DeploymentStep:
    """One part of a deployment.

    Attributes:
        part: What it is, such as ``D1 database``.
        name: The name of the resource.
        state: How the account was found.
        detail: What was found, or is done.
        cure: What an operator can do where the command can do nothing.
    """

    part: str
    name: str
    state: StepStatus
    detail: str = ""
    cure: str = ""

    def __str__(self) -> str:
        """Return the step as a line for people."""
        more = ". ".join(text.rstrip(".") for text in (self.detail, self.cure) if text)
        return f"{self.state:<20}  {self.part} {self.name}" + (f": {more}" if more else "")

    def as_json(self) -> dict[str, Any]:
        """Return the step for programs."""
        return {**asdict(self), "state": self.state.value}


def in_state(steps: Iterable[DeploymentStep], *states: StepStatus) -> list[DeploymentStep]:
    """Return the steps that are in one of these states."""
    return [step for step in steps if step.state in states]
