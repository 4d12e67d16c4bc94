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
from tests.support.tables import Like

T = TypeVar("T")
Fate: TypeAlias = Literal["before", "after", "stalled"]
"""The process ends before a call, or after it and before its answer; or it stands still before it, and then goes on."""
FATES: Sequence[Fate] = ("before", "after", "stalled")

TENANT = "acme"
LEASED_SECONDS = 61
_STALLED_SECONDS = (62, 75, 90, 120, 200)
"""Another mover has just begun, is at it, or is done."""
_OWN = {"outbox", "tenant_places", "tenant_epochs"}
"""Tables with rows of a tenant that are not carried with the others."""


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
        tables = file.tables_with("tenant_id") - _OWN
        owned = {table: len(file.rows_of(table, "tenant_id", tenant_id=TENANT)) for table in tables}
        if shard == home:
            assert owned["long_term_memory"]
        else:
            assert not any(owned.values()), owned
        assert flaws(made.of(shard)) == set()
        assert file.rows_of("tenant_changes") == file.rows_of("tenant_renumbered") == []
        assert file.rows_of("sqlite_master", name=Like("tenant_noted_%")) == []
        (state,) = file.column_of("tenant_epochs", "state", tenant_id=TENANT)
        assert state == ("here" if shard == home else "gone")
    assert made.files[MAIN].rows_of("tenant_moves") == []
    assert made.files[MAIN].column_of("tenant_places", "shard", tenant_id=TENANT) == [home]
