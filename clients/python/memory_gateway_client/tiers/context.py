"""The operations of shared context and of a tenant's configuration, in the form of ``memory_gateway_client.calls``."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from memory_gateway_client.request import Call, conditions_of, given, segment
from memory_gateway_client.tiers import context_types as types


def put_context(
    _own: str | None,
    /,
    name: str,
    content: str,
    *,
    media_type: str | None = None,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[types.ContextVersion]:
    """Write a document that all agents of the tenant read, as an administrator. The same again makes no new version.

    Args:
        name: Which: 1 to 64 of the characters A-Z a-z 0-9 . _ : -.
        content: At most 100,000 bytes in UTF-8.
        media_type: Its type; None: ``text/markdown``.
        if_match: Only where the document has this version, as in ``'"3"'``; ``*``: where there is one.
        if_none_match: ``*``: only where there is none.

    Raises:
        Forbidden: the credential is no administrator's for all agents.
        InvalidRequest: a field is over its limits.
        PreconditionFailed: the document is not as ``if_match`` or ``if_none_match`` asks; nothing was changed.
        QuotaExceeded: the tenant may have no more documents, or bytes of them; nothing was changed.
        Unavailable: it may be written; without conditions, writing it again is safe.
    """
    conditions = conditions_of(if_match, if_none_match)
    return Call(
        "PUT",
        f"/context/{segment(name)}",
        types.ContextVersion,
        body=given(content=content, media_type=media_type),
        headers=conditions,
        repeatable=not conditions,
    )


def get_context(_own: str | None, /, name: str, *, version: int | None = None) -> Call[types.ContextDocument]:
    """Return a document. It may be as old as the service says it keeps documents (30 seconds).

    Args:
        name: Which.
        version: An older version, of the last 20; None: the document as it is.

    Raises:
        NotFound: there is no such document, or not this version any more.
        InvalidRequest: the name has not the form of one.
        Unavailable: there is no answer.
    """
    query = given(version=None if version is None else str(version))
    return Call("GET", f"/context/{segment(name)}", types.ContextDocument, query=query)


def context_versions(_own: str | None, /, name: str) -> Call[types.ContextVersions]:
    """List the versions of a document that are kept, newest first.

    Args:
        name: Which.

    Raises:
        NotFound: there is no such document.
        InvalidRequest: the name has not the form of one.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/context/{segment(name)}/versions", types.ContextVersions)


def list_context(_own: str | None, /) -> Call[types.ContextList]:
    """List the documents of the tenant by their names, without what they say.

    Raises:
        Unavailable: there is no answer.
    """
    return Call("GET", "/context", types.ContextList)


def delete_context(_own: str | None, /, name: str) -> Call[None]:
    """Delete a document with its versions, as an administrator. One that is not there is no error.

    Args:
        name: Which.

    Raises:
        Forbidden: the credential is no administrator's for all agents.
        InvalidRequest: the name has not the form of one.
        Unavailable: it may be deleted; deleting it again is safe.
    """
    return Call("DELETE", f"/context/{segment(name)}", NoneType, status=204)


def get_configuration(_own: str | None, /, *, version: int | None = None) -> Call[types.Configuration]:
    """Return the tenant's configuration. It may be as old as the service says it keeps documents (30 seconds).

    Args:
        version: An older version, of the last 20; None: the configuration as it is.

    Raises:
        NotFound: none was written, or this version is not there any more.
        Unavailable: there is no answer.
    """
    query = given(version=None if version is None else str(version))
    return Call("GET", "/configuration", types.Configuration, query=query)


def put_configuration(
    _own: str | None,
    /,
    values: Mapping[str, Any],
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[types.ConfigurationVersion]:
    """Write the tenant's configuration, as an administrator. The same again makes no new version.

    Args:
        values: A JSON object of at most 64 KiB.
        if_match: As in ``put_context``.
        if_none_match: As in ``put_context``.

    Raises:
        Forbidden: the credential is no administrator's for all agents.
        InvalidRequest: a field is over its limits.
        PreconditionFailed: the configuration is not as ``if_match`` or ``if_none_match`` asks; nothing was changed.
        Unavailable: it may be written; without conditions, writing it again is safe.
    """
    conditions = conditions_of(if_match, if_none_match)
    return Call(
        "PUT",
        "/configuration",
        types.ConfigurationVersion,
        body=given(values=values),
        headers=conditions,
        repeatable=not conditions,
    )
