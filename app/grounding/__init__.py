"""Tells by code whether a statement stands in the lines that it cites."""

from app.grounding.checking import ungrounded
from app.grounding.source import Source, Ungrounded, UngroundedKind

__all__ = ["Source", "Ungrounded", "UngroundedKind", "ungrounded"]
