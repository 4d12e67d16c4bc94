"""Moves a tenant to another shard while it is served: copy, catch up, compare, switch, drop (0041-shards.md).

Every step may be done again, so that another process can go on with a move that was killed. The source serves the
tenant until it lets the tenant go, by one statement; from then on the target serves the tenant.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import structlog

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Conflict, DatabaseRejected, Unavailable
from app.domain.json_types import to_json
from app.domain.shards import Place
from app.indexing.jobs.carry import Carrier, MoveSide
from app.indexing.jobs.leftovers import Leftovers
from app.indexing.jobs.noting import note_changes
from app.indexing.jobs.one_config import one_config
from app.indexing.lease_keeper import log_void
from app.ports.database import Database, RunRefused
from app.ports.embedder import Embedder
from app.storage.system import carried, directory, moving
from app.storage.system.carried import COUNTERS, CarriedTable, Values
from app.storage.system.moving import Mover, StartedMove

T = TypeVar("T")

_MAX_WAITING = 100
"""Vectors that the target's index may not show yet when the tenant arrives: a recall compares those of its scope."""
_MAX_ROUNDS = 100
_LOST = "Another process has taken the move over."
_FENCED_SECONDS = 0.75 * moving.FENCE_SECONDS


@contextmanager
def _still_ours() -> Iterator[None]:
    """Raise ``Conflict`` where a run is refused because another process moves the tenant."""
    try:
        yield
    except RunRefused as refusal:
        raise Conflict(_LOST) from refusal


@dataclass(frozen=True, slots=True)
class MoveWork:
    """The parts of the process that a move needs: the target's indexer, an embedder, a report of steps, and waits."""

    deliver: Callable[[], Awaitable[object]]
    """Does one round of the target's indexer."""
    embedder_of: Callable[[EmbeddingConfig], Embedder]
    report: Callable[[str], object]
    poll_seconds: float = 1.0
    """The pause between two checks whether the target's index shows the vectors."""
    linger_seconds: float = 40.0
    """How long the source keeps its rows: processes write their notes of recalls every 30 seconds."""


class _TenantErased(Conflict):
    """The tenant, or an agent of it, is being erased."""


