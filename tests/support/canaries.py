"""Canaries in the service of a test: planted, and asked for through its entry points."""

from collections.abc import Sequence

from app.domain.canaries import PROBE_TENANT, Canary
from app.interfaces.canaries.prober import ProbeReport
from app.interfaces.canaries.rounds import CanaryRounds
from app.runtime.canaries import read_canaries
from tests.support.service import Service

TENANTS = ("acme", "globex")


async def planted(service: Service, tenants: Sequence[str] = TENANTS) -> dict[str, Canary]:
    """Plant a canary in tenants that have a memory, and in the service's own; return them by tenant."""
    for tenant in tenants:
        await service.store("a red fox", tenant=tenant)
    planted, failures = await CanaryRounds(service.shards, service.client).plant()
    assert (planted, failures) == (len(tenants) + 1, []), failures
    found = {tenant: canary for tenant, canary in (await read_canaries(service.shards)).items() if canary is not None}
    assert set(found) == {*tenants, PROBE_TENANT}
    return found


async def probed(service: Service, most_probes: int = 100_000) -> ProbeReport:
    """Make a round of the prober."""
    return await CanaryRounds(service.shards, service.client).probe(most_probes)
