"""Statements over the facts of one agent: the claims of its memories on keys (``schema.sql``).

They write only the sources of facts: facts are memories, and are written as these are. Rows of facts are for ``Held``
(``app.domain.facts``).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.domain.claim import AS_SAID
from app.domain.facts import MAX_SOURCES, About, FactSource
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.storage.declared import behind
from app.storage.filters import (
    claims_of,
    claims_of_subjects,
    of_key,
    of_subject,
    overridden,
)
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import claim_holds, remembered, shown

_HOLDS = f"({claim_holds('claim')} AND NOT {overridden('claim')})"
# A fact's tellers are the memory and those merged into it. The sources are first those that were noted when they told
# the fact, then each teller's own, as the memory itself has it.
_TELLERS = f"""
(
  SELECT memory.id AS id UNION ALL
  SELECT merged.other_id FROM consolidated AS merged INDEXED BY consolidated_kept
  WHERE merged.tenant_id = ?1 ->> 'tenant_id' AND merged.agent_id = ?1 ->> 'agent_id'
    AND merged.kept_id = memory.id AND merged.kind = 'fact' AND NOT merged.undone
) AS one CROSS JOIN long_term_memory AS teller
  ON teller.id = one.id AND +teller.tenant_id = ?1 ->> 'tenant_id' AND +teller.agent_id = ?1 ->> 'agent_id'
    AND {remembered("teller")}
"""
_OWN_SOURCE = """
coalesce(
  'run:' || ({teller}.metadata ->> '$.fact.learned_from_run_id'), 'session:' || {teller}.session_id,
  'author:' || coalesce({teller}.written_by, {teller}.written_through, '')
)
"""
# The confidence in a memory's metadata may be anything: a store writes what its caller has sent.
_OWN_CONFIDENCE = "min(1.0, max(0.0, CAST(coalesce({teller}.metadata ->> '$.fact.confidence', 1.0) AS REAL)))"
_SOURCES = f"""
(
  SELECT json_group_array(json_array(agreeing.source, agreeing.confidence)) FROM (
    SELECT noted.source, noted.confidence FROM {_TELLERS} CROSS JOIN fact_source AS noted
    WHERE noted.tenant_id = ?1 ->> 'tenant_id' AND noted.agent_id = ?1 ->> 'agent_id' AND noted.memory_id = one.id
    UNION ALL
    SELECT {_OWN_SOURCE.format(teller="teller")}, {_OWN_CONFIDENCE.format(teller="teller")} FROM {_TELLERS}
    -- Where sources are noted, who wrote the row need be none of them: it may be who has imported it.
    WHERE coalesce(teller.metadata ->> '$.fact.learned_from_run_id', teller.session_id) IS NOT NULL OR NOT EXISTS (
      SELECT 1 FROM fact_source AS noted WHERE noted.tenant_id = ?1 ->> 'tenant_id'
        AND noted.agent_id = ?1 ->> 'agent_id' AND noted.memory_id = one.id
    )
    LIMIT {2 * MAX_SOURCES}
  ) AS agreeing
)
"""
# The key of a memory that a model has learned of a topic has no "/".
_CLAIMS = f"""
SELECT claim.memory_id, claim.key, claim.value, memory.content, memory.metadata, memory.happened_at AS since,
  claim.superseded_at AS until, {_HOLDS} AS holds, {_SOURCES} AS sources, memory.happened_at AS page_at,
  claim.memory_id || ' ' || claim.key AS page_tie
FROM {{tables}}
WHERE claim.tenant_id = ?1 ->> 'tenant_id' AND claim.agent_id = ?1 ->> 'agent_id' AND instr(claim.key, '/')
  AND memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = claim.memory_id
  AND {remembered("memory")} AND {shown("memory")}
"""
_NEWEST = "long_term_memory AS memory INDEXED BY long_term_memory_happened CROSS JOIN claim INDEXED BY claim_of_memory"
_TAUGHT = _NEWEST.replace("_happened", "_taught")
_OF_IDS = "claim INDEXED BY claim_of_memory CROSS JOIN long_term_memory AS memory"
# The claims of a subject, the newest first, an order that CROSS JOIN and LIMIT keep: memories are looked up until a
# page is full. A memory happened when its claims did.
_OF_SUBJECT = f"""
(
  SELECT claim.* FROM {claims_of_subjects("claim")}
  WHERE claim.tenant_id = ?1 ->> 'tenant_id' AND claim.agent_id = ?1 ->> 'agent_id' AND {of_subject("claim")}
    AND {{after}}
  ORDER BY claim.happened_at DESC, claim.memory_id || ' ' || claim.key DESC LIMIT -1
) AS claim CROSS JOIN long_term_memory AS memory
"""
_ORDER = "ORDER BY memory.happened_at DESC, claim.memory_id || ' ' || claim.key DESC"
_LIMIT = "LIMIT ?1 ->> 'limit'"
_AFTER = """
({table}.happened_at <= ?1 ->> 'page_at'
  AND ({table}.happened_at, claim.memory_id || ' ' || claim.key) < (?1 ->> 'page_at', ?1 ->> 'page_tie'))
