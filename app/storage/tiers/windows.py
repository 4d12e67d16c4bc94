"""Windows of working memory: the newest messages of an agent's instance (``0019_working.sql``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from app.domain import limits
from app.domain.author import Author, WriteChannel
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope
from app.domain.messages import NewMessage, Role
from app.ports.database import NOW
from app.storage.filters import living
from app.storage.lease_rule import holds
from app.storage.scoped import ScopedStatement
from app.storage.tiers.window_summaries import READ_SUMMARIES, Summary

BUSY_SECONDS = 60
"""How long a process alone may move the turns of a window, where it dies before it says that it has ended."""
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
_APPEND = f"""
INSERT INTO working_append (tenant_id, agent_id, instance, messages, untold, written_by, written_through, issued_at,
  speakers, ttl_ms, now, kept_bytes, kept_messages, kept_tokens, most_bytes, most_messages, most_instances)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'instance',
  (SELECT json_group_array(json(said.value)) FROM json_each(?1, '$.messages') AS said WHERE NOT {_KNOWN}),
  ?1 ->> 'untold', ?1 ->> 'written_by', ?1 ->> 'written_through', ?1 ->> 'issued_at', ?1 ->> 'speakers',
  ?1 ->> 'ttl_ms', {NOW}, ?1 ->> 'kept_bytes', ?1 ->> 'kept_messages', ?1 ->> 'kept_tokens', ?1 ->> 'most_bytes',
  ?1 ->> 'most_messages', ?1 ->> 'most_instances'
"""
_DUE = f"(own.over OR own.expires_at <= {NOW})"
_READ = f"""
SELECT own.expires_at, own.messages, own.bytes, coalesce(own.tokens, 0) AS tokens, own.fallen,
  own.fallen_since, own.fallen_until, {_DUE} AS due
