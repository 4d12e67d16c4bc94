"""What recalls take and give. Limits are shown here for the OpenAPI document; ``app.domain.limits`` holds them."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.limits import CONTENT_BYTES, MAX_RECENCY_DAYS, MAX_TOP_K
from app.domain.moments import format_moment, milliseconds
from app.domain.query import Entry, Filter, Finding, Query
from app.interfaces.fields import Moment, RecallFilter, Request, number, number_or_none, text_schema
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.store import AgentId, MemoryId
from app.services.explain import Explanation
from app.services.recall import Recall


class Question(Request):
    """A question to the agent's memory."""

    agent_id: AgentId
    query: Annotated[
        str,
        Field(description=f"At most {CONTENT_BYTES} bytes in UTF-8.", json_schema_extra=text_schema(CONTENT_BYTES)),
    ]
    top_k: Annotated[
        int,
        BeforeValidator(number),
        Field(description="The most entries to return.", json_schema_extra={"minimum": 1, "maximum": MAX_TOP_K}),
    ] = 5
    filter: RecallFilter | None = None
    reference_time: Annotated[
        Moment | None, Field(description="What `yesterday` and `last week` are counted from, where that is not now.")
    ] = None
    recency_days: Annotated[
        float | None,
        BeforeValidator(number_or_none),
        Field(
            description=(
                "Prefer recent memories: the age in days at which the preference has halved. Absent: how recent a "
                "memory is decides between equal scores alone."
            ),
            json_schema_extra={"exclusiveMinimum": 0, "maximum": MAX_RECENCY_DAYS},
        ),
    ] = None
    min_score: Annotated[
        float,
        BeforeValidator(number),
        Field(description="The least score of an entry.", json_schema_extra={"minimum": 0, "maximum": 1}),
    ] = 0.0
    max_tokens: Annotated[
        int | None,
        BeforeValidator(number_or_none),
        Field(
            description=(
                "The most tokens of all content together, about: one is four ASCII characters, or one other character. "
                "A memory that does not fit gives way to a shorter one behind it."
            ),
            json_schema_extra={"minimum": 1},
        ),
    ] = None
    collapse: Annotated[
        bool,
        Field(strict=True, description="Give memories that differ only in case, white space and Unicode form once."),
    ] = False

    def asked(self) -> Query:
        """Return it in the domain's words."""
        return Query(
            self.query,
            self.top_k,
            Filter() if self.filter is None else self.filter.where(),
            None if self.reference_time is None else milliseconds(self.reference_time),
            self.min_score,
            self.max_tokens,
            self.collapse,
            recency_days=self.recency_days,
        )


class RecallRequest(Question):
    """A question that is answered with memories."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.RECALL, examples.RECALL_FILTERED]})

    explain: Annotated[bool, Field(strict=True, description="Tell what each score is made of.")] = False

    def asked(self) -> Query:
        """Return it in the domain's words."""
        return replace(super().asked(), explain=self.explain)


