"""A memory is corrected: another one holds in its place."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.moments import format_moment
from app.services.profiles.correcting import Corrections
from app.services.profiles.profile import ProfileService
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

LAST = 253_402_300_799_999
"""The last millisecond of the year 9999."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def test_a_memory_of_the_last_moment_of_the_calendar_is_corrected_and_its_correction_taken_back(
    bench: Bench,
) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    profiles, corrections = ProfileService(backends), Corrections(backends)
    old = await profiles.remember("bot", "I live in Rome", occurred_at=LAST)
    new_id = await corrections.correct("bot", old.id, "I live in Oslo", bench.backends.clock())
    new = (await profiles.get("bot", new_id)).memory
    assert format_moment(new.occurred_at or 0) == "9999-12-31T23:59:59.999Z"
    assert await _listed(profiles) == ["I live in Oslo"]
    await corrections.take_back("bot", new_id)
    assert await _listed(profiles) == ["I live in Rome"]


async def _listed(profiles: ProfileService) -> list[str]:
    return [memory.content for memory in (await profiles.list("bot", limit=10, after=None)).items]
