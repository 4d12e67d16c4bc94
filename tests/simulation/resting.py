"""Rows that nobody touches while their tenant moves, in most tables: a move neither loses nor doubles one."""

from collections import Counter

from app.adapters.local.sqlite_database import SqliteDatabase
from app.storage.system.carried import Values
from app.storage.tiers.tables import TIER_TABLES
from tests.runtime.test_moving import everything
from tests.simulation.moves import TENANT
from tests.simulation.operations import Text
from tests.simulation.sharded import ShardedWorld, home_of
from tests.simulation.workload import Agent
from tests.support.tables import insert_rows
from tests.support.tier_rows import LATER, added_to, row_of

KEEPER = "keeper"
_IN_USE = {"long_term_memory", "usage", "claim"}
"""Tables in which the rows of other agents change meanwhile; to the audit some are added."""
_AUDIT = "audit"
_SCOPE = {"tenant_id": TENANT, "agent_id": KEEPER}
_KEY = _SCOPE | {"key": "a key", "request_hash": "0" * 64, "memory_id": "0" * 26, "created_at": LATER}
_QUOTA = _SCOPE | {"memories": 70, "bytes": 7000, "stores_per_minute": 700}

Rows = dict[str, Counter[Values]]


async def fill(made: ShardedWorld, keeper: Agent) -> None:
    """Give an agent rows in every table that a tenant's requests write."""
    await keeper.store(Text("kept all the time"))
    replica = made.replicas[0]
    home = await home_of(replica, TENANT)  # type: ignore[arg-type]
    database = SqliteDatabase(made.files[home])
    for tier in TIER_TABLES:
        await added_to(database, TENANT, tier, [row_of(tier, number, KEEPER) for number in range(2)])
    await insert_rows(database, "idempotency", _KEY)
    await insert_rows(database, "quota", _QUOTA)


async def resting(made: ShardedWorld, shard: str) -> Rows:
    """Return how often a shard has each row that nobody changes; of the audit those that are there by now."""
    found = await everything(SqliteDatabase(made.files[shard]), TENANT)
    return {
        table: Counter(row for row in rows if table not in _IN_USE or KEEPER in row) for table, rows in found.items()
    }


def check_kept(before: Rows, after: Rows) -> None:
    """Check that each of those rows is there as often as it was."""
    assert sum(1 for rows in before.values() if rows) > 20
    for table, rows in before.items():
        now = {row: count for row, count in after[table].items() if table != _AUDIT or row in rows}
        assert now == rows, table
