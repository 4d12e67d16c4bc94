"""Moves tenants between the shards of a process, for the command ``shard move``."""

import secrets
from collections.abc import Callable, Sequence

from app.domain.errors import Conflict, InvalidRequest, NotFound
from app.domain.shards import MAIN, Place, Shard
from app.indexing.jobs.carry import MoveSide
from app.indexing.jobs.move import Move, MoveWork
from app.runtime.fullness import SETTLED_MS
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.storage.system import directory, moving
from app.storage.system.clock import database_time
from app.storage.system.moving import Mover, StartedMove


async def move_tenant(
    shards: Shards,
    tenant_id: str,
    target: str,
    report: Callable[[str], object],
    *,
    poll_seconds: float = 1.0,
    linger_seconds: float = 40.0,
) -> str | None:
    """Move a tenant to another shard, or go on with a move that was begun; a move to its own shard gives that move up.

    Return the target of the move that was given up; None where the tenant was moved.

    Raises:
        NotFound: there is no such shard or tenant.
        InvalidRequest: the tenant lives in the target already, and no move was begun.
        Conflict: the tenant cannot be moved now; the error says why.
        Unavailable: a service does not answer; the tenant is served, and the same command goes on with the move.
    """
    main = shards.main.backends.database
    now = await database_time(main)
    mover = Mover(tenant_id, f"{now:015d}:{shards.main.name}:{secrets.token_hex(4)}")
    known = await shards.places.load()
    _check_known(known, target)
    (rows,) = await main.run([mover.read_move()])
    begun = moving.read_move(rows)
    if begun is None:
        place = await _place(shards, tenant_id, target)
    else:
        place = _of_begun(begun, target)
    _check_settled(known, now)
    source = await shards.opened(place.shard)
    to = await shards.opened(begun.target if begun is not None else target)
    work = MoveWork(
        deliver=to.indexer.round,
        embedder_of=to.backends.embedder_of,
        report=report,
        poll_seconds=poll_seconds,
        linger_seconds=linger_seconds,
    )
    move = Move(mover, main, _side(source), _side(to), work)
    if begun is not None and begun.source == target:
        await move.give_up(place.epoch)
        return begun.target
    await move.run(place.epoch)
    return None


def _check_known(known: Sequence[Shard], name: str) -> None:
    names = [MAIN, *(shard.name for shard in known)]
    if name not in names:
        raise NotFound(f"There is no shard {name}. There are: {', '.join(names)}.")


def _check_settled(known: Sequence[Shard], now: int) -> None:
    """Refuse a move while a shard is so new that a process may not know yet that there are shards.

    Raises:
        Conflict: a shard was added less than ``SETTLED_MS`` ago.
    """
    age = now - max((shard.added_at for shard in known), default=0)
    if age < SETTLED_MS:
        raise Conflict(f"A shard was just added. Try again in {(SETTLED_MS - age) // 1000 + 1} seconds.")


async def _place(shards: Shards, tenant_id: str, target: str) -> Place:
    place = await shards.places.read(tenant_id)
    if place is None:
        raise NotFound(f"There is no tenant {tenant_id}.")
    database = (await shards.opened(place.shard)).backends.database
    (rows,) = await database.run([directory.read_left(tenant_id)])
    if (left := directory.read_places(rows)) is not None and left.epoch > place.epoch:
        place = left
    if place.shard == target:
        raise InvalidRequest(f"The tenant {tenant_id} lives in the shard {target} already.")
    return place


def _of_begun(begun: StartedMove, target: str) -> Place:
    if target not in {begun.target, begun.source}:
        raise Conflict(
            f"The tenant is being moved to {begun.target}. Finish that, or give it up with a move to {begun.source}."
        )
    return Place(begun.source, begun.epoch - 1)


def _side(runtime: Runtime) -> MoveSide:
    return MoveSide(runtime.backends.shard, runtime.backends.database, runtime.backends.index_of)
