"""Rejects what a small model overlooks, exactly. None of the guards accepts anything."""

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
"""Every guard by its name, in the order in which their findings are told."""
NAMING: Final = ("quotations", "dates", "numbers", "names")
"""Those that look at what is named, and not at how it is said."""
