"""How much a tenant and each of its agents may hold and store, and how much of it is used.

The limits are the settings' defaults, where the operator has not set others (table ``quota``). What is held is kept
right by triggers, what is stored in a minute by a store's first statement (``app/storage/admission.py``). All of it is
checked where it is written, in one run of the database, so no number of replicas gets past a limit.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.errors import QuotaExceeded
from app.domain.json_types import Json, Scalar
from app.domain.quotas import UNLIMITED, Defaults, LimitName, Limits, Usage, Use
from app.ports.database import NOW, Row, Statement

WARN_FROM = 0.8
"""The part of a limit from which a store is answered with a warning."""

MAX_AGENTS = 1000
"""How many agents are told of at once, those that hold the most first."""

MINUTE = f"({NOW} / 60000)"

_NAMES: tuple[LimitName, ...] = ("memories", "bytes", "stores_per_minute")


_MEMORIES = "coalesce(usage.memories, 0)"
_BYTES = "coalesce(usage.bytes, 0)"
_STORES = f"iif(usage.minute = {MINUTE}, usage.stores, 0)"
_MAX_MEMORIES = "coalesce(quota.memories, scope.value ->> 1)"
_MAX_BYTES = "coalesce(quota.bytes, scope.value ->> 2)"
_MAX_STORES = "coalesce(quota.stores_per_minute, scope.value ->> 3)"
_FIGURES = f"{_MEMORIES}, {_MAX_MEMORIES}, {_BYTES}, {_MAX_BYTES}, {_STORES}, {_MAX_STORES}"
_LIMITED = f"min({_MAX_MEMORIES}, {_MAX_BYTES}, {_MAX_STORES}) < {UNLIMITED}"
_OF_SCOPES = """
FROM json_each(?1, '$.scopes') AS scope
LEFT JOIN quota ON quota.tenant_id = ?1 ->> 'tenant_id' AND quota.agent_id = scope.value ->> 0
LEFT JOIN usage ON usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = scope.value ->> 0
"""

_ROOM = """
NOT EXISTS (
  SELECT 1 FROM (SELECT {agent_id} AS agent_id) AS scope
  LEFT JOIN quota ON quota.tenant_id = ?1 ->> 'tenant_id' AND quota.agent_id = scope.agent_id
  LEFT JOIN usage ON usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = scope.agent_id
  WHERE coalesce(usage.memories, 0) + line.value ->> 'memories_of_{scope}'
      > coalesce(quota.memories, ?1 ->> '$.limits.{scope}[0]')
    OR coalesce(usage.bytes, 0) + line.value ->> 'bytes_of_{scope}'
      > coalesce(quota.bytes, ?1 ->> '$.limits.{scope}[1]')
)"""
ROOM_FOR_LINE = f"""
{_ROOM.format(agent_id="line.value ->> 'agent_id'", scope="agent")}
AND {_ROOM.format(agent_id="''", scope="tenant")}
"""
"""A boolean SQL expression for a line of a bulk insert: with it and the lines before it, nothing is over its limit.

A line says how many memories and bytes it and those before it bring, of its agent and in all; ``?1`` holds
``Defaults.limits``. It has to be asked before anything of the batch is inserted.
"""

# What a store would add: nothing but the difference of the metadata where the content is there already.
_GROWTH = """
?1 ->> 'content_bytes' * (present.id IS NULL) + ?1 ->> 'metadata_bytes'
  - coalesce(length(CAST(present.metadata AS BLOB)), 0)
"""
# A run that is made again has been counted, as its ticket or its memory shows.
_OVER_MEMORIES = f"(present.id IS NULL AND {_MEMORIES} + 1 > {_MAX_MEMORIES})"
_OVER_BYTES = f"(({_GROWTH}) > 0 AND {_BYTES} + ({_GROWTH}) > {_MAX_BYTES})"
_OVER_STORES = f"(NOT coalesce(present.id = ?1 ->> 'id', FALSE) AND NOT {{counted}} AND {_STORES} + 1 > {_MAX_STORES})"
_OF_STORE = f"""
{_OF_SCOPES}
LEFT JOIN long_term_memory AS present
  ON present.tenant_id = ?1 ->> 'tenant_id' AND present.agent_id = ?1 ->> 'agent_id'
  AND present.content_hash = ?1 ->> 'content_hash'
"""


def within(counted: str) -> str:
    """Write that a store stays within every limit; ``counted`` is an SQL expression: this store has been counted."""
    over_stores = _OVER_STORES.format(counted=counted)
    # Where nothing is limited, as is usual, no more than that is looked up.
    over = f"{_OVER_MEMORIES} OR {_OVER_BYTES} OR {over_stores}"
    return f"NOT EXISTS (SELECT 1 {_OF_STORE} WHERE {_LIMITED} AND ({over}))"


def standing(counted: str) -> str:
    """Write a scalar SQL query whose text ``near`` and ``refuse`` read, after the store or after its refusal."""
    over = f"{_OVER_MEMORIES}, {_OVER_BYTES}, {_OVER_STORES.format(counted=counted)}"
    return f"""(
  SELECT json_group_array(json_array(scope.value ->> 0, {_FIGURES}, {over})) {_OF_STORE}
  WHERE {_LIMITED}
)"""


NEXT_MINUTE = f"60 - ({NOW} / 1000) % 60"
"""Seconds to the next minute, by the database's clock."""


