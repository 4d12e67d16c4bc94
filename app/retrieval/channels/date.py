"""The date channel: memories of the periods that a query names."""

import math
from collections.abc import Sequence
from typing import TypeAlias

from app.domain.json_types import Json
from app.domain.moments import DAY_MS
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.periods import Period

Reading: TypeAlias = tuple[int, int]
"""A start and an end, half-open, in ms since the epoch."""

_FADE_MS = 7 * DAY_MS


class Date(Channel):
    """Scores candidates by when they happened."""

    name = "time"
    section = "dated"
    cue = "periods"

    def candidates(self, query: ParsedQuery) -> Json:
        """Return for each period its readings, half-open, in ms since the epoch."""
        return [[list(reading) for reading in period.readings] for period in query.periods]

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return each candidate's ``lift``."""
        moments = [candidate.happened_at for candidate in pool.candidates.values() if not candidate.added]
        readings = [chosen_reading(period, moments) for period in query.periods]
        return {id_: lift(readings, candidate.happened_at) for id_, candidate in pool.candidates.items()}


def chosen_reading(period: Period, moments: Sequence[int]) -> Reading:
    """Return the latest reading of a period in which one of the moments lies; the latest of all where none does.

    The moments are the candidates': the newest memories of the latest reading that has any are candidates.
    """
    with_memories = (
        reading for reading in period.readings if any(reading[0] <= moment < reading[1] for moment in moments)
    )
    return next(with_memories, period.readings[0])


def lift(readings: Sequence[Reading], moment: int) -> float:
    """Return 1 where a moment lies in one of the readings, and less the further away it is: 0.37 a week off."""
    gap = min([max(start - moment, moment - end + 1, 0) for start, end in readings], default=math.inf)
    return math.exp(-gap / _FADE_MS)
