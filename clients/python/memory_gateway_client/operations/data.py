"""Operations: data.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import EllipsisType
from typing import Any

from memory_gateway_client.agents import agent_of_session, agent_or_every, one_agent
from memory_gateway_client.request import (
    Call,
    asked,
    given,
    partly,
    segment,
)
from memory_gateway_client.types import (
    Agents,
    AgentSettings,
    ConsolidationForecast,
    Consolidations,
    ConsolidationUndone,
    Credentials,
    Memory,
    Minted,
    Page,
    Revoked,
    Undone,
    UndoneLearned,
    Usages,
)


def get_memory(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
) -> Call[Memory]:
    """Return a memory, to an administrator or to a credential for its agent alone.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/memories/{segment(memory_id)}",
        Memory,
        query=asked(agent_id=one_agent(agent_id, _own)),
    )


def get_agent(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
) -> Call[AgentSettings]:
    """Tell what an agent is set to, to an administrator.

    Args:
        agent_id: The agent, where that is not the client's.
    """
    return Call(
        "GET",
        f"/agents/{segment(one_agent(agent_id, _own))}",
        AgentSettings,
    )


def set_agent(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    retention_days: int | EllipsisType | None = ...,
    long_term_enabled: bool | EllipsisType = ...,
    tools: str | EllipsisType = ...,
) -> Call[AgentSettings]:
    """Set an agent, as an administrator. What the request leaves out stays as it was.

    Args:
        agent_id: The agent, where that is not the client's.
        retention_days: How long its memories live where a store does not say, from now on; null: for ever, as at first.
            From 1 to 36,500.
        long_term_enabled: Whether it has a long-term memory, as at first. Without, it has no tools, and its stores and
            recalls are refused; what it holds stays.
        tools: Which tools its model is given, over MCP and by ``GET /tools``: ``recall_store`` for recall_memory and
            store_memory, as at first, or ``profile`` for remember, recall, forget and list. It cannot call the others.
            What programs call, such as ``/recall``, stays. Left out: ``recall_store``.
    """
    return Call(
        "PUT",
        f"/agents/{segment(one_agent(agent_id, _own))}",
        AgentSettings,
        body=partly(retention_days=retention_days, long_term_enabled=long_term_enabled, tools=tools),
    )


def credentials(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    minted_by: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Credentials]:
    """List the tenant's credentials, newest first, as an administrator of all agents; no token is among them.

    A credential is listed from when it was minted, or where that was elsewhere, from soon after its first use.

    Args:
        agent_id: Only those that are for this agent alone.
        minted_by: Only those that this credential has minted.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
    """
    return Call(
        "GET",
        "/credentials",
        Credentials,
        query=asked(agent_id=agent_id, minted_by=minted_by, limit=limit, cursor=cursor),
    )


def mint_credential(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    scopes: Sequence[str] | None = None,
    speakers: Sequence[str] | None = None,
    ttl_seconds: int | None = None,
    requests_per_minute: int | None = None,
) -> Call[Minted]:
    """Mint a credential, as an administrator of all agents. The answer shows its token, and nothing else ever does.

    It reaches no further than the credential that asks for it: neither in its scopes nor in its speakers and its rate.

    Args:
        agent_id: The only agent that it is good for. Absent: all.
        scopes: ``read`` what is remembered, ``write`` as agents do, or ``admin``: also what agents may not do.
        speakers: The speakers that it may speak for. Absent: every speaker.
        ttl_seconds: How long it holds. Only an operator's command mints one that does not expire. Left out:
            ``7776000``.
        requests_per_minute: How many requests it may make in a minute, of each replica. Absent: as the settings say.
            From 1 to 1,000,000.
    """
    return Call(
        "POST",
        "/credentials",
        Minted,
        body=given(
            agent_id=agent_id,
            scopes=scopes,
            speakers=speakers,
            ttl_seconds=ttl_seconds,
            requests_per_minute=requests_per_minute,
        ),
        status=201,
        repeatable=False,
    )


