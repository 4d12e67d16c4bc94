"""Opens databases without a service, for commands that need no index and no embedder."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from app.adapters.breaker import Breakers
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.local.sqlite_database import SqliteDatabase
from app.bootstrap.account import Close, open_account, open_short_command, process_name, shard_database_id
from app.bootstrap.files import DATABASE_FILE, open_file
from app.bootstrap.unusable import UnusableDatabase
from app.domain.acts import DEPLOYMENT
from app.domain.errors import ConfigurationError, DatabaseRejected, ShardUnavailable, Unavailable
from app.domain.shards import MAIN, Place, Shard
from app.observability.metrics import Metrics
from app.ports.database import Database, Statement
from app.services.access.acting import RunStatements
from app.settings import Settings
from app.storage.migrations.runner import check_current
from app.storage.presence import Presence
from app.storage.scoped import TenantDatabase
from app.storage.system import directory

_HAS_ACTS = Statement.read("SELECT name FROM sqlite_master WHERE name = 'administrative_act'")


async def open_database(settings: Settings) -> tuple[Database, Close]:
    """Open the database of the settings alone; the second value closes it.

    No share of Cloudflare's calls is leased, since the database's schema may not exist yet.

    Raises:
        ConfigurationError: a setting is missing.
        Unavailable: it cannot be found out which API answers at CLOUDFLARE_API_BASE_URL.
    """
    async with AsyncExitStack() as opened:
        opens = await _databases(settings, opened)
        return opens(None), opened.pop_all().aclose


@asynccontextmanager
async def open_databases(
    settings: Settings, *, leased: bool = False, migrated: bool = True
) -> AsyncIterator[Mapping[str, Database]]:
    """Open the database of every shard that the directory names, by the shards' names, and close them in the end.

    The database of a shard that cannot be opened, or is not ``migrated``, raises ``ShardUnavailable`` when it is used.

    ``leased``: for work of many calls, a share of Cloudflare's calls is leased in the first database.
    ``migrated``: each database has to have the schema of this version.

    Raises:
        SchemaTooOld: the first database lacks migrations.
        SchemaTooNew: the first database has migrations beside which this version cannot run.
        ConfigurationError: a setting is missing; or a share is to be leased, and the first database has no table of
            shares yet.
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        opens = await _databases(settings, opened, leased=leased)
        main = opens(None)
        if migrated:
            await check_current(main)
        yield {MAIN: main} | {
            shard.name: await _usable(opens, shard, migrated=migrated) for shard in await _shards_of(main)
        }


async def read_shards(settings: Settings) -> Sequence[Shard]:
    """Return the shards beside the first, as the directory names them.

    Raises:
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        opens = await _databases(settings, opened)
        return await _shards_of(opens(None))


async def open_tenant_database(settings: Settings, tenant_id: str) -> tuple[Database, Close]:
    """Open the database of the shard where a tenant lives; the second value closes it.

    Raises:
        ConfigurationError: a setting or the shard's file is missing.
        SchemaTooOld: the database lacks migrations.
        SchemaTooNew: the database has migrations beside which this version cannot run.
        ShardUnavailable: the directory does not name the shard.
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        opens = await _databases(settings, opened)
        main = opens(None)
        shard = await _shard_of_tenant(main, tenant_id)
        database = main if shard is None else opens(shard)
        await check_current(database)
        return database, opened.pop_all().aclose


@asynccontextmanager
async def open_for_act(settings: Settings, tenant_id: str) -> AsyncIterator[RunStatements | None]:
    """Open the database that keeps a tenant's acts, or with ``DEPLOYMENT`` those of all, for a row of a command.

    None where there is no database yet, or its schema is from before acts had rows: then the row can only be written
    once the command has made it.

    Raises:
        ConfigurationError: a setting or the shard's file is missing.
        ShardUnavailable: the directory does not name the shard.
        Unavailable: a database does not answer.
    """
    made = settings.cloudflare_d1_database_id if settings.on_cloudflare else _file_size(settings)
    if not made:
        yield None
        return
    async with AsyncExitStack() as opened:
        opens = await _databases(settings, opened)
        main = opens(None)
        shards = await _shards_of(main)
        shard = None if tenant_id == DEPLOYMENT else await _shard_of_tenant(main, tenant_id)
        database = main if shard is None else opens(shard)
        (there,) = await database.run([_HAS_ACTS])
        yield TenantDatabase(tenant_id, database, presence=Presence(bool(shards))).run if there else None


def _file_size(settings: Settings) -> int:
    path = settings.data_dir / DATABASE_FILE
    return path.stat().st_size if path.exists() else 0


async def _databases(
    settings: Settings, opened: AsyncExitStack, *, leased: bool = False
) -> Callable[[Shard | None], Database]:
    """Return the function that opens the database of a shard or, for None, of the settings; ``opened`` closes them.

    ``leased``: a share of Cloudflare's calls is leased, for a command that may make many calls.
    """
    if settings.on_cloudflare:
        client = await (_with_share(settings, opened) if leased else _without_share(settings, opened))
        return lambda shard: D1Database(client, shard_database_id(settings, shard))

    def open_local(shard: Shard | None) -> SqliteDatabase:
        file = open_file(settings, shard)
        opened.push_async_callback(file.close)
        return SqliteDatabase(file)

    return open_local


async def _usable(opens: Callable[[Shard | None], Database], shard: Shard, *, migrated: bool) -> Database:
    try:
        database = opens(shard)
        if migrated:
            await check_current(database)
    except (ConfigurationError, Unavailable) as error:
        return UnusableDatabase(shard.name, error.detail)
    return database


async def _with_share(settings: Settings, opened: AsyncExitStack) -> CloudflareClient:
    metrics = Metrics()
    account = open_account(settings, metrics, process_name(), Breakers(metrics), command=True)
    opened.push_async_callback(account.client.close)
    opened.push_async_callback(account.shares.end)
    try:
        await account.shares.begin()
    except DatabaseRejected as error:
        raise ConfigurationError(
            "The database's schema is older than this version. Run: memory-gateway migrate"
        ) from error
    return account.client


async def _without_share(settings: Settings, opened: AsyncExitStack) -> CloudflareClient:
    client = open_short_command(settings, Metrics())
    opened.push_async_callback(client.close)
    await client.discover()
    return client


async def _shard_of_tenant(main: Database, tenant_id: str) -> Shard | None:
    """Return the shard where a tenant lives; None where it lives in the database of the settings."""
    shards = await _shards_of(main)
    (rows,) = await main.run([directory.read_place(tenant_id)]) if shards else ([],)
    place = directory.read_places(rows) or Place()
    if place.shard == MAIN:
        return None
    named = next((shard for shard in shards if shard.name == place.shard), None)
    if named is None:
        raise ShardUnavailable(f"The shard {place.shard}, where the tenant lives, is not in the directory.")
    return named


async def _shards_of(main: Database) -> Sequence[Shard]:
    """Read the shards. A database that has no table of shards yet has none, so that ``migrate`` can open it."""
    (made,) = await main.run([Statement("SELECT name FROM sqlite_master WHERE name = 'shards'")])
    if not made:
        return ()
    (rows,) = await main.run([directory.READ_SHARDS])
    return directory.read_shards(rows)
