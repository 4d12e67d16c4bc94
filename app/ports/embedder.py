"""Text to vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from app.domain.embedding import EmbeddingConfig, Vector

Purpose: TypeAlias = Literal["document", "query"]
"""The use of an embedded text: some models embed a query otherwise than a document."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of some texts, in their order, and the tokens that they took, None where tokens are not counted."""

    vectors: Sequence[Vector]
    tokens: int | None = None


class Embedder(Protocol):
    """Embeds texts with one embedding config for its whole life.

    An adapter whose model knows no difference between a document and a query may ignore ``purpose``.
    """

    @property
    def config(self) -> EmbeddingConfig:
        """The embedding config of its vectors."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text and return the vectors in the texts' order.

        ``tenant_id`` is the tenant of the texts: an adapter that computes on this machine lets tenants take turns. The
        service's own work has none.

        A vector has ``config.dimensions`` float32 values and unit length, and does not depend on the
        other texts of the call (to 1e-6). A text longer than the model's window is embedded in windows,
        averaged by their length and brought back to unit length, never cut.

        Raises:
            Unavailable: the model does not answer, as ``EmbeddingUnavailable`` or an upstream error; the
                caller decides whether to try again.
        """
        ...

    async def ping(self) -> None:
        """Return if the model answers; raise as ``embed`` does if not."""
        ...
