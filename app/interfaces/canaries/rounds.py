"""Makes the rounds of the prober: plants what is missing, asks, counts, and tells of what was found."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import sample

import httpx
import structlog
from fastapi import FastAPI

from app.domain.canaries import PROBE_TENANT, Canary
from app.domain.errors import Conflict
from app.interfaces.canaries.planting import CanaryPlanter
from app.interfaces.canaries.prober import Prober, ProbeReport
from app.interfaces.canaries.scopes import ProbeClient
from app.runtime.canaries import hold_rounds, read_canaries
from app.runtime.periodic import PeriodicWork
from app.runtime.shards import Shards

_BASE_URL = "http://localhost"
"""The address by which the application is asked in this process; every service answers to this name."""
_SECONDS = 60.0
"""Seconds that a request over the network may take."""
_MOST_PLANTED = 100
"""Tenants in which a periodic round plants a canary."""
_PLANTED_AGAIN = 10
"""Tenants, in an order of chance, in which it plants what has expired: keys of working memory live for a day."""
_PAUSE_SECONDS = 0.2
"""The pause between two probes of a periodic round, which leaves the processor and the calls to requests."""


class CanaryRounds:
    """The canaries of all tenants, planted, asked for and removed through the service's entry points."""

    def __init__(self, shards: Shards, client: httpx.AsyncClient) -> None:
        """Take the shards, which know the tenants, and a client of the service."""
        self._shards = shards
        self._client = client

    async def plant(
        self, *, most: int | None = None, ready: Callable[[], bool] = lambda: True
    ) -> tuple[int, list[str]]:
        """Plant a canary in each tenant that has memories; return how many have one, and why the others have none.

        With ``most``, so many at most of those that are missing are planted, and few of those that are there again.

        Raises:
            Unavailable: a database does not answer.
        """
        held = await self._held()
        missing = [tenant for tenant, canary in held.items() if canary is None]
        there = [tenant for tenant in held if tenant not in missing]
        again = there if most is None else sample(there, min(len(there), _PLANTED_AGAIN))
        wanted = [*missing[:most], *again]
        planter, planted, failures = CanaryPlanter(self._probe_client()), 0, []
        for tenant_id in wanted:
            if not ready():
                break
            try:
                await planter.plant(tenant_id, held[tenant_id])
                planted += 1
            except (Conflict, httpx.HTTPError) as error:
                failures.append(error.detail if isinstance(error, Conflict) else f"{tenant_id}: {error!r}")
        if wanted:
            structlog.get_logger().info("canaries_planted", tenants=planted)
        return planted, failures

    async def probe(
        self, most_probes: int, *, pause: float = 0.0, ready: Callable[[], bool] = lambda: True
    ) -> ProbeReport:
        """Make a round, and count it.

        Raises:
            Conflict: there is no canary to look for.
            Unavailable: a database does not answer.
        """
        canaries = {tenant: canary for tenant, canary in (await self._held()).items() if canary is not None}
        prober = Prober(self._probe_client(), canaries, most_probes=most_probes, pause=pause, ready=ready)
        report = await prober.run()
        metrics = self._shards.main.metrics.canaries
        metrics.round(report.probes, len(report.leaks), len(report.unanswered))
        if report.passed:
            metrics.passed()
        tell = structlog.get_logger().info if report.passed else structlog.get_logger().error
        tell(
            "canaries_probed",
            probes=report.probes,
            tenants=report.tenants,
            leaks=len(report.leaks),
            unanswered=report.unanswered[:3],
            blind=report.blind[:3],
        )
        return report

    async def remove(self) -> tuple[int, list[str]]:
        """Erase all canaries; return how many, and why others are still there.

        Raises:
            Unavailable: a database does not answer.
        """
        planter, removed, failures = CanaryPlanter(self._probe_client()), 0, []
        for tenant_id, canary in (await self._held()).items():
            if canary is None:
                continue
            try:
                await planter.remove(tenant_id)
                removed += 1
            except (Conflict, httpx.HTTPError) as error:
                failures.append(error.detail if isinstance(error, Conflict) else f"{tenant_id}: {error!r}")
        return removed, failures

    async def _held(self) -> Mapping[str, Canary | None]:
        return {PROBE_TENANT: None, **await read_canaries(self._shards)}

    def _probe_client(self) -> ProbeClient:
        main = self._shards.main
        return ProbeClient(self._client, main.credentials, main.backends.clock())


@asynccontextmanager
async def client_of(app: FastAPI | None, url: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of the application in this process, which runs, or of a service at an address."""
    transport = None if app is None or url is not None else httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=url or _BASE_URL, timeout=_SECONDS) as client:
        yield client


async def keep_probing(app: FastAPI, shards: Shards, *, minutes: float, most_probes: int) -> None:
    """Plant what is missing and make a round every so many minutes, in one process of all, until cancelled."""
    calls = shards.main.backends.calls

    def ready() -> bool:
        return shards.main.not_ready is None and not (calls is not None and calls.low())

    async with client_of(app) as client:
        rounds = CanaryRounds(shards, client)

        async def once() -> None:
            if not await hold_rounds(shards, 1.5 * minutes * 60):
                return
            _, failures = await rounds.plant(most=_MOST_PLANTED, ready=ready)
            for failure in failures[:3]:
                structlog.get_logger().warning("canary_not_planted", reason=failure)
            loop = asyncio.get_running_loop()
            ends = loop.time() + minutes * 60
            await rounds.probe(most_probes, pause=_PAUSE_SECONDS, ready=lambda: ready() and loop.time() < ends)

        await PeriodicWork("canaries", once, "canaries_wait", minutes * 60, ready).run()
