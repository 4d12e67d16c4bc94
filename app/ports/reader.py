"""A small model that reads statements: how they bear on each other, on questions and on claims."""

from collections.abc import Sequence
from typing import Protocol

from app.domain.reading import Kinds, Relation, Thresholds

MAX_CHARACTERS = 1536
"""Characters of a text that a reader reads; the rest does not count."""


class Reader(Protocol):
    """Reads texts with one model for its whole life.

    Texts are read in batches. ``tenant_id`` is the tenant of the texts, as in ``Embedder.embed``; the service's own
    work has none. A call ends after ``seconds``, which begin once the model is loaded; None: when it is done. The
    answers do not depend on the other texts of a call (to 1e-2), nor on the tenant. Each method raises
    ``ReaderUnavailable`` where there is no answer, or none in time.
    """

    @property
    def version(self) -> str:
        """The name of the model's weights: the answers of two versions may differ."""
        ...

    @property
    def thresholds(self) -> Thresholds:
        """The probabilities from which on its answers are believed."""
        ...

    async def relations(
        self, pairs: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Relation]:
        """Return for each pair of an older and a newer statement how the newer one bears on the older."""
        ...

    async def relevance(
        self, question: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Return for each text how likely it answers the question, now or in the past, 0 to 1."""
        ...

    async def kinds(
        self, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Kinds]:
        """Return for each text how likely it is of each kind."""
        ...

    async def follows(
        self, claims: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Return for each pair of sources, joined by line ends, and a claim how likely it follows from them, 0 to 1."""
        ...

    async def ping(self) -> None:
        """Return if the reader can read; raise as the other methods do if not."""
        ...
