"""The commands for snapshots: ``list``, ``make``, ``verify`` and ``restore``."""

from contextlib import closing
from dataclasses import asdict
from typing import Any

import click

from app.domain.author import Author
from app.domain.errors import ObjectGone
from app.domain.moments import format_moment
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    CommandAnswer,
    Id,
    indexing,
    on_tenant,
    prints_answer,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.transfer import PATIENCE_SECONDS, imported
from app.runtime.runtime import Runtime
from app.services.snapshots.manifest import SnapshotManifest
from app.services.snapshots.reading import Snapshots
from app.services.snapshots.writing import SnapshotWriter
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget


@click.group(cls=CommandGroup)
def snapshot() -> None:
    """List, make, verify and restore snapshots of a tenant.

    They are exports in the object store. SNAPSHOTS_KEPT has the service make one of each tenant every night.
    """


@snapshot.command("list")
@tenant_option
@on_tenant
async def list_snapshots(runtime: Runtime, tenant: str) -> CommandAnswer:
    """Show a tenant's snapshots, newest first.

    The object store alone is asked for them, not the database. A damaged one is named, and the exit code is 1.
    """
    found = await Snapshots(runtime.backends.of_tenant(tenant)).list()
    manifests = [snapshot for snapshot in found if isinstance(snapshot, SnapshotManifest)]
    damaged = [gone.detail for gone in found if isinstance(gone, ObjectGone)]
    lines = "\n".join(map(_line, manifests)) or "There is no snapshot."
    return CommandAnswer(
        {"snapshots": [_fields(manifest) for manifest in manifests]}, lines, notes=damaged, failed=bool(damaged)
    )


@snapshot.command()
@tenant_option
@administers("snapshot.make")
@on_tenant
async def make(runtime: Runtime, tenant: str) -> CommandAnswer:
    """Make a snapshot of a tenant now.

    None is deleted for it: that is done at night.
    """
    manifest = await SnapshotWriter(runtime.backends.of_tenant(tenant)).write()
    return CommandAnswer(_fields(manifest), _line(manifest))


@snapshot.command()
@click.argument("snapshot_id")
@tenant_option
@on_tenant
async def verify(runtime: Runtime, snapshot_id: str, tenant: str) -> CommandAnswer:
    """Check that the snapshot SNAPSHOT_ID is whole and unchanged.

    Each part is read and compared with its hash, and then line by line as of an exported file.
    """
    snapshots = Snapshots(runtime.backends.of_tenant(tenant))
    verdict = await snapshots.verify(await snapshots.manifest(snapshot_id))
    flaws = "The snapshot is whole." if not verdict.flaws else "\n".join([f"{verdict.flaws} flaws:", *verdict.examples])
    text = f"{verdict.lines} lines, {verdict.memories} memories, {verdict.rows} rows. {flaws}"
    return CommandAnswer(asdict(verdict), text, failed=bool(verdict.flaws))


@snapshot.command()
@click.argument("snapshot_id")
@tenant_option
@click.option("--to", "target", type=Id(), help="Restore into this tenant in place of the snapshot's own.")
@administers("snapshot.restore")
@prints_answer
def restore(snapshot_id: str, tenant: str, target: str | None) -> CommandAnswer:
    """Store what the snapshot SNAPSHOT_ID has, as an import does.

    All parts are checked before the first line is stored. What is there already stays as it is, and what was stored
    since is not deleted.
    """
    with closing(ImportReport()) as report:

        async def work(runtime: Runtime) -> None:
            snapshots = Snapshots(runtime.backends.of_tenant(tenant))
            manifest = await snapshots.manifest(snapshot_id)
            to = runtime.backends.of_tenant(target or tenant, Author(channel="import"))
            async with indexing(runtime):
                await snapshots.restore(manifest, to, report, retry_budget=RetryBudget(PATIENCE_SECONDS))

        run(with_runtime(work, target or tenant))
        return imported(report)


def _line(manifest: SnapshotManifest) -> str:
    made, counts = format_moment(manifest.created_at), f"{manifest.memories} memories, {manifest.rows} rows"
    lost = f", {manifest.lost} values lost" if manifest.lost else ""
    return f"{manifest.id}  {made}  {counts}, {len(manifest.parts)} parts, {manifest.bytes} bytes{lost}"


def _fields(manifest: SnapshotManifest) -> dict[str, Any]:
    fields = asdict(manifest)
    parts = fields.pop("parts")
    return fields | {"created_at": format_moment(manifest.created_at), "parts": len(parts), "bytes": manifest.bytes}
