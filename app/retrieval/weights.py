"""The weights of a score: the numbers that ``python -m training.fusion`` fits, in a file that a person can read."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

PACKAGED = Path(__file__).with_name("weights.toml")

NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class _Numbers(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ScoreFit(_Numbers):
    """How evidence becomes a likelihood: a logistic regression of whether a candidate answers."""

    evidence: Positive
    """The coefficient of the candidate's own evidence."""
    others: float
    """The coefficient of the evidence of all candidates and of ``nothing`` together, the logarithm of the sum of their
    exponentials."""
    nothing: float
    """The evidence that no memory answers: a single memory is not likely to answer for being alone."""
    memories: float
    """The coefficient of the logarithm of how many memories the scope has."""
    base: float

    @model_validator(mode="after")
    def _rises(self) -> "ScoreFit":
        if self.evidence + self.others < 0:
            raise ValueError("evidence and others: more evidence would lower a score")
        return self


class ReadFit(_Numbers):
    """How the likelihood of a candidate that a reader has read is joined with its relevance, both as log odds."""

    relevance: float
    likelihood: NotNegative
    base: float


class KindWeights(_Numbers):
    """The weights for one kind of memory."""

    base: float
    """The evidence of a candidate to which channels have given next to nothing."""
    channels: Mapping[str, NotNegative]
    """The evidence that a channel's score of 1 adds, by the channel's name."""
    read: ReadFit
    unread: float
    """The log odds that are added to a candidate's likelihood where other candidates were read and this one was not."""


class Weights(_Numbers):
    """All fitted numbers."""

    note: KindWeights
    """For a memory without a session."""
    turn: KindWeights
    """For a memory of a session."""
    score: ScoreFit

    @classmethod
    def of(cls, file: Path) -> "Weights":
        """Read the weights from a TOML file; raises ``ValueError`` where it is no TOML, or a number is missing."""
        return cls.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


WEIGHTS = Weights.of(PACKAGED)
