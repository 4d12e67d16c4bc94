"""The check that a tenant lives in the database that its request uses (docs/decisions/0041-shards.md)."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.shards import MAIN

# Only the first shard's database has the directory. A tenant that began elsewhere has no row here but its place.
_BEGAN_ELSEWHERE = f"""
SELECT -1 FROM tenant_places WHERE tenant_places.tenant_id = ?1 ->> 'tenant_id' AND tenant_places.shard <> '{MAIN}'
"""
ENTER = f"""
INSERT INTO tenant_presence (tenant_id, epoch) SELECT ?1 ->> 'tenant_id', coalesce(
  ?1 ->> 'epoch',
  (SELECT placed.epoch FROM tenant_epochs AS placed WHERE placed.tenant_id = ?1 ->> 'tenant_id'),
  ({_BEGAN_ELSEWHERE})
)
"""
"""Stops a run that writes where the tenant has ``moved`` or is ``moving``, with this reason (schema.sql)."""

READ = f"""
SELECT coalesce(
  (
    SELECT iif(placed.state IN ('here', 'leaving'), placed.epoch, -1) FROM tenant_epochs AS placed
    WHERE placed.tenant_id = ?1 ->> 'tenant_id'
  ), ({_BEGAN_ELSEWHERE}), 0
) AS epoch
"""
"""Reads the epoch with which the tenant lives here; -1: it lives elsewhere."""


@dataclass(slots=True)
class Presence:
    """A process's knowledge of which tenants live in one database.

    Attributes:
        checked: Whether there is more than one shard: else no run checks anything. It becomes true, and stays so.
        epoch_of: Returns the epoch with which a tenant is believed to live here, -1 where it is believed to live
            elsewhere, and None where that is not known: then the database alone decides.
        moved: Called with a tenant of which the belief was wrong.
    """

    checked: bool = False
    epoch_of: Callable[[str], int | None] = lambda _: None
    moved: Callable[[str], None] = lambda _: None
