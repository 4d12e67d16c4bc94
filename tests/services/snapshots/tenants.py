"""What tenants have, and what of it snapshots bring back."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.snapshots.keeping import SnapshotKeeper
from app.services.snapshots.manifest import SnapshotManifest
from app.services.snapshots.reading import Snapshots
from app.services.transfer.report import ImportReport
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.objects import keys
from tests.support.tables import rows_of

LATE_MS = 400_000
"""After so long no object is on its way any more."""


async def fill(bench: Bench, tenant: str = "acme", agents: Sequence[str] = ("bot", "other")) -> None:
    for agent in agents:
        for n in range(6):
            await bench.tenant(tenant).store(agent, NewMemory(f"{agent} of {tenant} likes number {n}", {"n": n}))
    await bench.delivered()


def keeper(bench: Bench, tenant: str = "acme") -> SnapshotKeeper:
    return SnapshotKeeper(bench.backends.of_tenant(tenant))


def snapshots(bench: Bench, tenant: str = "acme") -> Snapshots:
    return Snapshots(bench.backends.of_tenant(tenant))


async def whole(bench: Bench, tenant: str = "acme") -> list[SnapshotManifest]:
    """The manifests of all snapshots, of which none is damaged."""
    listed = await snapshots(bench, tenant).list()
    manifests = [each for each in listed if isinstance(each, SnapshotManifest)]
    assert len(manifests) == len(listed)
    return manifests


async def objects_of(bench: Bench, tenant: str = "acme") -> list[str]:
    return await keys(bench.backends.objects, f"s/{tenant}")


async def known(bench: Bench) -> list[tuple[object, object]]:
    """The rows of snapshots: tenant and state."""
    rows = await rows_of(bench, "snapshot", "tenant_id", "state", by="tenant_id, id")
    return [(row["tenant_id"], row["state"]) for row in rows]


def grow_old(bench: Bench, milliseconds: int = LATE_MS) -> None:
    bench.later(milliseconds / 1000)


async def restored(bench: Bench, manifest: SnapshotManifest, target: str) -> dict[str, Any]:
    to = bench.backends.of_tenant(target, replace(ADMINISTRATOR, channel="import"))
    with closing(ImportReport()) as report:
        await snapshots(bench, manifest.tenant).restore(manifest, to, report)
        return dict(report.summary)


async def recalled(bench: Bench, tenant: str, agent: str, query: str) -> list[str]:
    entries = (await bench.tenant(tenant).recall(agent, Query(query, top_k=6))).entries
    return [entry.content for entry in entries]
