"""The statements that write the notes of recalls, and those for runs. They cross tenants; no request imports them."""

from collections.abc import Sequence

from app.domain.audit import RecallNote, RunNote
from app.domain.json_types import Json, to_json
from app.ports.database import NOW, Statement
from app.storage.system import departures
from app.storage.tiers.run_log import NOTE, ROOM

_SLACK_MS = 2000
"""How much too late the database may date a recall: as long as the run takes to reach the database."""

# A note from before the erasure of its agent, or from the time of the erasure, leaves no row after it.
_NOT_ERASED = f"""NOT EXISTS (
  SELECT 1 FROM erasure
  WHERE erasure.tenant_id = note.value ->> 0 AND (erasure.agent_id IS NULL OR erasure.agent_id = note.value ->> 2)
    AND (erasure.receipt IS NULL OR erasure.advanced_at >= {NOW} - (note.value ->> 6) - {_SLACK_MS})
) AND {departures.stays("note.value ->> 0")}"""
_WRITE = f"""
INSERT INTO recall_log (tenant_id, id, agent_id, run_id, event, detail, recorded_at, written_by)
SELECT note.value ->> 0, note.value ->> 1, note.value ->> 2, note.value ->> 3, note.value ->> 4, note.value ->> 5,
  {NOW} - (note.value ->> 6), note.value ->> 7
FROM json_each(?1, '$.notes') AS note
WHERE {_NOT_ERASED} ON CONFLICT (tenant_id, id) DO NOTHING
"""
# A recall that has its row already was noted in its run too.
_NOTE = f"""
{NOTE}
SELECT note.tenant_id, note.agent_id, note.run_id, json_group_array(json(note.entry)), {ROOM}
FROM (
  SELECT run.tenant_id, run.agent_id, run.id AS run_id,
    json_object('entry', json(note.value ->> 4), 'ago', note.value ->> 6) AS entry
  FROM json_each(?1, '$.notes') AS note CROSS JOIN agent_runs AS run
  WHERE run.tenant_id = note.value ->> 0 AND run.id = note.value ->> 3 AND run.agent_id = note.value ->> 2
    AND {_NOT_ERASED} AND NOT EXISTS (
      SELECT 1 FROM recall_log AS made WHERE made.tenant_id = note.value ->> 0 AND made.id = note.value ->> 1
    )
  ORDER BY note.key
) AS note
GROUP BY note.tenant_id, note.agent_id, note.run_id
"""


def write(notes: Sequence[RecallNote | RunNote], now: float) -> list[Statement]:
    """Write notes, except late rows (``departures``); a note of a recall that has its row already changes nothing.

    ``now``: the time, in seconds, of the clock by which the notes are dated.
    """
    recalls = [note for note in notes if isinstance(note, RecallNote)]
    of_runs: list[Json] = [_of_run(note, now) for note in notes if note.run_id is not None]
    noted = [Statement.write(_NOTE, notes=of_runs)] if of_runs else []
    return [*noted, Statement.write(_WRITE, notes=[_row(note, now) for note in recalls])]


def _row(note: RecallNote, now: float) -> Json:
    event = "recalls_dropped" if note.dropped else "recall"
    return [*_named(note), event, to_json(note.detail), _ago(note, now), note.written_by]


def _of_run(note: RecallNote | RunNote, now: float) -> Json:
    return [*_named(note), to_json(note.entry), None, _ago(note, now)]


def _named(note: RecallNote | RunNote) -> list[Json]:
    return [note.tenant_id, note.id, note.agent_id, note.run_id]


def _ago(note: RecallNote | RunNote, now: float) -> int:
    return max(0, round((now - note.noted) * 1000))
