"""The triggers that note which rows of leaving tenants change. They exist only while a tenant leaves."""

from collections.abc import Sequence

from app.ports.database import Statement
from app.storage.system.carried import CarriedTable

_NOTED = "tenant_noted_"
_EVENTS = ("insert", "update", "delete")
_COUNT_NOTED = f"""
SELECT count(*) AS noted FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, {len(_NOTED)}) = '{_NOTED}'
"""


def note_changes(tables: Sequence[CarriedTable]) -> list[Statement]:
    """Make the triggers that note which rows of leaving tenants change; each statement may be run again."""
    return [Statement.write(_trigger(table, event)) for table in tables for event in _EVENTS]


def count_noting() -> Statement:
    """Count the triggers that note changes, as ``noted``."""
    return Statement.read(_COUNT_NOTED)


def stop_noting(tables: Sequence[CarriedTable]) -> list[Statement]:
    """Remove the triggers that note changes; the run is refused with ``noting`` while a tenant is leaving."""
    drops = [f"DROP TRIGGER IF EXISTS {_NOTED}{table.name}_{event}" for table in tables for event in _EVENTS]
    return [Statement.write("INSERT INTO tenant_noting (ended) SELECT TRUE"), *map(Statement.write, drops)]


def _trigger(table: CarriedTable, event: str) -> str:
    rows = {"insert": ["new"], "update": ["old", "new"], "delete": ["old"]}[event]
    notes = "".join(
        f"INSERT INTO tenant_changes (tenant_id, table_name, row_key) VALUES ({row}.tenant_id, '{table.name}', "
        f"json_array({', '.join(f'{row}.{column}' for column in table.key)})); "
        for row in rows
    )
    return (
        f"CREATE TRIGGER IF NOT EXISTS {_NOTED}{table.name}_{event} AFTER {event.upper()} ON {table.name} "
        f"WHEN EXISTS (SELECT 1 FROM tenant_epochs AS leaving WHERE leaving.tenant_id = {rows[0]}.tenant_id "
        f"AND leaving.state = 'leaving') BEGIN {notes}END"
    )
