"""Rows of administrative acts go once they are too old, oldest first, so that those that stay have no gap."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.rate_limiter import RateLimiter
from tests.support.backends import Backend
from tests.support.service import Service, serving
from tests.support.tables import column_of, set_rows

DAY = 24 * 3600


@pytest.fixture
async def service(tmp_path: Path, backend: Backend) -> AsyncIterator[Service]:
    async with serving(tmp_path, on=backend) as service:
        yield service


async def pruned(service: Service, *, act_days: int = 400) -> Pruned:
    job = Prune(
        service.runtime.backends.database,
        audit_days=400,
        episode_days=90,
        act_days=act_days,
        rate_limiter=RateLimiter(1e9),
        report=lambda _: None,
    )
    return await job.run()


async def act(service: Service, tenant: str = "acme") -> None:
    answer = await service.client.delete("/workflows/look", headers=service.credential(tenant, admin=True))
    assert answer.status_code == 204


async def numbers(service: Service, tenant: str = "acme") -> list[int]:
    return await column_of(service, "administrative_act", "number", by="number", tenant_id=tenant)


async def test_rows_of_every_tenant_go_once_they_are_too_old(service: Service) -> None:
    for tenant in ("acme", "globex", "globex"):
        await act(service, tenant)
    service.later(399 * DAY)
    await act(service)
    assert (await pruned(service)).acts == 0
    service.later(2 * DAY)
    assert (await pruned(service, act_days=500)).acts == 0
    assert (await pruned(service)).acts == 3
    assert (await numbers(service), await numbers(service, "globex")) == ([2], [])
    await act(service)
    assert await numbers(service) == [2, 3]


async def test_what_stays_has_no_gap_where_attempts_were_written_late(service: Service) -> None:
    for _ in range(4):
        await act(service)
    now = service.runtime.backends.clock()
    for number, age in ((1, 401), (2, 399), (3, 401), (4, 398)):
        await set_rows(service, "administrative_act", {"begun_at": now - age * DAY * 1000}, number=number)
    assert (await pruned(service)).acts == 1
    assert await numbers(service) == [2, 3, 4]
