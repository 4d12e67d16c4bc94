"""A mover is killed at a step of a move of a tenant that has rows in every table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.killed_movers import EAST, MOMENTS, check_killed
from tests.runtime.test_moving import nothing_in_the_background
from tests.runtime.test_shards_on_cloudflare import add_shard
from tests.support.backends import Backend, running_on
from tests.support.probes import PROBES
from tests.support.service import serving

__all__ = ["nothing_in_the_background"]


@pytest.fixture(
    params=[
        pytest.param("embedded", marks=pytest.mark.long),
        pytest.param("cloudflare", marks=[pytest.mark.cloudflare, pytest.mark.thorough]),
    ]
)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with running_on(request.param) as backend:
        yield backend


@pytest.mark.usefixtures("nothing_in_the_background")
async def test_no_row_is_lost_or_doubled_where_a_mover_is_killed(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        await service.store("the launch code", tenant="owner", agent_id="keeper")
        for probe in PROBES.values():
            await probe(service, "owner", "keeper")
    await add_shard(backend, tmp_path, EAST)
    async with serving(tmp_path, on=backend) as service:
        for step, after in MOMENTS:
            await check_killed(service, "owner", "keeper", step, after=after)
