"""What an operator's commands work with: a prepared runtime, without its background work."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.bootstrap import build_runtime
from app.index.parity import Side
from app.index.reconcile import Pacer, Progress, Reconcile
from app.index.reembed import Reembedding
from app.model import EmbeddingConfig
from app.runtime import Runtime
from app.settings import Settings

UNMETERED = 1e9
"""Calls per minute on one's own machine."""


@dataclass(frozen=True, slots=True)
class Operating:
    """A runtime that is ready, and a rate at which its upstream may be called."""

    runtime: Runtime
    pacer: Pacer

    @property
    def reembedding(self) -> Reembedding:
        """The move of the data to another embedding config."""
        return Reembedding(self.runtime.ports.database, self.pacer)

    def comparison(self, config: EmbeddingConfig, *, repair: bool, report: Callable[[Progress], None]) -> Reconcile:
        """Return what compares a config's index with the database.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with it.
        """
        side = self.side(config)
        return Reconcile(
            self.runtime.ports.database,
            side.index,
            side.embedder,
            holder=self.runtime.name,
            pacer=self.pacer,
            repair=repair,
            report=report,
        )

    def side(self, config: EmbeddingConfig) -> Side:
        """Return what serves a config; raises as ``comparison`` does."""
        ports = self.runtime.ports
        return Side(ports.index_of(config), ports.embedder_of(config))


@asynccontextmanager
async def operating(settings: Settings, calls_per_minute: float) -> AsyncIterator[Operating]:
    """Prepare a runtime and close it in the end.

    Raises:
        ConfigurationError: a setting is missing.
        Unavailable: the data cannot be reached, or was embedded with a config that cannot be served.
    """
    runtime = build_runtime(settings)
    try:
        await runtime.prepare()
        yield Operating(runtime, Pacer(calls_per_minute if settings.on_cloudflare else UNMETERED))
    finally:
        await runtime.close()
