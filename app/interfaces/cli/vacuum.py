"""The command that makes the files of the embedded default smaller."""

import click

from app.bootstrap import vacuum_files
from app.interfaces.cli.parameters import as_json_option, print_answer, quiet_settings, run

_ON_CLOUDFLARE = "D1 gives room back by itself: there is nothing to do."


@click.command()
@as_json_option
def vacuum(*, as_json: bool) -> None:
    """Give the room that deletions have left back to the disk.

    The file of each shard is written anew, which needs as much free room as up to three times its data. No other
    process may have it open: stop the service first. On Cloudflare there is nothing to do.
    """
    settings = quiet_settings()
    if settings.on_cloudflare:
        print_answer({"files": []}, _ON_CLOUDFLARE, as_json)
        return
    done = run(vacuum_files(settings))
    files = [{"shard": name, "before": made.before, "after": made.after} for name, made in done.items()]
    lines = [
        f"{name}: {made.before / 1e6:.1f} MB before, {made.after / 1e6:.1f} MB now." for name, made in done.items()
    ]
    print_answer({"files": files}, "\n".join(lines), as_json)
