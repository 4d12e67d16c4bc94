"""Gives operators' commands a prepared runtime without its background work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig
from app.indexing.jobs.findings import Progress
from app.indexing.jobs.parity import ParitySide
from app.indexing.jobs.rebuild_words import limited, rebuild_words
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.jobs.reconcile_blobs import ReconcileBlobs
from app.indexing.jobs.reembed import Reembedding
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database
from app.runtime.runtime import Runtime

UNMETERED = 1e9
"""The limit of calls per minute where no service is called: in effect none."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A shard's runtime that is ready, the limiter of its calls, and the databases of all shards."""

    runtime: Runtime
    rate_limiter: RateLimiter
    databases: Sequence[Database] = ()

    @property
    def shard(self) -> str:
        """The name of the shard."""
        return self.runtime.backends.shard

    @property
    def reembedding(self) -> Reembedding:
        """Return the steps that move the data to another embedding config."""
        return Reembedding(self.runtime.backends.database, self.rate_limiter)

    def comparison(self, config: EmbeddingConfig, *, repair: bool, report: Callable[[Progress], None]) -> Reconcile:
        """Return a comparison of a config's index with the database.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with the config.
        """
        side = self.side(config)
        return Reconcile(
            self.runtime.backends.database,
            side.index,
            side.embedder,
            holder=self.runtime.name,
            rate_limiter=self.rate_limiter,
            repair=repair,
            report=report,
        )

    async def rebuild_words(self) -> None:
        """Make the shard's index of words again from its memories."""
        await rebuild_words(limited(self.runtime.backends.database, self.rate_limiter), anew=True)

    def blobs(self, *, repair: bool) -> ReconcileBlobs:
        """Return a comparison of the object store, which all shards share, with the rows of blobs in all of them."""
        objects = self.runtime.backends.objects
        databases = self.databases or [self.runtime.backends.database]
        return ReconcileBlobs(databases, objects, rate_limiter=self.rate_limiter, repair=repair)

    def side(self, config: EmbeddingConfig) -> ParitySide:
        """Return the index and the embedder of a config; raises as ``comparison`` does."""
        backends = self.runtime.backends
        return ParitySide(backends.index_of(config), backends.embedder_of(config))
