"""Gives operators' commands a prepared runtime without its background work."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig
from app.indexing.jobs.parity import Side
from app.indexing.jobs.reconcile import Progress, Reconcile
from app.indexing.jobs.reconcile_blobs import ReconcileBlobs
from app.indexing.jobs.reembed import Reembedding
from app.indexing.rate_limiter import RateLimiter
from app.runtime.runtime import Runtime

UNMETERED = 1e9
"""Calls per minute where no service is called."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A runtime that is ready, and the limiter of its calls."""

    runtime: Runtime
    rate_limiter: RateLimiter

    @property
    def reembedding(self) -> Reembedding:
        """Return the steps that move the data to another embedding config."""
        return Reembedding(self.runtime.backends.database, self.rate_limiter)

    def comparison(self, config: EmbeddingConfig, *, repair: bool, report: Callable[[Progress], None]) -> Reconcile:
        """Return a comparison of a config's index with the database.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with it.
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

    def blobs(self, *, repair: bool) -> ReconcileBlobs:
        """Return a comparison of the object store with the rows of blobs."""
        backends = self.runtime.backends
        return ReconcileBlobs(backends.database, backends.objects, rate_limiter=self.rate_limiter, repair=repair)

    def side(self, config: EmbeddingConfig) -> Side:
        """Return the index and the embedder of a config; raises as ``comparison`` does."""
        backends = self.runtime.backends
        return Side(backends.index_of(config), backends.embedder_of(config))
