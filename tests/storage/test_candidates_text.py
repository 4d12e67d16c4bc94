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
OF_USER, OF_AGE = About(["user"]), About(None, "age")
ABOUTS = [None, OF_USER, OF_AGE, About(None, "age", "is so old"), About(["user"], "age", "is so old")]


@pytest.mark.parametrize("about", ABOUTS)
@pytest.mark.parametrize("kind", [None, "fact"])
def test_with_any_filter_it_is_prepared_once_and_not_for_each_recall(
    about: About | None, kind: MemoryType | None
) -> None:
    where = Filter(created_after=1, created_before=9, metadata={"topic": "t"}, type=kind, about=about)
    for words, answers in product([True, False], repeat=2):
        query = CandidateQuery({}, "index", max_pending=1, where=where, search_words=words, for_answer=answers)
        assert len(find_candidates(Scope("acme", "bot"), query).sql.encode()) < CACHED_BYTES
