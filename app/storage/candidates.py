"""What a recall chooses from: one statement that finds memories by their words and fetches them with their neighbours.

It rests on two indexes of their own: ``memory_words``, searched within one scope's postings, and the order of each
session. How the channels are weighed is decided in ``app.retrieval``; here a plain estimate decides what is fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.storage import filters

SATURATION = 1.2
LENGTH_SHARE = 0.4
"""BM25's k1 and b, for words that are counted once: most memories are a sentence or two (docs/retrieval.md)."""

_SEEDS = 40
"""The best of each channel that are fetched, with the memories before and after them in their sessions."""
_OF_PERIODS = 20
_POOL = 100
_ROUGH = 400
"""So many with the rarest words, and of them the best before their length is counted, are looked at."""
_ALL = 1_000_000_000
"""With a filter, which may keep any of them out."""
_COMMON = 1000
"""A word in so many memories of a scope, or in half of them, tells little and costs much: others are looked for."""
_FEW = 200
"""Of so few memories, half are no matter."""
_STEPS = [round(2 ** (step / 3), 2) for step in range(1, 60)]

_OWN = "memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'"
_IN_SCOPE = (  # doubled braces: the statement is put together with format
    "'scope : \"' || lower(hex(?1 ->> 'tenant_id')) || 'g' || lower(hex(?1 ->> 'agent_id'))"
    " || '0\" AND {{content segments}} : ' || term.value"
)

