"""What a method found of a data set in stores of one size, and where the product is below a plain method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.quality import sessions
from bench.quality.asking import Asked
from bench.quality.scores import TOP_K, hit, recall

KS = (1, 5, 10, TOP_K)
JUDGED = (1, 5, 10)
"""At these the product's recall is held against that of the plain methods."""
MARGIN = 1.0
"""By so many percentage points it may be less."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one method: shares, by how many entries are looked at."""

    dataset: str
    size: int
    """Neighbours in each store."""
    method: str
    plain: bool
    """Whether it is one of those that the product is compared with."""
    questions: int
    hit: Mapping[int, float]
    recall: Mapping[int, float]
    sessions: Mapping[int, float] = field(default_factory=dict)
    """The recall by sessions; empty where the data set has none."""

    def record(self) -> dict[str, object]:
        """Return it for the file of results."""
        figures = {
            f"{name}@{k}": round(share, 4)
            for name, of in (("hit", self.hit), ("recall", self.recall), ("session recall", self.sessions))
            for k, share in of.items()
        }
        return {
            "data": self.dataset,
            "neighbours": self.size,
            "method": self.method,
            "plain": self.plain,
            "questions": self.questions,
            **figures,
        }


@dataclass(frozen=True, slots=True)
class Below:
    """A figure of the product that is below that of a plain method by more than the margin."""

    product: Row
    plain: Row
    k: int

    def __str__(self) -> str:
        """Say it in a line."""
        own, other = self.product, self.plain
        return (
            f"{own.dataset}, {own.size} neighbours: recall@{self.k} of {own.method} is {100 * own.recall[self.k]:.1f}, "
            f"{100 * (other.recall[self.k] - own.recall[self.k]):.1f} below {other.method}"
        )


def rows(method: str, size: int, asked: Sequence[Asked], *, plain: bool) -> list[Row]:
    """Return the figures of each data set; the questions have evidence."""
    return [
        _row(name, size, method, [one for one in asked if one.dataset == name], plain=plain)
        for name in dict.fromkeys(one.dataset for one in asked)
    ]


def below(measured: Sequence[Row]) -> list[Below]:
    """Return where the product is more than ``MARGIN`` below a plain method, in the same data set and size."""
    return [
        Below(own, other, k)
        for own in measured
        if not own.plain
        for other in measured
        if other.plain and (other.dataset, other.size) == (own.dataset, own.size)
        for k in JUDGED
        if 100 * (other.recall[k] - own.recall[k]) > MARGIN + _ROUNDING
    ]


def _row(dataset: str, size: int, method: str, asked: Sequence[Asked], *, plain: bool) -> Row:
    of_sessions = [one for one in asked if sessions.has_any(one)]
    return Row(
        dataset,
        size,
        method,
        plain,
        len(asked),
        hit={k: _mean([hit(one.question.gold, one.answer.turn_ids, k) for one in asked]) for k in KS},
        recall={k: _mean([recall(one.question.gold, one.answer.turn_ids, k) for one in asked]) for k in KS},
        sessions={k: _mean([recall(sessions.gold(one), sessions.found(one), k) for one in of_sessions]) for k in KS}
        if of_sessions
        else {},
    )


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)
