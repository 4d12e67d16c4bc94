"""Every number of a statement stands in a source, with its sign and its unit."""

from collections.abc import Iterator
from decimal import Decimal

from app.grounding.known import GuardedStatement
from app.grounding.source import Ungrounded
from app.language.numbers import CLOCK, Quantity

_MONTHS, _MINUTES = 12, 60


def numbers(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Give the quantities of a statement that no source has; those of a date are the matter of another guard."""
    claim = comparison.claim
    asked = [each for each in claim.quantities if each.demanded and not claim.in_times(each.starts)]
    if not asked:
        return
    told = frozenset(number for source in comparison.known.sources for number in source.numbers)
    values = frozenset(value for value, _ in told)
    for each in asked:
        if not any(_is_told(value, each, told, values) for value in each.values):
            yield Ungrounded("number", claim.text[each.starts : each.ends])


def _is_told(value: Decimal, each: Quantity, told: frozenset[tuple[Decimal, str]], values: frozenset[Decimal]) -> bool:
    if (value, each.unit) in told:
        return True
    if each.unit == CLOCK:  # "at 16" is said of 16:00
        return value % _MINUTES == 0 and (value / _MINUTES, "") in told
    if each.unit == "month":  # "I'm 34" is said of 34 years
        return (value / _MONTHS, "") in told
    return each.unit == "" and value in values
