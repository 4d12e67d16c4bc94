"""Moves the data from one embedding config to another while it is served (ADR 0010). Crosses tenants.

Begun, every store writes to both indexes. What was stored before is copied by a comparison of the new index with the
database, which repairs it. Then recalls are switched, and can be switched back until one of the two is dropped.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Conflict
from app.domain.json_types import Json, to_json
from app.indexing.jobs.reconcile import RateLimiter
from app.ports.database import NOW, Database, Row, Statement
from app.ports.index_admin import IndexAdmin
from app.storage.embedding_configs import ACTIVE, AS_JSON, BOTH, SHADOW, config_of, named
from app.storage.outbox import MAX_PENDING

_CHUNK = 1000

_NEXT_EPOCH = "UPDATE embedding_in_use SET epoch = epoch + 1"

_BEGIN = f"""
INSERT INTO reembedding (singleton, index_name, started_at)
SELECT 1, ?1 ->> 'index_name', {NOW} FROM embedding_in_use AS in_use WHERE in_use.index_name <> ?1 ->> 'index_name'
ON CONFLICT DO NOTHING
"""
_KEEP = """
INSERT INTO embedding_config (index_name, provider, model, dimensions)
SELECT reembedding.index_name, ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions'
FROM reembedding WHERE reembedding.index_name = ?1 ->> 'index_name' ON CONFLICT DO NOTHING
"""
_BEHIND = f"""
EXISTS (
  SELECT 1 FROM outbox WHERE outbox.operation = 'upsert' AND outbox.index_name = {{index_name}}
  GROUP BY outbox.tenant_id, outbox.agent_id HAVING count(*) > {MAX_PENDING}
)
"""
_STATE = f"""
SELECT reembedding.started_at, reembedding.left_out, reembedding.parity,
  reembedding.complete_at IS reembedding.left_out AS complete,
  {BOTH}, (SELECT {AS_JSON} FROM embedding_config AS config WHERE config.index_name = reembedding.index_name) AS target,
  {_BEHIND.format(index_name=SHADOW)} AS behind
FROM reembedding
"""
_COMPLETE = "UPDATE reembedding SET complete_at = ?1 ->> 'left_out'"
_PARITY = "UPDATE reembedding SET parity = ?1 ->> 'parity'"

# Recalls find at once what they found before: every memory has its vector in the other index or among the few that
# are still scored from the outbox.
_MAY_SWITCH = f"""
EXISTS (
  SELECT 1 FROM reembedding WHERE reembedding.complete_at = reembedding.left_out
    AND (?1 ->> 'force' OR reembedding.parity IS NOT NULL)
) AND NOT {_BEHIND.format(index_name="?1 ->> 'to'")}
"""
_SWITCH = f"""
UPDATE embedding_in_use
SET index_name = config.index_name, provider = config.provider, model = config.model, dimensions = config.dimensions,
  epoch = embedding_in_use.epoch + 1
