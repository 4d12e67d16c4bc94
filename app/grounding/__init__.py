"""Finds by code the parts of a statement that its cited lines do not say, and the pairs that a reader has to decide."""

from app.grounding.checking import Checked, Checker
from app.grounding.source import Source, Ungrounded, UngroundedKind

__all__ = ["Checked", "Checker", "Source", "Ungrounded", "UngroundedKind"]
