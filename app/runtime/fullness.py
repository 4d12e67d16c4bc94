"""Measures how full each shard is: for the choice of the shard of new tenants, for operators, and for warnings."""

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from app.domain import limits
from app.domain.errors import Unavailable
from app.domain.shards import MAIN, TenantMove
from app.runtime.checks import PartState
from app.runtime.periodic import PeriodicWork
from app.runtime.runtime import Runtime
from app.storage.system import directory

REUSE_SECONDS = 300.0
"""How long a measurement is used."""
FIRST_SECONDS = 20.0
"""From the start to the first periodic measurement: it must not delay the first requests."""
_MEASURED_SECONDS = 3600.0
"""From one periodic measurement to the next."""
_LEFT_MS = 600_000
"""The idle time after which operators are told of a move on which no process works."""
SETTLED_MS = 60_000
"""The age from which on a shard takes tenants.

A request goes by the number of shards that its process has heard at most 20 seconds before: so a request whose process
has not heard of the first added shard has ended by this age (0041-shards.md).
"""


@dataclass(frozen=True, slots=True)
class ShardFigures:
    """The figures of a shard; ``vectors`` counts its memories, each of which has one vector."""

    name: str
    stored_bytes: int
    vectors: int
    tenants: int
    settled: bool
    limited: bool = True
    """Whether D1's and Vectorize's limits hold for the shard: they do not for a file."""

    @property
    def part(self) -> float:
        """How full the shard is, as a part of what D1 and Vectorize allow, 0 to 1."""
        return max(self.stored_bytes / limits.SHARD_BYTES, self.vectors / limits.SHARD_VECTORS)

    @property
    def warning(self) -> str | None:
        """The warning to operators; None where the shard has room."""
        if not self.limited or self.part < limits.SHARD_WARNED:
            return None
        return (
            f"The shard {self.name} has {self.stored_bytes / 1e9:.1f} of 10 GB and {self.vectors / 1e6:.1f} million of "
            "20 million vectors. Add a shard (memory-gateway shard add) and move tenants to it."
        )


