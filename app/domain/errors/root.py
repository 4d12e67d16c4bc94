"""The root of the tree of errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


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

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), cure: str | None = None) -> None:
        """Keep what to tell the caller; ``cure`` is what an operator is to do, and ends the detail."""
        self.detail = detail if cure is None else f"{detail} {cure}"
        super().__init__(self.detail)
        self.cure = cure
        self.errors = tuple(errors)

    @classmethod
    def of_field(cls, field: str, message: str, rest: str = "") -> Self:
        """Return the error that one field is the reason of: what is wrong with it, and what else there is to say."""
        return cls(f"{field} {message}. {rest}".rstrip(), errors=[FieldError(field, message)])
