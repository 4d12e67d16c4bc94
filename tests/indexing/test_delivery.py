"""Index writes behind answered requests: they hold up nobody, are bounded, and a process that stops waits for them."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from structlog.testing import capture_logs

from app.domain.memory import Scope
from app.indexing.delivery import Acknowledgements, Deliveries
from app.ports.vector_index import IndexedVector, VectorIndex

_VECTOR = IndexedVector(Scope("acme", "bot"), "01K5", np.zeros(2, np.float32), 1, 1)


@dataclass
class _Index:
    """Takes vectors once it may."""

    visible_at_once: bool = False
    may: asyncio.Event = field(default_factory=asyncio.Event)
    confirm_seconds: float = 1.0
    taken: int = 0
    error: Exception | None = None

    async def upsert(self, vectors: Any) -> int:
        await self.may.wait()
        if self.error is not None:
            raise self.error
        self.taken += len(vectors)
        return 1


async def begin(deliveries: Deliveries, index: _Index, **more: float) -> None:
    await deliveries.deliver(cast("VectorIndex", index), "index", [_VECTOR], first_time=True, **more)


async def test_a_write_goes_on_behind_and_is_acknowledged_when_it_is_done() -> None:
    marks = Acknowledgements()
    deliveries, index = Deliveries(marks), _Index()
    await begin(deliveries, index)
    assert (index.taken, len(marks)) == (0, 0)
    index.may.set()
    await deliveries.settle()
    assert (index.taken, len(marks)) == (1, 1)


async def test_an_index_on_this_machine_is_waited_for() -> None:
    marks = Acknowledgements()
    deliveries, index = Deliveries(marks), _Index(visible_at_once=True)
    index.may.set()
    await begin(deliveries, index)
    assert (index.taken, len(marks)) == (1, 1)


async def test_what_is_beyond_the_bound_is_left_to_the_indexer() -> None:
    deliveries, index = Deliveries(most=2), _Index()
    with capture_logs() as logs:
        for _ in range(3):
            await begin(deliveries, index)
    index.may.set()
    await deliveries.settle()
    assert index.taken == 2
    assert [entry["event"] for entry in logs] == ["index_write_deferred"]


async def test_a_batch_waits_for_the_index_but_not_for_one_that_hangs() -> None:
    deliveries, index = Deliveries(), _Index()
    await begin(deliveries, index, wait_seconds=0.01)
    assert index.taken == 0
    index.may.set()
    await begin(deliveries, index, wait_seconds=60)
    assert index.taken == 2


async def test_a_process_that_stops_waits_for_what_is_under_way_and_ends_what_hangs() -> None:
    marks = Acknowledgements()
    deliveries, quick, hanging = Deliveries(marks), _Index(), _Index()
    await begin(deliveries, quick)
    await begin(deliveries, hanging)
    quick.may.set()
    await deliveries.close(0.05)
    assert (quick.taken, len(marks)) == (1, 1)
    hanging.may.set()
    await asyncio.sleep(0)
    assert hanging.taken == 0


@pytest.mark.parametrize("error", [ValueError("a defect")])
async def test_a_defect_is_logged_since_no_request_is_told(error: Exception) -> None:
    deliveries, index = Deliveries(), _Index(error=error)
    index.may.set()
    with capture_logs() as logs:
        await begin(deliveries, index)
        await deliveries.settle()
    assert [entry["event"] for entry in logs] == ["background_failed"]
