"""What serves embedding configs other than the one the settings name, and what each tenant was seen to use."""

from collections.abc import Callable
from typing import TypeAlias

from app.in_use import InUse
from app.model import EmbeddingConfig
from app.ports.embedder import Embedder
from app.ports.vector_index import VectorIndex

OpenIndex: TypeAlias = Callable[[EmbeddingConfig], VectorIndex]
OpenEmbedder: TypeAlias = Callable[[EmbeddingConfig], Embedder | None]
"""Gives None where this process cannot embed with the config: a key or a model is missing."""


class Spaces:
    """Indexes and embedders of the other configs, made when first needed and kept for the life of the process.

    What is in use may change at any moment: every run of the database checks it and says what it is.
    """

    def __init__(self, open_index: OpenIndex | None = None, open_embedder: OpenEmbedder | None = None) -> None:
        """Take what opens them; without, there are no others."""
        self._open_index = open_index
        self._open_embedder = open_embedder
        self._indexes: dict[EmbeddingConfig, VectorIndex] = {}
        self._embedders: dict[EmbeddingConfig, Embedder | None] = {}
        self._epoch = 0
        self._for_all: InUse | None = None
        self._of_tenants: dict[str, InUse] = {}

    def index(self, config: EmbeddingConfig) -> VectorIndex | None:
        """Return the config's index; None where there is no way to it."""
        if config not in self._indexes and self._open_index is not None:
            self._indexes[config] = self._open_index(config)
        return self._indexes.get(config)

    def embedder(self, config: EmbeddingConfig) -> Embedder | None:
        """Return what embeds with the config; None where this process cannot."""
        if config not in self._embedders and self._open_embedder is not None:
            self._embedders[config] = self._open_embedder(config)
        return self._embedders.get(config)

    def in_use(self, tenant_id: str) -> InUse | None:
        """Return what the tenant was last seen to use; None before anything was seen."""
        return self._of_tenants.get(tenant_id, self._for_all)

    def seen(self, in_use: InUse, tenant_id: str | None = None) -> None:
        """Take note of what is in use, for one tenant or for all that are not known to differ.

        What was seen before something newer is of no use: answers may overtake each other.
        """
        if in_use.epoch < self._epoch:
            return
        self._epoch = in_use.epoch
        if tenant_id is None:
            self._for_all = in_use
            self._of_tenants.clear()
        elif in_use != self._for_all:
            self._of_tenants[tenant_id] = in_use
        else:
            self._of_tenants.pop(tenant_id, None)
