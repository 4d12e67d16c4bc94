"""Blobs: bytes that are too large, or no text, for a memory. Functions as those of ``calls``."""

from types import NoneType

from memory_gateway_client.request import Call, given, is_visible, one_agent, segment
from memory_gateway_client.tiers.blobs_types import Blob, BlobPage


def put_blob(
    _own: str | None,
    /,
    content: bytes,
    *,
    media_type: str = "application/octet-stream",
    agent_id: str | None = None,
    shared: bool = False,
) -> Call[Blob]:
    """Keep bytes. The same bytes again are another blob, so that a lost answer is not asked for once more.

    Args:
        content: At most 20 MiB.
        media_type: What they are.
        agent_id: Whose blob it is, where that is not the client's agent.
        shared: Make it the tenant's own, which all of its agents may read.

    Raises:
        InvalidRequest: it is too large (``content_too_large``), or a field is over its limits; nothing was kept.
        QuotaExceeded: the tenant may have no more; nothing was kept.
        Conflict: the agent is being erased; nothing was kept.
        Unavailable: it may be kept, under an id that only a listing tells.
    """
    if not all(is_visible(word) for word in media_type.split(" ")):
        raise ValueError("A media_type is of visible ASCII characters.")
    headers = {"Content-Type": media_type}
    query = _owner(_own, agent_id, shared=shared)
    return Call("POST", "/blobs", Blob, query=query, content=content, headers=headers, status=201, repeatable=False)


def get_blob(_own: str | None, /, blob_id: str, *, agent_id: str | None = None, shared: bool = False) -> Call[bytes]:
    """Return the bytes of a blob, which are those that were sent.

    Args:
        blob_id: Which.
        agent_id: Whose blob it is, where that is not the client's agent.
        shared: It is the tenant's own.

    Raises:
        NotFound: there is no such blob, or the service has lost its bytes (``blob_gone``).
        Unavailable: there is no answer, or not the right bytes.
    """
    return Call("GET", f"/blobs/{segment(blob_id)}", bytes, query=_owner(_own, agent_id, shared=shared))


def list_blobs(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    shared: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[BlobPage]:
    """List blobs, newest first.

    Args:
        agent_id: Whose blobs, where that is not the client's agent.
        shared: List the tenant's own.
        limit: The most blobs of one page, 1 to 100; None: 20.
        cursor: Of the page before, to the same question; good for 24 hours.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Unavailable: there is no answer.
    """
    asked = given(limit=None if limit is None else str(limit), cursor=cursor)
    return Call("GET", "/blobs", BlobPage, query=_owner(_own, agent_id, shared=shared) | asked)


def delete_blob(_own: str | None, /, blob_id: str, *, agent_id: str | None = None, shared: bool = False) -> Call[None]:
    """Delete a blob, as an administrator. One that is not there is no error.

    Args:
        blob_id: Which.
        agent_id: Whose blob it is, where that is not the client's agent.
        shared: It is the tenant's own.

    Raises:
        Conflict: the agent is being erased, and the blob with it.
        Unavailable: it may be deleted; deleting it again is safe.
    """
    query = _owner(_own, agent_id, shared=shared)
    return Call("DELETE", f"/blobs/{segment(blob_id)}", NoneType, query=query, status=204)


def _owner(own: str | None, said: str | None, *, shared: bool) -> dict[str, str]:
    if shared and said is not None:
        raise ValueError("Say agent_id= or shared=True, not both.")
    return {} if shared else {"agent_id": one_agent(said, own)}
