"""Computes how long it is between the days that sentences tell; none where these are not clear.

Which sentences speak of what a question asks for is found by a reader. Here it is only counted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from app.language.dates.days import ordinal, single_days
from app.language.dates.lengths import LengthAsked, Unit, length
from app.language.dates.time_spans import spans
from app.services.answer.reading import MAX_READ, Said

_UNITS: Final[tuple[Unit | None, ...]] = ("day", "week", "month", None)


@dataclass(frozen=True, slots=True)
class Computed:
    """A length of time between two days (ordinals), and the sentences that tell these."""

    first: int
    last: int
    unit: Unit | None
    sentences: Sequence[Said]
    ago: bool
    """Whether it is asked from today on back."""

    @property
    def text(self) -> str:
        """It as a sentence."""
        ends = (date.fromordinal(day).isoformat() for day in (self.first, self.last))
        return f"{length(self.first, self.last, self.unit)} (from {' to '.join(ends)})."

    @property
    def facts(self) -> Sequence[str]:
        """It as a model is told it: where it ends today, in all the ways in which that may be said."""
        said = (f"{length(self.first, self.last, unit)} ago." for unit in _UNITS)
        return [self.text, *dict.fromkeys(said)] if self.ago else [self.text]


def may_have_its_day(said: Said) -> bool:
    """Tell whether a sentence may speak of the day of its memory: the store named it, and the memory names no time."""
    named = next(spans(said.memory.content[:MAX_READ]), None)
    return said.memory.occurred_at is not None and named is None


def computed(
    asked: LengthAsked, question: str, sentences: Sequence[Said], happened: Collection[Said], reference_time: int
) -> Computed | None:
    """Return the length that a question asks for; ``reference_time`` (ms since the epoch) is when it asks.

    From or until today it is counted with the first of the sentences. Between two days it is where the question and
    all sentences tell these two and no other time. What has ``happened`` did so on its memory's day.
    """
    today = ordinal(reference_time)
    ends: dict[int | None, Said | None] = dict.fromkeys(single_days(question, today))
    if asked.ends != "between":
        ends[today], sentences = None, sentences[:1]
    for said in sentences:
        own = {ordinal(said.happened_at)} if said in happened else set()
        for day in single_days(said.text, ordinal(said.happened_at)) or own:
            ends[day] = ends.get(day) or said
    days = sorted(day for day in ends if day is not None)
    tell = [said for said in ends.values() if said is not None]
    if len(ends) != 2 or len(days) != 2 or not tell:  # noqa: PLR2004 - its two ends
        return None
    if asked.ends != "between" and today != days[asked.ends == "past"]:
        return None
    return Computed(days[0], days[1], asked.unit, tell, asked.ends == "past")
