"""Requests and answers about the archive."""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AliasPath, ConfigDict, Field, WithJsonSchema, model_validator

from app.domain import limits
from app.interfaces.fields import Answer, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, next_cursor
from app.interfaces.http.schemas.optional import OptionalCount, OptionalMs, OptionalText, TextWithin, old_name

OBJECT: dict[str, Any] = {
    "archive_id": examples.MEMORY_ID,
    "agent_id": examples.AGENT_ID,
    "kind": "memories",
    "items": 214,
    "bytes": 81_300,
    "sha256": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    "first_at": examples.MOMENT,
    "last_at": examples.MOMENT,
    "first_id": examples.MEMORY_ID,
    "last_id": examples.MEMORY_ID,
    "archived_at": examples.MOMENT,
}
ArchiveId: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": [examples.MEMORY_ID]}), Within(limits.MEMORY_ID)
]


class ArchiveQuery(Request):
    """Which objects to list. All conditions must hold."""

    agent_id: Annotated[
        str | None,
        TextWithin(limits.AGENT_ID, examples.AGENT_ID),
        Field(description="Only of this agent."),
    ] = None
    kind: Annotated[
        Literal["memories", "episodes", "runs"] | None,
        WithJsonSchema({"type": "string", "enum": ["memories", "episodes", "runs"], "examples": ["memories"]}),
        Field(description="Only of this kind."),
    ] = None
    since: Annotated[OptionalMs, Field(description="Only what has an item of this time or later.")] = None
    until: Annotated[OptionalMs, Field(description="Only what has an item of this time or earlier.")] = None
    limit: ListLimit = 20
    cursor: ListCursor = None
    before: Annotated[
        str | None,
        Within(limits.MEMORY_ID),
        WithJsonSchema(
            {"type": "string", **limits.MEMORY_ID.schema, "examples": [examples.MEMORY_ID], "deprecated": True}
        ),
        Field(description="The old form of `cursor`, taken until the next version: the id of the last object."),
    ] = None

    @model_validator(mode="after")
    def _goes_on_one_way(self) -> Self:
        if self.before and self.cursor:
            raise ValueError("cursor is given, and before, which is its old form")
        return self


class ArchivedAnswer(Answer):
    """An object of the archive: an export of items of one kind and agent."""

    model_config = ConfigDict(json_schema_extra={"examples": [OBJECT]})

    archive_id: str = Field(validation_alias="id", description="Of its blob too.")
    agent_id: str
    kind: str
    items: int
    bytes: int = Field(validation_alias=AliasPath("size"), description="In bytes.")
    size: OptionalCount = old_name("bytes")
    sha256: str = Field(description="Of its bytes, in hexadecimal digits.")
    first_at: Timestamp
    last_at: Timestamp
    first_id: str = Field(description="The least id of its items.")
    last_id: str = Field(description="The greatest id of its items.")
    archived_at: Timestamp


class ArchiveAnswer(Answer):
    """Objects of the archive, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"objects": [OBJECT]}]})

    objects: list[ArchivedAnswer]
    cursor: OptionalText = next_cursor()


class ArchivedItemAnswer(Answer):
    """An archived item."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"archive_id": examples.MEMORY_ID, "item": {"type": "memory"}}]}
    )

    archive_id: str = Field(description="Of the object that has it.")
    item: dict[str, Any] = Field(description="The line of an export (docs/format.md).")


class RestoredAnswer(Answer):
    """What became of the items of an object that was restored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"imported": 214, "unchanged": 0, "duplicate": 0, "conflict": 0, "rejected": 0}]
        }
    )

    imported: int
    unchanged: int = Field(description="They were there already.")
    duplicate: int = Field(description="The agent has this content under another id.")
    conflict: int = Field(description="Another item has the id; then the object stays archived.")
    rejected: int = Field(
        description="They cannot be taken, and the object stays archived, unless all of them have expired."
    )
