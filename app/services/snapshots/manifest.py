"""The manifest of a snapshot: what is in it, and what each of its parts is."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from app.domain.json_types import to_json

FORMAT = "memory-gateway-snapshot"
VERSION = 1
MANIFEST_BYTES = 16 * 1024 * 1024
"""The largest that is read: of some 100,000 parts."""
MAX_AGENTS = 1_000
"""Agents that a manifest names; with more of them it names none."""


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """One object of a snapshot: whole lines of the export; ``sha256`` is of its bytes, in hexadecimal digits."""

    bytes: int
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """What a snapshot is.

    Attributes:
        id: A ULID.
        created_at: When it was begun, in milliseconds since the epoch.
        hash: That of the export's closing line.
        agents: Whose rows it has; None: of more agents than a manifest names.
    """

    tenant: str
    id: str
    created_at: int
    memories: int
    rows: int
    hash: str
    agents: Sequence[str] | None
    parts: Sequence[SnapshotPart]

    @property
    def bytes(self) -> int:
        """Of all parts."""
        return sum(part.bytes for part in self.parts)


_READER = TypeAdapter(SnapshotManifest)


def write_manifest(manifest: SnapshotManifest) -> bytes:
    """Return it as JSON."""
    return to_json({"format": FORMAT, "version": VERSION, **asdict(manifest)}).encode()


def read_manifest(data: bytes) -> SnapshotManifest:
    """Read what ``write_manifest`` has written.

    Raises:
        ValueError: it is something else.
    """
    read = json.loads(data)
    if not isinstance(read, dict) or (read.pop("format", None), read.pop("version", None)) != (FORMAT, VERSION):
        raise ValueError("it is not the manifest of a snapshot of this version")
    try:
        return _READER.validate_python(read, strict=False)
    except ValidationError as error:
        raise ValueError("it is not the manifest of a snapshot") from error
