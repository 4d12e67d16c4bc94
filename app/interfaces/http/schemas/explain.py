"""Requests and answers of the route that explains a recall."""

from operator import not_
from typing import Any

from pydantic import ConfigDict, Field

from app.domain.comparing import Effect
from app.domain.moments import format_moment
from app.domain.query import Filter, Query
from app.domain.reading import RelationName
from app.interfaces.fields import Answer, Timestamp
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.memory import FindingAnswer
from app.interfaces.http.schemas.recall import Question
from app.interfaces.http.schemas.store import MemoryId
from app.services.memories.explain import Explanation

_CHANGEABLE = ("top_k", "min_score", "max_tokens", "as_of")


class ExplainRequest(Question):
    """A question whose answer is to be explained for one memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.EXPLAIN]})

    memory_id: MemoryId


class ChangeAnswer(Answer):
    """What of a question has to be another; what is not here stays as it was."""

    query: str | None = None
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    collapse: bool | None = None
    as_of: Timestamp | None = None
    filter: dict[str, Any] | None = Field(None, description="The filter that is left.")


class RelationAnswer(Answer):
    """How a newer memory bears on an older one, as the reader has found."""

    older_id: str
    newer_id: str
    name: RelationName = Field(description="What the newer does to the older.")
    probability: float = Field(ge=0, le=1, description="How likely it is that the older holds no longer.")
    effect: Effect | None = Field(
        description="`hides`: the older is not returned; `newer_first`: it comes behind the newer; null: nothing."
    )
    version: str = Field(description="The name of the reader's weights.")
    compared_at: Timestamp | None = Field(description="When it was recorded; null: this recall has compared them.")


class ExplainAnswer(Answer):
    """How a recall sees one memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.EXPLAINED]})

    returned: bool
    rank: int = Field(ge=1, description="Among all that the recall has compared, before anything is left out.")
    score: float = Field(ge=0, le=1)
    findings: list[FindingAnswer] = Field(description="What the score is made of; empty where no channel finds it.")
    obstacles: list[str] = Field(
        description=(
            "What keeps it out, one behind the other: `expired`; `forgotten`; `as_of`: it happened later; "
            "`superseded`: another memory states what holds; `filter`: it does not pass; `collapse`: another "
            "one says the same; `min_score`; `max_tokens`: it does not fit; `rank`: there are `top_k` better ones."
        )
    )
    change: ChangeAnswer | None = Field(
        description="The least change of the question that returns it, tried; null where it is returned or none does."
    )
    degraded: list[str] | None = Field(None, description="As in the answer of a recall.", exclude_if=not_)
    relations: list[RelationAnswer] | None = Field(
        None,
        description="How it and others bear on each other, where a reader has found that they do.",
        exclude_if=not_,
    )


def explain_answer(query: Query, explanation: Explanation) -> ExplainAnswer:
    """Return the answer to a question about a recall with this query."""
    return ExplainAnswer.model_validate(
        {
            "returned": not explanation.obstacles,
            "rank": explanation.rank,
            "score": explanation.score,
            "findings": explanation.findings,
            "obstacles": explanation.obstacles,
            "change": None if explanation.change is None else _difference(query, explanation.change),
            "degraded": explanation.degraded,
            "relations": explanation.comparisons,
        }
    )


def _difference(query: Query, changed: Query) -> dict[str, Any]:
    """Return the fields of a changed query that differ, as a request has them."""
    before, after = (
        {
            "query": each.text,
            **{name: getattr(each, name) for name in _CHANGEABLE},
            "collapse": each.collapse is not None,
            "filter": _filter(each.where),
        }
        for each in (query, changed)
    )
    return {name: value for name, value in after.items() if value != before[name]}


def _filter(where: Filter) -> dict[str, Any]:
    """Return a filter as a request has it."""
    bounds = {"created_after": where.created_after, "created_before": where.created_before}
    moments = {name: format_moment(bound) for name, bound in bounds.items() if bound is not None}
    return {**moments, **({"metadata": where.metadata} if where.metadata else {})}
