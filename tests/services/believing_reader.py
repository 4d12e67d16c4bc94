"""A reader to which a claim follows that has about the words of its sources, and no text answers better than others."""

import re
from collections.abc import Sequence

from tests.services.scripted_reader import ScriptedReader

_WORD = re.compile(r"\w{4,}")
_STEM = 4


class BelievingReader(ScriptedReader):
    """Believes a claim half of whose longer words stand in its sources: it sees no number, no person and no denial."""

    async def follows(
        self, claims: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        await super().follows(claims, tenant_id=tenant_id, seconds=seconds)
        return [_shared(sources, claim) for sources, claim in claims]

    async def relevance(
        self, question: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        await super().relevance(question, texts, tenant_id=tenant_id, seconds=seconds)
        return [0.9] * len(texts)


def _shared(sources: str, claim: str) -> float:
    known = {word[:_STEM] for word in _WORD.findall(sources.casefold())}
    words = {word[:_STEM] for word in _WORD.findall(claim.casefold())} - {"user"}
    return len(words & known) / len(words) if words else 1.0
