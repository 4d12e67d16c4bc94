"""The arguments of the tools, read and checked. The schemas of ``definition`` describe the same."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError

from app.domain import limits
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.interfaces.fields import (
    Content,
    Metadata,
    QueryText,
    RecallFilter,
    Request,
    TopKOfTools,
    Within,
    either,
    invalid,
    old_names,
)
from app.runtime.tenant_services import TenantServices

Ask: TypeAlias = Callable[[TenantServices, str], Awaitable[dict[str, Json]]]
"""Asks the services for an agent, and returns the tool's answer."""

Reader: TypeAlias = Callable[[Mapping[str, Any]], Ask]
"""Reads the arguments of a call; raises ``InvalidRequest`` where they are wrong."""

_Words = Annotated[str, Within(limits.PROFILE_QUERY)]


class _Arguments(Request):
    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """Read a call's arguments; a null counts as an argument that is left out, because some models send it.

        Raises:
            InvalidRequest: an argument is missing, unknown, of another type or out of its bounds; each is named.
        """
        try:
            return cls.model_validate(_without_nulls(arguments, cls))
        except ValidationError as error:
            raise invalid([dict(each) for each in error.errors()], within=0) from error


def _without_nulls(given: Mapping[str, Any], fields: type[Request]) -> dict[str, Any]:
    """Drop the nulls; an unknown name stays, so that it is refused."""
    names = {*fields.model_fields, *old_names(fields)}
    return {name: value for name, value in given.items() if value is not None or name not in names}


def _drop_nulls(value: object) -> object:
    return _without_nulls(value, RecallFilter) if isinstance(value, Mapping) else value


def _not_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class RecallArguments(_Arguments):
    """The arguments of ``recall_memory``."""

    query: QueryText
    top_k: TopKOfTools = 5
    filter: Annotated[RecallFilter, BeforeValidator(_drop_nulls)] = RecallFilter()

    def to_query(self) -> Query:
        """Return the domain's query."""
        return Query(self.query, self.top_k, self.filter.to(Filter), for_model=True, collapse="restatements")


class StoreArguments(_Arguments):
    """The arguments of ``store_memory``."""

    content: Content
    metadata: Metadata = Field(default_factory=dict)

    def to_memory(self) -> NewMemory:
        """Return the domain's new memory."""
        return NewMemory(self.content, self.metadata)


class RememberArguments(_Arguments):
    """The argument of ``remember``."""

    content: Annotated[Content, Field(validation_alias=either("content", "text"))]


class RecallQuestion(_Arguments):
    """The argument of ``recall``."""

    query: Annotated[_Words, Field(validation_alias=either("query", "question"))]


class ForgetArguments(_Arguments):
    """The argument of ``forget``."""

    memory: _Words


class ListArguments(_Arguments):
    """The argument of ``list``; a blank one is none."""

    about: Annotated[_Words | None, BeforeValidator(_not_blank)] = None
