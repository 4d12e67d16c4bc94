"""Requests and answers of the route that recalls memories."""

from operator import not_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from app.domain import limits
from app.domain.query import EVERYTHING, Filter, GroupBy, Query
from app.interfaces.fields import (
    AT_MOST_CONTENT_BYTES,
    Answer,
    MomentMs,
    Number,
    QueryText,
    RecallFilter,
    Request,
    TopK,
    Within,
    is_none,
)
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.memory import UNKNOWN_AGENT, EntryAnswer
from app.interfaces.http.schemas.optional import absent_if_none
from app.interfaces.http.schemas.store import AgentId


class Question(Request):
    """A question to the agent's memory."""

    agent_id: AgentId
    query: Annotated[QueryText, Field(description=AT_MOST_CONTENT_BYTES)]
    top_k: Annotated[TopK, Field(description="The most entries to return; 20 with `for_model`.")] = 5
    filter: RecallFilter | None = None
    reference_time: Annotated[
        MomentMs | None, Field(description="What `yesterday` and `last week` are counted from, where that is not now.")
    ] = None
    as_of: Annotated[
        MomentMs | None,
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
        Annotated[bool, Field(strict=True)] | None,
        Field(
            description=(
                "Give memories that say the same once, in the same words or in others: the newest, with the others in "
                "`also`. Absent: as `for_model`."
            )
        ),
    ] = None
    strict: Annotated[
        Annotated[bool, Field(strict=True)] | None,
        Field(
            description=(
                "Where the embedder, the index or the index of words is away, answer with its error, such as 429 with "
                "`Retry-After`. With false the answer is what the others find, and `degraded` says so. Absent: as the "
                "operator has set it, which is false at first."
            )
        ),
    ] = None

    def to_query(self) -> Query:
        """Return the domain's query."""
        return self.to(
            Query,
            text=self.query,
            where=EVERYTHING if self.filter is None else self.filter.to(Filter),
            collapse="restatements" if self._collapses else None,
        )

    @property
    def _collapses(self) -> bool:
        return bool(self.collapse)


_FEWER_FOR_MODEL: dict[str, Any] = {
    "if": {"required": ["for_model"], "properties": {"for_model": {"enum": [True]}}},
    "then": {"properties": {"top_k": {"maximum": limits.MAX_TOP_K_OF_TOOLS}}},
}


class RecallRequest(Question):
    """A question that is answered with memories."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [examples.RECALL, examples.RECALL_FILTERED, examples.RECALL_GROUPED],
            **_FEWER_FOR_MODEL,
        }
    )

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
    group_by: Annotated[
        Annotated[GroupBy, WithJsonSchema({"type": "string", "enum": ["session"]})] | None,
        Field(
            description=(
                "Put the entries of a session together: `top_k` then counts sessions, of each of which at most "
                f"{limits.MAX_OF_GROUP} entries are returned, and `groups` tells how likely one of these answers. A "
                "memory without a session is a group of its own. There may be fewer groups than `top_k` though there "
                "are more sessions. Absent: each entry stands alone."
            )
        ),
    ] = None
    run_id: Annotated[
        Annotated[str, Within(limits.RUN_ID)] | None,
        Field(
            description=(
                "The run that recalls: its replay then tells of it. Whether there is such a run is not looked up, so "
                "that a recall costs no more."
            )
        ),
    ] = None

    @property
    def _collapses(self) -> bool:
        return self.for_model if self.collapse is None else self.collapse


class GroupAnswer(Answer):
    """Entries of one session, or a memory that has none."""

    session_id: str | None = Field(description="The conversation; null: the only entry comes from none.")
    score: float = Field(
        ge=0, le=1, description="How likely one of its entries answers: 1 - (1 - a)(1 - b)..., of their scores."
    )
    entries: list[str] = Field(description="The ids of its entries, best first.")


class RecallAnswer(Answer):
    """What was found, best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.RECALLED, examples.RECALLED_GROUPED]})

    entries: list[EntryAnswer] = Field(description="Best first; with `group_by` group after group, each best first.")
    groups: list[GroupAnswer] | None = Field(
        None, exclude_if=is_none, description="What belongs together, best first, where `group_by` asked for it."
    )
    agent: Literal["unknown"] | SkipJsonSchema[None] = absent_if_none(UNKNOWN_AGENT)
    confidence: float = Field(
        ge=0,
        le=1,
        description="How likely it is that one of the best candidates answers the query: the score of the best.",
    )
    degraded: list[str] | None = Field(
        None,
        exclude_if=not_,
        description=(
            "Present when the answer may not be all there is: why. `index_unavailable`, `embedder_unavailable`, "
            "`lexical_unavailable`: this did not answer, and the other channels did (with `strict` that is an error). "
            "`vectors_unreadable`: damaged vectors were left out. `reader_unavailable`, `reranker_unavailable`: the "
            "reader or the reranker did not answer in time, and the answer is the one without it. `pending_bound`: of "
            "what is new only the newest was compared. `filter_beyond_index`: the last entries match the filter, or "
            "are what `for_model` leaves, but their vectors were not compared with the query's."
        ),
    )
