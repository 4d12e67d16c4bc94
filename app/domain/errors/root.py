"""The root of the tree of errors."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request and what is wrong with it; ``field`` is a dotted path such as ``filter.metadata``."""

    field: str
    message: str


class MemoryGatewayError(Exception):
    """Base of the tree. ``detail`` is for the caller: it never carries content or a credential."""

    code: str = "internal_error"
    status: int = 500
    title: str = "Internal error"

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = ()) -> None:
        """Keep what to tell the caller."""
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
