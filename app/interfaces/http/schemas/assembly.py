"""The request and the answer of the route that assembles an agent's context."""

from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from app.domain import limits
from app.interfaces.fields import Answer, Number, QueryText, Request, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.run_state import RunId
from app.interfaces.http.schemas.store import AgentId
from app.interfaces.http.schemas.working import INSTANCE
from app.services.assembly.assembler import AssembledContext, ContextWanted
from app.services.assembly.budget import Part

_Name = Annotated[str, Within(limits.CONTEXT_NAME)]
_PIECE: dict[str, Any] = {
    "part": "shared_context",
    "source": "context/house-style@3",
    "tokens": 12,
    "content": "Answer in the customer's language.",
}
_ANSWER: dict[str, Any] = {
    "agent_id": examples.AGENT_ID,
    "max_tokens": 4000,
    "tokens": 12,
    "pieces": [_PIECE],
    "long_term": {"retrieved": []},
    "missing": [],
    "left_out": [],
}


def _needs(field: str, if_it_is: dict[str, Any], other: str) -> dict[str, Any]:
    """Describe that a field of such a value needs another field."""
    return {
        "if": {"required": [field], "properties": {field: if_it_is}},
        "then": {"required": [other], "properties": {other: {"type": "string"}}},
    }


# Under "then", which generators of clients pass over.
_WITH_OTHERS: dict[str, Any] = {
    "if": {"type": "object"},
    "then": {
        "allOf": [_needs("prefetch", {"enum": [True]}, "query"), _needs("task_type", {"type": "string"}, "agent_type")]
    },
}


class AssembleRequest(Request):
    """What an agent needs at the start of a turn."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"agent_id": examples.AGENT_ID, "instance": INSTANCE, "agent_type": "support", "max_tokens": 4000}
            ],
            **_WITH_OTHERS,
        }
    )

    agent_id: AgentId
    instance: Annotated[AgentId | None, Field(description="Whose window is read. Absent: no window.")] = None
    agent_type: Annotated[
        AgentId | None, Field(description="Whose last episodes are read. Absent: those of the agent itself.")
    ] = None
    task_type: Annotated[
        AgentId | None, Field(description="What a workflow is selected for, with `agent_type`. Absent: no workflow.")
    ] = None
    context: Annotated[
        list[_Name] | None,
        Field(max_length=limits.MAX_CONTEXT_NAMES, description="The shared documents. Absent: all of the tenant."),
    ] = None
    query: Annotated[QueryText | None, Field(description="What long-term memory is recalled for.")] = None
    prefetch: Annotated[
        bool | None,
        Field(
            description="Whether long-term memory is recalled before the turn. Absent: where there is a `query`. If "
            "not, `long_term.retrieved` stays empty, and the agent recalls by its tool."
        ),
    ] = None
    max_tokens: Annotated[
        int,
        Number,
        Within(limits.WINDOW_TOKEN_LIMIT),
        Field(description="The most tokens of all pieces together, about."),
    ] = limits.WINDOW_TOKENS
    run_id: Annotated[RunId | None, Field(description="The run in which the workflow and the recall are noted.")] = None
    seed: Annotated[
        Annotated[int, Number, Within(limits.SEED)] | None,
        Field(description="With the same seed and counts the same workflow is selected."),
    ] = None


class ContextPiece(Answer):
    """A text of the context."""

    part: Part
    source: str = Field(description="What it is, by the name under which the service gives it, and when it was.")
    tokens: int = Field(description="What source and content cost together, about.")
    content: str


class PrefetchedMemories(BaseModel):
    """What was recalled before the turn."""

    retrieved: list[ContextPiece]


class MissingPart(Answer):
    """A part that did not answer."""

    part: Part
    code: str = Field(validation_alias=AliasPath("error", "code"), description="A problem's code.")
    detail: str = Field(validation_alias=AliasPath("error", "detail"))


class LeftOut(BaseModel):
    """What did not fit of a part."""

    part: Part
    pieces: int


class AssembledAnswer(BaseModel):
    """An agent's context, in the order in which a model reads it best: what was said last comes last."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ANSWER]})

    agent_id: str
    max_tokens: int
    tokens: int = Field(description="What all pieces cost together.")
    pieces: list[ContextPiece]
    long_term: PrefetchedMemories
    missing: list[MissingPart]
    left_out: list[LeftOut]

    @classmethod
    def of(cls, wanted: ContextWanted, found: AssembledContext) -> "AssembledAnswer":
        """Make it of what was found."""
        pieces = [piece for piece in found.fitted.pieces if piece.part != "long_term"]
        return cls.model_validate(
            {
                "agent_id": wanted.agent_id,
                "max_tokens": wanted.max_tokens,
                "tokens": found.fitted.tokens,
                "pieces": pieces,
                "long_term": {"retrieved": found.of("long_term")},
                "missing": found.missing,
                "left_out": [{"part": part, "pieces": count} for part, count in found.fitted.left_out.items()],
            }
        )
