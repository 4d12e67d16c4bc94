"""A call of a mover that took too long behind the fence may reach the target when the mover has gone on without it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.shards import MAIN
from app.ports.database import RunRefused
from app.storage.system.moving import Mover
from tests.simulation import clock
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.moves import TENANT, check_moved, move
from tests.simulation.network import QUICK
from tests.simulation.sharded import EAST, ShardedReplica, home_of, sharded_world

T = TypeVar("T")

_ANY = Mover(TENANT, "any")
_FENCE, _ARRIVE = _ANY.fence().sql, _ANY.arrive(0).sql
_CARRY, _SERVE = _ANY.carry("arriving").sql, _ANY.serve(0).sql


@dataclass(slots=True)
class Late:
    """Lets the first run behind a fence that has a statement reach the database late, whether or not one waits for it.

    It does so right behind the next run that has another statement.
    """

    late: str
    behind: str
    change: Callable[[], Awaitable[object]]
    """Changes a row: between the last look at the changes and a fence, and when the fence has been lifted."""
    armed: bool = False
    landed: bool = False
    _fenced: bool = False
    _lands: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        if not self.armed or self.landed:
            return await effect()
        texts = {statement.sql for statement in call.statements}
        if self._fenced and self._task is None and self.late in texts:
            self._task = asyncio.create_task(self._land(effect))
            await asyncio.shield(self._task)
        if (_FENCE in texts and self._task is None) or (_ARRIVE in texts and self._task is not None):
            await self.change()
        answer = await effect()
        if _FENCE in texts or _ARRIVE in texts:
            self._fenced = _FENCE in texts
        if self._task is not None and self.behind in texts:
            self._lands.set()
            await self._task
        return answer

    async def _land(self, effect: Effect[T]) -> None:
        await self._lands.wait()
        with suppress(RunRefused):
            await effect()
        self.landed = True


async def _simulate(late: str, behind: str) -> None:
    async with sharded_world("embedded", 7) as made:
        user = await made.process()
        made.replicas.append(user)
        made.network.rates = QUICK  # behind a fence there is time for all calls but the late one
        version = 0

        async def change() -> None:
            nonlocal version
            version += 1
            await user.gateway(TENANT).store("bot", NewMemory("the fox", metadata={"version": version}))

        await change()
        to = MAIN if await home_of(user, TENANT) == EAST else EAST
        calls = Late(late, behind, change)
        mover = await made.process(calls)
        calls.armed = True
        await move(mover, to)
        assert calls.landed
        assert await _versions(user) == [version]
        check_moved(made, to)


async def _versions(user: ShardedReplica) -> list[object]:
    recall = await user.gateway(TENANT).recall("bot", Query("the fox"))
    return [entry.metadata["version"] for entry in recall.entries]


@pytest.mark.parametrize(
    ("late", "behind"),
    [
        pytest.param(_CARRY, _FENCE, id="an-older-row-arrives-after-the-newer-one-was-compared"),
        pytest.param(_SERVE, _ARRIVE, id="the-target-is-told-to-serve-after-the-copy-has-gone-on"),
    ],
)
def test_what_a_mover_sent_before_its_time_ran_out_changes_nothing_later(late: str, behind: str) -> None:
    clock.run(_simulate(late, behind))
