"""Ends a process at a chosen moment of a chosen port call."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from app.adapters.local.sqlite_database import SqliteDatabase
from app.ports.database import RunRefused
from tests.simulation.database import InlineFile
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.places import seen

T = TypeVar("T")


class KilledError(BaseException):
    """The process is gone: nothing of it may go on, and nothing may catch this."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made: of which port, from which place of the product, and where it can stop half way."""

    port: str
    place: str
    halves: tuple[int, ...]
    """After how many of its statements a run of the database has changed some, but not all, of what it changes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Before the effect of the n-th call, after it, or after so many statements of it."""

    number: int
    done: float

    def __str__(self) -> str:
        """Say it for a failure."""
        when = {0: "before", inf: "after"}.get(self.done, f"after statement {self.done} of")
        return f"{when} call {self.number}"


def moments(calls: list[Made]) -> Iterator[Moment]:
    """Return every moment at which a process that makes these calls can be killed."""
    for number, call in enumerate(calls, start=1):
        for done in (0, *call.halves, inf):
            yield Moment(number, done)


class Killer:
    """Notes the calls of a replica and kills it at a moment, if one is given."""

    def __init__(self, file: InlineFile, moment: Moment | None = None) -> None:
        self.calls: list[Made] = []
        self.fired = False
        self._file = file
        self._moment = moment

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        self._check_alive()
        place, number, changes = seen(), len(self.calls) + 1, self._file.connection.total_changes()
        if self._moment is not None and self._moment.number == number:
            self.calls.append(Made(call.name, place, ()))
            await self._die(self._moment, call, effect)
        try:
            answer = await effect()
        except RunRefused:  # an answer too, of a run that has changed nothing
            self.calls.append(Made(call.name, place, ()))
            raise
        self._check_alive()
        changed = self._file.connection.total_changes() - changes
        self.calls.append(Made(call.name, place, _halves(call, changed)))
        return answer

    def _check_alive(self) -> None:
        """A dead process makes no calls, not even those of its ``finally`` clauses."""
        if self.fired:
            raise KilledError

    async def _die(self, moment: Moment, call: PortCall, effect: Effect[object]) -> None:
        if moment.done == inf:
            with suppress(RunRefused):
                await effect()
        elif moment.done:  # D1 does not promise that a run is one transaction
            await SqliteDatabase(self._file).run(call.statements[: int(moment.done)])
        self.fired = True
        raise KilledError


def _halves(call: PortCall, changed: int) -> tuple[int, ...]:
    """One that changes a single row, such as a lease, has no half."""
    writes = [number for number, statement in enumerate(call.statements, start=1) if statement.writes]
    return tuple(writes[:-1]) if changed > 1 else ()
