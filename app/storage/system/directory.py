"""The directory of shards and tenants, which the first shard's database has, and what each shard says of a tenant.

It crosses tenants; no request imports it.
"""

from collections import Counter
from collections.abc import Sequence

from app.domain.shards import MAIN, Place, Shard, TenantMove
from app.ports.database import NOW, Row, Statement
from app.storage.rows import read_row, read_rows
from app.storage.system.moving import LEASE_SECONDS

READ_SHARDS = Statement.read("SELECT shards.name, shards.database_id, shards.added_at FROM shards ORDER BY shards.name")
COUNT_SHARDS = Statement.read("SELECT count(*) AS shards FROM shards")
"""Counts the shards beside the first. The database of another shard has no such rows: the count is 0."""
READ_NOW = Statement.read(f"SELECT {NOW} AS now")
READ_TABLES = Statement.read("""
SELECT made.name AS name FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS col ON col.name = 'tenant_id'
WHERE made.type = 'table' ORDER BY made.name
""")
"""The names of all tables that have rows of tenants."""
COUNT_TENANTS = Statement.read("SELECT shard, count(*) AS tenants FROM tenant_places GROUP BY shard")
READ_MOVES = Statement.read(f"""
SELECT tenant_id, source, target, phase, max(0, {NOW} + {LEASE_SECONDS * 1000} - leased_until) AS idle_ms
FROM tenant_moves ORDER BY tenant_id
""")
COUNT_MEMORIES = Statement.read("SELECT coalesce(sum(memories), 0) AS memories FROM usage WHERE agent_id = ''")
"""Counts the memories of a shard. Each memory has one vector."""

_ADD = f"""
INSERT INTO shards (name, database_id, added_at)
SELECT ?1 ->> 'name', ?1 ->> 'database_id', {NOW} WHERE TRUE ON CONFLICT DO NOTHING RETURNING name
"""
_READ_PLACE = "SELECT shard, epoch FROM tenant_places WHERE tenant_id = ?1 ->> 'tenant_id'"
_PLACE = """
INSERT INTO tenant_places (tenant_id, shard, epoch) SELECT ?1 ->> 'tenant_id', ?1 ->> 'shard', ?1 ->> 'epoch' WHERE TRUE
ON CONFLICT DO NOTHING
"""
_SWITCH = """
INSERT INTO tenant_places (tenant_id, shard, epoch) SELECT ?1 ->> 'tenant_id', ?1 ->> 'shard', ?1 ->> 'epoch' WHERE TRUE
ON CONFLICT (tenant_id) DO UPDATE SET shard = excluded.shard, epoch = excluded.epoch
WHERE tenant_places.epoch < excluded.epoch
"""
_ENTER = """
INSERT INTO tenant_epochs (tenant_id, epoch, state) SELECT ?1 ->> 'tenant_id', ?1 ->> 'epoch', 'here' WHERE TRUE
ON CONFLICT DO NOTHING
"""
_READ_LEFT = """
SELECT to_shard AS shard, to_epoch AS epoch FROM tenant_epochs WHERE tenant_id = ?1 ->> 'tenant_id' AND state = 'gone'
"""
_OF_DIRECTORY = frozenset({"tenant_places", "tenant_moves", "tenant_epochs", "tenant_changes", "tenant_renumbered"})


def read_shards(rows: Sequence[Row]) -> list[Shard]:
    """Read the rows of ``READ_SHARDS``."""
    return read_rows(Shard, rows)


def read_tenant_counts(rows: Sequence[Row]) -> Counter[str]:
    """Read the rows of ``COUNT_TENANTS``: how many tenants live in each shard, by its name."""
    return Counter({str(row["shard"]): int(row["tenants"] or 0) for row in rows})


def read_count(row: Row) -> int:
    """Read the row of ``COUNT_SHARDS``."""
    return int(row["shards"] or 0)


def read_moves(rows: Sequence[Row]) -> list[TenantMove]:
    """Read the rows of ``READ_MOVES``."""
    return read_rows(TenantMove, rows)


def read_places(rows: Sequence[Row]) -> Place | None:
    """Read the row of a place, if there is one."""
    return read_row(Place, rows[0]) if rows else None


def tables_of_tenants(rows: Sequence[Row]) -> list[str]:
    """Read the rows of ``READ_TABLES``: the tables whose rows show that there is a tenant.

    Those that say where tenants live do not, nor do acts: whoever tries one by a wrong name makes no tenant.
    """
    return [str(row["name"]) for row in rows if row["name"] not in {*_OF_DIRECTORY, "administrative_act"}]


def add(shard: str, database_id: str | None) -> Statement:
    """Add a shard; returns a row unless a shard of this name or with this database exists."""
    return Statement.write(_ADD, repeatable=False, name=shard, database_id=database_id)


def read_place(tenant_id: str) -> Statement:
    """Read where a tenant lives; no row: the tenant lives in the first shard, or is not known yet."""
    return Statement.read(_READ_PLACE, tenant_id=tenant_id)


def place(tenant_id: str, at: Place) -> list[Statement]:
    """Write where a new tenant lives, unless another process has written it; the last statement returns the place."""
    return [
        Statement.write(_PLACE, tenant_id=tenant_id, shard=at.shard, epoch=at.epoch),
        read_place(tenant_id),
    ]


def switch(tenant_id: str, to: Place) -> Statement:
    """Write that a tenant lives elsewhere now; a place with a later epoch stays."""
    return Statement.write(_SWITCH, tenant_id=tenant_id, shard=to.shard, epoch=to.epoch)


def enter(tenant_id: str, epoch: int) -> Statement:
    """Let a new tenant live in this database."""
    return Statement.write(_ENTER, tenant_id=tenant_id, epoch=epoch)


def read_left(tenant_id: str) -> Statement:
    """Read where a tenant that has lived in this database lives now; no row: the tenant has not left."""
    return Statement.read(_READ_LEFT, tenant_id=tenant_id)


def read_known(tenant_id: str, tables: Sequence[str]) -> Statement:
    """Read whether a tenant has any row in these tables of this database, as ``known``."""
    looks = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE tenant_id = ?1 ->> 'tenant_id')" for name in tables)
    return Statement.read(f"SELECT {looks} AS known", tenant_id=tenant_id)


def first_place(shard: str) -> Place:
    """Return the place of a tenant that begins in a shard."""
    return Place(shard, 0 if shard == MAIN else 1)
