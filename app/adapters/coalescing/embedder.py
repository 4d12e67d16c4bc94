"""An embedder that embeds the texts of concurrent requests in one call."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from app.adapters.coalescing.gatherer import FREE, Gatherer, Metering, Size, of_one_part
from app.adapters.prefixed import ClosableEmbedder
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import UpstreamRejected, UpstreamTimeout
from app.domain.query import RECALL_PART_SECONDS
from app.ports.embedder import Embeddings, Purpose

MOST = Size(items=100, bytes=300_000)
"""The size of a call that every embedder behind an API takes."""
ENOUGH = Size(items=16, bytes=50_000)
"""The size of what waits from which on a call begins beside others. A burst of 64 clients then makes no more calls than
with a larger one, because those who were answered together come together (``tests/simulation/test_bursts.py``)."""


class _EmbedRequest(NamedTuple):
    """The texts of a tenant's request."""

    tenant_id: str
    texts: Sequence[str]


class CoalescingEmbedder:
    """Embeds the texts of concurrent requests in one call, each purpose apart. Implements ``Embedder``.

    The vector of a text does not depend on the other texts of its call. Where a call is refused because of one text,
    the texts of each request are embedded once more, alone.
    """

    def __init__(
        self, below: ClosableEmbedder, metering: Metering = FREE, *, query_seconds: float = RECALL_PART_SECONDS
    ) -> None:
        """Wrap an embedder; ``metering`` is charged for each call of it.

        ``query_seconds`` is how long a query waits, for its turn and for the answer together.
        """
        self._query_seconds = query_seconds
        self._below = below
        self._metering = metering
        self._of: dict[Purpose, Gatherer[_EmbedRequest, Embeddings]] = {
            "document": self._gatherer("document"),
            "query": self._gatherer("query"),
        }

    @property
    def config(self) -> EmbeddingConfig:
        """Return the config of the embedder below."""
        return self._below.config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text; raises as ``Embedder.embed`` does.

        The API counts the tokens of a whole call; each request has a part of them by the length of its texts.
        """
        if not texts:
            return Embeddings([], 0)
        request = _EmbedRequest(tenant_id, texts)
        if purpose == "document":
            return await self._of[purpose].ask(request, tenant_id)
        try:
            async with asyncio.timeout(self._query_seconds):
                return await self._of[purpose].ask(request, tenant_id)
        except TimeoutError as error:
            raise UpstreamTimeout("The embedder did not answer a query in time.") from error

    async def ping(self) -> None:
        """Return if the embedder below answers."""
        await self._below.ping()

    async def close(self) -> None:
        """Close the embedder below."""
        await self._below.close()

    def _gatherer(self, purpose: Purpose) -> Gatherer[_EmbedRequest, Embeddings]:
        async def call(requests: Sequence[_EmbedRequest]) -> Sequence[Embeddings]:
            self._metering.charge({request.tenant_id for request in requests} - {""})
            told = await self._below.embed([text for request in requests for text in request.texts], purpose)
            return _split(told, requests)

        return Gatherer(
            call,
            parts=of_one_part(_size),
            most=MOST,
            enough=ENOUGH,
            refused=(UpstreamRejected,),
            linger=self._metering.linger,
        )


def _size(request: _EmbedRequest) -> Size:
    return Size(len(request.texts), sum(len(text.encode()) for text in request.texts))


def _split(told: Embeddings, requests: Sequence[_EmbedRequest]) -> list[Embeddings]:
    """Give each request its vectors, and its part of the tokens, which add up to all."""
    lengths = [sum(map(len, texts)) for _, texts in requests]
    parts: list[Embeddings] = []
    vectors, characters, left = 0, sum(lengths), told.tokens
    for (_, texts), length in zip(requests, lengths, strict=True):
        tokens = None if left is None else round(left * length / characters) if characters else left
        parts.append(Embeddings(told.vectors[vectors : vectors + len(texts)], tokens))
        vectors, characters = vectors + len(texts), characters - length
        left = None if left is None or tokens is None else left - tokens
    return parts
