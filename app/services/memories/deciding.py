"""Has the reader compare the best candidates of a recall that nobody has compared yet: a correction holds at once."""

from collections.abc import Sequence

import structlog

from app.domain.comparing import MAX_PAIRS, Comparison, effect_of, strongest, to_read
from app.domain.errors import ReaderUnavailable
from app.domain.memory import STORE_KEY
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate
from app.retrieval.succession import decide, undecided
from app.services.models.reader import TenantReader

_FIRST = 8
"""Candidates among which pairs are compared."""
_PASSAGES = 2
"""Pairs of passages that are read for one pair of long memories; in the background all are."""


async def decided(
    fusion: Fusion, reader: TenantReader | None, horizon: int
) -> tuple[Sequence[Comparison], Sequence[str]]:
    """Compare the best candidates that wait for it, and have them take each other's place before they are ranked.

    What happens later than ``horizon`` takes nobody's place yet.
    Returns what was found, and what keeps it from being more, as ``degraded`` of a recall names it.
    """
    if reader is None:
        return (), ()
    first = [one for one in fusion.first(_FIRST) if one.happened_at <= horizon and _may_be_compared(one)]
    pairs = undecided(first, MAX_PAIRS)
    if not pairs:
        return (), ()
    try:
        found = await _compared(pairs, reader)
    except ReaderUnavailable as error:
        structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
        return (), ["reader_unavailable"]
    decide(fusion.pool, found)
    return found, ()


async def _compared(pairs: Sequence[tuple[Candidate, Candidate]], reader: TenantReader) -> list[Comparison]:
    """Return how the newer of each pair bears on the older, of as many pairs as are read at once."""
    asked = [to_read(older.statement, newer.statement)[:_PASSAGES] for older, newer in pairs]
    answers = iter(await reader.relations([passage for passages in asked for passage in passages][:MAX_PAIRS]))
    found: list[Comparison] = []
    for (older, newer), passages in zip(pairs, asked, strict=True):
        relations = [relation for _, relation in zip(passages, answers, strict=False)]
        if not relations:
            break
        relation = strongest(relations)
        effect = effect_of(relations, reader.thresholds, older.statement, newer.statement)
        found.append(Comparison(older.id, newer.id, relation.name, relation.update, effect, reader.version))
    return found


def _may_be_compared(candidate: Candidate) -> bool:
    """Tell whether all is known that decides it: of what was learned, the messages are read only for a model."""
    is_known = not candidate.learned or candidate.sources is not None
    return is_known and not candidate.expired and STORE_KEY not in candidate.metadata_json
