"""Requests and answers about what the weekly consolidation has merged."""

from typing import Annotated, Any, Literal

from pydantic import AliasPath, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.consolidation import MAX_NAMED
from app.interfaces.fields import Answer, Digits, Request, Timestamp, Within, is_none
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.episodic import AgentName
from app.interfaces.http.schemas.optional import OptionalTimestamp, absent_if_none, old_name
from app.services.memories.consolidation import MAX_MEMORIES

_CONSOLIDATION_ID = "01K2Z7C3P5S8V1Y4B7E0H3M6RT"
_MERGE: dict[str, Any] = {
    "agent_id": examples.AGENT_ID,
    "memory_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FB",
    "kept_id": examples.MEMORY_ID,
    "kind": "memory",
}
_CONSOLIDATION: dict[str, Any] = {
    "id": _CONSOLIDATION_ID,
    "started_at": examples.MOMENT,
    "ended_at": examples.MOMENT,
    "ms": 1250,
    "memories": 12,
    "facts": 3,
    "chains": 2,
    "tasks": 1,
}
_FORECAST: dict[str, Any] = {"memories": 1, "facts": 0, "merges": [_MERGE], "at_least": False}
_UNDONE: dict[str, Any] = {
    "consolidation_id": _CONSOLIDATION_ID,
    "dry_run": True,
    "memories": 1,
    "merges": [_MERGE],
    "more": False,
}


_SomeMilliseconds = Annotated[int | None, WithJsonSchema({"type": "integer", "examples": [1250]})]


class ConsolidationsQuery(Request):
    """How many consolidations to tell of."""

    limit: Annotated[
        int,
        Digits,
        Within(limits.LIST_LIMIT),
        Field(description="The most consolidations of one answer.", json_schema_extra={"examples": [1]}),
    ] = 1


class ConsolidationForecastWanted(Request):
    """Whose memories the next consolidation would merge."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_id": examples.AGENT_ID}]})

    agent_id: AgentName


class ConsolidationUndoWanted(Request):
    """Which consolidation to take back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"consolidation_id": _CONSOLIDATION_ID}]})

    consolidation_id: Annotated[
        str, Field(json_schema_extra={"examples": [_CONSOLIDATION_ID]}), Within(limits.CONSOLIDATION_ID)
    ]
    dry_run: Annotated[bool, Field(strict=True, description="Only say what it would do; `false` does it.")] = True


class MergeAnswer(Answer):
    """A memory that another one has taken the place of, or would."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MERGE]})

    agent_id: str
    memory_id: str = Field(validation_alias="other_id")
    kept_id: str = Field(description="The memory that says all that it says.")
    kind: Literal["memory", "fact"]


class ConsolidationAnswer(Answer):
    """A consolidation of the tenant's memories."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CONSOLIDATION]})

    id: str
    started_at: Timestamp
    ended_at: OptionalTimestamp = Field(
        None,
        validation_alias=AliasPath("finished_at"),
        description="Absent: it is under way, or was stopped and goes on with the next one.",
        exclude_if=is_none,
    )
    finished_at: OptionalTimestamp = old_name("ended_at")
    undone_at: OptionalTimestamp = absent_if_none("When it was undone.")
    ms: _SomeMilliseconds = Field(
        None,
        validation_alias=AliasPath("milliseconds"),
        description="How long it took, with all stops, in milliseconds.",
        exclude_if=is_none,
    )
    milliseconds: _SomeMilliseconds = old_name("ms")
    memories: int = Field(description="Texts that were merged into others.")
    facts: int = Field(description="Facts that were merged into others.")
    chains: int = Field(description="Chains of superseded memories that lead straight to their ends since.")
    tasks: int = Field(description="Tasks that had expired and were deleted.")


class ConsolidationsAnswer(Answer):
    """Consolidations, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"consolidations": [_CONSOLIDATION]}]})

    consolidations: list[ConsolidationAnswer]


class ConsolidationForecastAnswer(Answer):
    """What the next consolidation would merge of an agent's memories word for word."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FORECAST]})

    memories: int = Field(description="Texts that would be merged into others.")
    facts: int = Field(description="Facts that would be merged into others.")
    merges: list[MergeAnswer] = Field(description=f"The first {MAX_NAMED} of them.")
    at_least: bool = Field(
        description=f"Whether the agent has more than {MAX_MEMORIES} memories, of which the newest were looked at."
    )


class ConsolidationUndoneAnswer(Answer):
    """What was taken back or, of a dry run, would be."""

    model_config = ConfigDict(json_schema_extra={"examples": [_UNDONE]})

    consolidation_id: str
    dry_run: bool = Field(description="Whether nothing was changed.")
    memories: int = Field(description="Memories and facts that hold again, or would.")
    merges: list[MergeAnswer] = Field(description=f"The first {MAX_NAMED} of them.")
    more: bool = Field(description="Whether there is more, since one call has an end: call again.")
