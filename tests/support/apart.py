"""Vectors in a file beside a database that is elsewhere, as no deployment has it: for tests of the database."""

from collections.abc import Sequence

from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import Vector
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import Insertion, NewVector


class IndexApart(SqliteVectorIndex):
    """An index that no run of the database can ask."""

    beside = ""

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> None:
        """Leave the question to ``query``."""

    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[Insertion]:
        """Refuse: the database has no table for vectors."""
        raise AssertionError(f"{len(vectors)} vectors would go into a database that has no table for them.")
