"""What a caller asks of a document before it is changed (RFC 9110, If-Match and If-None-Match)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conditions:
    """What has to hold of a document before it is changed.

    Attributes:
        match: The versions of which it has to have one, as texts; ``*`` is any. None: nothing is asked.
        absent: Whether there must be none.
    """

    match: Sequence[str] | None = None
    absent: bool = False
