"""Query embeddings, remembered for a while: agents ask the same thing again."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embedder
from app.services.tenant.tenant_cache import TenantCache

_OVERHEAD = 400
_Key = tuple[str, EmbeddingConfig, str]


class QueryCache(TenantCache[_Key, Vector]):
    """The vectors of recent queries.

    The tenant is part of the key: how fast one tenant is answered tells nothing of what another asks.
    """

    def get(self, key: _Key) -> Vector | None:
        """Return the vector, now the most recently used, or None."""
        vector = self._find(key)
        if vector is not None:
            self._used(key)
        return vector

    def put(self, key: _Key, vector: Vector) -> None:
        """Keep the vector unless it is larger than the whole budget."""
        self._keep(key, key[0], vector, vector.nbytes + len(key[2].encode()) + _OVERHEAD)


@dataclass(frozen=True, slots=True)
class EmbeddedQueries:
    """The vectors of queries, whether all were remembered, and what embedding the others took."""

    vectors: Sequence[Vector]
    cached: bool
    characters: int = 0
    tokens: int | None = None


class QueryVectors:
    """Embeds one tenant's queries through the cache."""

    def __init__(self, tenant_id: str, embedder: Embedder, cache: QueryCache) -> None:
        """Bind the tenant."""
        self._tenant_id = tenant_id
        self._embedder = embedder
        self._cache = cache

    async def of(self, queries: Sequence[str]) -> EmbeddedQueries:
        """Return the vectors of queries, in one call, each from the cache where it was asked before.

        Raises:
            Unavailable: the model does not answer; nothing is cached.
        """
        known = {query: self._cache.get(self._key(query)) for query in queries}
        new = [query for query, vector in known.items() if vector is None]
        if not new:
            return EmbeddedQueries([vector for query in queries if (vector := known[query]) is not None], cached=True)
        embedded = await self._embedder.embed(new, "query")
        for query, vector in zip(new, embedded.vectors, strict=True):
            self._cache.put(self._key(query), vector)
            known[query] = vector
        vectors = [vector for query in queries if (vector := known[query]) is not None]
        return EmbeddedQueries(vectors, cached=False, characters=sum(map(len, new)), tokens=embedded.tokens)

    def _key(self, query: str) -> _Key:
        return self._tenant_id, self._embedder.config, query
