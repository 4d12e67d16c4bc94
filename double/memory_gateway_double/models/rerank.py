"""Rates texts without a model: by the share of the query's words that they hold, or as a test has set it."""

import re
from collections.abc import Mapping, Sequence

from memory_gateway_double.wire import Request

_WORD = re.compile(r"\w+")


class Rerankings:
    """The scores of all rerankers of the double. Safe from any thread."""

    def __init__(self) -> None:
        """Begin with the rule alone."""
        self._script: Mapping[str, float] = {}

    @property
    def script(self) -> Mapping[str, float]:
        """The scores that were set, each by a part of the texts that get it."""
        return self._script

    def set(self, script: Mapping[str, float]) -> None:
        """Give a text the score of the first of these parts that it contains; others keep to the rule.

        Scores may be any numbers: some real models answer logits.
        """
        self._script = dict(script)

    def clear(self) -> None:
        """Return to the rule."""
        self._script = {}

    def rated(self, request: Request, query: str, texts: Sequence[str], most: int) -> list[tuple[int, float]]:
        """Return the indexes and the scores of the best texts, best first, as the request's fault leaves them."""
        scores = [(index, self._score(query, text)) for index, text in enumerate(texts)]
        best = sorted(scores, key=lambda scored: scored[1], reverse=True)[:most]
        if request.wrong_indexes and best:
            best[-1] = (len(texts), best[-1][1])
        return best

    def _score(self, query: str, text: str) -> float:
        for part, score in self._script.items():
            if part in text:
                return score
        words = set(_WORD.findall(query.casefold()))
        held = words & set(_WORD.findall(text.casefold()))
        return len(held) / len(words) if words else 0.0
