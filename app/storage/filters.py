"""The recall filter as SQL, for any table that has ``created_at`` and ``metadata``."""

from dataclasses import asdict

from app.domain.claim import PERHAPS
from app.domain.facts import About
from app.domain.json_types import Json
from app.domain.query import Filter
from app.storage.what_holds import claim_holds, living, remembered, shown

# A value is equal when it is the same JSON value: 1 is 1.0, but neither is true, and "1" is a text. A key of plain
# characters is looked up, which reads no row for each key that a memory has; other keys are compared as they are,
# through json_each: no key can be mistaken for a path. What is wanted is taken out of ?1 once, and not for each row:
# beside it ?1 may hold all the hits of an index.
_METADATA = """
NOT EXISTS (
  SELECT 1 FROM json_each((SELECT ?1 -> '$.where.metadata')) AS wanted
  WHERE NOT CASE WHEN wanted.key NOT GLOB '*[^A-Za-z0-9_.:-]*' THEN
    {table}.metadata ->> ('$."' || wanted.key || '"') IS wanted.atom
      AND replace(json_type({table}.metadata, '$."' || wanted.key || '"'), 'integer', 'real')
        IS replace(wanted.type, 'integer', 'real')
  ELSE EXISTS (
    SELECT 1 FROM json_each({table}.metadata) AS present
    WHERE present.key = wanted.key AND present.atom IS wanted.atom
      AND replace(present.type, 'integer', 'real') = replace(wanted.type, 'integer', 'real')
  ) END
)
"""


def has_metadata(table: str) -> str:
    """Return a boolean SQL expression: a row has all metadata that ``$.where.metadata`` asks for, which may be none."""
    return _METADATA.format(table=table)


