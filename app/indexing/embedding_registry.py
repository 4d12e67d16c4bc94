"""Opens the indexes and embedders of other configs than that of the settings; keeps the configs last seen in use."""

from collections.abc import Callable
from typing import TypeAlias

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin

OpenIndex: TypeAlias = Callable[[EmbeddingConfig], IndexAdmin]
OpenEmbedder: TypeAlias = Callable[[EmbeddingConfig], Embedder | None]
"""Returns None where this process cannot embed with the config: a key or a model is missing."""


class EmbeddingRegistry:
    """Indexes and embedders of the other configs, opened when first needed and kept as long as the process lives.

    The configs in use may change at any moment: every run of the database checks and returns them.
    """

    def __init__(self, open_index: OpenIndex | None = None, open_embedder: OpenEmbedder | None = None) -> None:
        """Take the functions that open them; without these, only the config of the settings can be served."""
        self._open_index = open_index
        self._open_embedder = open_embedder
        self._indexes: dict[EmbeddingConfig, IndexAdmin] = {}
        self._embedders: dict[EmbeddingConfig, Embedder | None] = {}
        self.configs: EmbeddingConfigs | None = None
        """The configs last seen in use; None before the first were seen."""

    def index(self, config: EmbeddingConfig) -> IndexAdmin | None:
        """Return the config's index; None where it cannot be opened."""
        if config not in self._indexes and self._open_index is not None:
            self._indexes[config] = self._open_index(config)
        return self._indexes.get(config)

    def embedder(self, config: EmbeddingConfig) -> Embedder | None:
        """Return the config's embedder; None where this process cannot embed with it."""
        if config not in self._embedders and self._open_embedder is not None:
            self._embedders[config] = self._open_embedder(config)
        return self._embedders.get(config)

    def seen(self, configs: EmbeddingConfigs) -> None:
        """Keep the configs in use, unless newer ones were seen before: answers may arrive out of order."""
        if self.configs is None or configs.epoch >= self.configs.epoch:
            self.configs = configs
