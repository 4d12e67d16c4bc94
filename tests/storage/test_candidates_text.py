"""How long the statement of a recall is."""

from itertools import product

import pytest

from app.domain.claim import MemoryType
from app.domain.facts import About
from app.domain.memory import Scope
from app.domain.query import Filter
from app.storage.candidates import CandidateQuery, find_candidates

CACHED_BYTES = 16_384
"""apsw prepares a statement that is so long anew each time: ``Connection.cache_stats`` counts it as ``too_big``."""
ABOUTS = [
    None,
    About(["user"]),
    About(None, "age"),
    About(None, "age", "is so old"),
    About(["user"], "age", "is so old"),
]


@pytest.mark.parametrize(
    ("about", "kind", "words", "answers"), [*product(ABOUTS, [None, "fact"], [True, False], [True, False])]
)
def test_with_any_filter_it_is_prepared_once_and_not_for_each_recall(
    about: About | None, kind: MemoryType | None, words: bool, answers: bool
) -> None:
    where = Filter(created_after=1, created_before=9, metadata={"topic": "t"}, type=kind, about=about)
    query = CandidateQuery({}, "index", max_pending=1, where=where, search_words=words, for_answer=answers)
    assert len(find_candidates(Scope("acme", "bot"), query).sql.encode()) < CACHED_BYTES
