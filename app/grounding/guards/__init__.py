"""Exact checks that reject errors which a small model overlooks. No guard accepts a statement."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from app.grounding.compared import GuardedStatement
from app.grounding.guards.dates import dates
from app.grounding.guards.names import names
from app.grounding.guards.negation import negation
from app.grounding.guards.numbers import numbers
from app.grounding.guards.person import person
from app.grounding.guards.verbatim import placeholders, quotations
from app.grounding.source import Ungrounded

GUARDS: Final[Mapping[str, Callable[[GuardedStatement], Iterator[Ungrounded]]]] = {
    "placeholders": placeholders,
    "quotations": quotations,
    "dates": dates,
    "numbers": numbers,
    "names": names,
    "negation": negation,
    "person": person,
}
"""Every guard by its name, in the order in which the parts that they reject are listed."""
NAMING: Final = ("quotations", "dates", "numbers", "names")
"""The guards of names, numbers, dates and quotations, which do not depend on the other words."""
