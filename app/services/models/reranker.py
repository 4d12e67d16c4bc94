"""A reranker for one tenant's recalls: within the tenant's share, and within a deadline."""

from collections.abc import Sequence

from app.domain.errors import UpstreamTimeout
from app.ports.reranker import Reranker
from app.services.turns.shares import Shares


class TenantReranker:
    """Rates for one tenant's recalls, within the tenant's share and a deadline."""

    def __init__(self, tenant_id: str, reranker: Reranker, shares: Shares, seconds: float) -> None:
        """Bind the tenant; ``seconds`` is the time that a recall waits, for its turn and for the answer together."""
        self._tenant_id = tenant_id
        self._reranker = reranker
        self._shares = shares
        self._seconds = seconds

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each text, 0 to 1, in the texts' order; see ``Reranker.rerank``.

        Raises:
            Unavailable: the reranker is away, or there was no answer in time.
        """
        try:
            seconds = await self._shares.acquire_within(self._tenant_id, 1, self._seconds)
        except TimeoutError as error:
            raise UpstreamTimeout("Earlier recalls of the tenant kept the reranker busy.") from error
        try:
            return await self._reranker.rerank(query, texts, tenant_id=self._tenant_id, seconds=seconds)
        finally:
            self._shares.release(self._tenant_id, 1)