def revoke_credential(
    _own: str | None,
    /,
    credential_id: str,
) -> Call[Revoked]:
    """Revoke a credential, as an administrator of all agents. Within 30 seconds every replica refuses it.

    What it has written stays; ``DELETE /credentials/{credential_id}/memories`` takes that back too.

    Args:
        credential_id: Its claim ``jti``.
    """
    return Call(
        "DELETE",
        f"/credentials/{segment(credential_id)}",
        Revoked,
    )


def undo(
    _own: str | None,
    /,
    credential_id: str,
) -> Call[Undone]:
    """Revoke a credential and take back all that it has written, as an administrator of all agents.

    Args:
        credential_id: Its claim ``jti``.
    """
    return Call(
        "DELETE",
        f"/credentials/{segment(credential_id)}/memories",
        Undone,
    )


def undo_learned(
    _own: str | None,
    /,
    *,
    run_id: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    credential_id: str | None = None,
    dry_run: bool = True,
) -> Call[UndoneLearned]:
    """Take back what a run.

    A session or a credential has taught, as an administrator of all agents; first a dry run.

    What it had superseded holds again. Of a session the window goes too; runs, episodes and the rest of working memory
    stay.

    Args:
        run_id: What this run has taught.
        agent_id: The agent, where that is not the client's.
        session_id: What was remembered of this session, and its window.
        credential_id: What this credential has written: it is revoked first.
        dry_run: Only say what it would do; ``false`` does it.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/undo",
        UndoneLearned,
        body=given(
            run_id=run_id,
            agent_id=agent_of_session(agent_id, _own, session_id),
            session_id=session_id,
            credential_id=credential_id,
            dry_run=dry_run,
        ),
    )


def list_memories(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    written_by: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    every_agent: bool = False,
) -> Call[Page]:
    """List memories, newest first, as an administrator or with a credential for one agent alone.

    Args:
        agent_id: The agent, where that is not the client's.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        written_by: Only what the credential with this id has written.
        created_after: Stored later than this.
        created_before: Stored earlier than this.
        metadata: A JSON object. Each of its keys must be present with an equal value of the same type.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/memories",
        Page,
        query=asked(
            agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
            limit=limit,
            cursor=cursor,
            written_by=written_by,
            created_after=created_after,
            created_before=created_before,
            metadata=metadata,
        ),
    )


def usage(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    every_agent: bool = False,
) -> Call[Usages]:
    """Tell what is used and what the limits are, to an administrator or to a credential for one agent alone.

    Args:
        agent_id: The agent, where that is not the client's.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/usage",
        Usages,
        query=asked(agent_id=agent_or_every(agent_id, _own, every_agent=every_agent)),
    )


def list_agents(
    _own: str | None,
    /,
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Agents]:
    """List the agents by their ids, to an administrator; to a credential for one agent alone, that one.

    There is no call that makes an agent: it is there from its first store on.

    Args:
        limit: The most agents of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
    """
    return Call(
        "GET",
        "/agents",
        Agents,
        query=asked(limit=limit, cursor=cursor),
    )


def consolidations(
    _own: str | None,
    /,
    *,
    limit: int | None = None,
) -> Call[Consolidations]:
    """Tell of the last consolidations, newest first, as an administrator of all agents.

    Args:
        limit: The most consolidations of one answer. From 1 to 100. Left out: ``1``.
    """
    return Call(
        "GET",
        "/consolidations",
        Consolidations,
        query=asked(limit=limit),
    )


def consolidation_dry_run(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
) -> Call[ConsolidationForecast]:
    """Say what the next consolidation would merge of an agent's memories word for word, and change nothing.

    Args:
        agent_id: The agent, where that is not the client's.
    """
    return Call(
        "POST",
        "/consolidations/dry-run",
        ConsolidationForecast,
        body=given(agent_id=agent_id or _own),
    )


def undo_consolidation(
    _own: str | None,
    /,
    consolidation_id: str,
    *,
    dry_run: bool = True,
) -> Call[ConsolidationUndone]:
    """Have all that a consolidation has merged hold again, as an administrator of all agents; first a dry run.

    It is not merged again by a later one.

    Args:
        consolidation_id: Which consolidation.
        dry_run: Only say what it would do; ``false`` does it.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/consolidations/undo",
        ConsolidationUndone,
        body=given(consolidation_id=consolidation_id, dry_run=dry_run),
    )
