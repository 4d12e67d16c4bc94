"""A service renews its share of the calls when calls wait for it, and goes on after a renewal that failed."""

import asyncio

import pytest

from app.adapters.cloudflare.call_budget import UNLEASED, CallBudget
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.domain.errors import DatabaseUnavailable, RateLimited
from app.runtime.call_shares import LEASE, CallShares
from app.storage.system.call_shares import CallLimits
from tests.simulation.call_budget import Directory

LIMIT = 400


class Renewing:
    """A service whose pauses end when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.directory = Directory(self.clock)
        self.budget = CallBudget(LIMIT, clock=self.clock, unleased=UNLEASED)
        self.tenants = TenantCalls(self.budget, clock=self.clock)
        self.pauses: list[asyncio.Event] = []
        self.shares = CallShares(
            self.directory, self.budget, replica="r0", limits=CallLimits(LIMIT), clock=self.clock, sleep=self._sleep
        )

    def clock(self) -> float:
        return self.now

    async def _sleep(self, _: float) -> None:
        self.pauses.append(asyncio.Event())
        await self.pauses[-1].wait()

    async def end_the_pause(self) -> None:
        await asyncio.sleep(0)
        self.pauses[-1].set()
        for _ in range(10):
            await asyncio.sleep(0)

    async def call(self) -> None:
        await self.budget.admit()
        self.budget.take()


async def test_calls_at_once_wait_for_renewals_and_are_all_made() -> None:
    service = Renewing()
    await service.shares.begin()
    async with asyncio.timeout(5):
        await asyncio.gather(*(service.call() for _ in range(150)))
    assert len(service.pauses) <= 150 / 7 + 2, "a renewal serves as many calls as it allows"
    await service.shares.end()


async def test_no_share_is_leased_where_the_start_finds_that_no_calls_are_counted() -> None:
    directory, budget = Directory(lambda: 0.0), CallBudget(LIMIT, unleased=0)

    async def discover() -> None:
        budget.stop_counting()

    shares = CallShares(directory, budget, replica="r0", limits=CallLimits(LIMIT), discover=discover)
    await shares.begin()
    assert directory.shares() == {}
    await shares.end()


async def test_where_a_renewal_fails_calls_fail_with_it_until_one_succeeds() -> None:
    service = Renewing()
    await service.shares.begin()
    service.directory.loses = {"r0"}
    refused = 0
    for _ in range(LIMIT):
        try:
            await service.call()
        except DatabaseUnavailable:
            refused += 1
    assert LIMIT - 20 <= refused < LIMIT
    service.directory.loses = set()
    await service.end_the_pause()
    async with asyncio.timeout(5):
        await service.call()
    await service.shares.end()


async def test_where_the_database_is_away_for_longer_than_a_lease_requests_are_told_so_until_it_is_back() -> None:
    service = Renewing()
    await service.shares.begin()
    async with asyncio.timeout(5):
        for _ in range(LIMIT // 2):
            await service.call()
    service.directory.loses = {"r0"}
    service.now += LEASE * service.budget.window
    for _ in range(3):
        service.tenants.admit("acme")
        with pytest.raises(DatabaseUnavailable):
            await service.call()
    service.directory.loses = set()
    await service.end_the_pause()
    service.tenants.admit("acme")
    async with asyncio.timeout(5):
        await service.call()
    assert service.budget.left() > LIMIT // 4
    await service.shares.end()


async def test_a_call_that_waits_when_the_service_ends_is_refused() -> None:
    service = Renewing()
    await service.shares.begin()
    await service.shares.end()
    with pytest.raises(RateLimited):
        await service.call()
