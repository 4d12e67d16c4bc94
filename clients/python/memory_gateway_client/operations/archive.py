"""Operations: archive.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from datetime import datetime

from memory_gateway_client.agents import agent_or_every
from memory_gateway_client.request import (
    Call,
    asked,
    segment,
)
from memory_gateway_client.types import Archive, ArchivedItem, Restored


def list_archive(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    kind: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    every_agent: bool = False,
) -> Call[Archive]:
    """List the objects that memories, episodes and ended runs were archived in, newest first, to an administrator.

    Args:
        agent_id: The agent, where that is not the client's.
        kind: Only of this kind. One of ``memories``, ``episodes``, ``runs``.
        since: Only what has an item of this time or later.
        until: Only what has an item of this time or earlier.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/archive",
        Archive,
        query=asked(
            agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
            kind=kind,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        ),
    )


def get_archived(
    _own: str | None,
    /,
    item_id: str,
) -> Call[ArchivedItem]:
    """Return an archived memory, episode or run by its id, to an administrator.

    410: the object that has it is missing or has changed.

    Args:
        item_id: Which item.

    Raises:
        NotFound: ``object_gone``.
    """
    return Call(
        "GET",
        f"/archive/items/{segment(item_id)}",
        ArchivedItem,
    )


def restore_archived(
    _own: str | None,
    /,
    archive_id: str,
) -> Call[Restored]:
    """Store the items of an object again, as an import does, as an administrator.

    Once all are there the object is let go, and they stay out of the archive for 30 days. 410: it is missing or has
    changed, and nothing was stored.

    Args:
        archive_id: Which archive.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``object_gone``.
    """
    return Call(
        "POST",
        f"/archive/{segment(archive_id)}/restore",
        Restored,
        repeatable=False,
    )
