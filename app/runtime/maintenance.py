"""What an operator's commands work with: a prepared runtime, without its background work."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig
from app.indexing.jobs.parity import Side
from app.indexing.jobs.reconcile import Progress, RateLimiter, Reconcile
from app.indexing.jobs.reembed import Reembedding
from app.runtime.runtime import Runtime

UNMETERED = 1e9
"""Calls per minute on one's own machine."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A runtime that is ready, and a rate at which its upstream may be called."""

    runtime: Runtime
    rate_limiter: RateLimiter

    @property
    def reembedding(self) -> Reembedding:
        """The move of the data to another embedding config."""
        return Reembedding(self.runtime.backends.database, self.rate_limiter)

    def comparison(self, config: EmbeddingConfig, *, repair: bool, report: Callable[[Progress], None]) -> Reconcile:
        """Return what compares a config's index with the database.

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

    def side(self, config: EmbeddingConfig) -> Side:
        """Return what serves a config; raises as ``comparison`` does."""
        backends = self.runtime.backends
        return Side(backends.index_of(config), backends.embedder_of(config))
