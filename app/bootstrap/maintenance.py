"""Opens the runtimes of all shards for commands that maintain them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from app.bootstrap.service import build_shards
from app.domain.shards import MAIN
from app.indexing.rate_limiter import RateLimiter
from app.runtime.maintenance import UNMETERED, Maintenance
from app.settings import Settings


@asynccontextmanager
async def open_maintenance(settings: Settings, calls_per_minute: float) -> AsyncIterator[Sequence[Maintenance]]:
    """Prepare the runtime of every shard for maintenance, without background work, and close them in the end.

    Raises:
        ShardUnavailable: a shard is missing or cannot be used: rows that cannot be read must not be taken for gone.
        ConfigurationError: a setting is missing.
        Unavailable: the data cannot be reached, or was embedded with a config that cannot be served.
    """
    shards = build_shards(settings, command=True)
    rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
    try:
        await shards.prepare()
        every = [shards.named(name) for name in (MAIN, *(shard.name for shard in shards.places.shards))]
        databases = [runtime.backends.database for runtime in every]
        yield [Maintenance(runtime, rate_limiter, databases) for runtime in every]
    finally:
        await shards.close()
