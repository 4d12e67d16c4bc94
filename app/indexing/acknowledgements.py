"""What this process has learned of the outbox's rows and not written yet (docs/reliability.md).

Requests and the indexer add marks, the indexer's next run writes them. Should the process die with them,
the rows are looked at again: every mark is a saving, none is needed.
"""

import asyncio
from collections.abc import Iterable

from app.domain.delivery import Acknowledgement, RowKey


class Acknowledgements:
    """The marks of one process, and what wakes its indexer."""

    def __init__(self) -> None:
        """Start with none."""
        self._acknowledgements: dict[RowKey, Acknowledgement] = {}
        self._awake = asyncio.Event()

    def add(self, mark: Acknowledgement) -> None:
        """Keep a mark until it is written, and wake the indexer.

        A later mark of the same revision replaces it; an acknowledgement replaces nothing, as the first one counts.
        """
        if mark.kind != "acknowledged" or mark.row not in self._acknowledgements:
            self._acknowledgements[mark.row] = mark
        self._awake.set()

    def take(self, most: int) -> list[Acknowledgement]:
        """Return and forget so many of the marks, the oldest first."""
        taken = list(self._acknowledgements.values())[:most]
        for mark in taken:
            del self._acknowledgements[mark.row]
        return taken

    def put_back(self, acknowledgements: Iterable[Acknowledgement]) -> None:
        """Keep marks that could not be written, unless a later one has come."""
        self._acknowledgements = {mark.row: mark for mark in acknowledgements} | self._acknowledgements

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
        return len(self._acknowledgements)
