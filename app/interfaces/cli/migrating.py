"""The command that prepares the data."""

import click

from app.bootstrap import open_database, open_databases
from app.domain.shards import MAIN
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings
from app.settings import Settings
from app.storage.migrations.runner import migrate as apply_migrations


@click.command()
@administers("migrate")
@prints_answer
async def migrate() -> CommandAnswer:
    """Bring the database's schema up to date."""
    applied = await _migrate(quiet_settings())
    return CommandAnswer({"applied": applied}, "\n".join(f"applied {name}" for name in applied) or "nothing to apply")


async def _migrate(settings: Settings) -> list[str]:
    """Migrate the first shard, whose database says which others there are, and then those."""
    database, close = await open_database(settings)
    try:
        applied = await apply_migrations(database)
    finally:
        await close()
    async with open_databases(settings, migrated=False) as databases:
        for shard, other in databases.items():
            if shard != MAIN:
                applied += [f"{name} (shard {shard})" for name in await apply_migrations(other)]
    return applied
