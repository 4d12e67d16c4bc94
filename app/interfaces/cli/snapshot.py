"""The commands for snapshots: ``list``, ``make``, ``verify`` and ``restore``."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any

import click

from app.domain.author import Author
from app.domain.errors import ObjectGone
from app.domain.moments import format_moment
from app.interfaces.cli.parameters import Id, as_json_option, print_answer, run, tenant_option, with_runtime
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.transfer import show_imported
from app.runtime.runtime import Runtime
from app.services.snapshots.manifest import SnapshotManifest
from app.services.snapshots.reading import Snapshots
from app.services.snapshots.writing import SnapshotWriter
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.services.transfer.verify import ExportVerdict

_PATIENCE_SECONDS = 3600.0


@click.group(cls=CommandGroup)
def snapshot() -> None:
    """List, make, verify and restore snapshots of a tenant.

    They are exports in the object store. SNAPSHOTS_KEPT has the service make one of each tenant every night.
    """


@snapshot.command("list")
@tenant_option
@as_json_option
def list_snapshots(tenant: str, *, as_json: bool) -> None:
    """Show a tenant's snapshots, newest first.

    The object store alone is asked for them, not the database. A damaged one is named, and the exit code is 1.
    """

    async def work(runtime: Runtime) -> Sequence[SnapshotManifest | ObjectGone]:
        return await Snapshots(runtime.backends.of_tenant(tenant)).list()

    there = run(with_runtime(work, tenant))
    manifests = [each for each in there if isinstance(each, SnapshotManifest)]
    damaged = [each.detail for each in there if isinstance(each, ObjectGone)]
    lines = "\n".join(map(_line, manifests)) or "There is no snapshot."
    print_answer({"snapshots": [_fields(each) for each in manifests]}, lines, as_json)
    for detail in damaged:
        click.echo(detail, err=True)
    if damaged:
        sys.exit(1)


@snapshot.command()
@tenant_option
@as_json_option
def make(tenant: str, *, as_json: bool) -> None:
    """Make a snapshot of a tenant now.

    None is deleted for it: that is done at night.
    """

    async def work(runtime: Runtime) -> SnapshotManifest:
        return await SnapshotWriter(runtime.backends.of_tenant(tenant)).write()

    manifest = run(with_runtime(work, tenant))
    print_answer(_fields(manifest), _line(manifest), as_json)


@snapshot.command()
@click.argument("snapshot_id")
@tenant_option
@as_json_option
def verify(snapshot_id: str, tenant: str, *, as_json: bool) -> None:
    """Check that the snapshot SNAPSHOT_ID is whole and unchanged.

    Each part is read and compared with its hash, and then line by line as of an exported file.
    """

    async def work(runtime: Runtime) -> ExportVerdict:
        snapshots = Snapshots(runtime.backends.of_tenant(tenant))
        return await snapshots.verify(await snapshots.manifest(snapshot_id))

    verdict = run(with_runtime(work, tenant))
    flaws = "The snapshot is whole." if not verdict.flaws else "\n".join([f"{verdict.flaws} flaws:", *verdict.examples])
    said = f"{verdict.lines} lines, {verdict.memories} memories, {verdict.rows} rows. {flaws}"
    print_answer(asdict(verdict), said, as_json)
    if verdict.flaws:
        sys.exit(1)


@snapshot.command()
@click.argument("snapshot_id")
@tenant_option
@click.option("--to", "target", type=Id(), help="Restore into this tenant in place of the snapshot's own.")
@as_json_option
def restore(snapshot_id: str, tenant: str, target: str | None, *, as_json: bool) -> None:
    """Store what the snapshot SNAPSHOT_ID has, as an import does.

    All parts are checked before the first line is stored. What is there already stays as it is, and what was stored
    since is not deleted.
    """
    with closing(ImportReport()) as report:

        async def work(runtime: Runtime) -> None:
            snapshots = Snapshots(runtime.backends.of_tenant(tenant))
            manifest = await snapshots.manifest(snapshot_id)
            to = runtime.backends.of_tenant(target or tenant, Author(channel="import"))
            retry_budget = RetryBudget(_PATIENCE_SECONDS)
            indexing = asyncio.create_task(runtime.indexer.run(runtime.pace.indexer_seconds))
            try:
                await snapshots.restore(manifest, to, report, retry_budget=retry_budget)
            finally:
                indexing.cancel()
                with suppress(asyncio.CancelledError):
                    await indexing

        run(with_runtime(work, target or tenant))
        show_imported(report, as_json=as_json)


def _line(manifest: SnapshotManifest) -> str:
    made, counts = format_moment(manifest.created_at), f"{manifest.memories} memories, {manifest.rows} rows"
    return f"{manifest.id}  {made}  {counts}, {len(manifest.parts)} parts, {manifest.bytes} bytes"


def _fields(manifest: SnapshotManifest) -> dict[str, Any]:
    fields = asdict(manifest)
    parts = fields.pop("parts")
    return fields | {"created_at": format_moment(manifest.created_at), "parts": len(parts), "bytes": manifest.bytes}
