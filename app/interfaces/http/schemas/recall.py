"""Requests and answers of the routes that recall memories and explain a recall."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.comparing import Effect
from app.domain.moments import format_moment, milliseconds
from app.domain.query import Filter, Query
from app.domain.reading import RelationName
from app.interfaces.fields import (
    AT_MOST_CONTENT_BYTES,
    Answer,
    Moment,
    Number,
    QueryText,
    RecallFilter,
    Request,
    Timestamp,
    TopK,
    Within,
)
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.source import WRITTEN_BY, SourceAnswer
from app.interfaces.http.schemas.store import AgentId, MemoryId
from app.services.explain import Explanation

_CHANGEABLE = ("top_k", "min_score", "max_tokens", "collapse", "as_of")


def _is_empty(value: object) -> bool:
    """Tell whether an answer leaves a value out."""
    return not value


class Question(Request):
    """A question to the agent's memory."""

    agent_id: AgentId
    query: Annotated[QueryText, Field(description=AT_MOST_CONTENT_BYTES)]
    top_k: Annotated[TopK, Field(description="The most entries to return; 20 with `for_model`.")] = 5
    filter: RecallFilter | None = None
    reference_time: Annotated[
        Moment | None, Field(description="What `yesterday` and `last week` are counted from, where that is not now.")
    ] = None
    as_of: Annotated[
        Moment | None,
        Field(
            description=(
                "Recall as of this moment: only what had happened by then, and of corrected statements the one that "
                "held then. Absent: what holds now. Where there is no `reference_time`, `yesterday` is counted from it."
            )
        ),
    ] = None
    recency_days: Annotated[
        Annotated[float, Number, Within(limits.RECENCY_DAYS)] | None,
        Field(
            description=(
                "Prefer recent memories: the age in days at which the preference has halved. Absent: how recent a "
                "memory is decides between equal scores alone."
            ),
        ),
    ] = None
    min_score: Annotated[float, Number, Within(limits.MIN_SCORE), Field(description="The least score of an entry.")] = (
        0.0
    )
    max_tokens: Annotated[
        Annotated[int, Number, Within(limits.MAX_TOKENS)] | None,
        Field(
            description=(
                "The most tokens of all content together, about: one is four ASCII characters, or one other character. "
                "A memory that does not fit gives way to a shorter one behind it."
            ),
        ),
    ] = None
    collapse: Annotated[
        bool,
        Field(strict=True, description="Give memories that differ only in case, white space and Unicode form once."),
    ] = False

    def to_query(self) -> Query:
        """Return the domain's query."""
        return self._query()

    def _query(self, *, explain: bool = False, for_model: bool = False) -> Query:
        return Query(
            self.query,
            self.top_k,
            Filter() if self.filter is None else self.filter.to_filter(),
            None if self.reference_time is None else milliseconds(self.reference_time),
            self.min_score,
            self.max_tokens,
            self.collapse,
            explain=explain,
            for_model=for_model,
            recency_days=self.recency_days,
            as_of=None if self.as_of is None else milliseconds(self.as_of),
        )


class RecallRequest(Question):
    """A question that is answered with memories."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.RECALL, examples.RECALL_FILTERED]})

    explain: Annotated[bool, Field(strict=True, description="Tell what each score is made of.")] = False
    for_model: Annotated[
        bool,
        Field(
            strict=True,
            description=(
                "A model reads the entries: leave out what a program keeps for itself, which are memories with the "
                "metadata key `store.key`. The tool `recall_memory` of the MCP server always does."
            ),
        ),
    ] = False
    run_id: Annotated[
        Annotated[str, Field(strict=True), Within(limits.RUN_ID)] | None,
        WithJsonSchema({"type": "string", **limits.RUN_ID.schema, "examples": [examples.MEMORY_ID]}),
        Field(
            description=(
                "The run that recalls: its replay then tells of it. Whether there is such a run is not looked up, so "
                "that a recall costs no more."
            )
        ),
    ] = None

    def to_query(self) -> Query:
        """Return the domain's query."""
        return self._query(explain=self.explain, for_model=self.for_model)


