"""A moment of a store at which it can be held, for a test to do something meanwhile."""

import asyncio
from dataclasses import dataclass, replace
from typing import TypeVar

from app.runtime.backends import Backends
from tests.simulation.intercept import (
    Effect,
    InterceptedDatabase,
    InterceptedEmbedder,
    InterceptedIndex,
    PortCall,
)

T = TypeVar("T")
STEPS = ("embedder.embed", "database.run", "index.upsert")
"""What a store does, in this order."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Before a step of a store has its effect, or after it."""

    step: str
    done: bool

    @property
    def kept(self) -> bool:
        """Whether the memory is in the database by then."""
        return STEPS.index(self.step) + self.done > STEPS.index("database.run")


MOMENTS = [Moment(step, done) for step in STEPS for done in (False, True)]


class Gate:
    """Holds the next store at a moment until it is opened."""

    def __init__(self) -> None:
        self._moment: Moment | None = None
        self._reached = asyncio.Event()
        self._open = asyncio.Event()

    def change(self, ports: Backends) -> Backends:
        """Stand between the service and its ports."""
        return replace(
            ports,
            database=InterceptedDatabase(ports.database, self),
            embedder=InterceptedEmbedder(ports.embedder, self),
            index=InterceptedIndex(ports.index, self),
        )

    def hold(self, moment: Moment) -> None:
        self._moment = moment
        self._reached.clear()
        self._open.clear()

    async def reached(self) -> None:
        async with asyncio.timeout(20):
            await self._reached.wait()

    def open(self) -> None:
        self._open.set()

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        moment = self._moment
        if moment is None or call.name != moment.step or not _of_a_store(call):
            return await effect()
        self._moment = None
        if not moment.done:
            await self._wait()
            return await effect()
        result = await effect()
        await self._wait()
        return result

    async def _wait(self) -> None:
        self._reached.set()
        await self._open.wait()


def _of_a_store(call: PortCall) -> bool:
    """Tell a store's run of the database from the indexer's."""
    inserts = any("INSERT INTO long_term_memory" in statement.sql for statement in call.statements)
    return inserts or call.name != "database.run"