"""
_OF_MEMORIES = "claim.memory_id IN (SELECT value FROM json_each(?1, '$.ids'))"
_OF_RUN = "memory.metadata ->> '$.fact.learned_from_run_id' = ?1 ->> 'run_id'"
# Of several claims of a key that hold, the last one is read. A claim of a relation that has several values at a time is
# always read.
_LAST = f"""
{_HOLDS} AND (claim.value = '{AS_SAID}' OR NOT EXISTS (
  SELECT 1 FROM claim AS later CROSS JOIN long_term_memory AS other
  WHERE later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = ?1 ->> 'agent_id' AND later.key = claim.key
    AND {claim_holds("later")}
    AND (later.happened_at, later.memory_id) > (claim.happened_at, claim.memory_id)
    AND other.tenant_id = ?1 ->> 'tenant_id' AND other.agent_id = ?1 ->> 'agent_id' AND other.id = later.memory_id
    AND {remembered("other")} AND {shown("other")}
))
"""
# With its first source, a fact's own source is noted too, as the memory has it: it may not have come through this tier.
_NOTE = f"""
INSERT INTO fact_source (tenant_id, agent_id, memory_id, source, confidence, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, told.source, told.confidence, told.written_by
FROM long_term_memory AS memory CROSS JOIN (
  SELECT {_OWN_SOURCE.format(teller="own")} AS source, {_OWN_CONFIDENCE.format(teller="own")} AS confidence,
    own.written_by
  FROM long_term_memory AS own
  WHERE own.id = ?1 ->> 'id' AND +own.tenant_id = ?1 ->> 'tenant_id' AND +own.agent_id = ?1 ->> 'agent_id'
    AND NOT EXISTS (
      SELECT 1 FROM fact_source AS noted WHERE noted.tenant_id = ?1 ->> 'tenant_id'
        AND noted.agent_id = ?1 ->> 'agent_id' AND noted.memory_id = own.id
    )
  UNION ALL SELECT ?1 ->> 'source', ?1 ->> 'confidence', ?1 ->> 'written_by'
) AS told
WHERE memory.id = ?1 ->> 'id' AND +memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'
  AND (
    SELECT count(*) FROM fact_source AS noted WHERE noted.tenant_id = ?1 ->> 'tenant_id'
      AND noted.agent_id = ?1 ->> 'agent_id' AND noted.memory_id = memory.id
  ) < {MAX_SOURCES}
ON CONFLICT (tenant_id, agent_id, memory_id, source) DO UPDATE SET
  confidence = max(fact_source.confidence, excluded.confidence)
"""
_AGREEMENT = f"""
SELECT memory.id, {_SOURCES} AS sources FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value AND +memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'
"""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The sources of a fact, each with its confidence."""

    id: str
    sources: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Facts:
    """Statements over one agent's facts. The agent's scope is bound here, once."""

    scope: Scope

    def note(self, memory_id: str, told: FactSource, written_by: str | None) -> ScopedStatement:
        """Note a source of a fact, unless the memory is gone or has 32 sources already."""
        values = {"source": told.source, "confidence": told.confidence, "written_by": written_by}
        return ScopedStatement.write(self.scope, _NOTE, id=memory_id, **values)  # type: ignore[arg-type]

    def agreement(self, ids: Sequence[str]) -> ScopedStatement:
        """Read the sources of facts, for ``agreed_fact``: rows of ``Agreement``."""
        return ScopedStatement.read(self.scope, _AGREEMENT, ids=list(ids))

    def of_memories(self, ids: Sequence[str], about: About | None = None) -> ScopedStatement:
        """Read the facts that memories state, or those of them that are ``about`` something."""
        conditions, where = _asked(about)
        sql = " AND ".join([_CLAIMS.format(tables=claims_of(about, _OF_IDS)), _OF_MEMORIES, *conditions])
        return ScopedStatement.read(self.scope, f"{sql} {_ORDER} {_LIMIT}", ids=list(ids), limit=1000, **where)

    def page(
        self, about: About | None, *, run_id: str | None, history: bool, limit: int, after: ListPosition | None
    ) -> ScopedStatement:
        """Read the next facts, the newest first: those that hold, or with ``history`` all versions."""
        conditions, where = _asked(about)
        if not history:
            conditions.append(_LAST)
        if run_id is None and about is not None and about.subjects is not None:
            conditions[0] = of_key(replace(about, subjects=None), "claim", "memory.metadata")
            tables, order = _OF_SUBJECT.format(after="TRUE" if after is None else _AFTER.format(table="claim")), ""
        else:
            tables, order = claims_of(about, _NEWEST if run_id is None else _TAUGHT), _ORDER
            conditions += [] if run_id is None else [_OF_RUN]
            conditions += [] if after is None else [_AFTER.format(table="memory")]
        sql = " AND ".join([_CLAIMS.format(tables=tables), *conditions])
        return ScopedStatement.read(
            self.scope, f"{sql} {order} {_LIMIT}", run_id=run_id, limit=limit, **where, **behind(after)
        )


def _asked(about: About | None) -> tuple[list[str], dict[str, Json]]:
    """Return the condition that a claim is about ``about``, if that is given, and the argument that it reads."""
    if about is None:
        return [], {}
    return [of_key(about, "claim", "memory.metadata")], {"where": {"about": asdict(about)}}