class ExplainRequest(Question):
    """A question whose answer is to be explained for one memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.EXPLAIN]})

    memory_id: MemoryId


class FindingAnswer(Answer):
    """What one channel, or one cue, has to do with a score."""

    channel: str = Field(
        description=(
            "`lexical`: words of the query, in the memory or beside it in its session; `vector`: meaning; "
            "`synonyms`, `hyde`, `learned`: other words for it, nearness to a hypothetical answer, and that it was "
            "learned of messages, where a language model answers; "
            "`key`: it has the topic, or states the fact, that the query asks for by name; "
            "`smoothing`: what neighbours and the best of the session have; `names`: the query "
            "names who speaks; `time`: the query names when it was; `numbers`: it is about the thing that the query "
            "names by its number; `recency`: it is recent, where that was asked; "
            "`succession`: the part of a memory that states what no longer holds, where it states what does; "
            "`reader`: how likely the reader finds that it answers, and what that adds to the score or takes from it; "
            "`reranker`: a model has read the memory and the query, and its relevance is the whole score."
        )
    )
    weighted: float = Field(description="Its share of the score; all shares add up to it.")
    raw: float | None = Field(None, description="In the channel's own measure; of `names` the factor.")
    rank: int | None = Field(None, description="The memory's rank in the channel, from 1.")


class EntryAnswer(Answer):
    """One memory found."""

    id: str
    content: str
    metadata: dict[str, Any]
    score: float = Field(
        ge=0, le=1, description="How likely it answers the query, or the reranker's relevance where one is set."
    )
    similarity: float | None = Field(
        ge=-1, le=1, description="Cosine similarity of the embeddings; null where only other channels found it."
    )
    created_at: Timestamp = Field(description="When it was stored.")
    occurred_at: Timestamp | None = Field(
        description=(
            "When what it says happened, as the store said; null: it was not said, and `created_at` is when it was "
            "stored. Of two entries that contradict each other the later holds."
        )
    )
    session_id: str | None = Field(description="The conversation it comes from, as the store said; null: none was.")
    source: SourceAnswer | None = Field(None, description=WRITTEN_BY, exclude_if=_is_empty)
    findings: list[FindingAnswer] | None = Field(
        None, description="What the score is made of, where that was asked.", exclude_if=_is_empty
    )


class RecallAnswer(Answer):
    """What was found, best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.RECALLED]})

    entries: list[EntryAnswer]
    confidence: float = Field(
        ge=0,
        le=1,
        description="How likely it is that one of the best candidates answers the query: the score of the best.",
    )
    degraded: list[str] | None = Field(
        None,
        exclude_if=_is_empty,
        description=(
            "Present when the answer may not be all there is: why. `index_unavailable`, `embedder_unavailable`, "
            "`lexical_unavailable`: this did not answer, and the other channels did. `vectors_unreadable`: damaged "
            "vectors were left out. `reader_unavailable`, `reranker_unavailable`: the reader or the reranker did not "
            "answer in time, and the answer is the one without it. `pending_bound`: of what is new only the newest was "
            "compared. `filter_beyond_index`: the last entries match the filter, or are what `for_model` leaves, but "
            "their vectors were not compared with the query's."
        ),
    )


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
            "`superseded`: another memory states what holds; `filter`: it does not pass; `collapse`: a better one has "
            "the same content; `min_score`; `max_tokens`: it does not fit; `rank`: there are `top_k` better ones."
        )
    )
    change: ChangeAnswer | None = Field(
        description="The least change of the question that returns it, tried; null where it is returned or none does."
    )
    degraded: list[str] | None = Field(None, description="As in the answer of a recall.", exclude_if=_is_empty)
    relations: list[RelationAnswer] | None = Field(
        None,
        description="How it and others bear on each other, where a reader has found that they do.",
        exclude_if=_is_empty,
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
        {"query": each.text, **{name: getattr(each, name) for name in _CHANGEABLE}, "filter": _filter(each.where)}
        for each in (query, changed)
    )
    return {name: value for name, value in after.items() if value != before[name]}


def _filter(where: Filter) -> dict[str, Any]:
    """Return a filter as a request has it."""
    bounds = {"created_after": where.created_after, "created_before": where.created_before}
    moments = {name: format_moment(bound) for name, bound in bounds.items() if bound is not None}
    return {**moments, **({"metadata": where.metadata} if where.metadata else {})}
