"""What a caller asks of a thing before it is changed (RFC 9110, If-Match and If-None-Match)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json


@dataclass(frozen=True, slots=True)
class Precondition:
    """What has to hold of a document, or of a key, before it is changed.

    Attributes:
        match: The versions of which it has to have one, as texts; ``*`` is any. None: nothing is asked.
        absent: Whether there must be none.
    """

    match: Sequence[str] | None = None
    absent: bool = False

    @property
    def argument(self) -> dict[str, Json]:
        """The values by which statements ask: ``if_match``, which is an array or null, and ``if_none_match``."""
        return {"if_match": None if self.match is None else list(self.match), "if_none_match": self.absent}