FROM working_window AS own WHERE {_WINDOW.format(table="own")}
"""
# What fits is read back from the newest, and is one piece. Without a bound it is what the window keeps.
_NEWEST = f"""
SELECT turn.id, turn.role, turn.content, turn.said_at, turn.tokens, coalesce(turn.told, 0) AS told FROM (
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
SELECT turn.place, turn.role, turn.content, turn.said_at, turn.written_by, turn.written_through, turn.issued_at,
  turn.speakers, turn.counted_bytes, own.expires_at <= {NOW} AS idle
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
# Without a summary only what is no memory falls: what has become one meanwhile falls with a summary.
_FALL = f"""
INSERT INTO working_fall (tenant_id, agent_id, instance, places, now, kept_bytes, kept_messages, kept_tokens, summary,
  idle)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'instance',
  iif(?1 ->> 'summary' IS NOT NULL OR ?1 ->> 'idle', ?1 ->> 'places', (
    SELECT json_group_array(place.value) FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
    WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value AND NOT EXISTS (
      SELECT 1 FROM long_term_memory AS memory
      WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
        AND memory.message_id = turn.id AND {living("memory")}
    )
  )), {NOW}, ?1 ->> 'kept_bytes', ?1 ->> 'kept_messages', ?1 ->> 'kept_tokens', ?1 ->> 'summary', ?1 ->> 'idle'
"""
_REMEMBERED = f"""
SELECT place.value AS place, (
  SELECT memory.id FROM long_term_memory AS memory
  WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
    AND memory.message_id = turn.id AND {living("memory")} LIMIT 1
) AS memory_id
FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value
"""
_LEFT = f"""
SELECT count(*) AS kept FROM json_each(?1 ->> 'places') AS place CROSS JOIN working_turn AS turn
WHERE {_WINDOW.format(table="turn")} AND turn.place = place.value
"""


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window; times in milliseconds since the epoch.

    Attributes:
        messages: How many turns it holds.
        bytes: What their contents have together.
        tokens: What they cost together, as it was told or is estimated.
        fallen: How many turns have fallen out of it into long-term memory.
        due: Whether turns have to fall out of it: it holds more than it keeps, or nothing was appended for its time.
    """

    expires_at: int
    messages: int
    bytes: int
    tokens: int
    fallen: int
    fallen_since: int | None
    fallen_until: int | None
    due: bool


@dataclass(frozen=True, slots=True)
class WindowTurn:
    """A message of a window; ``said_at`` in milliseconds since the epoch."""

    id: str
    role: str
    content: str
    said_at: int
    tokens: int
    told: bool
    """Whether the caller told its tokens; else they are estimated."""


@dataclass(frozen=True, slots=True)
class Falling:
    """A turn that is to become a memory."""

    place: int
    role: str
    content: str
    said_at: int
    written_by: str | None
    written_through: str
    issued_at: int | None
    speakers: Sequence[str] | None
    counted_bytes: int
    """What it counts in the quota of bytes."""
    idle: bool
    """Whether the time of its window has passed."""

    @property
    def author(self) -> Author:
        """Who has brought the turn: it becomes a memory with the rights of this author."""
        speakers = None if self.speakers is None else frozenset(self.speakers)
        return Author(self.written_by, cast(WriteChannel, self.written_through), self.issued_at, speakers=speakers)

    @property
    def message(self) -> NewMessage:
        """The turn as a message, which is ingested."""
        return NewMessage(cast(Role, self.role), self.content, self.said_at)


@dataclass(frozen=True)
class Windows:
    """Statements over the window of one instance, bound here; it keeps so many tokens, and the newest turn always."""

    scope: Scope
    instance: str
    kept_tokens: int = limits.WINDOW_TOKENS

    def append(
        self, messages: Sequence[Mapping[str, Json]], author: Author, *, untold: bool, ttl_seconds: int
    ) -> list[ScopedStatement]:
        """Add messages that are not there yet; the first statement counts the ``known``, the last reads the window.

        The run raises ``RunRefused`` with ``over_window`` or ``too_many_instances``. Made again it adds nothing.
        """
        said = list(messages)
        added = self._write(
            _APPEND,
            messages=said,
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
        return [self._read(_COUNT_KNOWN, messages=said), added, self.read()]

    def read(self) -> ScopedStatement:
        """Read the window, as a row of ``WindowState``; none where there is no window."""
        return self._read(_READ)

    def newest(self, max_tokens: int | None) -> ScopedStatement:
        """Read the newest turns that fit, oldest first, as rows of ``WindowTurn``; None: all that it keeps."""
        return self._read(_NEWEST, max_tokens=max_tokens)

    def claim(self) -> ScopedStatement:
        """Claim the window, where turns are due to fall and no other process moves them; returns a row if it was."""
        return self._write(_CLAIM)

    def release(self) -> ScopedStatement:
        """Give the claim back, so that others may move its turns."""
        return self._write(_RELEASE)

    def falling(self) -> ScopedStatement:
        """Read the oldest turns that are to fall out of it, as rows of ``Falling``."""
        return self._read(_FALLING)

    def remembered(self, places: Sequence[int]) -> ScopedStatement:
        """Read which of the turns are memories now: the place of each, and the ``memory_id``."""
        return self._read(_REMEMBERED, places=to_json(list(places)))

    def summaries(self) -> ScopedStatement:
        """Read what sums up the turns that fell out of it, newest last, as rows of ``Summary``."""
        return self._read(READ_SUMMARIES)

    def fall(
        self,
        places: Sequence[int],
        summary: Summary | None = None,
        *,
        instead_of: Sequence[Summary] = (),
        idle: bool = False,
    ) -> list[ScopedStatement]:
        """Delete those of the turns that are memories now, or can never become any.

        With their ``summary``, which takes the place of others, all of the turns are deleted and it is written: or
        nothing is done, where they are not all memories of the window now, those others not there as they were, or
        a memory that it names was deleted.
        Where they fall since the window was ``idle``, nothing is done if it is in use again.
        The last statement counts how many of the turns were ``kept``. A window that is empty once its time has passed
        is removed.
        """
        given = to_json(list(places))
        made = None if summary is None else summary.written(instead_of)
        fall = self._write(_FALL, places=given, summary=made, idle=idle)
        return [fall, self.release(), self._read(_LEFT, places=given)]

    def merge(self, summary: Summary, instead_of: Sequence[Summary]) -> ScopedStatement:
        """Put a summary in the place of those that it sums up, if they are all there as they were."""
        return self._write(_FALL, places="[]", summary=summary.written(instead_of), idle=False)

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
