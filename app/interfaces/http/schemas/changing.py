"""Requests and answers of the routes that change a memory, and that delete memories by a filter."""

from typing import Annotated, Any, Self, cast

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from app.domain import limits
from app.domain.query import Filter
from app.interfaces.fields import Answer, Metadata, MomentMs, Number, RecallFilter, Request, Within, refusing
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.optional import NotNull, TextWithin, optional
from app.interfaces.http.schemas.store import AgentId, Future
from app.services.memories.changing import MemoryChange
from app.services.memories.filtered_deletion import MAX_NAMED
from app.storage.filtered import MAX_COUNTED

_CORRECTED = (
    "is corrected by storing what holds now, by `POST /store`: it then stands in place of what held, and both are kept"
)


class ChangeMemoryRequest(Request):
    """What to change of a memory; what is absent stays as it was."""

    model_config = ConfigDict(
        json_schema_extra={"minProperties": 1, "examples": [{"metadata": {"source": "call", "customer": None}}]}
    )

    metadata: Annotated[
        Metadata, Field(description="Keys to set, or with null to take away. The others stay. At most 10240 bytes.")
    ] = Field(default_factory=dict)
    expires_at: Annotated[Future | None, Field(description="When it is forgotten, in the future; null: never.")] = None
    occurred_at: Annotated[MomentMs | None, Field(description="When it happened; null: that is not known.")] = None

    @model_validator(mode="before")
    @classmethod
    def _has_no_content(cls, data: Any) -> Any:  # noqa: ANN401 - any body
        return refusing(data, {"content": _CORRECTED})

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must name something to change")
        return self

    def to_change(self) -> MemoryChange:
        """Return the change."""
        return cast("MemoryChange", self.model_dump(exclude_unset=True))


class DeleteMemoriesRequest(Request):
    """Which memories of an agent to delete: those for which all conditions hold; without any, all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"agent_id": examples.AGENT_ID, "filter": {"metadata": examples.WANTED}}],
            # Under "then", which generators of clients pass over.
            "if": {"type": "object"},
            "then": {
                "if": {"required": ["dry_run"], "properties": {"dry_run": {"enum": [False]}}},
                "then": {"required": ["confirm"]},
            },
        }
    )

    agent_id: AgentId
    filter: RecallFilter | None = None
    written_by: Annotated[
        Annotated[str | None, NotNull, TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID)],
        Field(description="Only what the credential with this id has written."),
    ] = None
    dry_run: Annotated[bool, Field(strict=True, description="Only count them; `false` deletes them.")] = True
    confirm: Annotated[
        Annotated[int, Number, Within(limits.CONFIRMED)] | None,
        NotNull,
        WithJsonSchema({"type": "integer", **limits.CONFIRMED.schema}),
    ] = optional("How many there are, as the dry run has counted them, or `left` of the answer before.")

    @model_validator(mode="after")
    def _is_sure(self) -> Self:
        if not self.dry_run and self.confirm is None:
            raise ValueError("needs confirm, the number that a dry run has counted")
        return self

    @property
    def chosen(self) -> tuple[Filter, str | None]:
        """Return the conditions."""
        return Filter() if self.filter is None else self.filter.to(Filter), self.written_by


class DeletedMemoriesAnswer(Answer):
    """What was deleted or, of a dry run, would be."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"dry_run": True, "memories": 12, "left": 12, "at_least": False, "memory_ids": [examples.MEMORY_ID]},
                {"dry_run": False, "memories": 12, "left": 0},
            ]
        }
    )

    dry_run: bool = Field(description="Whether nothing was changed.")
    memories: int = Field(description="Memories that were deleted with what was learned of them, or that would be.")
    left: int = Field(description="How many pass the filter now. To go on, confirm this number.")
    at_least: bool | None = Field(
        None, description=f"Of a dry run: whether there are more, since at most {MAX_COUNTED:,} are counted."
    )
    memory_ids: list[str] | None = Field(None, description=f"Of a dry run: the oldest {MAX_NAMED} of them.")
