"""Documents that all agents of a tenant read, and their versions."""

from dataclasses import dataclass

CONFIGURATION = "/configuration"
"""The name of a tenant's configuration: no document can have it, since a name has no slash."""


@dataclass(frozen=True, slots=True)
class ContextVersion:
    """A version of a document, without its content.

    Attributes:
        version: The number rises with each change; a version of a name never comes back.
        sha256: The SHA-256 of the content in UTF-8, in hexadecimal digits.
        size: Bytes of the content in UTF-8.
        updated_at: Milliseconds since the epoch.
    """

    name: str
    version: int
    size: int
    sha256: str
    media_type: str
    updated_at: int


@dataclass(frozen=True, slots=True)
class ContextDocument(ContextVersion):
    """A version of a document."""

    content: str


@dataclass(frozen=True, slots=True)
class ContextRead:
    """A document that was read, and its ``age``: an upper bound on the milliseconds since the database returned it."""

    document: ContextDocument
    age: int = 0
