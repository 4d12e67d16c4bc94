"""What the tools are called with, read and checked. The schemas in ``app.tools.definition`` tell callers the same."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError

from app.fields import RecallFilter, Request, invalid, number
from app.model import NewMemory, Query


class _Arguments(Request):
    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """Read a call's arguments; null stands for one that is left out, as some models send it.

        Raises:
            InvalidRequest: an argument is missing, unknown or of another type; each is named.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise invalid([dict(each) for each in error.errors()], within=0) from error


class RecallArguments(_Arguments):
    """What ``recall_memory`` takes."""

    query: Annotated[str, Field(strict=True)]
    top_k: Annotated[int, BeforeValidator(number)] = 5
    filter: RecallFilter = RecallFilter()

    def asked(self) -> Query:
        """Return it in the domain's words."""
        return Query(self.query, self.top_k, self.filter.where())


class StoreArguments(_Arguments):
    """What ``store_memory`` takes."""

    content: Annotated[str, Field(strict=True)]
    metadata: dict[str, Any] = Field(default_factory=dict)

    def memory(self) -> NewMemory:
        """Return it in the domain's words."""
        return NewMemory(self.content, self.metadata)
