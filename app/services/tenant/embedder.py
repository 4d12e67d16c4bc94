"""Embeds one tenant's texts within the tenant's share, notes them in its audit, and takes queries from a cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.services.tenant.recall_log import TenantAudit
from app.services.tenant.tenant_cache import TenantCache
from app.services.turns.admission import TenantAdmission

_OVERHEAD = 400
_Key = tuple[str, EmbeddingConfig, str]


QueryCache: TypeAlias = TenantCache[_Key, Vector]
"""The vectors of recent queries: agents repeat queries."""


class TenantEmbedder:
    """Embeds one tenant's texts. Implements ``Embedder``."""

    def __init__(self, embedder: Embedder, admission: TenantAdmission, audit: TenantAudit) -> None:
        """Bind the tenant of the admission and the audit."""
        self._embedder = embedder
        self._admission = admission
        self._audit = audit

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of the vectors."""
        return self._embedder.config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed texts once the tenant has room; see ``Embedder.embed``. No other tenant can be named.

        Raises:
            ValueError: another tenant is named. This is a defect.
        """
        own = self._audit.tenant_id
        if tenant_id not in {"", own}:
            raise ValueError("Texts of another tenant were given to this tenant's embedder.")
        characters = sum(map(len, texts))
        async with self._admission.embedding(characters):
            embedded = await self._embedder.embed(texts, purpose, tenant_id=own)
        self._audit.embedded(characters, embedded.tokens)
        return embedded

    async def ping(self) -> None:
        """Ask whether the embedder answers; see ``Embedder.ping``."""
        await self._embedder.ping()


@dataclass(frozen=True, slots=True)
class EmbeddedQueries:
    """The vectors of queries, whether all were cached, and the characters and tokens of those that were embedded."""

    vectors: Sequence[Vector]
    cached: bool
    characters: int = 0
    tokens: int | None = None


async def embed_queries(
    tenant_id: str, queries: Sequence[str], embedder: Embedder, cache: QueryCache
) -> EmbeddedQueries:
    """Return the vectors of a tenant's queries, from the cache as far as it has them, the others by one call.

    Raises:
        Unavailable: the model does not answer; nothing is cached.
    """
    keys = [(tenant_id, embedder.config, query) for query in queries]
    known = {key: cache.find(key) for key in keys}
    new = [key for key, vector in known.items() if vector is None]
    characters, tokens = 0, None
    if new:
        changes = cache.changes
        embedded = await embedder.embed([query for _, _, query in new], "query")
        for key, fresh in zip(new, embedded.vectors, strict=True):
            cache.put(tenant_id, key, fresh, fresh.nbytes + len(key[2].encode()) + _OVERHEAD, since=changes)
            known[key] = fresh
        characters, tokens = sum(len(query) for _, _, query in new), embedded.tokens
    found = [vector for key in keys if (vector := known[key]) is not None]
    return EmbeddedQueries(found, not new, characters, tokens)