class Move:
    """Moves one tenant."""

    def __init__(
        self,
        mover: Mover,
        directory: Database,
        source: MoveSide,
        target: MoveSide,
        work: MoveWork,
    ) -> None:
        """Take the mover of the tenant, the directory's database, both shards, and the parts of the process."""
        self._mover = mover
        self._directory = directory
        self._source = source
        self._target = target
        self._work = work
        self._progress = "{}"
        self._differs: str | None = None
        """The table that had other rows in the target when the last attempt ended, though no row had changed."""

    async def run(self, epoch: int) -> None:
        """Move the tenant, or go on with its move; ``epoch`` is the epoch of its present place.

        Raises:
            Conflict: another process moves the tenant, or the tenant cannot be moved now: the error says why.
            Unavailable: a service does not answer. The tenant is served; run the move again.
        """
        with _still_ours():
            await self._run(epoch)

    async def _run(self, epoch: int) -> None:
        mover = self._mover
        started = await self._lease(Place(self._target.shard, epoch + 1))
        to = Place(started.target, started.epoch)
        if started.phase == "copy" and not await self._has_gone(to):
            try:
                await self._carry(started)
            except _TenantErased:
                # The receipt waits until no shard has copies (erase.py), and the move until there is a receipt.
                await self._give_up(epoch)
                raise
            self._work.report(f"{self._target.shard} serves the tenant now; its old rows are deleted in a while")
        if started.phase == "copy":
            await self._directory.run([directory.switch(mover.tenant_id, to), mover.moved(to.epoch)])
        # The target serves already. The statement is repeated, because a mover that began later may have set the tenant
        # back to `arriving` just before the source let it go.
        await self._target.database.run([mover.serve(to.epoch)])
        await self._leftovers(await self._tables()).drop(self._work.linger_seconds)
        self._work.report("deleted the old rows")

    async def give_up(self, epoch: int) -> None:
        """End a move that has not let the tenant go: the tenant stays in the source, and its rows in the target go.

        Raises:
            Conflict: another process moves the tenant, or the tenant lives in the target already.
            Unavailable: a service does not answer. The tenant is served; give up again.
        """
        with _still_ours():
            await self._give_up(epoch)

    async def _give_up(self, epoch: int) -> None:
        source, target, mover = self._source.database, self._target.database, self._mover
        started = await self._lease(Place(self._target.shard, epoch + 1))
        _, rows = await source.run([mover.stay(), mover.state()])
        state = moving.read_state(rows)
        if started.phase != "copy" or (state is not None and state.state == "gone"):
            raise Conflict(f"The tenant lives in {self._target.shard} already. Finish the move to that shard.")
        tables = await self._tables()
        leftovers = self._leftovers(tables)
        if await self._arrived(started.epoch):
            await leftovers.drop_rows(target, "arriving")
            left = mover.leave_to(Place(self._source.shard, epoch))
            await target.run([mover.carry("arriving"), mover.forget_numbers(), left])
        await source.run([mover.forget(2**53 - 1)])
        await leftovers.stop_noting()
        await self._directory.run([mover.end()])

    def _leftovers(self, tables: list[CarriedTable]) -> Leftovers:
        sides = (self._directory, self._source.database, self._target.database)
        return Leftovers(self._mover, *sides, tables, self._renew)

    async def _lease(self, to: Place) -> StartedMove:
        before, rows = await self._directory.run([self._mover.read_lease(), self._mover.lease(self._source.shard, to)])
        if (lease := moving.read_lease(before)) is not None:
            log_void(lease)
        started = moving.read_move(rows)
        if started is None:
            raise await self._not_ours()
        return started

    async def _not_ours(self) -> Conflict:
        (rows,) = await self._directory.run([self._mover.read_lease()])
        lease = moving.read_lease(rows)
        if lease is None:
            return Conflict("Another command has just moved this tenant. See: memory-gateway shard list")
        return Conflict(
            "Another command is moving this tenant, or was until less than a minute ago. "
            f"If it has stopped, try again in {lease.left_ms // 1000 + 1} seconds."
        )

    async def _has_gone(self, to: Place) -> bool:
        """Return whether the source has let the tenant go already, for this move."""
        (rows,) = await self._source.database.run([self._mover.state()])
        state = moving.read_state(rows)
        return state is not None and (state.to_shard, state.to_epoch) == (to.shard, to.epoch)

    async def _carry(self, started: StartedMove) -> None:
        configs = await one_config(self._source, self._target)
        await self._check_no_erasure()
        tables = await self._tables()
        to = Place(started.target, started.epoch)
        if not await self._arrived(to.epoch):
            raise self._foreign("The notes of where the tenant lives")
        await note_changes(self._source.database, self._mover, tables, to.epoch - 1)
        carrier = Carrier(
            self._mover, self._source, self._target, tables, configs.active, self._work.embedder_of(configs.active)
        )
        await self._copy(carrier, started)
        for _ in range(_MAX_ROUNDS):
            differed = self._differs
            await self._equal(carrier)
            await self._delivered()
            if await self._switched(carrier, to):
                return
            if self._differs is not None and self._differs == differed:
                raise self._foreign(f"The tenant's rows in the table {differed}")
            self._work.report("the last changes took too long, or rows differ: once more")
            carrier = await self._next_attempt(carrier, to)
        raise Unavailable("The tenant changes faster than it can be carried. It is served; run the move again.")

    async def _arrived(self, epoch: int) -> bool:
        """Begin to write in the target; return False where the target knows of a later place of the tenant."""
        _, rows = await self._target.database.run([self._mover.arrive(epoch), self._mover.state()])
        state = moving.read_state(rows)
        if state is not None and state.epoch > epoch:
            await self._renew()  # raises where another process has moved the tenant there and back
            return False
        return True

    def _foreign(self, what: str) -> Conflict:
        source, target = self._source.shard, self._target.shard
        return Conflict(
            f"{what} differ between {source} and {target}, though nobody has changed them. {target} may have been in "
            f"use before it became a shard. {source} serves the tenant. Give the move up with: memory-gateway shard "
            f"move {self._mover.tenant_id} {source}"
        )

    async def _check_no_erasure(self) -> None:
        ((row,),) = await self._source.database.run([self._mover.erasing()])
        if row["erasing"]:
            raise _TenantErased(
                "The tenant, or an agent of it, is being erased: the move was given up. Move it when that is done."
            )

    async def _tables(self) -> list[CarriedTable]:
        """Return the tables that are carried; both databases have the same."""
        (ours,) = await self._source.database.run([carried.READ_SCHEMA])
        (theirs,) = await self._target.database.run([carried.READ_SCHEMA])
        if carried.read_tables(ours) != carried.read_tables(theirs):
            raise Conflict("The two shards have different schemas. Run: memory-gateway migrate")
        return carried.read_tables(ours)

    async def _copy(self, carrier: Carrier, started: StartedMove) -> None:
        """Carry all rows, table by table, from the place at which the move stopped."""
        progress = json.loads(started.progress)
        names = [table.name for table in carrier.tables]
        begin = names.index(progress["table"]) if progress.get("table") in names else 0
        after: Values | None = tuple(progress["after"]) if progress.get("after") else None
        for table in carrier.tables[begin:]:
            while (after := await self._fitting(carrier, partial(carrier.copy_page, table, after))) is not None:
                await self._save(table.name, after)
            await self._save(table.name, None)
            self._work.report(f"copied the rows of {table.name}")

    async def _fitting(self, carrier: Carrier, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step; where its rows do not fit the carried ones, carry the changes since, and do the step again."""
        for _ in range(_MAX_ROUNDS):
            try:
                return await step()
            except RunRefused:
                raise
            except DatabaseRejected as error:
                structlog.get_logger().info("carried_again", reason=error.detail)
                with suppress(DatabaseRejected):  # then the step fails again
                    await carrier.catch_up()
        return await step()

    async def _save(self, table: str, after: Values | None) -> None:
        self._progress = to_json({"table": table, "after": None if after is None else list(after)})
        await self._renew()

    async def _renew(self) -> None:
        (held,) = await self._directory.run([self._mover.save(self._progress)])
        if not held:
            raise Conflict(_LOST)

    async def _equal(self, carrier: Carrier) -> None:
        """Carry the changes and compare every table; rows that differ are carried again."""
        await self._caught_up(carrier)
        for table in carrier.tables:
            compared = await carrier.compare(table)
            if compared.differing:
                await self._fitting(carrier, partial(carrier.carry, {table: compared.differing}))
            structlog.get_logger().info(
                "compared", table=table.name, rows=compared.rows, sha256=compared.digest, again=len(compared.differing)
            )
            await self._renew()
        await self._caught_up(carrier)
        self._work.report("compared all rows")

    async def _caught_up(self, carrier: Carrier) -> None:
        """Carry the changed rows until no row has changed, or a hundred times."""
        for _ in range(_MAX_ROUNDS):
            if not await self._fitting(carrier, carrier.catch_up):
                return

    async def _delivered(self) -> None:
        """Wait until the target's index shows nearly all vectors."""
        for _ in range(_MAX_ROUNDS * _MAX_ROUNDS):
            await self._work.deliver()
            ((row,),) = await self._target.database.run([self._mover.undelivered()])
            if int(row["waiting"] or 0) <= _MAX_WAITING:
                return
            await self._renew()
            await asyncio.sleep(self._work.poll_seconds)
        raise Unavailable("The new shard's index does not show the tenant's vectors. Run the move again later.")

    async def _switched(self, carrier: Carrier, to: Place) -> bool:
        """Let the tenant's requests write nothing for a moment, carry the last changes and let the target serve.

        Return whether the target serves: where time runs out, or rows differ, the source goes on. The statement that
        decides checks the fence's end and the changes itself.
        """
        source, target, mover = self._source.database, self._target.database, self._mover
        await self._fitting(carrier, carrier.catch_up)
        _, (fence,) = await source.run([mover.carry("leaving"), mover.fence()])
        with suppress(TimeoutError):
            async with asyncio.timeout(_FENCED_SECONDS):
                if await self._last_changes(carrier):
                    await target.run([mover.carry("arriving"), mover.serve(to.epoch)])
                    await source.run([mover.go(to, int(fence["fenced_until"] or 0))])
        _, rows = await source.run([mover.open(), mover.state()])
        state = moving.read_state(rows)
        return state is not None and state.state == "gone"

    async def _next_attempt(self, carrier: Carrier, to: Place) -> Carrier:
        """Begin a new attempt, so that a call which the fence's timeout gave up is refused if it reaches the target."""
        self._mover = self._mover.next_attempt()
        await self._target.database.run([self._mover.arrive(to.epoch)])
        await self._source.database.run([self._mover.leave(to.epoch - 1)])
        return replace(carrier, mover=self._mover)

    async def _last_changes(self, carrier: Carrier) -> bool:
        """Carry the changed rows, and return whether both databases have these alike, and the same numbers of rows."""
        self._differs = None
        await one_config(self._source, self._target)
        await self._check_no_erasure()
        while changed := await self._fitting(carrier, carrier.catch_up):
            if not await carrier.equal(changed):
                return False
        for table in await carrier.counts_differ():
            if table.name not in COUNTERS:
                if not await self._fitting(carrier, carrier.catch_up):
                    self._differs = table.name
                return False
            compared = await carrier.compare(table)
            if compared.differing:
                await carrier.carry({table: compared.differing})
        return True
