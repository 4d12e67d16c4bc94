"""The date channel: memories of the periods that a query names."""

import math
from collections.abc import Sequence

from app.domain.json_types import Json
from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.periods import Period

_FADE_MS = 7 * 86_400_000


class Date(Channel):
    """Scores candidates by when they happened."""

    name = "time"
    weight = 1.0
    section = "dated"

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the periods, half-open, in ms since the epoch."""
        return [[period.start, period.end] for period in query.periods]

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return each candidate's ``lift``."""
        if not query.periods:
            return {}
        return {id_: lift(query.periods, candidate.happened_at) for id_, candidate in pool.candidates.items()}


def lift(periods: Sequence[Period], moment: int) -> float:
    """Return 1 where a moment lies in one of the periods, and the less the further away it is: a week off, 0.37."""
    gaps = [max(period.start - moment, moment - period.end + 1, 0) for period in periods]
    return max((math.exp(-gap / _FADE_MS) for gap in gaps), default=0.0)
