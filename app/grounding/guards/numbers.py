"""Every number of a statement stands in a source, with its sign and its unit."""

from collections.abc import Iterator
from decimal import Decimal

from app.grounding.compared import GuardedStatement
from app.grounding.source import Ungrounded
from app.language.numbers import CLOCK, Quantity

_MONTHS, _MINUTES = 12, 60


def numbers(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the quantities of a statement that no source has; those of a date are the matter of another guard."""
    claim = comparison.claim
    expected = [quantity for quantity in claim.quantities if quantity.demanded and not claim.in_times(quantity.starts)]
    if not expected:
        return
    stated = frozenset(number for source in comparison.cited.sources for number in source.numbers)
    values = frozenset(value for value, _ in stated)
    for quantity in expected:
        if not any(_is_stated(value, quantity, stated, values) for value in quantity.values):
            yield Ungrounded("number", claim.text[quantity.starts : quantity.ends])


def _is_stated(
    value: Decimal, quantity: Quantity, stated: frozenset[tuple[Decimal, str]], values: frozenset[Decimal]
) -> bool:
    if (value, quantity.unit) in stated:
        return True
    if quantity.unit == CLOCK:  # "at 16" is said of 16:00
        return value % _MINUTES == 0 and (value / _MINUTES, "") in stated
    if quantity.unit == "month":  # "I'm 34" is said of 34 years
        return (value / _MONTHS, "") in stated
    return quantity.unit == "" and value in values
