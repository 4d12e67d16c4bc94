"""Keeps this process's copy of the directory: the shards, and the places of tenants."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence

from app.domain.limits import MAX_KNOWN_PLACES
from app.domain.shards import Place, Shard
from app.ports.database import Database
from app.services.access.revocations import MAX_AGE_SECONDS
from app.storage.presence import Presence
from app.storage.system import directory

ChooseShard = Callable[[str], Awaitable[Place]]
"""Returns the place of a new tenant, after the tenant was entered in its shard."""


class Places:
    """The places of tenants, as the directory last said. The runs of the databases find a place that is wrong.

    Until a shard is added beside the shard of the settings, every tenant lives there, and no place is looked up.
    """

    def __init__(self, database: Database, most: int = MAX_KNOWN_PLACES) -> None:
        """Take the database of the directory, and the number of tenants whose places are kept."""
        self._database = database
        self._most = most
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._doubted: OrderedDict[str, None] = OrderedDict()
        self._tables: Sequence[str] = ()
        self._presences: list[Presence] = []
        self._count = 0
        self._heard_at = float("-inf")
        self.sharded = False
        """Whether there are other shards than the first."""
        self.shards: Sequence[Shard] = ()
        """The shards beside the first, as they were last read."""

    @property
    def outdated(self) -> bool:
        """Whether the directory has more shards than ``shards``."""
        return self._count != len(self.shards)

    def seen(self, count: int) -> None:
        """Take the number of shards beside the first, as the first's database has just said; none is ever removed."""
        self._count = max(count, self._count)
        if self._count and not self.sharded:
            self.sharded = True
            for presence in self._presences:
                presence.checked = True
        self._heard_at = asyncio.get_running_loop().time()

    async def hear(self) -> None:
        """Read how many shards there are, where none is known and the database has not said so for 20 seconds.

        Raises:
            Unavailable: the directory does not answer.
        """
        if not self.sharded and asyncio.get_running_loop().time() - self._heard_at >= MAX_AGE_SECONDS:
            ((row,),) = await self._database.run([directory.COUNT_SHARDS])
            self.seen(directory.read_count(row))

    async def load(self) -> Sequence[Shard]:
        """Read the shards.

        Raises:
            Unavailable: the directory does not answer.
        """
        shards, tables = await self._database.run([directory.READ_SHARDS, directory.READ_TABLES])
        self._tables = directory.tables_of_tenants(tables)
        self.shards = directory.read_shards(shards)
        self.seen(len(self.shards))
        return self.shards

    def presence(self, shard: str) -> Presence:
        """Return the check of a tenant's presence for the runs of a shard's database."""

        def epoch_of(tenant_id: str) -> int | None:
            place = self._places.get(tenant_id)
            if place is None:
                return None
            return place.epoch if place.shard == shard else -1

        presence = Presence(self.sharded, epoch_of, self._doubt)
        self._presences.append(presence)
        return presence

    def _doubt(self, tenant_id: str) -> None:
        """Forget the place of a tenant, which does not live there any more."""
        self._places.pop(tenant_id, None)
        self._doubted[tenant_id] = None
        while len(self._doubted) > self._most:
            self._doubted.popitem(last=False)

    async def find(self, tenant_id: str, choose: ChooseShard, left: Callable[[Place, str], Awaitable[Place]]) -> Place:
        """Return the place of a tenant; a new tenant is given a place.

        ``left`` reads in the shard itself whether the tenant has left it, where a place was found to be wrong.

        Raises:
            Unavailable: the directory, or that shard, does not answer.
        """
        known = self._places.get(tenant_id)
        if known is not None:
            self._places.move_to_end(tenant_id)
            return known
        place = await self.read(tenant_id)
        if place is None:
            place = await self._place(tenant_id, await choose(tenant_id))
        if tenant_id in self._doubted:
            place = await left(place, tenant_id)
            self._doubted.pop(tenant_id, None)
        self._keep(tenant_id, place)
        return place

    async def read(self, tenant_id: str) -> Place | None:
        """Read the place of a tenant in the directory; None: the tenant is new.

        Raises:
            Unavailable: the directory does not answer.
        """
        statements = [directory.read_place(tenant_id), directory.read_known(tenant_id, self._tables)]
        rows, (row,) = await self._database.run(statements)
        place = directory.read_places(rows)
        return Place() if place is None and row["known"] else place

    async def moving(self) -> Collection[str]:
        """Return the tenants whose move to another shard has begun and has not ended.

        Raises:
            Unavailable: the directory does not answer.
        """
        if not self.sharded:
            return ()
        (rows,) = await self._database.run([directory.READ_MOVES])
        return {move.tenant_id for move in directory.read_moves(rows)}

    async def switch(self, tenant_id: str, to: Place) -> None:
        """Write into the directory that a tenant lives elsewhere now.

        Raises:
            Unavailable: the directory does not answer.
        """
        await self._database.run([directory.switch(tenant_id, to)])
        self._places.pop(tenant_id, None)

    async def _place(self, tenant_id: str, place: Place) -> Place:
        """Give a new tenant a place, and return it; where another process was first, return the place that it gave."""
        _, rows = await self._database.run(directory.place(tenant_id, place))
        return directory.read_places(rows) or place

    def _keep(self, tenant_id: str, place: Place) -> None:
        self._places[tenant_id] = place
        while len(self._places) > self._most:
            self._places.popitem(last=False)
