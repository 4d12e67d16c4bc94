"""What serves embedding configs other than the one the settings name, and what was last seen to be in use."""

from collections.abc import Callable
from typing import TypeAlias

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin

OpenIndex: TypeAlias = Callable[[EmbeddingConfig], IndexAdmin]
OpenEmbedder: TypeAlias = Callable[[EmbeddingConfig], Embedder | None]
"""Gives None where this process cannot embed with the config: a key or a model is missing."""


class EmbeddingRegistry:
    """Indexes and embedders of the other configs, made when first needed and kept for the life of the process.

    What is in use may change at any moment: every run of the database checks it and says what it is.
    """

    def __init__(self, open_index: OpenIndex | None = None, open_embedder: OpenEmbedder | None = None) -> None:
        """Take what opens them; without, there are no others."""
        self._open_index = open_index
        self._open_embedder = open_embedder
        self._indexes: dict[EmbeddingConfig, IndexAdmin] = {}
        self._embedders: dict[EmbeddingConfig, Embedder | None] = {}
        self.configs: EmbeddingConfigs | None = None
        """What was last seen to be in use; None before anything was seen."""

    def index(self, config: EmbeddingConfig) -> IndexAdmin | None:
        """Return the config's index; None where there is no way to it."""
        if config not in self._indexes and self._open_index is not None:
            self._indexes[config] = self._open_index(config)
        return self._indexes.get(config)

    def embedder(self, config: EmbeddingConfig) -> Embedder | None:
        """Return what embeds with the config; None where this process cannot."""
        if config not in self._embedders and self._open_embedder is not None:
            self._embedders[config] = self._open_embedder(config)
        return self._embedders.get(config)

    def seen(self, configs: EmbeddingConfigs) -> None:
        """Take note of what is in use. What is older than what was seen before is of no use: answers overtake."""
        if self.configs is None or configs.epoch >= self.configs.epoch:
            self.configs = configs
