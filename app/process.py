"""What every gateway of a process works with."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from app import in_use
from app.errors import EmbeddingConfigMismatch
from app.in_use import InUse
from app.index.marks import Marks
from app.index.spaces import Spaces
from app.model import EmbeddingConfig
from app.ports.database import Database, Row
from app.ports.embedder import Embedder
from app.ports.vector_index import VectorIndex
from app.quotas import Defaults
from app.retrieval.fusion import Part
from app.retrieval.query_vectors import QueryCache

Clock = Callable[[], int]
"""Returns now, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports, the same for every request. ``index`` and ``embedder`` are those of the config in the settings."""

    database: Database
    index: VectorIndex
    embedder: Embedder
    queries: QueryCache
    marks: Marks
    clock: Clock
    spaces: Spaces = field(default_factory=Spaces)
    quotas: Defaults = field(default_factory=Defaults)
    """The limits of whoever has no others."""
    recall_without: Collection[Part] = ()
    """Channels and cues that recalls leave out, to measure what they are worth."""

    def index_of(self, config: EmbeddingConfig) -> VectorIndex:
        """Return the config's index.

        Raises:
            EmbeddingConfigMismatch: this process has no way to it.
        """
        index = self.index if config == self.embedder.config else self.spaces.index(config)
        if index is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return index

    def embedder_of(self, config: EmbeddingConfig) -> Embedder:
        """Return what embeds with the config.

        Raises:
            EmbeddingConfigMismatch: this process cannot: a key or a model is missing.
        """
        embedder = self.embedder if config == self.embedder.config else self.spaces.embedder(config)
        if embedder is None:
            raise EmbeddingConfigMismatch(stored=config, configured=self.embedder.config)
        return embedder

    def saw(self, tenant_id: str, watched: Row) -> InUse | None:
        """Act on what a run of the tenant's has learned in passing (``app.index.watch``).

        Return what is in use; None where there is no memory.
        """
        self.queries.seen(tenant_id, int(watched["epoch"] or 0))
        if watched["unattended"]:
            self.marks.wake()
        seen = in_use.of_memories(watched)
        if seen is not None:
            self.spaces.seen(seen, tenant_id)
        return seen

    async def claim(self) -> None:
        """Put the config of the settings in use, where there is no memory."""
        self.spaces.seen(await in_use.claim(self.database, self.embedder.config))

    def in_use(self, tenant_id: str) -> InUse:
        """Return what the tenant was last seen to use; every run of the database checks it."""
        return self.spaces.in_use(tenant_id) or InUse(self.embedder.config)