def near(text: Scalar) -> list[Use]:
    """Return the limits of which a store has left a fifth or less."""
    return [use for use, _ in _read(text) if use.used >= WARN_FROM * use.limit]


def refuse(text: Scalar, *, next_minute: int) -> None:
    """Raise ``QuotaExceeded`` where a store was over a limit."""
    over = [use for use, is_over in _read(text) if is_over]
    if not over:
        return
    first, *_ = over
    only_rate = all(use.name == "stores_per_minute" for use in over)
    raise QuotaExceeded(
        f"This is over the {first.scope}'s limit of {first.limit} {first.name.replace('_', ' ')}, of which {first.used}"
        " are used. Nothing was stored.",
        reached=", ".join(use.header for use in over),
        retry_after=next_minute if only_rate else None,
    )


def _read(text: Scalar) -> Iterator[tuple[Use, bool]]:
    """Read what ``standing`` wrote: each limit there is, and whether the store was over it."""
    for agent_id, *numbers in json.loads(str(text)):
        figures, over = numbers[:6], numbers[6:]
        for place, name in enumerate(_NAMES):
            used, limit = figures[2 * place : 2 * place + 2]
            if limit < UNLIMITED:
                yield Use(name, "agent" if agent_id else "tenant", used, limit), bool(over[place])


_COLUMNS = f"""
{_MEMORIES} AS memories, {_BYTES} AS bytes, {_STORES} AS stores, {_MAX_MEMORIES} AS memories_most,
  {_MAX_BYTES} AS bytes_most, {_MAX_STORES} AS stores_per_minute_most
"""
_READ = f"SELECT scope.value ->> 0 AS agent_id, {_COLUMNS} {_OF_SCOPES} ORDER BY scope.key"
# The one element of $.scopes says what an agent may have where nothing else is set.
_AGENTS = f"""
SELECT usage.agent_id, {_COLUMNS}
FROM usage JOIN json_each(?1, '$.scopes') AS scope
LEFT JOIN quota ON quota.tenant_id = usage.tenant_id AND quota.agent_id = usage.agent_id
WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id <> ''
ORDER BY usage.bytes DESC, usage.agent_id LIMIT {MAX_AGENTS}
"""
# Only what is given is set: a limit that is not named stays as it is.
_SET = """
INSERT INTO quota (tenant_id, agent_id, memories, bytes, stores_per_minute)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> '$.set.memories', ?1 ->> '$.set.bytes',
  ?1 ->> '$.set.stores_per_minute')
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
  memories = iif(json_type(?1, '$.set.memories') IS NULL, quota.memories, excluded.memories),
  bytes = iif(json_type(?1, '$.set.bytes') IS NULL, quota.bytes, excluded.bytes),
  stores_per_minute =
    iif(json_type(?1, '$.set.stores_per_minute') IS NULL, quota.stores_per_minute, excluded.stores_per_minute)
"""
_CLEAR = "DELETE FROM quota WHERE quota.tenant_id = ?1 ->> 'tenant_id' AND quota.agent_id = ?1 ->> 'agent_id'"


@dataclass(frozen=True, slots=True)
class Quotas:
    """Statements over one tenant's limits and usage. The tenant is bound here, once."""

    tenant_id: str
    defaults: Defaults

    def read(self, agent_id: str | None) -> Statement:
        """Read an agent's usage and then the tenant's, or only the tenant's: a row for each, for ``usage``."""
        return Statement(_READ, self._of(agent_id))

    def agents(self) -> Statement:
        """Read the usage of the tenant's agents, those that hold the most first."""
        agent = self.defaults.scopes("")[:1]
        return Statement(_AGENTS, {"tenant_id": self.tenant_id, "scopes": agent})

    def set(self, agent_id: str | None, limits: Mapping[LimitName, int | None]) -> Statement:
        """Set an agent's limits, or the tenant's; None puts the default back, ``UNLIMITED`` lifts the limit."""
        chosen: dict[str, Json] = dict(limits.items())
        argument: dict[str, Json] = {"tenant_id": self.tenant_id, "agent_id": agent_id or "", "set": chosen}
        return Statement(_SET, argument, writes=True, repeatable=True)

    def clear(self, agent_id: str | None) -> Statement:
        """Put the defaults back."""
        argument: dict[str, Json] = {"tenant_id": self.tenant_id, "agent_id": agent_id or ""}
        return Statement(_CLEAR, argument, writes=True, repeatable=True)

    def _of(self, agent_id: str | None) -> dict[str, Json]:
        return {"tenant_id": self.tenant_id, "scopes": self.defaults.scopes(agent_id)}


def usages(rows: Sequence[Row]) -> list[Usage]:
    """Make usages of rows that ``Quotas`` read."""
    return [
        Usage(
            agent_id=str(row["agent_id"]) or None,
            memories=int(row["memories"] or 0),
            bytes=int(row["bytes"] or 0),
            stores_this_minute=int(row["stores"] or 0),
            limits=Limits(*(_limit(row[f"{name}_most"]) for name in _NAMES)),
        )
        for row in rows
    ]


def _limit(value: Scalar) -> int | None:
    limit = int(value or 0)
    return None if limit >= UNLIMITED else limit
