"""Makes and removes the triggers by which the source of a move notes which rows of leaving tenants change."""

from collections.abc import Sequence

from app.domain.errors import Unavailable
from app.ports.database import Database, RunRefused
from app.storage.system import noting
from app.storage.system.carried import CarriedTable
from app.storage.system.moving import Mover

_STATEMENTS = 60
"""Statements of one run: D1 takes 100."""
_MAX_ROUNDS = 100


async def note_changes(source: Database, mover: Mover, tables: Sequence[CarriedTable], epoch: int) -> None:
    """Mark the tenant as leaving with this epoch, and note its changes from now on.

    The tenant is marked first: then the end of another move does not remove the triggers, and a late mover makes none.

    Raises:
        RunRefused: another process has taken the move over.
        Unavailable: the source does not answer, or the triggers were removed again and again.
    """
    triggers, ours = noting.note_changes(tables), mover.carry("leaving")
    await source.run([mover.leave(epoch)])
    for _ in range(_MAX_ROUNDS):
        for start in range(0, len(triggers), _STATEMENTS):
            await source.run([ours, *triggers[start : start + _STATEMENTS]])
        _, ((row),) = await source.run([ours, noting.count_noting()])
        if row["noted"] == len(triggers):
            return
    raise Unavailable("The changes of the tenant cannot be noted.")


async def stop_noting(source: Database, tables: Sequence[CarriedTable]) -> None:
    """Remove the triggers that note changes, unless another tenant is leaving."""
    first, *drops = noting.stop_noting(tables)
    for start in range(0, len(drops), _STATEMENTS):
        try:
            await source.run([first, *drops[start : start + _STATEMENTS]])
        except RunRefused:
            return
