"""Screens the lines of an import."""

import json
from dataclasses import replace

from app.domain.audit import canonical_json, sha256_of
from app.domain.json_types import Json, Scalar
from app.services.tenant.screening import Screening
from app.services.transfer.lines import Line, memory_line, row_line


async def screened(line: Line, screening: Screening) -> Line:
    """Return a line as it may be kept; raises as ``Screening.of`` does.

    A memory that is masked has no vector any more: its vector was made of what is not kept.
    """
    if line.is_memory:
        record = await screening.of(line.record)
        return line if record is line.record else memory_line(replace(record, vector=None, embedding=None))
    told = {column: _told(line, column) for column in line.row if column not in line.table.key}
    kept = await screening.of(told, line.table.kind)
    changed: dict[str, Scalar] = {
        column: canonical_json(value) if column in line.table.json else str(value)
        for column, value in kept.items()
        if value is not told[column] and value != told[column]
    }
    if "input" in changed and "input_hash" in line.row:
        changed["input_hash"] = sha256_of(str(changed["input"]))
    return row_line(line.table, {**line.row, **changed}) if changed else line


def _told(line: Line, column: str) -> Json:
    """Return the value of a column; the texts of some columns are JSON."""
    value = line.row[column]
    return json.loads(value) if column in line.table.json and isinstance(value, str) else value
