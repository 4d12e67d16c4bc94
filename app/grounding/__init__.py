"""Tells by code whether a statement stands in the lines that it cites."""

from app.grounding.checking import Checker, ungrounded
from app.grounding.orders import evident
from app.grounding.source import Source, Ungrounded, UngroundedKind

__all__ = ["Checker", "Source", "Ungrounded", "UngroundedKind", "evident", "ungrounded"]
