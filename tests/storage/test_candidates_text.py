"""How long the statement of a recall is that a SQLite file prepares."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.bootstrap import DATABASE_FILE
from app.domain.claim import MemoryType
from app.domain.facts import About
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.storage.candidates import CandidateQuery, find_candidates
from tests.support import migrated

CACHED_BYTES = 16_384
"""apsw prepares a statement that is so long anew each time: ``Connection.cache_stats`` counts it as ``too_big``."""
OF_USER, OF_AGE = About(["user"]), About(None, "age")
ABOUTS = [None, OF_USER, OF_AGE, About(None, "age", "is so old"), About(["user"], "age", "is so old")]


@pytest.mark.parametrize("about", ABOUTS)
@pytest.mark.parametrize("kind", [None, "fact"])
def test_with_any_filter_it_is_prepared_once_and_not_for_each_recall(
    tmp_path: Path, about: About | None, kind: MemoryType | None
) -> None:
    migrated.prepare(tmp_path)
    connection = apsw.Connection(str(tmp_path / DATABASE_FILE))
    where = Filter(created_after=1, created_before=9, metadata={"topic": "t"}, type=kind, about=about)
    for words, answers in product([True, False], repeat=2):
        query = CandidateQuery({}, "index", max_pending=1, where=where, search_words=words, for_answer=answers)
        statement: Statement = find_candidates(Scope("acme", "bot"), query)
        if statement.stepwise is not None:  # then the words are searched apart
            statement = statement.stepwise(statement, lambda sql, values: _value(connection, sql, values))
        assert len(statement.sql.encode()) < CACHED_BYTES
    connection.close()


def _value(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> Any:
    """Return the JSON of the one value that a statement selects."""
    return json.loads(connection.execute(sql, tuple(values)).get)
