"""Operations: agent memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memory_gateway_client.request import (
    Call,
    asked,
    given,
    items,
    segment,
)
from memory_gateway_client.types import (
    AgentMemoryMemoriesPage,
    AgentMemoryMemoryEnvelope,
    AgentMemoryMessage,
    AgentMemoryNamespaceEnvelope,
    AgentMemoryNamespacesPage,
    AgentMemoryRecallEnvelope,
    AgentMemorySummaryEnvelope,
    CloudflareNothing,
)


def agent_memory_namespace_create(
    _own: str | None,
    /,
    account_id: str,
    name: str,
) -> Call[AgentMemoryNamespaceEnvelope]:
    """Create a namespace, as an administrator of all agents.

    Args:
        account_id: Any: the tenant is the credential's.
        name: Of the tenant's namespaces, the only one so called.
    """
    return Call(
        "POST",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces",
        AgentMemoryNamespaceEnvelope,
        body=given(name=name),
        status=201,
        repeatable=False,
    )


def agent_memory_namespace_list(
    _own: str | None,
    /,
    account_id: str,
    *,
    per_page: int | None = None,
    cursor: str | None = None,
    order: str | None = None,
    direction: str | None = None,
) -> Call[AgentMemoryNamespacesPage]:
    """List namespaces, as an administrator of all agents.

    Args:
        account_id: Any: the tenant is the credential's.
        per_page: The most entries of one page. From 1 to 1,000. Left out: ``20``.
        cursor: Of ``result_info`` before, for the same listing; good for 24 hours. Empty: from the beginning.
        order: What to sort by. One of ``id``, ``name``. Left out: ``id``.
        direction: One of ``asc``, ``desc``. Left out: ``asc``.
    """
    return Call(
        "GET",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces",
        AgentMemoryNamespacesPage,
        query=asked(per_page=per_page, cursor=cursor, order=order, direction=direction),
    )


def agent_memory_namespace_get(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
) -> Call[AgentMemoryNamespaceEnvelope]:
    """Return a namespace, to an administrator of all agents.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
    """
    return Call(
        "GET",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}",
        AgentMemoryNamespaceEnvelope,
    )


def agent_memory_namespace_delete(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
) -> Call[CloudflareNothing]:
    """Delete a namespace and begin to erase its profiles, as an administrator of all agents.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
    """
    return Call(
        "DELETE",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}",
        CloudflareNothing,
        repeatable=False,
    )


def agent_memory_profile_delete(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
) -> Call[CloudflareNothing]:
    """Begin to erase everything of a profile, as an administrator. Until that is done nothing is stored in it.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
    """
    return Call(
        "DELETE",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}",
        CloudflareNothing,
        repeatable=False,
    )


def agent_memory_session_delete(
    _own: str | None,
    /,
    session_id: str,
    account_id: str,
    namespace_name: str,
    profile_name: str,
) -> Call[CloudflareNothing]:
    """Delete all memories of a session, as an administrator. One that is not there is no error.

    Args:
        session_id: The conversation.
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
    """
    return Call(
        "DELETE",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/sessions/{segment(session_id)}",
        CloudflareNothing,
    )


def agent_memory_ingest(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
    messages: Sequence[AgentMemoryMessage | Mapping[str, Any]],
    *,
    session_id: str | None = None,
) -> Call[CloudflareNothing]:
    """Take a conversation: each message becomes a memory. The same messages again change nothing.

    It is answered once they are stored, or after 20 seconds: then the rest is stored later.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
        messages: What was said, in its order.
        session_id: The conversation that they are of. Absent: made of what they say.
    """
    return Call(
        "POST",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/ingest",
        CloudflareNothing,
        body=given(sessionId=session_id, messages=items(messages)),
    )


def agent_memory_remember(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
    content: str,
    *,
    session_id: str | None = None,
) -> Call[AgentMemoryMemoryEnvelope]:
    """Store one memory. The same content again, for the same session, is the same memory.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
        content: What to keep.
        session_id: The conversation that it belongs to.
    """
    return Call(
        "POST",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/remember",
        AgentMemoryMemoryEnvelope,
        body=given(content=content, sessionId=session_id),
    )


def agent_memory_recall(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
    query: str,
    *,
    thinking_level: str | None = None,
    response_length: str | None = None,
    reference_date: str | None = None,
) -> Call[AgentMemoryRecallEnvelope]:
    """Answer a question from a profile's memories. Where none answers it, the answer is empty.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
        query: What is asked.
        thinking_level: How much is searched. One of ``low``, ``medium``, ``high``. Left out: ``low``.
        response_length: How long the answer may be. One of ``short``, ``medium``, ``long``. Left out: ``medium``.
        reference_date: What "yesterday" is counted from; absent: now.
    """
    return Call(
        "POST",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/recall",
        AgentMemoryRecallEnvelope,
        body=given(
            query=query, thinkingLevel=thinking_level, responseLength=response_length, referenceDate=reference_date
        ),
    )


def agent_memory_memory_list(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
    *,
    per_page: int | None = None,
    cursor: str | None = None,
    session_id: str | None = None,
    type: str | None = None,
) -> Call[AgentMemoryMemoriesPage]:
    """List what a profile remembers, newest first, without what is superseded or was forgotten.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
        per_page: The most entries of one page. From 1 to 1,000. Left out: ``20``.
        cursor: Of ``result_info`` before, for the same listing; good for 24 hours. Empty: from the beginning.
        session_id: Only of this session.
        type: Only of this type. One of ``fact``, ``instruction``, ``event``, ``task``.
    """
    return Call(
        "GET",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/memories",
        AgentMemoryMemoriesPage,
        query=asked(per_page=per_page, cursor=cursor, session_id=session_id, type=type),
    )


def agent_memory_memory_get(
    _own: str | None,
    /,
    memory_id: str,
    account_id: str,
    namespace_name: str,
    profile_name: str,
) -> Call[AgentMemoryMemoryEnvelope]:
    """Return a memory with its content, one that is superseded too.

    Args:
        memory_id: Which memory.
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
    """
    return Call(
        "GET",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/memories/{segment(memory_id)}",
        AgentMemoryMemoryEnvelope,
    )


def agent_memory_memory_delete(
    _own: str | None,
    /,
    memory_id: str,
    account_id: str,
    namespace_name: str,
    profile_name: str,
) -> Call[AgentMemoryMemoryEnvelope]:
    """Delete a memory, as an administrator, and return what it was.

    Args:
        memory_id: Which memory.
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
    """
    return Call(
        "DELETE",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/memories/{segment(memory_id)}",
        AgentMemoryMemoryEnvelope,
        repeatable=False,
    )


def agent_memory_summary(
    _own: str | None,
    /,
    account_id: str,
    namespace_name: str,
    profile_name: str,
    *,
    session_id: str | None = None,
) -> Call[AgentMemorySummaryEnvelope]:
    """Summarise what holds, in the words of the newest memories. It counts as a recall.

    Args:
        account_id: Any: the tenant is the credential's.
        namespace_name: The namespace.
        profile_name: The profile.
        session_id: Only this conversation. Absent: all.
    """
    return Call(
        "POST",
        f"/client/v4/accounts/{segment(account_id)}/agent-memory/namespaces/{segment(namespace_name)}/profiles/{segment(profile_name)}/summary",
        AgentMemorySummaryEnvelope,
        body=given(sessionId=session_id),
    )
