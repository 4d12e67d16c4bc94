"""The operations of facts, in the form of ``memory_gateway_client.calls``.

Facts are an agent's, or those that all agents of a type share.
"""

from datetime import datetime

from memory_gateway_client.request import Call, given, one_agent
from memory_gateway_client.tiers import facts_types as types


def learn(
    _own: str | None,
    /,
    subject: str,
    predicate: str,
    object: str,  # noqa: A002 - the field's name
    *,
    confidence: float = 1.0,
    agent_id: str | None = None,
    agent_type: str | None = None,
    shared: bool = False,
    learned_from_run_id: str | None = None,
    fact_id: str | None = None,
    single: bool = False,
    occurred_at: datetime | None = None,
) -> Call[types.LearnedFact]:
    """Keep a fact. The same again changes nothing.

    Args:
        subject: Of what it tells, such as "user", at most 256 bytes.
        predicate: What it says of it, such as "lives in", at most 256 bytes.
        object: The value, such as "Oslo", at most 1,024 bytes.
        confidence: How sure it is, 0 to 1. One below 0.5 is doubtful: any surer one of the same holds over it.
        agent_id: Whose fact, where that is not the client's agent.
        agent_type: The type of the agent that has learned it; whose it is, where no agent is named.
        shared: Share it with all agents of ``agent_type``, as does a client without an agent.
        learned_from_run_id: The run that it was learned from.
        fact_id: Your own id of it, which is kept with it.
        single: One object holds at a time: a later fact of this subject and predicate, as both are written, holds in
            its place. Else all of them hold.
        occurred_at: Since when it holds; None: since now.

    Raises:
        InvalidRequest: a field is over its limits.
        NotFound: there is no such run; nothing was written.
        Conflict: the agent's long-term memory is switched off, or it is being erased.
        QuotaExceeded: the tenant has as much as it may keep.
        Unavailable: it may be kept; keeping it again is safe.
    """
    body = given(
        agent_id=_whose(agent_id, _own, agent_type, shared=shared),
        agent_type=agent_type,
        subject=subject,
        predicate=predicate,
        object=object,
        confidence=confidence,
        learned_from_run_id=learned_from_run_id,
        fact_id=fact_id,
        single=single or None,
        occurred_at=occurred_at,
    )
    return Call("POST", "/facts", types.LearnedFact, body=body, status=201)


def recall_facts(
    _own: str | None,
    /,
    query: str,
    *,
    subject: str | None = None,
    predicate: str | None = None,
    top_k: int | None = None,
    agent_id: str | None = None,
    agent_type: str | None = None,
    shared: bool = False,
) -> Call[types.RecalledFacts]:
    """Return the facts that answer a question best: those that were learned, and those that stored texts state.

    Args:
        query: The question, in any words.
        subject: Only facts of this subject.
        predicate: Only facts of this predicate.
        top_k: The most facts, 1 to 50; None: 5.
        agent_id: Whose facts, where that is not the client's agent.
        agent_type: Whose shared facts, where no agent is named.
        shared: Ask for those that all agents of ``agent_type`` share, as does a client without an agent.

    Raises:
        InvalidRequest: a field is over its limits.
        Conflict: the agent's long-term memory is switched off.
        QuotaExceeded: there were too many calls.
        Unavailable: there is no answer; an outage is never an empty one.
    """
    whose = _whose(agent_id, _own, agent_type, shared=shared)
    body = given(agent_id=whose, agent_type=agent_type, query=query, subject=subject, predicate=predicate, top_k=top_k)
    return Call("POST", "/facts/recall", types.RecalledFacts, body=body)


def facts(
    _own: str | None,
    /,
    subject: str | None = None,
    *,
    predicate: str | None = None,
    learned_from_run_id: str | None = None,
    history: bool = False,
    agent_id: str | None = None,
    agent_type: str | None = None,
    shared: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[types.FactPage]:
    """List the facts that hold, newest first; with ``history`` those too that held before.

    Args:
        subject: Only those of this subject.
        predicate: Only those of this predicate.
        learned_from_run_id: Only those that were learned from this run.
        history: Those too that hold no more.
        agent_id: Whose facts, where that is not the client's agent.
        agent_type: Whose shared facts, where no agent is named.
        shared: List those that all agents of ``agent_type`` share, as does a client without an agent.
        limit: The most facts of one page, 1 to 100; None: 20.
        cursor: Of the page before, to the same question; good for 24 hours.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Conflict: the agent's long-term memory is switched off.
        Unavailable: there is no answer.
    """
    query = given(
        agent_id=_whose(agent_id, _own, agent_type, shared=shared),
        agent_type=agent_type,
        subject=subject,
        predicate=predicate,
        learned_from_run_id=learned_from_run_id,
        history="true" if history else None,
        limit=None if limit is None else str(limit),
        cursor=cursor,
    )
    return Call("GET", "/facts", types.FactPage, query=query)


def _whose(said: str | None, own: str | None, agent_type: str | None, *, shared: bool) -> str | None:
    """Return the agent whose facts are meant; None: those that agents of the type share.

    Raises:
        ValueError: it is not said whose, or two are.
    """
    if shared and (said is not None or agent_type is None):
        raise ValueError("Facts are shared by agents of a type: say agent_type= with shared=True, and no agent_id=.")
    no_agent = said is None and own is None and agent_type is not None
    return None if shared or no_agent else one_agent(said, own)
