"""Preconditions of a change to a document or a key (RFC 9110, If-Match and If-None-Match)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json


@dataclass(frozen=True, slots=True)
class Precondition:
    """A condition that has to hold of a document, or of a key, before it is changed.

    Attributes:
        match: The versions, as texts, of which the document or the key has to have one; ``*`` is any version. None:
            no version is asked for.
        absent: Whether the document or the key must not exist.
    """

    match: Sequence[str] | None = None
    absent: bool = False

    @property
    def argument(self) -> dict[str, Json]:
        """The condition as values of a statement: ``if_match``, which is an array or null, and ``if_none_match``."""
        return {"if_match": None if self.match is None else list(self.match), "if_none_match": self.absent}
