"""Golden questions: what is asked before a switch, and which memories have to be found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.json_types import Scalar
from app.domain.query import Filter


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question of an agent, and the memories that have to be among the first ``k`` of its recall.

    Each of ``gold`` is a memory's id. Of each of ``expected``, one memory has to have one of the alternatives as words
    of their own. One memory has to have all of ``metadata``.
    """

    tenant_id: str
    agent_id: str
    id: str
    text: str
    gold: Sequence[str] = ()
    expected: Sequence[Sequence[str]] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    k: int = 10
    where: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class GoldenAnswer:
    """How a question came off: the rank, from 1, at which the last of what it expects was found; None: it was not."""

    question: GoldenQuestion
    rank: int | None


@dataclass(frozen=True, slots=True)
class GoldenComparison:
    """Questions that were asked twice: ``before`` and ``after`` are in one order."""

    before: Sequence[GoldenAnswer]
    after: Sequence[GoldenAnswer]

    @property
    def lost(self) -> Sequence[GoldenQuestion]:
        """The questions whose memories were found before and are not found after."""
        pairs = zip(self.before, self.after, strict=True)
        return [one.question for one, other in pairs if one.rank is not None and other.rank is None]

    @property
    def gained(self) -> Sequence[GoldenQuestion]:
        """The questions whose memories are found after and were not found before."""
        return GoldenComparison(self.after, self.before).lost

    @property
    def loss(self) -> float:
        """The share of the questions that is lost, whatever is gained."""
        return len(self.lost) / len(self.before)


def found_share(answers: Sequence[GoldenAnswer]) -> float:
    """Return the share of questions whose memories were found."""
    return sum(answer.rank is not None for answer in answers) / len(answers)
