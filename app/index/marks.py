"""What this process has learned of the outbox's rows and not written yet (docs/reliability.md).

Requests and the indexer add marks, the indexer's next run writes them. Should the process die with them,
the rows are looked at again: every mark is a saving, none is needed.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.model import Scope

Kind: TypeAlias = Literal["acknowledged", "lost", "waits", "confirmed", "settled", "refused"]
"""What became of one revision of a row.

- ``acknowledged``: the index took it at ``at``, by its own clock; of one revision the first acknowledgement counts.
- ``lost``: it was acknowledged long ago and is not there, so it has to be sent again.
- ``waits``: the index does not say yet how far it is.
- ``confirmed``: the index shows it; recall goes on scoring it for a while.
- ``settled``: nothing is left to do, the row may go.
- ``refused``: the index does not take it as it is, for ``reason``.
"""


@dataclass(frozen=True, slots=True)
class RowKey:
    """One revision of one row."""

    scope: Scope
    id: str
    index_name: str
    revision: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What became of one revision of a row."""

    row: RowKey
    kind: Kind
    at: int = 0
    reason: str = ""
    confirm_ms: int = 0
    """After an acknowledgement, how long it is not worth asking whether the index shows it."""


class Marks:
    """The marks of one process, and what wakes its indexer."""

    def __init__(self) -> None:
        """Start with none."""
        self._marks: dict[RowKey, Mark] = {}
        self._awake = asyncio.Event()

    def add(self, mark: Mark) -> None:
        """Keep a mark until it is written, and wake the indexer.

        A later mark of the same revision replaces it; an acknowledgement replaces nothing, as the first one counts.
        """
        if mark.kind != "acknowledged" or mark.row not in self._marks:
            self._marks[mark.row] = mark
        self._awake.set()

    def take(self, most: int) -> list[Mark]:
        """Return and forget so many of the marks, the oldest first."""
        taken = list(self._marks.values())[:most]
        for mark in taken:
            del self._marks[mark.row]
        return taken

    def put_back(self, marks: Iterable[Mark]) -> None:
        """Keep marks that could not be written, unless a later one has come."""
        self._marks = {mark.row: mark for mark in marks} | self._marks

    def wake(self) -> None:
        """Have the indexer look now."""
        self._awake.set()

    async def wait(self, seconds: float) -> None:
        """Return once there is a reason to look, or after so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        except TimeoutError:
            return
        finally:
            self._awake.clear()

    def __len__(self) -> int:
        """How many wait to be written."""
        return len(self._marks)
