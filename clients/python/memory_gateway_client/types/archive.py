"""Types of archive.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Archived:
    """An object of the archive: an export of items of one kind and agent.

    Attributes:
        archive_id: Of its blob too.
        bytes: In bytes.
        size: The old name of ``bytes``, given until the next version.
        sha256: Of its bytes, in hexadecimal digits.
        first_id: The least id of its items.
        last_id: The greatest id of its items.
    """

    archive_id: str
    agent_id: str
    kind: str
    items: int
    bytes: int
    sha256: str
    first_at: datetime
    last_at: datetime
    first_id: str
    last_id: str
    archived_at: datetime
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """Objects of the archive, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    objects: tuple[Archived, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ArchivedItem:
    """An archived item.

    Attributes:
        archive_id: Of the object that has it.
        item: The line of an export (docs/format.md).
    """

    archive_id: str
    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of the items of an object that was restored.

    Attributes:
        unchanged: They were there already.
        duplicate: The agent has this content under another id.
        conflict: Another item has the id; then the object stays archived.
        rejected: They cannot be taken, and the object stays archived, unless all of them have expired.
    """

    imported: int
    unchanged: int
    duplicate: int
    conflict: int
    rejected: int
