"""Query embeddings, remembered for a while: agents ask the same thing again."""

from collections import OrderedDict
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embedder

_OVERHEAD = 400
_Key = tuple[str, EmbeddingConfig, str]


class QueryCache:
    """The vectors of recent queries, least recently used out first, within a budget of bytes.

    The tenant is part of the key: how fast one tenant is answered tells nothing of what another asks.
    """

    def __init__(self, budget: int) -> None:
        """Hold at most ``budget`` bytes; 0 remembers nothing."""
        self._budget = budget
        self._held = 0
        self._vectors: OrderedDict[_Key, Vector] = OrderedDict()
        self._epochs: dict[str, int] = {}

    def get(self, key: _Key) -> Vector | None:
        """Return the vector, now the most recently used, or None."""
        vector = self._vectors.get(key)
        if vector is not None:
            self._vectors.move_to_end(key)
        return vector

    def put(self, key: _Key, vector: Vector) -> None:
        """Keep the vector unless it is there already or larger than the whole budget."""
        size = _size(key, vector)
        if key in self._vectors or size > self._budget:
            return
        self._vectors[key] = vector
        self._held += size
        while self._held > self._budget:
            self._held -= _size(*self._vectors.popitem(last=False))

    def seen(self, tenant_id: str, epoch: int) -> None:
        """Take note of a tenant's epoch, which each erasure moves on: what is older than it is forgotten."""
        if epoch == self._epochs.get(tenant_id, 0):
            return
        self._epochs[tenant_id] = epoch
        for key in [key for key in self._vectors if key[0] == tenant_id]:
            self._held -= _size(key, self._vectors.pop(key))

    @property
    def held(self) -> int:
        """Bytes held, about."""
        return self._held


def _size(key: _Key, vector: Vector) -> int:
    return vector.nbytes + len(key[2].encode()) + _OVERHEAD


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """A query's vector, whether it was remembered, and what embedding it took otherwise."""

    vector: Vector
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

    async def of(self, query: str) -> EmbeddedQuery:
        """Return the query's vector, from the cache where it was asked before.

        Raises:
            Unavailable: the model does not answer; nothing is cached.
        """
        key = (self._tenant_id, self._embedder.config, query)
        vector = self._cache.get(key)
        if vector is not None:
            return EmbeddedQuery(vector, cached=True)
        embedded = await self._embedder.embed([query], "query")
        (vector,) = embedded.vectors
        self._cache.put(key, vector)
        return EmbeddedQuery(vector, cached=False, characters=len(query), tokens=embedded.tokens)
