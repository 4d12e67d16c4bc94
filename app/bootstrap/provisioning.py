"""Creates the account's databases and indexes, and shards."""

from collections.abc import Callable
from typing import Final

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.provisioning import Provisioning, ProvisioningPlan
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.bootstrap.account import Close, open_short_command
from app.bootstrap.files import shard_file
from app.bootstrap.models import build_embedder
from app.domain.errors import ConfigurationError, DatabaseUnavailable
from app.domain.shards import Shard
from app.observability.metrics import Metrics
from app.settings import Settings
from app.storage.migrations.runner import migrate
from app.storage.system.new_shard import check_unused

ANYWHERE: Final = Placement()
"""No region and no jurisdiction: Cloudflare puts the database near the place from which it is created."""


def build_provisioning(
    settings: Settings,
    database_name: str,
    placement: Placement,
    *,
    poll_seconds: float,
    shard: Shard | None = None,
    neighbour_database_id: str | None = None,
) -> tuple[Provisioning, Close]:
    """Make the provisioning of the account's database and index, or of a shard's; the second value closes it.

    The jurisdiction of the neighbour database, where it has one, binds the new database too.

    Raises:
        ConfigurationError: a setting is missing.
    """
    metrics = Metrics()
    nothing_there = shard is None and settings.cloudflare_d1_database_id is None
    client = open_short_command(settings, metrics, first=nothing_there)
    embedder = build_embedder(settings, client, metrics)

    async def close() -> None:
        await embedder.close()
        await client.close()

    wanted = ProvisioningPlan(
        database_name=database_name,
        database_id=settings.cloudflare_d1_database_id if shard is None else shard.database_id,
        placement=placement,
        config=embedder.config,
        filterable=settings.filterable_metadata,
        neighbour_database_id=neighbour_database_id,
    )
    name = None if shard is None else embedder.config.index_name_in(shard.name)
    index = VectorizeIndex(client, embedder.config, filterable=settings.filterable_metadata, name=name)
    provisioning = Provisioning(
        Account(client), index, wanted, open_database=lambda id_: D1Database(client, id_), poll_seconds=poll_seconds
    )
    return provisioning, close


async def make_shard(
    settings: Settings,
    name: str,
    database_id: str | None,
    report: Callable[[str], object],
    *,
    poll_seconds: float,
    placement: Placement = ANYWHERE,
) -> str | None:
    """Make a shard's database and index where they are absent, and return the database's id; None where it is a file.

    The jurisdiction of the first shard's database, where it has one, binds that of every other.

    Raises:
        Conflict: the database, or the file, is not empty.
        ConfigurationError: the settings name no account, but a database or a placement is given; the database would be
            in another jurisdiction; or a setting is missing.
        Unavailable: a service does not answer. The same call may safely be made again.
    """
    if settings.on_cloudflare:
        shard = Shard(name, database_id, 0)
        provisioning, close = build_provisioning(
            settings,
            f"memory-gateway-{name}",
            placement,
            poll_seconds=poll_seconds,
            shard=shard,
            neighbour_database_id=settings.cloudflare_d1_database_id,
        )
        try:
            return await provisioning.apply(await provisioning.plan(), report)
        finally:
            await close()
    if database_id is not None:
        raise ConfigurationError("--database-id is for shards on Cloudflare: embedded, a shard is a file.")
    if placement != ANYWHERE:
        raise ConfigurationError("--location and --jurisdiction are for shards on Cloudflare: embedded, it is a file.")
    path = shard_file(settings, name)
    file = SqliteFile(path)
    try:
        database = SqliteDatabase(file)
        await check_unused(database, f"The file {path}")
        await migrate(database)
    except DatabaseUnavailable as error:
        raise type(error)(f"{error.detail} The file is {path}.") from error
    finally:
        await file.close()
    return None
