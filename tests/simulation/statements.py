"""What the agents say of which one value holds at a time, and when they say that it happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.facts import Fact
from app.domain.json_types import Json
from tests.simulation.clock import EPOCH_MS

_DAY_MS = 86_400_000
MOMENTS: Sequence[int] = (
    EPOCH_MS - 2 * _DAY_MS,
    EPOCH_MS - _DAY_MS,
    EPOCH_MS + 40_000,
    EPOCH_MS + 120_000,
    EPOCH_MS + 3 * _DAY_MS,
)
"""Before everything that is stored, in the middle of it, and later than any simulation comes."""

HORIZON = EPOCH_MS + 2 * _DAY_MS
"""What happens later than this does not hold yet, however long a simulation runs; all else holds once it is said."""


@dataclass(frozen=True, slots=True)
class Said:
    """The value that a content states of a key, and whether it says nothing else: that alone is ever superseded."""

    key: str
    value: str
    whole: bool = True


STATED: Mapping[str, Said] = {
    "I live in Rome": Said("user/lives_in", "rome"),
    "I moved to Oslo": Said("user/lives_in", "oslo"),
    "I moved to Rome": Said("user/lives_in", "rome"),
    "I live in Lima. The kettle whistles.": Said("user/lives_in", "lima", whole=False),
    "We use pnpm": Said("we/package_manager", "pnpm"),
    "We switched to yarn": Said("we/package_manager", "yarn"),
    "We use npm": Said("we/package_manager", "npm"),
}
TOLD: Mapping[str, Said] = {content: said for content, said in STATED.items() if said.whole}
"""What agents tell as facts, of which one value holds at a time, beside what they say."""
FACTS: Mapping[str, Fact] = {
    fact.sentence: fact
    for fact in (
        Fact("user", "lives in", "Rome", single=True),
        Fact("user", "lives in", "Oslo", single=True),
        Fact("we", "package manager", "npm", single=True),
    )
}
"""What agents tell as facts alone, where all that they say in ``STATED`` is left to a reader."""
MEANT: Mapping[str, Said] = {
    **STATED,
    **{
        sentence: Said(f"{fact.subject}/{fact.predicate.replace(' ', '_')}", fact.object.lower())
        for sentence, fact in FACTS.items()
    },
}
"""What a reader knows of all of these."""


def told(content: str) -> dict[str, Json]:
    """Return the metadata with which an agent stores a content: the fact that it tells, if it tells one."""
    if content not in TOLD:
        return {}
    subject, _, predicate = TOLD[content].key.partition("/")
    return Fact(subject, predicate, TOLD[content].value, single=True).metadata
