"""Blobs: content and values that are large or binary."""

import re
from dataclasses import dataclass

from app.domain.limits import ID_FORM, MEMORY_ID_FORM

ROOT = "t"
"""The first segment of every blob's key."""
_KEY = re.compile(rf"{ROOT}/((?:{ID_FORM})|(?:%2E){{1,64}})/({MEMORY_ID_FORM})")


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob without its bytes.

    Attributes:
        id: A ULID.
        sha256: The SHA-256 of the blob's bytes, in hexadecimal digits.
        size: The blob's size in bytes.
        media_type: The media type that the sender named.
        created_at: When the blob was stored, in milliseconds since the epoch, by the database's clock.
    """

    id: str
    sha256: str
    size: int
    media_type: str
    created_at: int


def key_of(tenant_id: str, blob_id: str) -> str:
    """Return the key of a tenant's blob in the object store."""
    return f"{ROOT}/{segment_of(tenant_id)}/{blob_id}"


def segment_of(tenant_id: str) -> str:
    """Return the segment of a key that names this tenant and no other tenant.

    An id of a tenant may be ``.`` or ``..``, which no segment of a key can be. No id holds a ``%``, so no other tenant
    has the segment that is written in place of these ids.
    """
    return tenant_id if tenant_id.strip(".") else tenant_id.replace(".", "%2E")


def read_key(key: str) -> tuple[str, str] | None:
    """Return the tenant and the blob's id of a key that ``key_of`` has made; None for any other key."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    tenant_id, blob_id = match[1].replace("%2E", "."), match[2]
    return (tenant_id, blob_id) if key_of(tenant_id, blob_id) == key else None
