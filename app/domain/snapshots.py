"""Snapshots: exports of a tenant in the object store, in parts, with a manifest that is written last."""

import re

from app.domain.blobs import segment_of
from app.domain.limits import MEMORY_ID_FORM

ROOT = "s"
"""The first segment of every key of a snapshot."""
MANIFEST = "manifest.json"
_ID = re.compile(rf"/({MEMORY_ID_FORM})/")


def tenant_prefix(tenant_id: str) -> str:
    """Return the prefix that the keys of all snapshots of this tenant have, and of no other tenant."""
    return f"{ROOT}/{segment_of(tenant_id)}"


def snapshot_prefix(tenant_id: str, snapshot_id: str) -> str:
    """Return the prefix of the keys of all objects of a snapshot."""
    return f"{tenant_prefix(tenant_id)}/{snapshot_id}"


def manifest_key(tenant_id: str, snapshot_id: str) -> str:
    """Return the key of a snapshot's manifest."""
    return f"{snapshot_prefix(tenant_id, snapshot_id)}/{MANIFEST}"


def part_key(tenant_id: str, snapshot_id: str, number: int) -> str:
    """Return the key of a part of a snapshot; the first one has the number 0."""
    return f"{snapshot_prefix(tenant_id, snapshot_id)}/{number:06d}.ndjson"


def snapshot_of(tenant_id: str, key: str) -> str | None:
    """Return the id of the tenant's snapshot that a key belongs to; None where the key belongs to no such snapshot."""
    prefix = tenant_prefix(tenant_id)
    match = _ID.match(key, len(prefix)) if key.startswith(prefix) else None
    return match[1] if match else None
