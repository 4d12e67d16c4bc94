"""The command that backs up the embedded default."""

from pathlib import Path

import click

from app.bootstrap import back_up_files
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings
from app.settings import load_settings

_ON_CLOUDFLARE = (
    "The database is D1's, which keeps its own history (Time Travel): snapshots are made in the object store."
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@administers("backup", unless=lambda _: load_settings().on_cloudflare)
@prints_answer
async def backup(folder: Path) -> CommandAnswer:
    """Copy the data of the embedded default into the new FOLDER.

    The service may run meanwhile. Each database is copied as it was at one moment, and checked; then the secret that
    signs credentials, and the blobs. To restore, stop the service and put the folder in the place of DATA_DIR. On
    Cloudflare there is nothing to do.
    """
    settings = quiet_settings()
    if settings.on_cloudflare:
        return CommandAnswer({"files": []}, _ON_CLOUDFLARE)
    done = await back_up_files(settings, folder)
    files = [{"name": name, "bytes": size} for name, size in done.items()]
    lines = [f"{name}: {size / 1e6:.1f} MB" for name, size in done.items()]
    return CommandAnswer({"files": files}, "\n".join([*lines, f"The backup is in {folder}."]))
