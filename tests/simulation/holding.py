"""What of a key holds for certain, and what may, as far as the operations of an agent are known.

The claims of a key stand in the order of their places: when it was said, then the memory's id. Whose place is not known
has the first and the last that it may have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.simulation.operations import Text
from tests.simulation.statements import HORIZON, Said

Place = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one memory states, that is there for certain or may be."""

    text: Text
    said: Said
    first: Place
    last: Place
    certain: bool
    """Whether it was there all the time since whoever asks began to."""
    id: str | None = None
    number: int | None = None
    """Of the store that may have made it, where no id of it is known."""

    def after(self, other: "Claim") -> bool:
        """Tell whether it was said after another one for certain."""
        return self.first > other.last

    def may_be_after(self, other: "Claim") -> bool:
        """Tell whether it may have been."""
        return self.last > other.first

    def contradicts(self, other: "Claim") -> bool:
        """Tell whether it states another value."""
        return self.said.value != other.said.value


def in_force(claims: Sequence[Claim]) -> list[Claim]:
    """Leave out what does not hold yet."""
    return [claim for claim in claims if claim.first[0] <= HORIZON]


def replaced(claim: Claim, claims: Sequence[Claim], passes: Callable[[Claim], bool]) -> bool:
    """Tell whether a claim's memory is no entry for certain: another one says what holds in its place.

    One of those that are last, of which each must pass the filter for certain, is the entry then, or all of them were
    forgotten. Nothing else brings back what was superseded.
    """
    later = [one for one in in_force(claims) if one.certain and one.after(claim)]
    if not claim.said.whole or not any(one.contradicts(claim) for one in later):
        return False
    newest = max(later, key=lambda one: one.first)
    return passes(newest) and all(passes(one) for one in in_force(claims) if one.may_be_after(newest))


def holds(claim: Claim, claims: Sequence[Claim], hidden: Callable[[Claim], bool]) -> bool:
    """Tell whether a claim's memory is an entry for certain, if it is there, is asked for and is not forgotten.

    Nothing contradicts it, or all that may is hidden by the filter and was not forgotten.
    """
    later = [one for one in in_force(claims) if one.may_be_after(claim)]
    return not claim.said.whole or not any(one.contradicts(claim) for one in later) or all(map(hidden, later))


def ruled_out(claim: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that cannot be there where this one's memory is an entry of a recall without a filter."""
    if not claim.said.whole:
        return []
    return [one for one in in_force(claims) if one.after(claim) and one.contradicts(claim)]
