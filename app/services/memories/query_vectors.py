"""Query embeddings, remembered for a while: agents ask the same thing again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embedder
from app.services.tenant.tenant_cache import TenantCache

_OVERHEAD = 400
_Key = tuple[str, EmbeddingConfig, str]


QueryCache: TypeAlias = TenantCache[_Key, Vector]
"""The vectors of recent queries."""


@dataclass(frozen=True, slots=True)
class EmbeddedQueries:
    """The vectors of queries, whether all were remembered, and what embedding the others took."""

    vectors: Sequence[Vector]
    cached: bool
    characters: int = 0
    tokens: int | None = None


async def embed_queries(
    tenant_id: str, queries: Sequence[str], embedder: Embedder, cache: QueryCache
) -> EmbeddedQueries:
    """Return the vectors of a tenant's queries, in one call, each from the cache where it was asked before.

    Raises:
        Unavailable: the model does not answer; nothing is cached.
    """
    keys = [(tenant_id, embedder.config, query) for query in queries]
    known = {key: cache.find(key) for key in keys}
    new = [key for key, vector in known.items() if vector is None]
    characters, tokens = 0, None
    if new:
        embedded = await embedder.embed([query for _, _, query in new], "query")
        for key, fresh in zip(new, embedded.vectors, strict=True):
            cache.put(tenant_id, key, fresh, fresh.nbytes + len(key[2].encode()) + _OVERHEAD)
            known[key] = fresh
        characters, tokens = sum(len(query) for _, _, query in new), embedded.tokens
    found = [vector for key in keys if (vector := known[key]) is not None]
    return EmbeddedQueries(found, not new, characters, tokens)
