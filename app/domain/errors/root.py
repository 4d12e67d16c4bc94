"""The root of the tree of errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class FieldError:
    """The error of one field of a request; ``field`` is a dotted path such as ``filter.metadata``."""

    field: str
    message: str


class MemoryGatewayError(Exception):
    """Base of the tree. ``detail`` is for the caller: it never carries content or a credential."""

    code: str = "internal_error"
    status: int = 500
    title: str = "Internal error"

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), cure: str | None = None) -> None:
        """Keep the detail for the caller; ``cure`` says what an operator has to do, and ends the detail."""
        self.detail = detail if cure is None else f"{detail} {cure}"
        super().__init__(self.detail)
        self.cure = cure
        self.errors = tuple(errors)

    @classmethod
    def of_field(cls, field: str, message: str, rest: str = "") -> Self:
        """Return the error of one field: ``message`` says what is wrong with the field, and ``rest`` follows it."""
        return cls(f"{field} {message}. {rest}".rstrip(), errors=[FieldError(field, message)])
