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
    table = line.table
    told: dict[str, Json] = {
        column: json.loads(value) if column in table.json and isinstance(value, str) else value
        for column, value in line.row.items()
        if column not in table.key
    }
    kept = await screening.of(told, table.kind)
    changed: dict[str, Scalar] = {
        column: canonical_json(value) if column in table.json else str(value)
        for column, value in kept.items()
        if value is not told[column] and value != told[column]
    }
    if "input" in changed and "input_hash" in line.row:
        changed["input_hash"] = sha256_of(str(changed["input"]))
    return row_line(table, {**line.row, **changed}) if changed else line
