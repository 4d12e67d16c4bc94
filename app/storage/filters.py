"""The recall filter as SQL, for any table that has ``created_at`` and ``metadata``."""

from dataclasses import asdict

from app.domain.claim import PERHAPS
from app.domain.facts import About
from app.domain.json_types import Json
from app.domain.query import Filter
from app.ports.database import NOW

# A value is equal when it is the same JSON value: 1 is 1.0, but neither is true, and "1" is a text.
# Keys are compared as they are, through json_each: no key can be mistaken for a path.
_METADATA = """
NOT EXISTS (
  SELECT 1 FROM json_each(?1, '$.where.metadata') AS wanted
  WHERE NOT EXISTS (
    SELECT 1 FROM json_each({table}.metadata) AS held
    WHERE held.key = wanted.key
      AND held.atom IS wanted.atom
      AND replace(held.type, 'integer', 'real') = replace(wanted.type, 'integer', 'real')
  )
)
"""


def condition(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over ``table``, which reads ``$.where`` of the argument ``?1``."""
    parts = ["TRUE"]
    if where.created_after is not None:
        parts.append(f"{table}.created_at > json_extract(?1, '$.where.created_after')")
    if where.created_before is not None:
        parts.append(f"{table}.created_at < json_extract(?1, '$.where.created_before')")
    if where.metadata:
        parts.append(_METADATA.format(table=table))
    return " AND ".join(parts)


_OF_TYPE = "{table}.type = ?1 ->> '$.where.type'"
# A fact has the subject of its key. Its predicate may be another than that of its key, and is compared as it was told
# too: "uses" is "package_manager" where pnpm is used.
_RELATION = """
(substr(substr({claim}.key, instr({claim}.key, '/') + 1) || '/', 1, length(?1 ->> '$.where.about.relation') + 1)
    = ?1 ->> '$.where.about.relation' || '/'
  OR {metadata} ->> '$.fact.predicate' = ?1 ->> '$.where.about.predicate')
"""
_ABOUT = """
{table}.id IN (
  SELECT told.memory_id FROM {tables}
  WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = ?1 ->> 'agent_id' AND {about}
)
"""
_TELLER = """(SELECT teller.metadata FROM long_term_memory AS teller
  WHERE teller.tenant_id = ?1 ->> 'tenant_id' AND teller.agent_id = ?1 ->> 'agent_id' AND teller.id = told.memory_id)"""
_ABOUT_ONE = """
EXISTS (
  SELECT 1 FROM claim AS told INDEXED BY claim_of_memory
  WHERE told.tenant_id = ?1 ->> 'tenant_id' AND told.agent_id = {table}.agent_id AND told.memory_id = {table}.id
    AND {about}
)
"""
# A doubtful fact holds only where nothing sure of its key does, whenever that was said (ADR 0035).
_OVERRIDDEN = """
(substr({claim}.key, 1, {length}) = '{perhaps}' AND EXISTS (
  SELECT 1 FROM claim AS sure CROSS JOIN long_term_memory AS surer
  WHERE sure.tenant_id = ?1 ->> 'tenant_id' AND sure.agent_id = {claim}.agent_id
    AND sure.key = substr({claim}.key, {length} + 1) AND {stands}
    AND surer.tenant_id = ?1 ->> 'tenant_id' AND surer.agent_id = {claim}.agent_id AND surer.id = sure.memory_id
    AND {living} AND surer.forgotten_at IS NULL AND {shown}
))
"""
_NOT_OVERRIDDEN = """
NOT EXISTS (
  SELECT 1 FROM claim AS doubt INDEXED BY claim_of_memory
  WHERE doubt.tenant_id = ?1 ->> 'tenant_id' AND doubt.agent_id = {table}.agent_id AND doubt.memory_id = {table}.id
    AND {overridden}
)
"""


def stands(claim: str) -> str:
    """Return a boolean SQL expression: a claim is of the version of its key that holds.

    What says of itself that it happens more than a day from now does not hold yet, as in ``candidates.sql``.
    """
    horizon = f"{NOW} + 86400000"
    return f"({claim}.happened_at <= {horizon} AND coalesce({claim}.superseded_at > {horizon}, TRUE))"


def overridden(claim: str) -> str:
    """Return a boolean SQL expression: a claim is a doubtful fact's, and something sure of its key holds."""
    return _OVERRIDDEN.format(
        claim=claim,
        length=len(PERHAPS),
        perhaps=PERHAPS,
        stands=stands("sure"),
        living=living("surer"),
        shown=kept_by_no_program("surer"),
    )


def claims_of_subjects(claims: str) -> str:
    """Return the tables of a FROM clause: claims, of which ``of_subject`` is to be asked."""
    return f"json_each(?1, '$.where.about.subjects') AS named CROSS JOIN {claims}"


def of_subject(claim: str) -> str:
    """Return a boolean SQL expression: a claim of ``claims_of_subjects`` is of a subject that is named.

    A key is "subject/relation", or "subject/relation/value" where the relation has many values; "0" comes after "/". So
    the claims of a subject are a range of their primary key.
    """
    return f"({claim}.key >= named.value || '/' AND {claim}.key < named.value || '0')"


def claims_of(about: About | None, claims: str) -> str:
    """Return the tables of a FROM clause: claims, of which ``of_key`` is to be asked."""
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
    """Return a boolean SQL expression over memories of the agent ``agent_id``: they state what is asked of a subject.

    The claims are searched once, by their keys, and not for each memory. Without a subject it is true.
    """
    if where.about is None or where.about.subjects is None:
        return "TRUE"
    claims, about = claims_of_subjects("claim AS told"), of_key(where.about, "told", _TELLER)
    return _ABOUT.format(table=table, tables=claims, about=about)


def states(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over ``long_term_memory``: a memory is and states what a filter asks for.

    A doubtful fact passes no such filter where something sure holds in its place.
    """
    if not where.looks_into_the_database:
        return "TRUE"
    parts = [_NOT_OVERRIDDEN.format(table=table, overridden=overridden("doubt"))]
    if where.type is not None:
        parts.append(_OF_TYPE.format(table=table))
    if where.about is not None and where.about.subjects is None:
        parts.append(_ABOUT_ONE.format(table=table, about=of_key(where.about, "told", f"{table}.metadata")))
    return " AND ".join([_of_subjects(where, table), *parts])


def kept_by_no_program(table: str) -> str:
    """Return a boolean SQL expression: a memory is no row that a program keeps for itself.

    ``candidates.sql`` says the same.
    """
    return f"""{table}.metadata -> '$."store.key"' IS NULL"""


def living(table: str, now: str = NOW) -> str:
    """Return a boolean SQL expression: a memory has not expired by ``now``, an SQL expression."""
    return f"({table}.expires_at IS NULL OR {table}.expires_at > {now})"


# Who states what holds of a key that the memory states otherwise. What says of itself that it happens more than a day
# from now does not hold yet; what has expired holds nothing, and what was forgotten still hides what it had replaced.
# What is superseded with a message (schema.sql) is so by whoever supersedes the message.
_HOLDER = """
SELECT later.memory_id FROM claim AS stated INDEXED BY claim_of_memory CROSS JOIN claim AS later
  CROSS JOIN long_term_memory AS holder
WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = {table}.agent_id
  AND stated.memory_id = coalesce({table}.superseded_with, {table}.id)
  AND stated.superseded_at <= {now} + 86400000
  AND later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = {table}.agent_id AND later.key = stated.key
  AND later.happened_at <= {now} + 86400000 AND coalesce(later.superseded_at > {now} + 86400000, TRUE)
  AND holder.tenant_id = ?1 ->> 'tenant_id' AND holder.agent_id = {table}.agent_id AND holder.id = later.memory_id
  AND (holder.expires_at IS NULL OR holder.expires_at > {now})
ORDER BY holder.forgotten_at IS NOT NULL, later.happened_at DESC, later.memory_id DESC LIMIT 1
"""


def holder(table: str) -> str:
    """Return an SQL expression: the id of the memory that says what holds in place of a superseded one, else NULL.

    ``candidates.sql`` says the same.
    """
    return f"iif({table}.superseded_at <= {NOW} + 86400000, ({_HOLDER.format(table=table, now=NOW)}), NULL)"


def holding(table: str) -> str:
    """Return a boolean SQL expression: a memory is living, was not forgotten, and is not superseded."""
    return f"{living(table)} AND {table}.forgotten_at IS NULL AND {holder(table)} IS NULL"


def of_living(where: Filter, table: str) -> str:
    """Return ``condition`` for a table of memories, of which those that have expired pass no filter."""
    return f"{living(table)} AND {condition(where, table)} AND {states(where, table)}"


def argument(where: Filter) -> Json:
    """Return what belongs under ``where`` in the argument."""
    return {
        "created_after": where.created_after,
        "created_before": where.created_before,
        "metadata": dict(where.metadata),
        **({} if where.type is None else {"type": where.type}),
        **({} if where.about is None else {"about": asdict(where.about)}),
    }
