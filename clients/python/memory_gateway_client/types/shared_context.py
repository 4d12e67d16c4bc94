"""Types of shared context.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ContextVersion:
    """A version of a document.

    Attributes:
        version: It rises with each change; a version of a name never comes back.
        sha256: Of the content in UTF-8, in hexadecimal digits.
        bytes: Bytes of the content in UTF-8.
        size: The old name of ``bytes``, given until the next version.
    """

    name: str
    version: int
    sha256: str
    bytes: int
    media_type: str
    updated_at: datetime
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ContextList:
    """The documents of a tenant, by their names."""

    documents: tuple[ContextVersion, ...]


@dataclass(frozen=True, slots=True)
class ContextVersions:
    """The versions of a document that are kept, newest first."""

    versions: tuple[ContextVersion, ...]


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A document.

    Attributes:
        version: It rises with each change; a version of a name never comes back.
        sha256: Of the content in UTF-8, in hexadecimal digits.
        bytes: Bytes of the content in UTF-8.
        size: The old name of ``bytes``, given until the next version.
    """

    name: str
    version: int
    sha256: str
    bytes: int
    media_type: str
    updated_at: datetime
    content: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """A tenant's configuration.

    Attributes:
        version: It rises with each change.
        sha256: Of the values as compact JSON in UTF-8, in hexadecimal digits.
        bytes: Bytes of the values as compact JSON.
        size: The old name of ``bytes``, given until the next version.
    """

    version: int
    sha256: str
    bytes: int
    updated_at: datetime
    values: dict[str, Any]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigurationVersion:
    """A version of a tenant's configuration.

    Attributes:
        version: It rises with each change.
        sha256: Of the values as compact JSON in UTF-8, in hexadecimal digits.
        bytes: Bytes of the values as compact JSON.
        size: The old name of ``bytes``, given until the next version.
    """

    version: int
    sha256: str
    bytes: int
    updated_at: datetime
    size: int | None = None
