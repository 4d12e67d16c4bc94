"""What the service answers of shared context and of a tenant's configuration. All times are aware datetimes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ContextVersion:
    """A version of a document.

    Attributes:
        version: It rises with each change; a version of a name never comes back. As an ETag it is ``'"3"'``.
        sha256: Of the content in UTF-8, in hexadecimal digits.
        bytes: Bytes of the content in UTF-8.
    """

    name: str
    version: int
    sha256: str
    bytes: int
    media_type: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A document that all agents of a tenant read, with its version."""

    name: str
    version: int
    sha256: str
    bytes: int
    media_type: str
    updated_at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class ContextVersions:
    """The versions of a document that are kept, newest first."""

    versions: tuple[ContextVersion, ...]


@dataclass(frozen=True, slots=True)
class ContextList:
    """The documents of a tenant, by their names."""

    documents: tuple[ContextVersion, ...]


@dataclass(frozen=True, slots=True)
class ConfigurationVersion:
    """A version of a tenant's configuration; size and digest are those of the values as compact JSON."""

    version: int
    sha256: str
    bytes: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Configuration:
    """A tenant's configuration."""

    version: int
    sha256: str
    bytes: int
    updated_at: datetime
    values: dict[str, Any]
