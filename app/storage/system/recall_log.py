"""The statement that writes what was noted of recalls. It crosses tenants; no request imports it."""

from collections.abc import Sequence

from app.domain.audit import RecallNote
from app.domain.json_types import Json, to_json
from app.ports.database import NOW, Statement
from app.storage.system import departures

_SLACK_MS = 2000
"""How much later than a recall the database may take it to have been: as long as the run takes to reach it."""

# What was recalled before its agent was erased, or meanwhile, leaves no row behind the erasure.
_WRITE = f"""
INSERT INTO recall_log (tenant_id, id, agent_id, run_id, event, detail, recorded_at, written_by)
SELECT note.value ->> 0, note.value ->> 1, note.value ->> 2, note.value ->> 3, note.value ->> 4, note.value ->> 5,
  {NOW} - (note.value ->> 6), note.value ->> 7
FROM json_each(?1, '$.notes') AS note
WHERE NOT EXISTS (
  SELECT 1 FROM erasure
  WHERE erasure.tenant_id = note.value ->> 0 AND (erasure.agent_id IS NULL OR erasure.agent_id = note.value ->> 2)
    AND (erasure.receipt IS NULL OR erasure.advanced_at >= {NOW} - (note.value ->> 6) - {_SLACK_MS})
) AND {departures.stays("note.value ->> 0")}
ON CONFLICT (tenant_id, id) DO NOTHING
"""


def write(notes: Sequence[RecallNote], now: float) -> Statement:
    """Write notes, but those of ``departures``; one that is there already stays.

    ``now``: of the clock that they were noted by, in seconds.
    """
    return Statement.write(_WRITE, notes=[_row(note, now) for note in notes])


def _row(note: RecallNote, now: float) -> Json:
    return [
        note.tenant_id,
        note.id,
        note.agent_id,
        note.run_id,
        "recalls_dropped" if note.dropped else "recall",
        to_json(note.detail),
        max(0, round((now - note.noted) * 1000)),
        note.written_by,
    ]
