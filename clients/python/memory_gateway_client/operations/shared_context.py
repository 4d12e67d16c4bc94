"""Operations: shared context.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from memory_gateway_client.request import (
    Call,
    asked,
    conditions_of,
    given,
    segment,
)
from memory_gateway_client.types import (
    Configuration,
    ConfigurationVersion,
    ContextDocument,
    ContextList,
    ContextVersion,
    ContextVersions,
)


def list_context(
    _own: str | None,
    /,
) -> Call[ContextList]:
    """List the documents of the tenant by their names, without what they say."""
    return Call(
        "GET",
        "/context",
        ContextList,
    )


def context_versions(
    _own: str | None,
    /,
    name: str,
) -> Call[ContextVersions]:
    """List the versions of a document that are kept, the last 20, newest first.

    Args:
        name: The document.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/context/{segment(name)}/versions",
        ContextVersions,
    )


def get_context(
    _own: str | None,
    /,
    name: str,
    *,
    version: int | None = None,
) -> Call[ContextDocument]:
    """Return a document. It may be as old as ``Cache-Control`` says.

    Args:
        name: The document.
        version: An older version, of the last 20; absent: the document as it is.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/context/{segment(name)}",
        ContextDocument,
        query=asked(version=version),
    )


def put_context(
    _own: str | None,
    /,
    name: str,
    content: str,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
    media_type: str | None = None,
) -> Call[ContextVersion]:
    """Write a document, as an administrator. The same content again makes no new version.

    Args:
        name: The document.
        content: At most 100000 bytes in UTF-8.
        if_match: Change it only where its ETag is one of these; ``*``: where there is one.
        if_none_match: ``*``: change it only where there is none.
        media_type: Left out: ``text/markdown``.

    Raises:
        Conflict: ``erasing``.
        PreconditionFailed: ``precondition_failed``.
    """
    return Call(
        "PUT",
        f"/context/{segment(name)}",
        ContextVersion,
        body=given(content=content, media_type=media_type),
        headers=conditions_of(if_match, if_none_match),
        repeatable=if_match is None and if_none_match is None,
    )


def delete_context(
    _own: str | None,
    /,
    name: str,
) -> Call[None]:
    """Delete a document with its versions, as an administrator. One that is not there is no error.

    Args:
        name: The document.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "DELETE",
        f"/context/{segment(name)}",
        NoneType,
        status=204,
    )


def get_configuration(
    _own: str | None,
    /,
    *,
    version: int | None = None,
) -> Call[Configuration]:
    """Return the tenant's configuration. It may be as old as ``Cache-Control`` says.

    Args:
        version: An older version, of the last 20; absent: the document as it is.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        "/configuration",
        Configuration,
        query=asked(version=version),
    )


def put_configuration(
    _own: str | None,
    /,
    values: Mapping[str, Any],
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[ConfigurationVersion]:
    """Write the tenant's configuration, as an administrator. The same values again make no new version.

    Args:
        values: At most 65536 bytes as JSON, nested at most 16 deep.
        if_match: Change it only where its ETag is one of these; ``*``: where there is one.
        if_none_match: ``*``: change it only where there is none.

    Raises:
        Conflict: ``erasing``.
        PreconditionFailed: ``precondition_failed``.
    """
    return Call(
        "PUT",
        "/configuration",
        ConfigurationVersion,
        body=given(values=values),
        headers=conditions_of(if_match, if_none_match),
        repeatable=if_match is None and if_none_match is None,
    )
