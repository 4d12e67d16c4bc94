"""Windows of working memory: the newest messages of an agent's instance (``schema.sql``)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from app.domain import limits
from app.domain.author import Author
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope
from app.domain.windows import FallingTurn, Summary, SummarySentence, WindowState, WindowTurn
from app.ports.database import NOW, Row
from app.storage.declared import columns_of, insert
from app.storage.lease_rule import holds
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import living, remembered

BUSY_SECONDS = 60
"""How long a process holds its claim to move the turns of a window, where it dies before it gives the claim back."""
BATCH = 500
"""Turns that are moved at once: as many as one ingestion takes."""

_WINDOW = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'
  AND {table}.instance = ?1 ->> 'instance'
"""
_KNOWN = f"""
(EXISTS (
  SELECT 1 FROM working_turn AS held WHERE {_WINDOW.format(table="held")} AND held.id = said.value ->> 'id'
) OR EXISTS (
  SELECT 1 FROM long_term_memory AS memory
  WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
    AND memory.message_id = said.value ->> 'id' AND {living("memory")}
) OR EXISTS (
  SELECT 1 FROM message AS coming
  WHERE coming.tenant_id = ?1 ->> 'tenant_id' AND coming.agent_id = ?1 ->> 'agent_id'
    AND coming.id = said.value ->> 'id'
))
"""
_COUNT_KNOWN = f"SELECT count(*) AS known FROM json_each(?1, '$.messages') AS said WHERE {_KNOWN}"
_APPEND = insert(
    "working_append",
    "agent_id instance untold written_by written_through issued_at speakers ttl_ms kept_bytes kept_messages"
    " kept_tokens most_bytes most_messages most_instances",
    messages=f"""(
  SELECT json_group_array(json(said.value)) FROM json_each(?1, '$.messages') AS said WHERE NOT {_KNOWN}
)""",
    now=NOW,
)
_DUE = f"(own.over OR own.expires_at <= {NOW})"
_READ = f"""
SELECT {columns_of(WindowState, "own", tokens="coalesce(own.tokens, 0)", due=_DUE)}
FROM working_window AS own WHERE {_WINDOW.format(table="own")}
"""
# The turns that fit are counted back from the newest, without a gap. Without a bound they are all that the window has.
_NEWEST = f"""
SELECT {columns_of(WindowTurn, "turn", told="coalesce(turn.told, 0)")} FROM (
  SELECT held.place, sum(held.tokens) OVER newest_first AS total, row_number() OVER newest_first AS number
  FROM working_turn AS held WHERE {_WINDOW.format(table="held")} WINDOW newest_first AS (ORDER BY held.place DESC)
) AS newest CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND turn.place = newest.place AND (
  newest.total <= coalesce(?1 ->> 'max_tokens', ?1 ->> 'kept_tokens')
  OR newest.number = 1 AND ?1 ->> 'max_tokens' IS NULL
)
ORDER BY turn.place
"""
_CLAIM = f"""
UPDATE working_window AS own SET busy_until = {NOW} + {BUSY_SECONDS * 1000}, tried_at = {NOW}
WHERE {_WINDOW.format(table="own")} AND {_DUE} AND NOT {holds("own.busy_until", BUSY_SECONDS * 1000)}
RETURNING expires_at
"""
_RELEASE = f"UPDATE working_window AS own SET busy_until = 0 WHERE {_WINDOW.format(table='own')}"
_FALLING = f"""
SELECT {columns_of(FallingTurn, "turn", idle=f"own.expires_at <= {NOW}", memory_id="")}
FROM (
  SELECT held.place, sum(held.bytes) OVER newest_first AS bytes, sum(held.tokens) OVER newest_first AS tokens,
    row_number() OVER newest_first AS number
  FROM working_turn AS held WHERE {_WINDOW.format(table="held")} WINDOW newest_first AS (ORDER BY held.place DESC)
) AS weighed CROSS JOIN working_window AS own CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="own")} AND {_WINDOW.format(table="turn")} AND turn.place = weighed.place
  AND (
    own.expires_at <= {NOW} OR weighed.bytes > ?1 ->> 'kept_bytes' OR weighed.number > ?1 ->> 'kept_messages'
    OR weighed.number > 1 AND weighed.tokens > ?1 ->> 'kept_tokens'
  )
ORDER BY turn.place LIMIT {BATCH}
"""
# Without a summary only turns that are no memories fall: a turn that has become a memory falls with a summary later.
_FALL = insert(
    "working_fall",
    "agent_id instance kept_bytes kept_messages kept_tokens summary idle",
    places=f"""iif(?1 ->> 'summary' IS NOT NULL OR ?1 ->> 'idle', ?1 ->> 'places', (
    SELECT json_group_array(place.value) FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
    WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value AND NOT EXISTS (
      SELECT 1 FROM long_term_memory AS memory
      WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
        AND memory.message_id = turn.id AND {living("memory")}
    )
  ))""",
    now=NOW,
)
_REMEMBERED = f"""
SELECT place.value AS place, (
  SELECT memory.id FROM long_term_memory AS memory
  WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
    AND memory.message_id = turn.id AND {living("memory")} LIMIT 1
) AS memory_id
FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value
"""
_TAKE_OUT = f"""
DELETE FROM working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND EXISTS (
  SELECT 1 FROM json_each(?1 -> 'message_ids') AS made CROSS JOIN long_term_memory AS memory
  WHERE made.key = CAST(turn.place AS TEXT)
    AND memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
    AND memory.message_id = made.value AND {living("memory")}
)
"""
_LEFT = f"""
SELECT count(*) AS kept FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value
"""
# Forgotten and expired memories are left out here; a deleted memory was taken out of the summary before (schema.sql).
_MEMORIES = f"""(
  SELECT json_group_array(memory.id) FROM json_each(own.memories) AS named CROSS JOIN long_term_memory AS memory
  WHERE memory.id = named.value AND +memory.tenant_id = ?1 ->> 'tenant_id'
    AND +memory.agent_id = ?1 ->> 'agent_id' AND {remembered("memory")}
)"""
_SUMMARIES = f"""
SELECT {columns_of(Summary, "own", memories=_MEMORIES)} FROM working_summary AS own
WHERE {_WINDOW.format(table="own")} ORDER BY own.last_place
"""


