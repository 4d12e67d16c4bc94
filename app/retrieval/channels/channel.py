"""The protocol of a recall's channels (docs/contributing.md shows how to add one)."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

from app.domain.json_types import Json
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import Cue, ParsedQuery

Scores = Mapping[str, float]
"""Scores of candidates by their ids; a candidate whose id is missing has no score."""


class Channel(Protocol):
    """One way to find or to score the candidates of a recall. A channel knows no other channel."""

    name: ClassVar[str]
    """Its name in findings and in ``app/retrieval/weights.toml``, which has the evidence that a score of 1 adds."""
    section: ClassVar[str | None] = None
    """The section of ``app/storage/candidates.sql`` that finds its candidates; None for one that only scores."""
    cue: ClassVar[Cue] = "query"
    """The cue that it works with: it is asked for candidates and scores only where the cue is there."""
    ranks: ClassVar[bool] = False
    """Whether a finding has the memory's rank in the channel."""

    def candidates(self, query: ParsedQuery) -> Json:  # noqa: ARG002 - for channels that have a section
        """Return the JSON array that its section reads; where it is empty the section finds nothing."""
        return []

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:
        """Return the candidates' scores, of which none is negative.

        ``fused`` has each candidate's evidence by the channels that come before this one in the list.
        """
        ...

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002 - for other measures
        """Return the values that findings show as ``raw``: the scores, where the channel has no measure of its own."""
        return scores
