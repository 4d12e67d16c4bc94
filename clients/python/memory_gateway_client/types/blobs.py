"""Types of blobs.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob without its bytes.

    Attributes:
        sha256: Of its bytes, in hexadecimal digits.
        bytes: In bytes.
        size: The old name of ``bytes``, given until the next version.
        media_type: As its sender said.
    """

    blob_id: str
    sha256: str
    bytes: int
    media_type: str
    created_at: datetime
    size: int | None = None


@dataclass(frozen=True, slots=True)
class BlobPage:
    """Blobs, newest first.

    Attributes:
        cursor: For the next page; absent at the end.
    """

    blobs: tuple[Blob, ...]
    cursor: str | None = None