@dataclass(frozen=True)
class Windows:
    """Statements over the window of one instance, bound here; it keeps ``kept_tokens``, and always the newest turn."""

    scope: Scope
    instance: str
    kept_tokens: int = limits.WINDOW_TOKENS

    def append(
        self, turns: Sequence[WindowTurn], author: Author, *, untold: bool, ttl_seconds: int
    ) -> list[ScopedStatement]:
        """Add turns that are not there yet; the first statement counts the ``known``, the last reads the window.

        The run raises ``RunRefused`` with ``over_window`` or ``too_many_instances``. Made again it adds nothing.
        """
        messages: list[Json] = [{**asdict(turn), "bytes": len(turn.content.encode())} for turn in turns]
        added = self._write(
            _APPEND,
            messages=messages,
            untold=untold,
            written_by=author.credential_id,
            written_through=author.channel,
            issued_at=author.issued_at,
            speakers=None if author.speakers is None else to_json(sorted(author.speakers)),
            ttl_ms=ttl_seconds * 1000,
            most_bytes=limits.MAX_WINDOW_BYTES,
            most_messages=limits.MAX_WINDOW_MESSAGES,
            most_instances=limits.MAX_WORKING_INSTANCES,
        )
        return [self._read(_COUNT_KNOWN, messages=messages), added, self.read()]

    def read(self) -> ScopedStatement:
        """Read the window, as a row of ``WindowState``; none where there is no window."""
        return self._read(_READ)

    def newest(self, max_tokens: int | None) -> ScopedStatement:
        """Read the newest turns that fit, oldest first, as rows of ``WindowTurn``; None: all that the window keeps."""
        return self._read(_NEWEST, max_tokens=max_tokens)

    def claim(self) -> ScopedStatement:
        """Claim the window, if turns are due to fall and no other process moves them; returns a row if it is taken."""
        return self._write(_CLAIM)

    def release(self) -> ScopedStatement:
        """Give the claim back, so that others may move its turns."""
        return self._write(_RELEASE)

    def falling(self) -> ScopedStatement:
        """Read the oldest turns that are to fall out of the window, as rows of ``FallingTurn``."""
        return self._read(_FALLING)

    def remembered(self, places: Sequence[int]) -> ScopedStatement:
        """Read the ``place`` of each of these turns, and its ``memory_id``: NULL if the turn is no memory yet."""
        return self._read(_REMEMBERED, places=to_json(list(places)))

    def summaries(self) -> ScopedStatement:
        """Read the summaries of the turns that fell out of the window, newest last, for ``read_summaries``."""
        return self._read(_SUMMARIES)

    def fall(
        self,
        places: Sequence[int],
        summary: Summary | None = None,
        *,
        instead_of: Sequence[Summary] = (),
        idle: bool = False,
    ) -> list[ScopedStatement]:
        """Delete those of the turns that are memories now, or can never become any.

        With a ``summary`` of them, all of the turns are deleted, and the summary takes the place of the summaries
        ``instead_of``. Nothing is done where the turns are not all memories and in the window now, where those
        summaries are not there as they were, or where a memory that the summary names was deleted.
        Where the turns fall because the window was ``idle``, nothing is done if the window is in use again.
        The last statement counts how many of the turns were ``kept``. A window that is empty once its time has passed
        is removed.
        """
        given = to_json(list(places))
        made = None if summary is None else _written(summary, instead_of)
        fall = self._write(_FALL, places=given, summary=made, idle=idle)
        return [fall, self.release(), self._read(_LEFT, places=given)]

    def take_out(self, message_ids: Mapping[int, str]) -> ScopedStatement:
        """Delete turns, given by their places, that are memories now under these other ids of messages."""
        return self._write(_TAKE_OUT, message_ids={str(place): id_ for place, id_ in message_ids.items()})

    def merge(self, summary: Summary, instead_of: Sequence[Summary]) -> ScopedStatement:
        """Put a summary in the place of the summaries that it sums up, if these are all there as they were."""
        return self._write(_FALL, places="[]", summary=_written(summary, instead_of), idle=False)

    @cached_property
    def _own(self) -> dict[str, Json]:
        return {
            "instance": self.instance,
            "kept_bytes": limits.WINDOW_BYTES,
            "kept_messages": limits.WINDOW_MESSAGES,
            "kept_tokens": self.kept_tokens,
        }

    def _read(self, sql: str, **values: Json) -> ScopedStatement:
        return ScopedStatement.read(self.scope, sql, **self._own, **values)

    def _write(self, sql: str, **values: Json) -> ScopedStatement:
        return ScopedStatement.write(self.scope, sql, repeatable=True, **self._own, **values)


def read_summaries(rows: Sequence[Row]) -> list[Summary]:
    """Read rows of ``Summary``, without the sentences that rest on a memory which is not there any more."""
    return [
        replace(summary, sentences=[one for one in _sentences(row) if set(summary.memories).issuperset(one.memories)])
        for row, summary in zip(rows, read_rows(Summary, rows), strict=True)
    ]


def _sentences(row: Row) -> list[SummarySentence]:
    return [SummarySentence(**fields) for fields in json.loads(str(row["sentences"]))]


def _written(summary: Summary, instead_of: Sequence[Summary]) -> Mapping[str, Json]:
    """Return a summary as ``working_fall`` takes it, with the summaries whose place it takes."""
    replaced = [{"last_place": other.last_place, "turns": other.turns} for other in instead_of]
    return {**asdict(summary), "instead_of": replaced}
