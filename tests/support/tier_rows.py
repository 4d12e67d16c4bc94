"""Rows of every table of the tiers, made from its declaration and from what its columns ask for."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from app.domain.json_types import Scalar
from app.ports.database import Database, Row, Statement
from app.storage.tiers.tables import TierTable
from tests.support.gateways import Bench
from tests.support.tables import rows_of

LATER = int(time.time() + 20 * 3600) * 1000
"""Within the day for which working memory may live."""
_HASH = "0123456789abcdef" * 4
_VALUES: Mapping[str, Scalar] = {
    "after": "bot",
    "after_end": 0,
    "agents": '["nobody"]',
    "agent_type": "support",
    "alpha": 1.5,
    "first_id": "01K",
    "items": 3,
    "kind": "memories",
    "last_id": "01L",
    "author": "agent",
    "beta": 2,
    "blob_id": None,
    "bytes": 100,  # enough for what each table holds below
    "called_at": None,
    "chains": 1,
    "confidence": 0.75,
    "content": 'said "é\U0001f600"',
    "data": '{"n":[1.5,null]}',
    "detail": "{}",
    "discount": 0.99,
    "enabled": 1,
    "ended_at": None,
    "restored_until": None,
    "id_ends": None,
    "entry": '"an entry"',
    "error": None,
    "event": "recall",
    "expires_at": LATER,
    "facts": 1,
    "failures": 0.25,
    "fallen": 0,
    "fallen_since": None,
    "fallen_until": None,
    "first_place": 0,
    "input": '{"input":1,"episode_ids":[]}',
    "input_blob": None,
    "input_hash": _HASH,
    "issued_at": None,
    "kept": 1,
    "made_by": "reader",
    "media_type": "text/plain",
    "memories": 1,
    "messages": 1,
    "ms": "1.5",
    "number": 1,
    "outcome": "ok",
    "output": None,
    "output_blob": None,
    "over": 0,
    "parent_gone": None,
    "parent_run_id": None,
    "question": '{"qid":"q","question":"which?","expected":["red"]}',
    "role": "user",
    "score": 0.25,
    "sentences": '[{"text":"é","memories":["01K0"],"weight":0.5}]',
    "sha256": _HASH,
    "since": 1_700_000_000_000,
    "size": 13,  # of the content
    "speakers": None,
    "spec": '{"steps":[]}',
    "state": "stored",
    "status": "running",
    "successes": 0.75,
    "tasks": 1,
    "tokens": 2,
    "told": 1,
    "turns": 3,
    "until": 1_700_000_000_001,
    "undone": 0,
    "value": '{"any":"value"}',
    "version": 7,
    "workflow_id": "plan",
    "written_by": None,
    "written_through": "http",
}
"""What a column of this name may be; those of a key differ with the row's number."""


def row_of(tier: TierTable, number: int, agent_id: str = "bot") -> dict[str, Scalar]:
    """Return a row of the table: another one for each number and agent."""
    row = {column: _value(column, number, agent_id) for column in tier.columns}
    if tier.parent is not None and tier.parent.table == "workflow":
        row |= {"workflow_id": _value("id", number, agent_id)}
    if tier.kind == "relations":
        ids = {side: _value("id", 2 * number + place, agent_id) for place, side in enumerate(("older_id", "newer_id"))}
        row |= ids | {"name": "replaces", "probability": 0.75, "effect": "hides", "version": "reader-1"}
    if tier.kind == "consolidated":
        row |= {"kind": "memory"}
    if tier.kind == "working_summaries":
        row |= {"memories": '["01K0"]'}
    if "written_by" in tier.key:
        row |= {"written_by": f"credential-{number}"}
    return row | {"agent_id": agent_id} if tier.of_agent else row


def _value(column: str, number: int, agent_id: str) -> Scalar:
    if column in {"id", "run_id", "other_id", "kept_id", "via_id", "memory_id"}:
        mark = sum(agent_id.encode()) % 1000
        return f"01K{mark:03d}{number:020d}"
    if column in {"key", "name", "instance"}:
        return f"{column}-{number}"
    if column in {"place", "last_place", "number"}:
        return number + 1
    if column in _VALUES:
        return _VALUES[column]
    return 1_700_000_000_000 + number if column.endswith(("_at", "_until", "_day")) else column


async def added(bench: Bench, tenant_id: str, tier: TierTable, rows: Sequence[Mapping[str, Scalar]]) -> None:
    """Write rows into the table, past every service."""
    await added_to(bench.database, tenant_id, tier, rows)


async def added_to(database: Database, tenant_id: str, tier: TierTable, rows: Sequence[Mapping[str, Scalar]]) -> None:
    """Write rows into the table of a database."""
    columns = ", ".join(tier.columns)
    values = ", ".join(f"row.value ->> '$.{column}'" for column in tier.columns)
    sql = (
        f"INSERT INTO {tier.table} (tenant_id, {columns}) SELECT ?1 ->> 'tenant_id', {values} "
        "FROM json_each(?1, '$.rows') AS row WHERE TRUE ON CONFLICT DO NOTHING"
    )
    await database.run([Statement.write(sql, tenant_id=tenant_id, rows=[dict(row) for row in rows])])


async def scopes(bench: Bench, tier: TierTable) -> list[Row]:
    """Count a table's rows by tenant and agent."""
    agent = "agent_id" if tier.of_agent else "''"
    of = Counter(
        (row["tenant_id"], row["agent_id"])
        for row in await rows_of(bench, tier.table, "tenant_id", f"{agent} AS agent_id")
    )
    return [
        {"tenant_id": tenant, "agent_id": owner, "n": count} for (tenant, owner), count in sorted(of.items(), key=str)
    ]
