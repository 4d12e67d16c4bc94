"""Keeps memories compared: those that this process has stored within a second, all others later."""

import asyncio
from collections.abc import Callable

import structlog

from app.domain.errors import MemoryGatewayError
from app.indexing.jobs.relate import BATCH, Relating
from app.indexing.reading_queue import ReadingQueue
from app.ports.reader import Reader
from app.runtime.backends import Backends
from app.runtime.periodic import READY_SECONDS
from app.storage.system.relating import MemoryAddress

_LONGEST_SECONDS = 60.0
_LEASE_SECONDS = 60.0
"""The time after which the lease of a process that has died has ended."""
_PAUSE_SECONDS = 0.05
"""The pause between two rounds of memories that were left over: requests go first."""
_TURN_SECONDS = 0.005
"""The pause between two looks whether another process of this machine still reads."""
_OTHERS_SECONDS = 0.02
"""The pause after a round, in which another process may begin: of several workers one reads at a time."""


async def keep_related(
    backends: Backends, reader: Reader, ready: Callable[[], bool], *, seconds: float, gather_seconds: float
) -> None:
    """Compare memories as they are stored, and look every ``seconds`` for those that were left over, until cancelled.

    Stored memories are gathered for ``gather_seconds``: the answers to the stores go first, and the memories share
    calls. An outage delays the work, longer each time; the memories that were taken from the queue are then left over.
    A memory that cannot be read while others can is tried again with each look.
    """
    job = relating(backends, reader)
    begun, failures = False, 0
    left_over: bool | None = True
    mine = True
    while True:
        if not ready():
            await asyncio.sleep(READY_SECONDS)
            continue
        try:
            if not begun:
                await job.begin()
                begun = True
            if backends.reading_queue or left_over:
                if not backends.processes.begin_turn():
                    await asyncio.sleep(_TURN_SECONDS)
                    continue
                try:
                    if not (noted := await _read_noted(backends.reading_queue, job)):
                        left_over = await read_left_over(job)
                        mine = left_over is not None
                finally:
                    backends.processes.end_turn()
                await asyncio.sleep(_OTHERS_SECONDS if noted else _PAUSE_SECONDS)
            else:
                longest = seconds if mine else min(seconds, _LEASE_SECONDS)
                left_over = not await _gathered(backends.reading_queue, longest, gather_seconds)
            failures = 0
        except Exception as error:  # an outage or a defect must not stop the work for good
            left_over, failures = True, failures + 1
            pause = min(2.0**failures / 2, _LONGEST_SECONDS)
            log = structlog.get_logger()
            if isinstance(error, MemoryGatewayError):
                log.warning("relations_wait", code=error.code, reason=error.detail, seconds=pause)
            else:
                log.exception("background_failed", seconds=pause)
            await asyncio.sleep(pause)


async def _gathered(queue: ReadingQueue, longest: float, gather_seconds: float) -> bool:
    """Wait for a memory to be stored, and then for more; return whether one was."""
    came = await queue.wait(longest)
    await asyncio.sleep(gather_seconds if came else 0)
    return came


async def _read_noted(queue: ReadingQueue, job: Relating) -> bool:
    """Read the next memories that this process has stored; return whether there were any."""
    noted = queue.take(BATCH)
    if noted:
        await job.read([MemoryAddress(scope.tenant_id, scope.agent_id, id_) for scope, id_ in noted])
    return bool(noted)


async def read_left_over(job: Relating) -> bool | None:
    """Read the next memories that wait in the database; return whether more may wait; None: another process reads."""
    memories = await job.left_over()
    if memories is None:
        return None
    if memories:
        await job.read(memories)
        return True
    return await job.sweep()


def relating(backends: Backends, reader: Reader) -> Relating:
    """Return the job that compares the memories of a shard."""
    return Relating(
        backends.database,
        reader,
        backends.index_of,
        lambda: backends.configs.active,
        holder=backends.processes.name,
    )
