"""How many connections each worker has, and that its event loop goes round: figures in memory that workers share."""

import asyncio
import mmap
from collections.abc import Sequence

_BYTES = 8
_CELLS = 2
_ABSENT = 2**62
"""The connections of a worker that does not serve: nothing is left to it."""
_BEAT_SECONDS = 1.0


class WorkerLoads:
    """The figures of all workers. Each worker writes its own alone, so that nothing has to be locked."""

    def __init__(self, count: int) -> None:
        """Make room for the figures of ``count`` workers; processes that are forked from this one share it."""
        self._cells = memoryview(mmap.mmap(-1, count * _CELLS * _BYTES)).cast("q")
        self._count = count
        for number in range(count):
            self.clear(number)

    def clear(self, number: int) -> None:
        """Note that a worker does not serve, from 0."""
        self._cells[number * _CELLS] = _ABSENT

    def beats(self, number: int) -> int:
        """Return how often a worker's event loop has told that it goes round."""
        return self._cells[number * _CELLS + 1]

    def beat(self, number: int) -> None:
        """Note that a worker's event loop goes round."""
        self._cells[number * _CELLS + 1] += 1

    def show(self, number: int, connections: int) -> None:
        """Note how many connections a worker has."""
        self._cells[number * _CELLS] = connections

    def connections(self) -> Sequence[int]:
        """Return how many connections each worker has; a large number for one that does not serve."""
        return self._cells[::_CELLS].tolist()


class WorkerLoad:
    """The figures of one worker, which this process is."""

    def __init__(self, loads: WorkerLoads, number: int) -> None:
        """Take the figures of all workers, and the worker's number, from 0."""
        self._loads = loads
        self._number = number
        self._open = self._accepted = 0

    def opened(self, count: int) -> None:
        """Take how many connections are open."""
        self._open = count
        self._show()

    def accepting(self, count: int) -> None:
        """Take how many connections were accepted that are not open yet."""
        self._accepted = count
        self._show()

    @property
    def exceeds_others(self) -> bool:
        """Whether another worker has fewer connections than this one."""
        return min(self._loads.connections()) < self._open + self._accepted

    async def keep_beating(self) -> None:
        """Tell every second that this process's event loop goes round, until cancelled."""
        while True:
            self._loads.beat(self._number)
            await asyncio.sleep(_BEAT_SECONDS)

    def _show(self) -> None:
        self._loads.show(self._number, self._open + self._accepted)
