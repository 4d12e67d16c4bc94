"""Finds content that should not be kept."""

from collections.abc import Sequence
from typing import Protocol

from app.domain.sensitive import SensitiveSpan


class SensitiveDetector(Protocol):
    """Finds keys, tokens, passwords and numbers in texts. It keeps nothing, and any thread may call it."""

    def find(self, text: str) -> Sequence[SensitiveSpan]:
        """Return the parts of a text that should not be kept, in their order; no two of them overlap.

        The time grows in proportion to the length of the text, whatever the text is.
        """
        ...
