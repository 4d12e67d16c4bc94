"""What the tools are called with, read and checked. The schemas of ``definition`` tell callers the same."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.interfaces.fields import RecallFilter, Request, invalid, number


class _Arguments(Request):
    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """Read a call's arguments; null stands for what is left out, as some models send it.

        Raises:
            InvalidRequest: an argument is missing, unknown or of another type; each is named.
        """
        try:
            return cls.model_validate(_said(arguments, cls))
        except ValidationError as error:
            raise invalid([dict(each) for each in error.errors()], within=0) from error


def _said(given: Mapping[str, Any], fields: type[Request]) -> dict[str, Any]:
    """Drop the nulls; a name that is none of the fields stays, to be refused."""
    return {name: value for name, value in given.items() if value is not None or name not in fields.model_fields}


def _conditions(value: object) -> object:
    return _said(value, RecallFilter) if isinstance(value, Mapping) else value


class RecallArguments(_Arguments):
    """What ``recall_memory`` takes."""

    query: Annotated[str, Field(strict=True)]
    top_k: Annotated[int, BeforeValidator(number)] = 5
    filter: Annotated[RecallFilter, BeforeValidator(_conditions)] = RecallFilter()

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
