"""Blobs: content and values that are large or binary."""

import re
from dataclasses import dataclass

from app.domain.limits import ID_FORM, MEMORY_ID_FORM

ROOT = "t"
"""What every key of a blob begins with."""
_KEY = re.compile(rf"{ROOT}/((?:{ID_FORM})|(?:%2E){{1,64}})/({MEMORY_ID_FORM})")


@dataclass(frozen=True, slots=True)
class Blob:
    """What is known of a blob without its bytes.

    Attributes:
        id: A ULID.
        sha256: Of its bytes, in hexadecimal digits.
        size: In bytes.
        media_type: As its sender said.
        created_at: In milliseconds since the epoch, by the database's clock.
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
    """Return the segment of a key that names a tenant, and no other one.

    An id of a tenant may be ``.`` or ``..``, which no segment of a key can be. It holds no ``%``, so that no other
    tenant has what is written in its place.
    """
    return tenant_id if tenant_id.strip(".") else tenant_id.replace(".", "%2E")


def read_key(key: str) -> tuple[str, str] | None:
    """Return the tenant and the id of a key that ``key_of`` has made; None of any other key."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    tenant_id, blob_id = match[1].replace("%2E", "."), match[2]
    return (tenant_id, blob_id) if key_of(tenant_id, blob_id) == key else None
