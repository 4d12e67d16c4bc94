"""Moves the data from one embedding config to another while it is served (ADR 0010). Crosses tenants.

From the beginning of a move every store writes to both indexes. The memories stored before are copied by a reconcile
of the new index that repairs it. Then recalls are switched, and can be switched back until one of the two is dropped.
"""

import asyncio
from collections.abc import Awaitable, Callable

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Conflict
from app.domain.json_types import Json
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.ports.index_admin import IndexAdmin
from app.storage.rows import read_rows
from app.storage.system import reembedding
from app.storage.system.reembedding import ReembeddingState


class Reembedding:
    """The steps of one move. Each can be repeated at any point."""

    def __init__(self, database: Database, rate_limiter: RateLimiter) -> None:
        """Take the database and the limiter of its calls."""
        self._database = database
        self._rate_limiter = rate_limiter

    async def begin(self, target: EmbeddingConfig) -> ReembeddingState:
        """Begin to move to the target, or continue the move to it that is under way.

        Raises:
            Conflict: another move is under way, or the data has this config already.
        """
        *_, rows = await self._run(*reembedding.begin(target))
        if not rows:
            raise Conflict(f"The data is embedded with {target} already.")
        (state,) = read_rows(ReembeddingState, rows)
        if state.target != target:
            raise Conflict(f"The data is being moved to {state.target}. Finish that first, or drop it.")
        return state

    async def state(self) -> ReembeddingState | None:
        """Return the state of the move; None where none is under way."""
        (rows,) = await self._run(reembedding.READ_STATE)
        return next(iter(read_rows(ReembeddingState, rows)), None)

    async def copied(self, left_out: int) -> None:
        """Record that a copy is complete: when it began, ``left_out`` stores had left out a vector."""
        await self._run(reembedding.set_complete(left_out))

    async def compared(self, parity: Json) -> None:
        """Record the result of a comparison of both indexes."""
        await self._run(reembedding.set_parity(parity))

    async def switch(self, to: EmbeddingConfig, *, force: bool) -> None:
        """Make the other of the two configs active: all later recalls search its index.

        Raises:
            Conflict: that index lacks memories, shows too few of the vectors sent to it, or was not compared.
        """
        (switched,) = await self._run(reembedding.switch(to, force=force))
        if not switched:
            raise Conflict(_why_not(await self.state()))

    async def drop(self, index_of: Callable[[EmbeddingConfig], IndexAdmin]) -> EmbeddingConfig:
        """End the move: keep the active config alone, and destroy the index of the other. Return the other.

        Raises:
            Conflict: no move is under way, or the configs in use changed meanwhile.
        """
        state = await self.state()
        if state is None:
            raise Conflict("No re-embedding is under way.")
        await self._set_config_of_memories()
        dropped, *_ = await self._run(*reembedding.forget_config(state.other))
        if not dropped:
            raise Conflict("What is in use has just been changed. Look again: memory-gateway reembed status.")
        while any(await self._run(reembedding.delete_queued(state.other))):
            pass
        await index_of(state.other).destroy()
        return state.other

    async def _set_config_of_memories(self) -> None:
        """Write the active config to every memory."""
        after = ""
        while True:
            _, (chunk,) = await self._run(*reembedding.set_config(after))
            if chunk["last"] is None:
                return
            after = str(chunk["last"])

    async def _run(self, *statements: Statement) -> list[list[Row]]:
        await self._rate_limiter.spend()
        return await self._database.run(statements)


async def wait_until_shown(moving: Reembedding, work: Callable[[], Awaitable[float]], pause: float) -> None:
    """Do the indexer's rounds, with pauses, until recalls score all vectors that are still queued for the shadow."""
    while (state := await moving.state()) is not None and state.behind:
        await work()
        await asyncio.sleep(pause)


def _why_not(state: ReembeddingState | None) -> str:
    if state is None:
        return "No re-embedding is under way: memory-gateway reembed start."
    if not state.complete:
        return "Not every memory is in the other index: memory-gateway reembed start copies what is missing."
    if state.behind:
        return "The other index does not show yet what it was sent: try again in some minutes."
    return "The two have not been compared: memory-gateway reembed parity. Or add --force."
