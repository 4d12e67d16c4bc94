"""Shards: databases among which tenants are spread, each with its own indexes (docs/decisions/0041-shards.md)."""

import re
from dataclasses import dataclass

MAIN = "main"
"""The name of the shard whose database the settings name. This database also has the directory of tenants."""
_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
"""The form of a shard's name, which becomes a part of the names of files and indexes."""


def is_shard_name(name: str) -> bool:
    """Tell whether a text has the form of a shard's name: a letter, then up to 15 letters and digits, lower case."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard beside the first.

    Attributes:
        name: The shard's name.
        database_id: The id of the shard's D1 database; None on the embedded default.
        added_at: When the shard was added, in milliseconds since the epoch by the directory's clock.
    """

    name: str
    database_id: str | None
    added_at: int


@dataclass(frozen=True, slots=True)
class Place:
    """The shard where a tenant lives; ``epoch`` grows by one with each move."""

    shard: str = MAIN
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class TenantMove:
    """A move that has begun and not ended; ``idle_ms`` is the time for which no process has worked on it.

    In the phase ``copy`` the tenant lives in the source, and in the phase ``drop`` in the target.
    """

    tenant_id: str
    source: str
    target: str
    phase: str
    idle_ms: int
