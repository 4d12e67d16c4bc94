"""An embedder that costs nothing: equal texts have a cosine of 1, others clearly less."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embeddings, Purpose

CONFIG = EmbeddingConfig("simulation", "digest", 32)
OTHER = EmbeddingConfig("simulation", "other", 24)


class DigestEmbedder:
    """Takes the first bytes of a text's SHA-256 for its direction, of another text's for another config."""

    def __init__(self, config: EmbeddingConfig = CONFIG) -> None:
        self.config = config
        self._said = "" if config == CONFIG else config.model

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        del purpose, tenant_id
        return Embeddings([vector_of(f"{self._said}{text}", self.config.dimensions) for text in texts])

    async def ping(self) -> None:
        return


@lru_cache(maxsize=4096)
def vector_of(text: str, dimensions: int = CONFIG.dimensions) -> Vector:
    bytes_ = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:dimensions]
    digest = bytes_.astype(np.float32) - np.float32(127.5)
    vector: Vector = digest / np.linalg.norm(digest)
    return vector
