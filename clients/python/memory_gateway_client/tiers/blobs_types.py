"""What the service answers about blobs."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob without its bytes.

    Attributes:
        sha256: Of its bytes, in hexadecimal digits.
        bytes: In bytes.
    """

    blob_id: str
    sha256: str
    bytes: int
    media_type: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class BlobPage:
    """Blobs, newest first; ``cursor`` is for the next page, None at the end."""

    blobs: tuple[Blob, ...] = ()
    cursor: str | None = None