_HELD = f"""
held AS MATERIALIZED (
  SELECT memories, mean, iif(memories < {_FEW}, memories + 1, min(memories / 2, {_COMMON})) AS common FROM (
    SELECT coalesce(max(usage.memories), 0) AS memories,
      1.0 * max(coalesce(max(usage.bytes), 0), 1) / max(coalesce(max(usage.memories), 0), 1) AS mean
    FROM usage WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = ?1 ->> 'agent_id'
  )
)"""
# The logarithm is counted in steps of a third of an octave, since not every SQLite has one.
_WORDS = f"""
{_HELD},
expressed AS MATERIALIZED (
  SELECT term.key AS term, {_IN_SCOPE} AS expression FROM json_each(?1, '$.terms') AS term
),
matched AS MATERIALIZED (
  SELECT expressed.term, expressed.expression, (
    SELECT json_group_array(number) FROM (
      SELECT memory_words.rowid AS number FROM memory_words
      WHERE memory_words MATCH expressed.expression LIMIT (SELECT common FROM held)
    )
  ) AS numbers
  FROM expressed
),
asked AS MATERIALIZED (SELECT term, expression, numbers, json_array_length(numbers) AS seen FROM matched),
telling AS MATERIALIZED (
  SELECT asked.term, asked.numbers, sum(asked.seen) OVER (ORDER BY asked.seen, asked.term) - asked.seen AS rarer
  FROM asked WHERE asked.seen BETWEEN 1 AND (SELECT common - 1 FROM held)
),
rare AS MATERIALIZED (
  SELECT telling.term, number.value AS number FROM telling CROSS JOIN json_each(telling.numbers) AS number
  WHERE telling.rarer < ?1 ->> 'rough_most'
),
together AS MATERIALIZED (
  SELECT memory_words.rowid AS number
  FROM (SELECT group_concat(expression, ' AND ') AS expression FROM asked WHERE asked.seen) AS every
    CROSS JOIN memory_words
  WHERE NOT EXISTS (SELECT 1 FROM telling) AND every.expression IS NOT NULL AND memory_words MATCH every.expression
  ORDER BY memory_words.rowid DESC LIMIT ?1 ->> 'rough_most'
),
hit AS MATERIALIZED (
  SELECT term, number FROM rare UNION ALL
  SELECT telling.term, number.value FROM telling CROSS JOIN json_each(telling.numbers) AS number
  WHERE telling.rarer >= ?1 ->> 'rough_most' AND number.value IN (SELECT number FROM rare) UNION ALL
  SELECT asked.term, together.number FROM together CROSS JOIN asked WHERE asked.seen
),
term AS MATERIALIZED (
  SELECT asked.term, (
    SELECT count(*) FROM json_each('{_STEPS}') AS step
    WHERE step.value <= 1 + (held.memories - asked.seen + 0.5) / (asked.seen + 0.5)
  ) AS weight
  FROM asked CROSS JOIN held
),
worded AS MATERIALIZED (
  SELECT hit.number, sum(term.weight) AS points, sum(1 << hit.term) AS words
  FROM hit CROSS JOIN term WHERE term.term = hit.term GROUP BY hit.number
),
rough AS MATERIALIZED (SELECT number, points FROM worded ORDER BY points DESC LIMIT ?1 ->> 'rough_most'),
ranked AS MATERIALIZED (
  SELECT number, id, points, max(points) OVER () AS best FROM (
    SELECT rough.number, memory_number.id,
      rough.points / (1 + {SATURATION} * ({1 - LENGTH_SHARE} + {LENGTH_SHARE} * memory_number.bytes / held.mean))
        AS points
    FROM rough CROSS JOIN memory_number CROSS JOIN held WHERE memory_number.number = rough.number
  ) ORDER BY points DESC LIMIT -1
),
lexical AS MATERIALIZED (
  SELECT memory.rowid AS row, ranked.points / ranked.best AS points
  FROM ranked CROSS JOIN long_term_memory AS memory
  WHERE {_OWN} AND memory.id = ranked.id AND {{condition}} LIMIT ?1 ->> 'seeds'
)"""
_NO_WORDS = f"""
{_HELD},
asked AS (SELECT 0 AS term, 0 AS seen WHERE FALSE),
worded AS (SELECT 0 AS number, 0 AS words WHERE FALSE),
lexical AS (SELECT 0 AS row, 0 AS points WHERE FALSE)"""
_MEANING = f"""
meaning AS MATERIALIZED (
  SELECT memory.rowid AS row, hit.value ->> 1 AS points
  FROM json_each(?1, '$.hits') AS hit CROSS JOIN long_term_memory AS memory
  WHERE {_OWN} AND memory.id = hit.value ->> 0 AND {{condition}} LIMIT ?1 ->> 'seeds'
)"""
_DATED = f"""
dated AS (
  SELECT memory.rowid AS row, 0.5 AS points
  FROM json_each(?1, '$.periods') AS period CROSS JOIN long_term_memory AS memory
  WHERE {_OWN} AND memory.happened_at >= period.value ->> 0 AND memory.happened_at < period.value ->> 1
    AND {{condition}} ORDER BY memory.happened_at DESC LIMIT {_OF_PERIODS}
)"""
_BESIDE = """
SELECT beside.{what} FROM long_term_memory AS beside
WHERE beside.tenant_id = memory.tenant_id AND beside.agent_id = memory.agent_id
  AND beside.session_id = memory.session_id
  AND (beside.happened_at, beside.rowid) {comes} (memory.happened_at, memory.rowid)
ORDER BY beside.happened_at {order}, beside.rowid {order} LIMIT 1
"""
_POOL_OF_CHANNELS = f"""
seed AS MATERIALIZED (
  SELECT row, max(points) AS points
  FROM (SELECT * FROM lexical UNION ALL SELECT * FROM meaning UNION ALL SELECT * FROM dated) GROUP BY row
),
near AS MATERIALIZED (
  SELECT seed.row, seed.points,
    ({_BESIDE.format(what="rowid", comes="<", order="DESC")}) AS before,
    ({_BESIDE.format(what="rowid", comes=">", order="ASC")}) AS after
  FROM seed CROSS JOIN long_term_memory AS memory WHERE {_OWN} AND memory.rowid = seed.row
),
pool AS (
  SELECT row FROM (
    SELECT CASE place.value WHEN 0 THEN near.row WHEN -1 THEN near.before ELSE near.after END AS row,
      near.points / (1 + abs(place.value)) AS points
    FROM near CROSS JOIN json_each('[0, -1, 1]') AS place
  ) WHERE row IS NOT NULL GROUP BY row ORDER BY max(points) DESC LIMIT ?1 ->> 'pool'
)"""
_QUEUED = """
queued AS (
  SELECT memory.rowid AS row FROM outbox JOIN long_term_memory AS memory
    ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
  WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
    AND outbox.index_name = ?1 ->> 'index_name' AND {condition}
  ORDER BY outbox.revision DESC LIMIT ?1 ->> 'pending_most'
)"""
_NEWEST = f"""
newest AS (
  SELECT memory.rowid AS row FROM long_term_memory AS memory WHERE {_OWN} AND {{condition}}
  ORDER BY memory.created_at DESC LIMIT ?1 ->> 'fill'
)"""
# One that begins with SELECT only reads, and may be asked again: see app/adapters/cloudflare/d1.py.
_GATHER = f"""
SELECT * FROM (
WITH {{parts}},
chosen AS MATERIALIZED (
  SELECT row, min(added) AS added FROM (
    SELECT row, FALSE AS added FROM pool UNION ALL SELECT row, FALSE FROM queued UNION ALL
    SELECT row, FALSE FROM newest UNION ALL
    SELECT memory.rowid, TRUE FROM long_term_memory AS memory WHERE {_OWN} AND memory.id = ?1 ->> 'also'
  ) GROUP BY row
),
fetched AS MATERIALIZED (
  SELECT memory.id, memory.content, memory.metadata, memory.created_at, memory.session_id, memory.happened_at,
    memory_number.number, memory_number.bytes, NOT {filters.living("memory")} AS expired,
    chosen.added, ({_BESIDE.format(what="id", comes="<", order="DESC")}) AS before
  FROM chosen CROSS JOIN long_term_memory AS memory CROSS JOIN memory_number
  WHERE {_OWN} AND memory.rowid = chosen.row AND memory_number.id = memory.id
    AND ({{condition}} OR memory.id = ?1 ->> 'also')
)
SELECT fetched.id, content, metadata, created_at, session_id, happened_at, before, bytes, expired, added, words,
  held.memories, held.mean, (
    SELECT json_group_object(asked.term, iif(asked.seen < held.common, asked.seen, held.memories)) FROM asked
  ) AS found
FROM fetched LEFT JOIN worded USING (number) CROSS JOIN held
)
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a recall looks for."""

    terms: Sequence[str]
    """In the syntax of FTS5; without any the words are left alone."""
    hits: Sequence[tuple[str, float]]
    """What the index suggests: ids with points from 1 for the best down to 0."""
    index_name: str
    """Where what is queued for it is always a candidate."""
    pending_most: int
    """How many of those at most."""
    where: Filter = field(default_factory=Filter)
    periods: Sequence[tuple[int, int]] = ()
    """Half-open, in ms since the epoch: the newest memories of them are candidates."""
    fill: int = 0
    """So many of the newest memories that pass are candidates in any case."""
    also: str | None = None
    """An id in the scope that is a candidate in any case, even if it has expired or does not pass."""
    width: int = 1
    """How many times as many candidates as usual."""

    @property
    def most(self) -> int:
        """How many candidates there are at most, beside what is queued and what is asked for in any case."""
        return self.width * _POOL


