"""An embedder as one tenant's requests see it: within the tenant's share, and noted in its audit."""

from collections.abc import Sequence

from app.domain.embedding import EmbeddingConfig
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.services.tenant.recall_log import TenantAudit
from app.services.turns.admission import TenantAdmission


class TenantEmbedder:
    """Embeds one tenant's texts. Implements ``Embedder``."""

    def __init__(self, embedder: Embedder, admission: TenantAdmission, audit: TenantAudit) -> None:
        """Bind the tenant, whose admission and audit these are."""
        self._embedder = embedder
        self._admission = admission
        self._audit = audit

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of its vectors."""
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
