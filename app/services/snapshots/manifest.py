"""The manifest of a snapshot: its contents, and the size and the hash of each of its parts."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from app.domain.json_types import to_json

FORMAT = "memory-gateway-snapshot"
VERSION = 1
MANIFEST_BYTES = 16 * 1024 * 1024
"""The bytes of the largest manifest that is read: it has some 100,000 parts."""
MAX_AGENTS = 1_000
"""Agents that a manifest names at most; a manifest of more agents names none."""


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """One object of a snapshot: whole lines of the export; ``sha256`` is of its bytes, in hexadecimal digits."""

    bytes: int
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """The contents of a snapshot.

    Attributes:
        id: A ULID.
        created_at: When the snapshot was begun, in milliseconds since the epoch.
        hash: The hash in the export's closing line.
        agents: The agents whose rows it has; None: more agents than a manifest names.
        lost: How many large values could not be read, so that a line has a pointer in their place.
    """

    tenant: str
    id: str
    created_at: int
    memories: int
    rows: int
    hash: str
    agents: Sequence[str] | None
    parts: Sequence[SnapshotPart]
    lost: int = 0

    @property
    def bytes(self) -> int:
        """The bytes of all parts."""
        return sum(part.bytes for part in self.parts)


_READER = TypeAdapter(SnapshotManifest)


def write_manifest(manifest: SnapshotManifest) -> bytes:
    """Return a manifest as JSON."""
    return to_json({"format": FORMAT, "version": VERSION, **asdict(manifest)}).encode()


def read_manifest(data: bytes) -> SnapshotManifest:
    """Read the JSON that ``write_manifest`` has written.

    Raises:
        ValueError: the bytes are no manifest of this version.
    """
    read = json.loads(data)
    if not isinstance(read, dict) or (read.pop("format", None), read.pop("version", None)) != (FORMAT, VERSION):
        raise ValueError("it is not the manifest of a snapshot of this version")
    try:
        return _READER.validate_python(read, strict=False)
    except ValidationError as error:
        raise ValueError("it is not the manifest of a snapshot") from error