class ExplainRequest(Question):
    """A question whose answer is to be explained for one memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.EXPLAIN]})

    memory_id: MemoryId


class FindingAnswer(BaseModel):
    """What one channel, or one cue, has to do with a score."""

    channel: str = Field(
        description=(
            "`lexical`: words of the query, in the memory or beside it in its session; `vector`: meaning; "
            "`smoothing`: what a neighbour in the session has; `session`: what the session has; `names`: the query "
            "names who speaks; `time`: the query names when it was; `recency`: it is recent, where that was asked."
        )
    )
    weighted: float = Field(description="Its share of the score; all shares add up to it.")
    raw: float | None = Field(None, description="In the channel's own measure; of `names` the factor.")
    rank: int | None = Field(None, description="The memory's rank in the channel, from 1.")


class EntryAnswer(BaseModel):
    """One memory found."""

    id: str
    content: str
    metadata: dict[str, Any]
    score: float = Field(ge=0, le=1, description="All channels together, higher is better.")
    similarity: float | None = Field(
        ge=-1, le=1, description="Cosine similarity of the embeddings; null where only other channels found it."
    )
    created_at: str = Field(json_schema_extra={"format": "date-time"})
    findings: list[FindingAnswer] | None = Field(None, description="What the score is made of, where that was asked.")


class RecallAnswer(BaseModel):
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
        description=(
            "Present when the answer may not be all there is: why. `index_unavailable`, `embedder_unavailable`, "
            "`lexical_unavailable`: this did not answer, and the other channels did. `pending_bound`: of what is new "
            "only the newest was compared. `filter_beyond_index`: the last entries match the filter, but their vectors "
            "were not compared with the query's."
        ),
    )


class ChangeAnswer(BaseModel):
    """What of a question has to be another; what is not here stays as it was."""

    query: str | None = None
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    collapse: bool | None = None
    filter: dict[str, Any] | None = Field(None, description="The filter that is left.")


class ExplainAnswer(BaseModel):
    """How a recall sees one memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.EXPLAINED]})

    returned: bool
    rank: int = Field(ge=1, description="Among all that the recall has compared, before anything is left out.")
    score: float = Field(ge=0, le=1)
    findings: list[FindingAnswer] = Field(description="What the score is made of; empty where no channel finds it.")
    obstacles: list[str] = Field(
        description=(
            "What keeps it out, one behind the other: `expired`; `filter`: it does not pass; `collapse`: a better one "
            "has the same content; `min_score`; `max_tokens`: it does not fit; `rank`: there are `top_k` better ones."
        )
    )
    change: ChangeAnswer | None = Field(
        description="The least change of the question that returns it, tried; null where it is returned or none does."
    )
    degraded: list[str] | None = Field(None, description="As in the answer of a recall.")


def recall_answer(recall: Recall) -> RecallAnswer:
    """Write an answer for the wire: what there is nothing to say of is left out."""
    degraded = {"degraded": list(recall.degraded)} if recall.degraded else {}
    entries = [_entry(entry) for entry in recall.entries]
    return RecallAnswer(entries=entries, confidence=recall.confidence, **degraded)


def explain_answer(asked: Query, explanation: Explanation) -> ExplainAnswer:
    """Write an explanation for the wire."""
    return ExplainAnswer(
        returned=not explanation.obstacles,
        rank=explanation.rank,
        score=explanation.score,
        findings=_findings(explanation.findings),
        obstacles=list(explanation.obstacles),
        change=None if explanation.change is None else _change(asked, explanation.change),
        **({"degraded": list(explanation.degraded)} if explanation.degraded else {}),
    )


def _change(asked: Query, change: Query) -> ChangeAnswer:
    fields = ("top_k", "min_score", "max_tokens", "collapse")
    changed = {name: getattr(change, name) for name in fields if getattr(change, name) != getattr(asked, name)}
    if change.text != asked.text:
        changed["query"] = change.text
    if change.where != asked.where:
        changed["filter"] = _filter(change.where)
    return ChangeAnswer(**changed)


def _filter(where: Filter) -> dict[str, Any]:
    bounds = {"created_after": where.created_after, "created_before": where.created_before}
    kept = {name: format_moment(bound) for name, bound in bounds.items() if bound is not None}
    return {**kept, **({"metadata": dict(where.metadata)} if where.metadata else {})}


def _entry(entry: Entry) -> EntryAnswer:
    return EntryAnswer(
        id=entry.id,
        content=entry.content,
        metadata=dict(entry.metadata),
        score=entry.score,
        similarity=entry.similarity,
        created_at=format_moment(entry.created_at),
        **({"findings": _findings(entry.findings)} if entry.findings else {}),
    )


def _findings(findings: Sequence[Finding]) -> list[FindingAnswer]:
    return [FindingAnswer(**asdict(finding)) for finding in findings]