FROM embedding_config AS config WHERE config.index_name = ?1 ->> 'to' AND {_MAY_SWITCH}
RETURNING index_name
"""

_RENEW = f"""
UPDATE long_term_memory
SET embedding_provider = active.provider, embedding_model = active.model, embedding_dimensions = active.dimensions
FROM embedding_in_use AS active
WHERE id IN (SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_CHUNK})
"""
_NEXT = f"""
SELECT max(id) AS last FROM (SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_CHUNK})
"""
_UNKEEP = f"""
DELETE FROM embedding_config WHERE index_name = ?1 ->> 'index_name' AND index_name <> {ACTIVE}
RETURNING index_name
"""
_END = """
DELETE FROM reembedding WHERE NOT EXISTS (
  SELECT 1 FROM embedding_config AS config WHERE config.index_name = ?1 ->> 'index_name'
)
"""
_FORGET_QUEUED = f"""
DELETE FROM outbox WHERE (tenant_id, agent_id, id, index_name) IN (
  SELECT tenant_id, agent_id, id, index_name FROM outbox WHERE index_name = ?1 ->> 'index_name' LIMIT {_CHUNK}
) RETURNING 1
"""


@dataclass(frozen=True, slots=True)
class State:
    """How a re-embedding stands.

    ``used`` is in use, ``other`` is kept up to date beside it; ``target`` is the one of the two the data is moving to.
    ``complete``: every memory has a vector queued for or sent to both.
    ``behind``: the other index does not show yet more than a recall can make good.
    """

    started_at: int
    used: EmbeddingConfig
    other: EmbeddingConfig
    target: EmbeddingConfig
    left_out: int
    complete: bool
    behind: bool
    parity: dict[str, Any] | None


class Reembedding:
    """The steps of one move. Each can be made again at any point."""

    def __init__(self, database: Database, rate_limiter: RateLimiter) -> None:
        """Take the database and a rate of calls."""
        self._database = database
        self._rate_limiter = rate_limiter

    async def begin(self, target: EmbeddingConfig) -> State:
        """Begin to move to the target, or find the move to it under way.

        Raises:
            Conflict: another move is under way, or the data has this config already.
        """
        argument = named(target)
        steps = (_writes(_BEGIN, argument), _writes(_KEEP, argument), _writes(_NEXT_EPOCH))
        *_, rows = await self._run(*steps, Statement(_STATE))
        if not rows:
            raise Conflict(f"The data is embedded with {target} already.")
        state = _state(rows[0])
        if state.target != target:
            raise Conflict(f"The data is being moved to {state.target}. Finish that first, or drop it.")
        return state

    async def state(self) -> State | None:
        """Return how the move stands; None where none is under way."""
        (rows,) = await self._run(Statement(_STATE))
        return _state(rows[0]) if rows else None

    async def copied(self, left_out: int) -> None:
        """Note that a copy is done, which began when so many stores had left their vector out."""
        await self._run(_writes(_COMPLETE, {"left_out": left_out}))

    async def compared(self, parity: Json) -> None:
        """Keep what a comparison of both has shown."""
        await self._run(_writes(_PARITY, {"parity": to_json(parity)}))

    async def switch(self, to: EmbeddingConfig, *, force: bool) -> None:
        """Have all recalls search another of the two indexes, in one moment.

        Raises:
            Conflict: not every memory is in that index, or it shows too little yet, or nothing was compared.
        """
        (switched,) = await self._run(_writes(_SWITCH, {"to": to.index_name, "force": force}))
        if not switched:
            raise Conflict(_why_not(await self.state()))

    async def drop(self, index_of: Callable[[EmbeddingConfig], IndexAdmin]) -> EmbeddingConfig:
        """End the move: keep the config in use alone, and remove the other's index. Return the other.

        Raises:
            Conflict: no move is under way, or what is in use was changed meanwhile.
        """
        state = await self.state()
        if state is None:
            raise Conflict("No re-embedding is under way.")
        await self._renew()
        argument: dict[str, Json] = {"index_name": state.other.index_name}
        dropped, *_ = await self._run(_writes(_UNKEEP, argument), _writes(_END, argument), _writes(_NEXT_EPOCH))
        if not dropped:
            raise Conflict("What is in use has just been changed. Look again: memory-gateway reembed status.")
        while any(await self._run(_writes(_FORGET_QUEUED, argument))):
            pass
        await index_of(state.other).destroy()
        return state.other

    async def _renew(self) -> None:
        """Have every memory say that it is embedded with the config in use."""
        after = ""
        while True:
            _, ((window),) = await self._run(_writes(_RENEW, {"after": after}), Statement(_NEXT, {"after": after}))
            if window["last"] is None:
                return
            after = str(window["last"])

    async def _run(self, *statements: Statement) -> list[list[Row]]:
        await self._rate_limiter.spend()
        return await self._database.run(statements)


async def wait_until_shown(moving: Reembedding, work: Callable[[], Awaitable[float]], pause: float) -> None:
    """Do the indexer's work, at its pace, until the other index shows what a recall needs of it."""
    while (state := await moving.state()) is not None and state.behind:
        await work()
        await asyncio.sleep(pause)


def _writes(sql: str, argument: dict[str, Json] | None = None) -> Statement:
    return Statement(sql, argument, writes=True, repeatable=True)


def _state(row: Row) -> State:
    return State(
        started_at=int(row["started_at"] or 0),
        used=config_of(str(row["active"])),
        other=config_of(str(row["shadow"])),
        target=config_of(str(row["target"])),
        left_out=int(row["left_out"] or 0),
        complete=bool(row["complete"]),
        behind=bool(row["behind"]),
        parity=None if row["parity"] is None else json.loads(str(row["parity"])),
    )


def _why_not(state: State | None) -> str:
    if state is None:
        return "No re-embedding is under way: memory-gateway reembed start."
    if not state.complete:
        return "Not every memory is in the other index: memory-gateway reembed start copies what is missing."
    if state.behind:
        return "The other index does not show yet what it was sent: try again in some minutes."
    return "The two have not been compared: memory-gateway reembed parity. Or add --force."
