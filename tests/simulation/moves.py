"""Moves of a tenant between two shards, movers that die or lag at a chosen call, and what must hold in the end."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from app.domain.errors import Conflict, InvalidRequest, Unavailable
from app.domain.shards import MAIN
from app.runtime.moving import move_tenant
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.killer import KilledError
from tests.simulation.places import seen
from tests.simulation.settled import flaws
from tests.simulation.sharded import ShardedReplica, ShardedWorld

T = TypeVar("T")
Fate: TypeAlias = Literal["before", "after", "stalled"]
"""The process ends before a call, or after it and before its answer; or it stands still before it, and then goes on."""
FATES: Sequence[Fate] = ("before", "after", "stalled")

TENANT = "acme"
LEASED_SECONDS = 61
_STALLED_SECONDS = (62, 75, 90, 120, 200)
"""Another mover has just begun, is at it, or is done."""
_OWN = (
    "SELECT made.name FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS col ON col.name = 'tenant_id' "
    "WHERE made.type = 'table' AND made.name NOT IN ('outbox', 'tenant_places', 'tenant_epochs') "
    "AND made.name NOT LIKE 'local!_%' ESCAPE '!'"
)


@dataclass(frozen=True, slots=True)
class Step:
    """The n-th call that a mover makes from a place of the product."""

    place: str
    nth: int
    changes: bool
    """Whether the call changes something."""


@dataclass(slots=True)
class Interrupted:
    """Ends a mover at a step, or has it stand still there; without a step it notes all that the mover does."""

    at: tuple[str, int] | None = None
    fate: Fate = "before"
    steps: list[Step] = field(default_factory=list)
    reached: bool = False
    armed: bool = False
    """Whether the process has begun: what it calls before is not counted."""
    _made: Counter[str] = field(default_factory=Counter)
    _dead: bool = False

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        if self._dead:
            raise KilledError
        if not self.armed:
            return await effect()
        place = seen()
        self._made[place] += 1
        self.steps.append(Step(place, self._made[place], _changes(call)))
        if self.at != (place, self._made[place]):
            return await effect()
        self.reached = True
        return await self._end(effect)

    async def _end(self, effect: Effect[T]) -> T:
        if self.fate == "stalled":
            await asyncio.sleep(_STALLED_SECONDS[len(self.steps) % len(_STALLED_SECONDS)])
            return await effect()
        if self.fate == "after":
            await effect()
        self._dead = True
        raise KilledError


def _changes(call: PortCall) -> bool:
    return call.name == "index.upsert" or any(statement.writes for statement in call.statements)


async def move(mover: ShardedReplica, to: str) -> None:
    assert mover.shards is not None
    await move_tenant(mover.shards, TENANT, to, lambda _: None, poll_seconds=1, linger_seconds=1)


async def moved_by_all_means(made: ShardedWorld, to: str) -> None:
    """Move as an operator does who runs the command again until it works."""
    for _ in range(40):
        try:
            await move(await made.process(), to)
        except (Conflict, Unavailable):
            await asyncio.sleep(20)
        except InvalidRequest:  # the one that was killed had done all
            return
        else:
            return
    raise AssertionError("The tenant could not be moved.")


def check_moved(made: ShardedWorld, home: str) -> None:
    """The tenant is in one shard, nothing of it in the other, and each index has the vectors of its database."""
    for shard, file in made.files.items():
        owned = {str(name): _count(file.rows(_of_tenant(str(name)))) for (name,) in file.rows(_OWN)}
        if shard == home:
            assert owned["long_term_memory"]
        else:
            assert not any(owned.values()), owned
        assert flaws(made.of(shard)) == set()
        assert file.rows("SELECT 1 FROM tenant_changes UNION ALL SELECT 1 FROM tenant_renumbered") == []
        assert file.rows("SELECT 1 FROM sqlite_master WHERE name LIKE 'tenant!_noted!_%' ESCAPE '!'") == []
        ((state,),) = file.rows(f"SELECT state FROM tenant_epochs WHERE tenant_id = '{TENANT}'")
        assert state == ("here" if shard == home else "gone")
    assert made.files[MAIN].rows("SELECT 1 FROM tenant_moves") == []
    assert made.files[MAIN].rows(f"SELECT shard FROM tenant_places WHERE tenant_id = '{TENANT}'") == [(home,)]


def _of_tenant(table: str) -> str:
    return f"SELECT count(*) FROM {table} WHERE tenant_id = '{TENANT}'"


def _count(rows: list[tuple[object, ...]]) -> object:
    return rows[0][0]
