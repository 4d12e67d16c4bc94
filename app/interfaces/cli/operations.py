"""Commands for operators: ``provision`` and ``doctor``."""

from dataclasses import asdict
from pathlib import Path

import click

from app.adapters.cloudflare.account import Placement
from app.bootstrap import build_provisioning, build_shards, file_rooms
from app.domain.errors import ConfigurationError, MemoryGatewayError
from app.interfaces.cli.env_file import write_settings
from app.interfaces.cli.parameters import (
    CommandAnswer,
    jurisdiction_option,
    location_option,
    poll_option,
    prints_answer,
    quiet_settings,
    run,
)
from app.observability.logs import configure_logging
from app.runtime.doctor import Check, diagnose
from app.settings import Settings, load_settings

_MUCH_FREE = 0.2
_SMALL_FILE = 4_000_000
"""Bytes: of a smaller file it does not matter how much is free."""


@click.command()
@click.option("--database", default="memory-gateway", show_default=True, help="Use the D1 database of this name.")
@location_option
@jurisdiction_option
@poll_option
@click.option("--write-env", type=click.Path(dir_okay=False, path_type=Path), help="Write the settings to this file.")
@click.option("--yes", is_flag=True, help="Do it; without this, the plan is only shown.")
def provision(
    database: str,
    location: str | None,
    jurisdiction: str | None,
    poll_seconds: float,
    write_env: Path | None,
    *,
    yes: bool,
) -> None:
    """Create what the service needs in a Cloudflare account.

    That is a database, its schema, an index and its metadata indexes. It is safe to run again.
    """
    settings = load_settings(before_env_file=True)
    configure_logging(settings.log_format, "warning" if settings.log_level == "info" else settings.log_level)
    if yes and write_env is not None:
        write_settings(write_env, {})  # what cannot be written is to be known before anything is created
    placement = Placement(location, jurisdiction)
    database_id = run(_provision(settings, database, placement, poll_seconds, yes=yes))
    if database_id is None:
        return
    kept = {"CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id or "", "CLOUDFLARE_D1_DATABASE_ID": database_id}
    lines = "\n".join(f"{name}={value}" for name, value in kept.items())
    click.echo(f"\nReady. Keep these settings:\n\n{lines}\n")
    if write_env is not None:
        write_settings(write_env, kept)


@click.command()
@prints_answer
async def doctor() -> CommandAnswer:
    """Check every part and say what to do about what fails.

    It exits with 1 where a part fails, also one of a shard, without which the service is ready for the tenants of the
    others. A warning is about what works and is yet not what most want.
    """
    settings = quiet_settings()
    checks = [_place(settings), *await _diagnose(settings)]
    lines = [f"{_mark(check)}  {check.name}: {check.finding}" for check in checks]
    failed = not all(check.ok for check in checks)
    return CommandAnswer({"checks": [asdict(check) for check in checks]}, "\n".join(lines), failed=failed)


def _mark(check: Check) -> str:
    return "FAIL" if not check.ok else "warn" if check.warning else "ok  "


def _place(settings: Settings) -> Check:
    """Say where the memories are."""
    if settings.on_cloudflare:
        return Check("D1 database", ok=True, finding=settings.cloudflare_d1_database_id or "not set")
    folder = settings.data_dir.resolve()
    if folder.exists() and not folder.is_dir():
        return Check("data folder", ok=False, finding=f"{folder} is not a directory. Set DATA_DIR to another.")
    return Check("data folder", ok=True, finding=str(folder))


async def _provision(
    settings: Settings, database: str, placement: Placement, poll_seconds: float, *, yes: bool
) -> str | None:
    """Show the plan, apply it with ``yes``, and return the database's id once everything exists."""
    provisioning, close = build_provisioning(settings, database, placement, poll_seconds=poll_seconds)
    try:
        plan = await provisioning.plan()
        click.echo("\n".join(f"- {step}" for step in plan.steps) or "Everything is there.")
        if plan.steps and not yes:
            click.echo("\nNothing was changed. Run again with --yes to do this.")
            return None
        return await provisioning.apply(plan, lambda line: click.echo(f"... {line}"))
    finally:
        await close()


async def _rooms(settings: Settings) -> list[Check]:
    """Warn of files of which much is free: SQLite uses that again, and gives none of it back."""
    rooms = {} if settings.on_cloudflare else await file_rooms(settings)
    return [
        Check(
            "file" if len(rooms) == 1 else f"file of shard {name}",
            ok=True,
            finding=f"{room.share:.0%} of its {room.size / 1e6:.1f} MB is free. To give it back to the disk, stop the "
            "service and run: memory-gateway vacuum",
            warning=True,
        )
        for name, room in rooms.items()
        if room.share >= _MUCH_FREE and room.size > _SMALL_FILE
    ]


async def _diagnose(settings: Settings) -> list[Check]:
    try:
        shards = build_shards(settings, command=True)
    except ConfigurationError as error:
        return [Check("settings", ok=False, finding=error.detail)]
    try:
        await shards.start()
        return [*await diagnose(shards.main, await shards.parts()), *await _rooms(settings)]
    except MemoryGatewayError as error:
        return [Check("data", ok=False, finding=error.detail)]
    finally:
        await shards.close()