def condition(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over ``table``, which reads ``$.where`` of the argument ``?1``."""
    parts = ["TRUE"]
    if where.created_after is not None:
        parts.append(f"{table}.created_at > (SELECT ?1 ->> '$.where.created_after')")
    if where.created_before is not None:
        parts.append(f"{table}.created_at < (SELECT ?1 ->> '$.where.created_before')")
    if where.metadata:
        parts.append(has_metadata(table))
    return " AND ".join(parts)


_LIVING = living("memory")
_OF_TYPE = "{table}.type = ?1 ->> '$.where.type'"
# A fact has the subject of its key. Its predicate may differ from that of its key, so the predicate of its metadata is
# compared too: "uses" is "package_manager" where pnpm is used.
_RELATION = """
(substr(substr({claim}.key, instr({claim}.key, '/') + 1) || '/', 1, length(?1 ->> '$.where.about.relation') + 1)
    = ?1 ->> '$.where.about.relation' || '/'
  OR {metadata} ->> '$.fact.predicate' = ?1 ->> '$.where.about.predicate')
"""
_TOLD = """
SELECT told.memory_id FROM {tables}
WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = ?1 ->> 'agent_id' AND {about}
"""
# Those of a predicate whatever their subject: by the relation of a key, and by the predicate of the metadata.
_TOLD_OF_PREDICATE = """
SELECT told.memory_id FROM claim AS told INDEXED BY claim_of_relation
WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = ?1 ->> 'agent_id'
  AND substr(told.key, instr(told.key, '/') + 1) || '/' >= ?1 ->> '$.where.about.relation' || '/'
  AND substr(told.key, instr(told.key, '/') + 1) || '/' < ?1 ->> '$.where.about.relation' || '0'
UNION
SELECT teller.id FROM long_term_memory AS teller INDEXED BY long_term_memory_told
WHERE teller.tenant_id = ?1 ->> 'tenant_id' AND teller.agent_id = ?1 ->> 'agent_id'
  AND teller.metadata ->> '$.fact.predicate' = ?1 ->> '$.where.about.predicate' AND EXISTS (
    SELECT 1 FROM claim AS told INDEXED BY claim_of_memory
    WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = ?1 ->> 'agent_id' AND told.memory_id = teller.id
  )
"""
_TELLER = """(SELECT teller.metadata FROM long_term_memory AS teller
  WHERE teller.tenant_id = ?1 ->> 'tenant_id' AND teller.agent_id = ?1 ->> 'agent_id' AND teller.id = told.memory_id)"""
_OF_TELLERS = """
SELECT memory.id FROM ({told}) AS told CROSS JOIN long_term_memory AS memory ON memory.id = told.memory_id
WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'
"""
_OF_AGENT = """
SELECT memory.id FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
"""
_ABOUT_ONE = """
EXISTS (
  SELECT 1 FROM claim AS told INDEXED BY claim_of_memory
  WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = {table}.agent_id AND told.memory_id = {table}.id
    AND {about}
)
"""
_BEHIND_PERHAPS = PERHAPS[:-1] + chr(ord(PERHAPS[-1]) + 1)
"""The first text behind all that begin with the mark of a doubtful fact."""
# A doubtful fact holds only where no sure fact of its key holds, whenever the sure one was said (ADR 0035).
_OVERRIDDEN = """
(substr({claim}.key, 1, {length}) = '{perhaps}' AND EXISTS (
  SELECT 1 FROM claim AS sure CROSS JOIN long_term_memory AS surer
  WHERE sure.tenant_id = ?1 ->> 'tenant_id' AND sure.agent_id = {claim}.agent_id
    AND sure.key = substr({claim}.key, {length} + 1) AND {sure_holds}
    AND surer.tenant_id = ?1 ->> 'tenant_id' AND surer.agent_id = {claim}.agent_id AND surer.id = sure.memory_id
    AND {remembered} AND {shown}
))
"""
# Few agents have doubtful facts: whether the agent has one is asked once, and not for each memory. No agent: of all.
_NOT_OVERRIDDEN = f"""
iif((SELECT ?1 ->> 'agent_id' IS NULL OR EXISTS (
  SELECT 1 FROM claim WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
    AND key >= '{PERHAPS}' AND key < '{_BEHIND_PERHAPS}'
)), NOT EXISTS (
  SELECT 1 FROM claim AS doubt INDEXED BY claim_of_memory
  WHERE doubt.tenant_id = ?1 ->> 'tenant_id' AND doubt.agent_id = {{table}}.agent_id AND doubt.memory_id = {{table}}.id
    AND {{overridden}}
), TRUE)
"""


def overridden(claim: str) -> str:
    """Return a boolean SQL expression: a claim is a doubtful fact's, and a sure claim of its key holds."""
    return _OVERRIDDEN.format(
        claim=claim,
        length=len(PERHAPS),
        perhaps=PERHAPS,
        sure_holds=claim_holds("sure"),
        remembered=remembered("surer"),
        shown=shown("surer"),
    )


def claims_of_subjects(claims: str) -> str:
    """Return the tables of a FROM clause: claims, for the condition ``of_subject``."""
    return f"json_each(?1, '$.where.about.subjects') AS named CROSS JOIN {claims}"


def of_subject(claim: str) -> str:
    """Return a boolean SQL expression: a claim of ``claims_of_subjects`` has a subject that the filter names.

    A key is "subject/relation", or "subject/relation/value" where the relation has many values; "0" comes after "/". So
    the claims of a subject are a range of their primary key.
    """
    return f"({claim}.key >= named.value || '/' AND {claim}.key < named.value || '0')"


def claims_of(about: About | None, claims: str) -> str:
    """Return the tables of a FROM clause: claims, for the condition ``of_key``."""
    return claims if about is None or about.subjects is None else claims_of_subjects(claims)


def of_key(about: About, claim: str, metadata: str) -> str:
    """Return a boolean SQL expression: a claim of ``claims_of`` is about what ``$.where.about`` names.

    ``metadata`` is that of the memory which states the claim, as an SQL expression.
    """
    parts = [] if about.subjects is None else [of_subject(claim)]
    if about.predicate is not None:
        parts.append(_RELATION.format(claim=claim, metadata=metadata))
    return " AND ".join(parts) or "TRUE"


def _of_subjects(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over memories of the agent ``agent_id``: a memory states a claim of the subjects.

    The claims are searched once, by their keys, and not for each memory. Without subjects the expression is true.
    """
    if where.about is None or where.about.subjects is None:
        return "TRUE"
    return f"{table}.id IN ({_told(where.about)})"


def _told(about: About) -> str:
    """Return a SELECT of the ids of the agent's memories that state a claim of a condition; an id may come twice."""
    if about.subjects is None and about.predicate is not None:
        return _TOLD_OF_PREDICATE
    return _TOLD.format(tables=claims_of(about, "claim AS told"), about=of_key(about, "told", _TELLER))


def states(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over ``long_term_memory``: a memory has the type and the claims of a filter.

    A doubtful fact passes no such filter where a sure one holds in its place.
    """
    if not where.looks_into_the_database:
        return "TRUE"
    parts = [_of_subjects(where, table)]
    if where.type is not None:  # first, because it costs least
        parts.insert(0, _OF_TYPE.format(table=table))
    if where.about is not None and where.about.subjects is None:
        parts.append(_ABOUT_ONE.format(table=table, about=of_key(where.about, "told", f"{table}.metadata")))
    return " AND ".join([*parts, _NOT_OVERRIDDEN.format(table=table, overridden=overridden("doubt"))])


def stating(where: Filter) -> str:
    """Return a SELECT of the ids of the agent's memories that have the type and the claims of a filter.

    Of claims that the filter names, only the memories are looked up, and not all that the agent has.
    """
    memories = _OF_AGENT if where.about is None else _OF_TELLERS.format(told=_told(where.about))
    return f"{memories} AND {states(where, 'memory')}"


def of_living(where: Filter) -> str:
    """Return ``condition`` and ``states`` for the table ``memory``; an expired memory passes no filter."""
    return f"{_LIVING} AND {condition(where, 'memory')} AND {states(where, 'memory')}"


def argument(where: Filter) -> Json:
    """Return the value of ``where`` in the argument."""
    return {
        "created_after": where.created_after,
        "created_before": where.created_before,
        "metadata": dict(where.metadata),
        **({} if where.type is None else {"type": where.type}),
        **({} if where.about is None else {"about": asdict(where.about)}),
    }