class Fullness:
    """Measures the shards, at most once in five minutes unless a shard is added: each measurement takes a few calls."""

    def __init__(self, main: Runtime, runtimes: Callable[[], Iterable[Runtime]]) -> None:
        """Take the runtime with the directory, and the function that returns the runtimes of all shards."""
        self._main = main
        self._runtimes = runtimes
        self.moves: list[TenantMove] = []
        """The moves that had begun and not ended at the last measurement."""
        self.unmeasured: list[str] = []
        """The shards of the directory that the last measurement lacks: they do not answer, or could not be opened."""
        self._latest: dict[str, ShardFigures] = {}
        """The last figures of each shard; a shard that does not answer keeps its earlier figures."""
        self._measured: tuple[float, list[ShardFigures]] | None = None
        self._of_shards: set[str] = set()
        """The shards that were open at the last measurement."""
        self._settles_ms = math.inf
        """Milliseconds from the last measurement until the next new shard takes tenants."""
        self._measuring: asyncio.Task[list[ShardFigures]] | None = None

    async def measure(self) -> list[ShardFigures]:
        """Return the figures of every shard that answers; concurrent callers wait for the same measurement.

        Raises:
            Unavailable: the directory does not answer.
        """
        now = asyncio.get_running_loop().time()
        if self._measured is not None and self._holds(now - self._measured[0]):
            return self._measured[1]
        if self._measuring is None or self._measuring.done():
            self._measuring = asyncio.create_task(self._measure(), name="fullness")
        return await asyncio.shield(self._measuring)

    def _holds(self, seconds: float) -> bool:
        """Tell whether a measurement of this age is still used: it is not where another shard takes tenants by now."""
        return seconds <= min(REUSE_SECONDS, self._settles_ms / 1000) and self._of_shards == self._open_shards()

    def _open_shards(self) -> set[str]:
        return {runtime.backends.shard for runtime in self._runtimes()}

    async def close(self) -> None:
        """Stop the measurement that is under way, if there is one."""
        if self._measuring is not None:
            self._measuring.cancel()
            await asyncio.wait([self._measuring])

    async def least_first(self) -> list[str]:
        """Return the names of the shards that may take tenants, the least full one first, and at least the first shard.

        Raises:
            Unavailable: the directory does not answer.
        """
        figures = [each for each in await self.measure() if each.settled]
        return [each.name for each in sorted(figures, key=lambda each: (each.part, each.tenants, each.name))] or [MAIN]

    def notices(self) -> list[PartState]:
        """Return a part for each shard that was nearly full when it was last measured, and one for moves left undone.

        No call is made. No tenant is named, since everyone may read the readiness.
        """
        parts = [
            PartState(f"size of shard {each.name}", "shard", notice=each.warning, needed_by="none")
            for each in self._latest.values()
            if each.warning is not None
        ]
        if (notice := _left_undone(self.moves)) is not None:
            parts.append(PartState("moves between shards", "shard", notice=notice, needed_by="none"))
        return parts

    async def keep_measuring(self) -> None:
        """Measure soon after the start and then once an hour, for metrics, warnings and readiness, until cancelled.

        A measurement that fails, or that lacks a shard, is made again after five minutes.
        """
        work = PeriodicWork(
            "shards",
            self.measure,
            "measuring_waits",
            lambda measured: REUSE_SECONDS if self.unmeasured or not measured else _MEASURED_SECONDS,
            delay=FIRST_SECONDS,
            ready=lambda: self._main.not_ready is None,
            unready_seconds=FIRST_SECONDS,
        )
        await work.run()

    async def _measure(self) -> list[ShardFigures]:
        """Measure the shards, and report the figures in metrics and warnings."""
        began = asyncio.get_running_loop().time()
        open_shards = self._open_shards()
        measured = await self._figures()
        self._of_shards = open_shards
        self._measured = began, measured
        self._latest |= {figures.name: figures for figures in measured}
        for figures in measured:
            self._main.metrics.shard(figures.name, figures.stored_bytes, figures.vectors, figures.tenants)
            if figures.warning is not None:
                structlog.get_logger().warning("shard_nearly_full", shard=figures.name, notice=figures.warning)
        return measured

    async def _figures(self) -> list[ShardFigures]:
        database = self._main.backends.database
        counts, added, moves, (time,) = await database.run(
            [directory.COUNT_TENANTS, directory.READ_SHARDS, directory.READ_MOVES, directory.READ_NOW]
        )
        now = int(time["now"] or 0)
        self.moves = directory.read_moves(moves)
        tenants = directory.read_tenant_counts(counts)
        settles_ms = {shard.name: shard.added_at + SETTLED_MS - now for shard in directory.read_shards(added)}
        self._settles_ms = min((left for left in settles_ms.values() if left > 0), default=math.inf)
        measured: dict[str, ShardFigures] = {}
        for runtime in list(self._runtimes()):
            name = runtime.backends.shard
            figures = await self._of(runtime, tenants[name], settled=settles_ms.get(name, 0) <= 0)
            measured |= {} if figures is None else {name: figures}
        self.unmeasured = [name for name in settles_ms if name not in measured]
        return [*measured.values()]

    async def _of(self, runtime: Runtime, tenants: int, *, settled: bool) -> ShardFigures | None:
        """Return the figures of one shard; None where it is not ready, or does not answer and is not the first."""
        if runtime.not_ready is not None:
            return None
        try:
            ((row,),) = await runtime.backends.database.run([directory.COUNT_MEMORIES])
            stored = 0 if runtime.backends.stored_bytes is None else await runtime.backends.stored_bytes()
        except Unavailable as error:
            if runtime.backends.shard == MAIN:
                raise
            structlog.get_logger().warning("shard_not_measured", shard=runtime.backends.shard, code=error.code)
            return None
        vectors, limited = int(row["memories"] or 0), runtime.backends.limited
        return ShardFigures(runtime.backends.shard, stored, vectors, tenants, settled, limited)


def _left_undone(moves: Iterable[TenantMove]) -> str | None:
    """Return a notice to operators of moves on which no process works; None where there are no such moves."""
    idle = [move.idle_ms for move in moves if move.idle_ms >= _LEFT_MS]
    if not idle:
        return None
    return (
        f"{len(idle)} {'move has' if len(idle) == 1 else 'moves have'} not ended, and nobody has worked on "
        f"{'it' if len(idle) == 1 else 'one of them'} for {max(idle) // 60_000} minutes. Until a move ends, whatever "
        "changes of its tenant is noted, and takes room. See: memory-gateway shard list"
    )
