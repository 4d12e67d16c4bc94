"""The rules by which memories hold, claims hold and memories are shown, each once, as SQL over a table's name.

A recall looks up successors by itself in ``candidates.sql`` (``judged``), because it needs them for many rows at once.

The rules are no views: a recall asks as of a moment of its own, which a view takes no argument for, and statements name
the index of claims that they use, which SQLite allows for a table alone (docs/decisions/0074-the-schema-said-once.md).
"""

from app.domain.moments import DAY_MS
from app.ports.database import NOW

HORIZON = f"({NOW} + {DAY_MS})"
"""The moment as of which memories hold now. A memory that is dated more than a day ahead does not hold yet."""


def living(memory: str, now: str = NOW) -> str:
    """Return a boolean SQL expression: a memory has not expired by ``now``, an SQL expression."""
    return f"({memory}.expires_at IS NULL OR {memory}.expires_at > {now})"


def remembered(memory: str) -> str:
    """Return a boolean SQL expression: a memory is living and was not forgotten."""
    return f"{living(memory)} AND {memory}.forgotten_at IS NULL"


def shown(memory: str) -> str:
    """Return a boolean SQL expression: models are shown a memory, as it is no row that a program keeps for itself."""
    return f"""{memory}.metadata -> '$."store.key"' IS NULL"""


def ended(row: str, at: str = HORIZON) -> str:
    """Return an SQL expression: a memory, or a claim, is superseded as of ``at``; NULL where it has no successor."""
    return f"{row}.superseded_at <= {at}"


def claim_holds(claim: str, at: str = HORIZON) -> str:
    """Return a boolean SQL expression: a claim belongs to the version of its key that holds as of ``at``."""
    return f"({claim}.happened_at <= {at} AND coalesce({claim}.superseded_at > {at}, TRUE))"


def stated_by(memory: str) -> str:
    """Return an SQL expression: the id of the memory whose claims decide whether a memory holds.

    For a learned memory that was superseded with one of its messages, that is the message's memory.
    """
    return f"coalesce({memory}.superseded_with, {memory}.id)"


def successors(memory_id: str, agent_id: str, at: str = HORIZON, holders: str = "long_term_memory AS holder") -> str:
    """Return the tables of a FROM clause and their condition: each ``holder`` of a key that a memory claims no longer.

    ``holders`` is the table of memories that may be a holder; the caller adds the condition on its scope.
    """
    return f"""claim AS stated INDEXED BY claim_of_memory CROSS JOIN claim AS later CROSS JOIN {holders}
WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = {agent_id} AND stated.memory_id = {memory_id}
  AND {ended("stated", at)}
  AND later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = {agent_id} AND later.key = stated.key
  AND {claim_holds("later", at)} AND holder.id = later.memory_id"""


# An expired memory is no holder; a forgotten memory still hides the memory that it had replaced.
_HOLDER = """
SELECT later.memory_id FROM {successors}
  AND holder.tenant_id = ?1 ->> 'tenant_id' AND holder.agent_id = {table}.agent_id AND {living}
ORDER BY holder.forgotten_at IS NOT NULL, later.happened_at DESC, later.memory_id DESC LIMIT 1
"""


def holder(memory: str) -> str:
    """Return an SQL expression: the id of the memory that holds in place of a superseded one, else NULL."""
    found = _HOLDER.format(
        table=memory, successors=successors(stated_by(memory), f"{memory}.agent_id"), living=living("holder")
    )
    return f"iif({ended(memory)}, ({found}), NULL)"


def holding(memory: str) -> str:
    """Return a boolean SQL expression: a memory is remembered, and no memory holds in its place."""
    return f"{remembered(memory)} AND {holder(memory)} IS NULL"
