"""The command that makes the files of the embedded default smaller."""

import click

from app.bootstrap import vacuum_files
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings
from app.settings import load_settings

_ON_CLOUDFLARE = "D1 gives room back by itself: there is nothing to do."


@click.command()
@administers("vacuum", unless=lambda _: load_settings().on_cloudflare)
@prints_answer
async def vacuum() -> CommandAnswer:
    """Give the room that deletions have left back to the disk.

    The file of each shard is written anew, which needs as much free room as up to three times its data. No other
    process may have it open: stop the service first. On Cloudflare there is nothing to do.
    """
    settings = quiet_settings()
    if settings.on_cloudflare:
        return CommandAnswer({"files": []}, _ON_CLOUDFLARE)
    done = await vacuum_files(settings)
    files = [{"shard": name, "before": made.before, "after": made.after} for name, made in done.items()]
    lines = [
        f"{name}: {made.before / 1e6:.1f} MB before, {made.after / 1e6:.1f} MB now." for name, made in done.items()
    ]
    return CommandAnswer({"files": files}, "\n".join(lines))
