"""Hits of Vectorize that a run of D1 asks for: an edge answers both in one call (ADR 0037)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.json_types import to_json
from app.ports.vector_index import AwaitedHits, Hits


@dataclass(slots=True, eq=False, kw_only=True)
class FusedHits(AwaitedHits):
    """Hits that an edge asks Vectorize for, before it runs the statements that read with them.

    Attributes:
        index_name: The name of the index.
        question: The body of a query of the index.
        read: Makes hits of the index's answer; raises ``Unavailable`` where the answer is not readable.
    """

    index_name: str
    question: Mapping[str, Any]
    read: Callable[[Any], Hits]

    @property
    def text(self) -> str:
        """The JSON that stands in an argument for ``[[id, points], ...]``: the hits, with points from 1 (best) to 0."""
        return to_json([[self.marker, 1.0]])
