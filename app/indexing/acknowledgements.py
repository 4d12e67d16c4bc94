"""Keeps the delivery acknowledgements of this process until the indexer writes them (docs/reliability.md).

Requests and the indexer add acknowledgements, and the indexer's next run writes them. If the process ends before, the
rows are checked again: an acknowledgement saves work, and none is needed.
"""

import asyncio
from collections.abc import Iterable

from app.domain.delivery import Acknowledgement, OutboxKey


class Acknowledgements:
    """The delivery acknowledgements of one process, and the event that wakes its indexer."""

    def __init__(self) -> None:
        """Start with none."""
        self._acknowledgements: dict[OutboxKey, Acknowledgement] = {}
        self._awake = asyncio.Event()

    def add(self, acknowledgement: Acknowledgement) -> None:
        """Keep an acknowledgement until it is written, and wake the indexer.

        A later outcome of the same revision replaces an earlier one, except that ``acknowledged`` replaces nothing,
        because the first acknowledgement counts.
        """
        if acknowledgement.outcome != "acknowledged" or acknowledgement.key not in self._acknowledgements:
            self._acknowledgements[acknowledgement.key] = acknowledgement
        self._awake.set()

    def take(self, limit: int) -> list[Acknowledgement]:
        """Return and remove so many of the acknowledgements, the oldest first."""
        taken = list(self._acknowledgements.values())[:limit]
        for acknowledgement in taken:
            del self._acknowledgements[acknowledgement.key]
        return taken

    def put_back(self, acknowledgements: Iterable[Acknowledgement]) -> None:
        """Keep acknowledgements that could not be written, unless a later one was added meanwhile."""
        self._acknowledgements = {each.key: each for each in acknowledgements} | self._acknowledgements

    def wake(self) -> None:
        """Wake the indexer."""
        self._awake.set()

    async def wait(self, seconds: float) -> None:
        """Return when the indexer is woken, or after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        except TimeoutError:
            return
        finally:
            self._awake.clear()

    def __len__(self) -> int:
        """Return how many wait to be written."""
        return len(self._acknowledgements)
