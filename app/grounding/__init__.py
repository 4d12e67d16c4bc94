"""Tells by code what a statement says that the lines which it cites do not say, and what a reader has to decide."""

from app.grounding.checking import Checked, Checker
from app.grounding.source import Source, Ungrounded, UngroundedKind

__all__ = ["Checked", "Checker", "Source", "Ungrounded", "UngroundedKind"]
