"""Operations: facts.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from datetime import datetime

from memory_gateway_client.agents import fact_owner
from memory_gateway_client.request import (
    Call,
    asked,
    given,
)
from memory_gateway_client.types import FactPage, LearnedFact, RecalledFacts


def learn(
    _own: str | None,
    /,
    subject: str,
    predicate: str,
    object: str,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    confidence: float | None = None,
    learned_from_run_id: str | None = None,
    fact_id: str | None = None,
    single: bool = False,
    occurred_at: datetime | None = None,
    shared: bool = False,
) -> Call[LearnedFact]:
    """Keep a fact. A later one of its subject and predicate comes in its place where both are told with ``single``.

    Args:
        subject: Which subject.
        predicate: Which predicate.
        object: Which object.
        agent_id: The agent, where that is not the client's.
        agent_type: Without an ``agent_id``: the facts that all agents of this type share.
        confidence: How sure it is. Below 0.5 it is doubtful: it holds only where nothing sure says otherwise. Left out:
            ``1.0``.
        learned_from_run_id: The run that it was learned from.
        fact_id: Your own id of it, which is kept with it.
        single: Whether one object holds at a time: a later fact of this subject and predicate, as both are written,
            replaces it. Else all objects hold.
        occurred_at: Since when it holds, where that is not now.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        Conflict: ``erasing``, ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/facts",
        LearnedFact,
        body=given(
            agent_id=fact_owner(agent_id, _own, agent_type, shared=shared),
            agent_type=agent_type,
            subject=subject,
            predicate=predicate,
            object=object,
            confidence=confidence,
            learned_from_run_id=learned_from_run_id,
            fact_id=fact_id,
            single=single or None,
            occurred_at=occurred_at,
        ),
        status=201,
    )


def facts(
    _own: str | None,
    /,
    subject: str | None = None,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    predicate: str | None = None,
    learned_from_run_id: str | None = None,
    history: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
    shared: bool = False,
) -> Call[FactPage]:
    """List what holds, newest first; with ``history`` what held before too.

    Args:
        subject: Only those of this subject.
        agent_id: The agent, where that is not the client's.
        agent_type: Without an ``agent_id``: the facts that all agents of this type share.
        predicate: Only those of this predicate.
        learned_from_run_id: Only those that were learned from this run.
        history: Those too that hold no more, or not yet.
        limit: The most facts of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "GET",
        "/facts",
        FactPage,
        query=asked(
            agent_id=fact_owner(agent_id, _own, agent_type, shared=shared),
            agent_type=agent_type,
            subject=subject,
            predicate=predicate,
            learned_from_run_id=learned_from_run_id,
            history=history or None,
            limit=limit,
            cursor=cursor,
        ),
    )


def recall_facts(
    _own: str | None,
    /,
    query: str,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    top_k: int | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    shared: bool = False,
) -> Call[RecalledFacts]:
    """Return the facts that answer a query best: those that were told, and texts of the type fact.

    Args:
        query: What is asked.
        agent_id: The agent, where that is not the client's.
        agent_type: Without an ``agent_id``: the facts that all agents of this type share.
        top_k: From 1 to 50. Left out: ``5``.
        subject: Only facts of this subject.
        predicate: Only facts of this predicate.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "POST",
        "/facts/recall",
        RecalledFacts,
        body=given(
            agent_id=fact_owner(agent_id, _own, agent_type, shared=shared),
            agent_type=agent_type,
            query=query,
            top_k=top_k,
            subject=subject,
            predicate=predicate,
        ),
    )
