"""A model that rates how relevant texts are to a query, and reads both together."""

from collections.abc import Sequence
from typing import Protocol

MAX_CHARACTERS = 2_000
"""Characters of a query and of a text that a reranker reads; the rest is not sent."""


class Reranker(Protocol):
    """Rates texts with one model for its whole life."""

    @property
    def name(self) -> str:
        """The name for operators: the provider, and the model where one is named."""
        ...

    async def rerank(
        self, query: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Return the relevance of each text to the query, 0 to 1, in the texts' order.

        ``tenant_id`` is the texts' tenant, as in ``Embedder.embed``. The call ends after ``seconds``; None: after the
        time that the adapter was given. Without texts no call is made. Of the query and of each text the first
        ``MAX_CHARACTERS`` count. An answer that does not rate each text exactly once is a failure, and no text is taken
        to be irrelevant.

        Raises:
            Unavailable: the model does not answer, or its answer cannot be understood; the caller decides what
                to do without it.
        """
        ...

    async def ping(self) -> None:
        """Return if the model answers; raise as ``rerank`` does if not."""
        ...
