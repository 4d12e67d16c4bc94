"""Requests and answers of the routes of facts."""

from dataclasses import asdict
from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from app.domain import limits
from app.domain.facts import FactStatement
from app.domain.query import Query
from app.interfaces.fields import Answer, MomentMs, Number, QueryText, Request, Timestamp, TopK, Within
from app.interfaces.http.schemas import examples, facts_examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, next_cursor
from app.interfaces.http.schemas.episodic import AgentFilter, AgentName, AgentType, RunId
from app.interfaces.http.schemas.optional import (
    OptionalCodes,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_none,
    optional,
)
from app.services.tiers.facts import Recalled, StoredFact

_OWNER = "Whose facts. Absent: those of the agent whose id is `agent_type`."
_SINGLE = (
    "Whether one object holds at a time: a later fact of this subject and predicate, as both are written, replaces it. "
    "Else all objects hold."
)
_SHARED = "Without an `agent_id`: the facts that all agents of this type share."


Subject: TypeAlias = Annotated[str, Field(json_schema_extra={"examples": ["user"]}), Within(limits.FACT_SUBJECT)]
Predicate: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": ["lives in"]}), Within(limits.FACT_PREDICATE)
]
_Type: TypeAlias = Annotated[str | None, TextWithin(limits.AGENT_ID, examples.AGENT_ID)]
_Run: TypeAlias = Annotated[str | None, TextWithin(limits.RUN_ID, examples.MEMORY_ID)]
_SomeSubject: TypeAlias = Annotated[str | None, TextWithin(limits.FACT_SUBJECT, "user")]
_SomePredicate: TypeAlias = Annotated[str | None, TextWithin(limits.FACT_PREDICATE, "lives in")]


# Under "then", which generators of clients pass over.
_OF_SOMEBODY: dict[str, Any] = {
    "if": {"type": "object"},
    "then": {
        "anyOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in ("agent_id", "agent_type")]
    },
}


class LearnFactRequest(Request):
    """A fact to keep."""

    model_config = ConfigDict(json_schema_extra={"examples": [facts_examples.LEARN], **_OF_SOMEBODY})

    agent_id: AgentName | None = optional(_OWNER)
    agent_type: AgentType | None = optional(_SHARED)
    subject: Subject
    predicate: Predicate
    object: Annotated[str, Field(json_schema_extra={"examples": ["Oslo"]}), Within(limits.FACT_OBJECT)]
    confidence: Annotated[
        float,
        Number,
        Within(limits.CONFIDENCE),
        Field(description="How sure it is. Below 0.5 it is doubtful: it holds only where nothing sure says otherwise."),
    ] = 1.0
    learned_from_run_id: RunId | None = optional("The run that it was learned from.")
    fact_id: Annotated[str, Within(limits.FACT_ID)] | None = optional("Your own id of it, which is kept with it.")
    single: Annotated[bool, Field(strict=True, description=_SINGLE)] = False
    occurred_at: MomentMs | None = optional("Since when it holds, where that is not now.")


class RecallFactsRequest(Request):
    """A question that is answered with facts."""

    model_config = ConfigDict(json_schema_extra={"examples": [facts_examples.RECALL], **_OF_SOMEBODY})

    agent_id: AgentName | None = optional(_OWNER)
    agent_type: AgentType | None = optional(_SHARED)
    query: QueryText
    top_k: TopK = 5
    subject: Subject | None = optional("Only facts of this subject.")
    predicate: Predicate | None = optional("Only facts of this predicate.")

    def to_query(self) -> Query:
        """Return the domain's query."""
        return Query(self.query, self.top_k)


class FactsQuery(Request):
    """Which facts to list."""

    agent_id: Annotated[AgentFilter, Field(description=_OWNER)] = None
    agent_type: Annotated[_Type, Field(description=_SHARED)] = None
    subject: Annotated[_SomeSubject, Field(description="Only those of this subject.")] = None
    predicate: Annotated[_SomePredicate, Field(description="Only those of this predicate.")] = None
    learned_from_run_id: Annotated[_Run, Field(description="Only those that were learned from this run.")] = None
    history: Annotated[
        bool,
        Field(description="Those too that hold no more, or not yet.", json_schema_extra={"examples": [True]}),
    ] = False
    limit: Annotated[ListLimit, Field(description="The most facts of one answer.")] = 20
    cursor: ListCursor = None


class LearnedFactAnswer(Answer):
    """A fact that is kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [facts_examples.LEARNED]})

    fact_id: str = Field(description="Your own id, or else the memory's.")
    memory_id: str
    subject: str
    predicate: str
    object: str
    holds: bool = Field(description="Whether it is what holds now: neither a later nor a surer fact says otherwise.")


class _FactBody(Answer):
    memory_id: str
    content: str = Field(description="The fact in a sentence, or the text whose statement it is.")
    confidence: float
    fact_id: OptionalText = absent_if_none()
    agent_type: OptionalText = absent_if_none()
    learned_from_run_id: OptionalText = absent_if_none()


class RecalledFactAnswer(_FactBody):
    """A fact that answers a question."""

    subject: OptionalText = absent_if_none("Absent, with the others: the content is all there is.")
    predicate: OptionalText = absent_if_none()
    object: OptionalText = absent_if_none()
    score: float = Field(ge=0, le=1, description="How likely it answers the query.")
    created_at: Timestamp
    occurred_at: OptionalTimestamp = absent_if_none("Since when it holds, as its teller said.")


class RecalledFactsAnswer(Answer):
    """Facts, best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [facts_examples.RECALLED]})

    entries: list[RecalledFactAnswer]
    degraded: OptionalCodes = absent_if_none(
        "Present when the answer may not be all there is, as in the answer of a recall."
    )


class FactAnswer(_FactBody):
    """A fact."""

    subject: str
    predicate: str
    object: str
    since: Timestamp = Field(description="When it was said.")
    until: OptionalTimestamp = absent_if_none("When what replaced it was said.")
    holds: bool


class FactsAnswer(Answer):
    """Facts, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [facts_examples.FACTS]})

    facts: list[FactAnswer]
    cursor: OptionalText = next_cursor()


def learned_answer(learned: StoredFact) -> LearnedFactAnswer:
    """Return the answer for a fact that was stored."""
    given = {"memory_id": learned.memory_id, "holds": learned.holds}
    fact_id = learned.fact.fact_id or learned.memory_id
    return LearnedFactAnswer.model_validate({**asdict(learned.fact), **given, "fact_id": fact_id})


def recalled_answer(recalled: Recalled) -> RecalledFactAnswer:
    """Return the answer for a fact that was found; where its words are all there is, it is sure."""
    entry, fact = recalled.entry, {"confidence": 1.0} if recalled.fact is None else asdict(recalled.fact)
    times = {"created_at": entry.created_at, "occurred_at": entry.occurred_at}
    return RecalledFactAnswer.model_validate(
        {**fact, **times, "memory_id": entry.id, "content": entry.content, "score": entry.score}
    )


def fact_answer(statement: FactStatement) -> FactAnswer:
    """Return the answer for a fact of a listing."""
    given = {name: getattr(statement, name) for name in ("memory_id", "content", "since", "until", "holds")}
    return FactAnswer.model_validate({**asdict(statement.fact), **given})
