"""The rules of what holds, what is claimed and what is visible, each once, as an SQL expression over a table's name.

A recall looks up successors of its own in ``candidates.sql`` (``judged``), because it needs them of many rows at once.

They are no views: a recall asks as of a moment of its own, which a view takes no argument for, and statements name the
index of claims that they use, which SQLite allows for a table alone (docs/decisions/0074-the-schema-said-once.md).
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
    """Return a boolean SQL expression: a memory is no row that a program keeps for itself, which no model is shown."""
    return f"""{memory}.metadata -> '$."store.key"' IS NULL"""


def ended(row: str, at: str = HORIZON) -> str:
    """Return an SQL expression: a memory, or a claim, is superseded as of ``at``. NULL where nothing replaced it."""
    return f"{row}.superseded_at <= {at}"


def claim_holds(claim: str, at: str = HORIZON) -> str:
    """Return a boolean SQL expression: a claim is of the version of its key that holds as of ``at``."""
    return f"({claim}.happened_at <= {at} AND coalesce({claim}.superseded_at > {at}, TRUE))"


def stated_by(memory: str) -> str:
    """Return an SQL expression: the memory whose claims say whether a memory holds.

    A memory that was learned of a message ends when the message is superseded.
    """
    return f"coalesce({memory}.superseded_with, {memory}.id)"


def successors(memory_id: str, agent_id: str, at: str = HORIZON, holders: str = "long_term_memory AS holder") -> str:
    """Return the tables of a FROM clause and their condition: each ``holder`` of a key that a memory states otherwise.

    ``holders`` is the table of memories that may be one; its scope is the caller's to ask for.
    """
    return f"""claim AS stated INDEXED BY claim_of_memory CROSS JOIN claim AS later CROSS JOIN {holders}
WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = {agent_id} AND stated.memory_id = {memory_id}
  AND {ended("stated", at)}
  AND later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = {agent_id} AND later.key = stated.key
  AND {claim_holds("later", at)} AND holder.id = later.memory_id"""


# What has expired holds nothing, and what was forgotten still hides what it had replaced.
_HOLDER = """
SELECT later.memory_id FROM {successors}
  AND holder.tenant_id = ?1 ->> 'tenant_id' AND holder.agent_id = {table}.agent_id AND {living}
ORDER BY holder.forgotten_at IS NOT NULL, later.happened_at DESC, later.memory_id DESC LIMIT 1
"""


def holder(memory: str) -> str:
    """Return an SQL expression: the id of the memory that says what holds in place of a superseded one, else NULL."""
    found = _HOLDER.format(
        table=memory, successors=successors(stated_by(memory), f"{memory}.agent_id"), living=living("holder")
    )
    return f"iif({ended(memory)}, ({found}), NULL)"


def holding(memory: str) -> str:
    """Return a boolean SQL expression: a memory is remembered, and is not superseded."""
    return f"{remembered(memory)} AND {holder(memory)} IS NULL"
