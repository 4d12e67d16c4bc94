"""Operations: blobs.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from types import NoneType

from memory_gateway_client.agents import owner
from memory_gateway_client.request import (
    Call,
    asked,
    media,
    segment,
)
from memory_gateway_client.types import Blob, BlobPage


def put_blob(
    _own: str | None,
    /,
    content: bytes,
    *,
    agent_id: str | None = None,
    media_type: str = "application/octet-stream",
    shared: bool = False,
) -> Call[Blob]:
    """Keep bytes, of an agent or, with a credential for all agents, of the tenant as a whole.

    It is answered once they are written as a whole. The same bytes again are another blob.

    Args:
        content: What to keep.
        agent_id: The agent, where that is not the client's.
        media_type: Left out: ``application/octet-stream``.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "POST",
        "/blobs",
        Blob,
        query=asked(agent_id=owner(agent_id, _own, shared=shared)),
        content=content,
        headers=media(media_type),
        status=201,
        repeatable=False,
    )


def list_blobs(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    shared: bool = False,
) -> Call[BlobPage]:
    """List the blobs of an agent or, without one, those of the tenant as a whole, newest first.

    Args:
        agent_id: The agent, where that is not the client's.
        limit: The most blobs of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.
    """
    return Call(
        "GET",
        "/blobs",
        BlobPage,
        query=asked(agent_id=owner(agent_id, _own, shared=shared), limit=limit, cursor=cursor),
    )


def get_blob(
    _own: str | None,
    /,
    blob_id: str,
    *,
    agent_id: str | None = None,
    shared: bool = False,
) -> Call[bytes]:
    """Return the bytes of a blob, after a look at their hash.

    410: the object store has lost them. 502 ``upstream_rejected``: it has other bytes than were written.

    Args:
        blob_id: Which blob.
        agent_id: The agent, where that is not the client's.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        NotFound: ``blob_gone``.
    """
    return Call(
        "GET",
        f"/blobs/{segment(blob_id)}",
        bytes,
        query=asked(agent_id=owner(agent_id, _own, shared=shared)),
    )


def delete_blob(
    _own: str | None,
    /,
    blob_id: str,
    *,
    agent_id: str | None = None,
    shared: bool = False,
) -> Call[None]:
    """Delete a blob, as an administrator. One that is not there is no error.

    Args:
        blob_id: Which blob.
        agent_id: The agent, where that is not the client's.
        shared: What is no agent's own: of the tenant; a fact's, of all agents of ``agent_type``.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "DELETE",
        f"/blobs/{segment(blob_id)}",
        NoneType,
        query=asked(agent_id=owner(agent_id, _own, shared=shared)),
        status=204,
    )