@dataclass(frozen=True, slots=True)
class Candidates:
    """Statements over what one scope's recall chooses from. The tenant is bound here, once."""

    scope: Scope

    def gather(self, wanted: Wanted) -> Statement:
        """Read the best of each channel that exist, belong to the scope and pass the filter, and their neighbours.

        Returns rows in no order: ``id``, ``content``, ``metadata``, ``created_at``, ``session_id``, ``happened_at``,
        ``before`` (the id of the memory before it in its session), ``bytes`` (of its content), ``expired``, ``added``
        (there for ``also`` alone), ``words`` (bit by bit, which of the terms it holds), and of the scope ``memories``,
        ``mean`` (bytes of one) and ``found`` (as JSON, by the number of a term how many memories hold it).
        """
        condition = filters.of_living(wanted.where, "memory")
        words = _WORDS if wanted.terms else _NO_WORDS
        parts = f"{words},{_MEANING},{_DATED},{_POOL_OF_CHANNELS},{_QUEUED},{_NEWEST}".format(condition=condition)
        return Statement(
            _GATHER.format(parts=parts, condition=condition),
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "index_name": wanted.index_name,
                "terms": list(wanted.terms),
                "periods": [[start, end] for start, end in wanted.periods],
                "hits": [[id_, points] for id_, points in wanted.hits],
                "rough_most": _ALL if wanted.where else wanted.width * _ROUGH,
                "seeds": wanted.width * _SEEDS,
                "pool": wanted.most,
                "pending_most": wanted.pending_most,
                "fill": wanted.fill,
                "also": wanted.also,
                "where": filters.argument(wanted.where),
            },
        )
