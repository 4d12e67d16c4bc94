"""What a recall chooses from: one statement that finds memories by each channel and reads them with their neighbours.

The statement is ``candidates.sql``. How the channels are weighed is decided in ``app.retrieval``; here a plain estimate
decides what is read. It rests on two indexes: ``memory_words``, searched within one scope's postings, and the order of
each session.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.domain.json_types import Json, Scalar
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Row
from app.storage import filters
from app.storage.scoped import ScopedStatement

_TEXT = Path(__file__).with_name("candidates.sql").read_text(encoding="utf-8")
_STATES = "TRUE /* what it is and states: put in where a recall asks for it (filters.py) */"
_MAX_OF_CHANNEL = 34
"""How many candidates a channel gives at most."""

# What stands for the section that searches the index of words, where that cannot be searched.
_NO_WORDS = """terms AS (SELECT 0 AS term, 0 AS seen WHERE FALSE),
matches AS (SELECT '' AS id, 0 AS words WHERE FALSE),
lexical AS (SELECT 0 AS row, 0 AS points WHERE FALSE),
"""


def _plain(sql: str) -> str:
    """Return a statement without its comments and indentation."""
    lines = (line.strip() for line in sql.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


def _without(section: str, text: str, instead: str = "") -> str:
    """Return a statement with something else, or nothing, in the place of a section."""
    return re.sub(rf"(?<=-- name: {section}\n).*?(?=-- name: )", instead, text, flags=re.DOTALL)


_SQL = {
    (words, learned): _plain(_without("learned", text) if not learned else text)
    for words, text in ((True, _TEXT), (False, _without("lexical", _TEXT, _NO_WORDS)))
    for learned in (True, False)
}
"""The statement by whether it searches the index of words, and whether it tells what was learned of which messages."""


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """What a recall looks for."""

    sections: Mapping[str, Json]
    """What each channel's section of the statement reads: a JSON array, by the section's name."""
    index_name: str
    """Where what is queued for it is always a candidate."""
    max_pending: int
    """How many of those at most, of those that were stored."""
    max_in_bulk: int = 0
    """How many of those at most that an import or a job has queued."""
    newest_in_bulk: int = 0
    """How many of these where there are more."""
    where: Filter = field(default_factory=Filter)
    fill: int = 0
    """So many of the newest memories that pass are candidates in any case."""
    also: str | None = None
    """An id in the scope that is a candidate in any case, even if it has expired or does not pass."""
    width: int = 1
    """How many times as many candidates as usual."""
    likely: int = 30
    """Of how many of the best the content is read in a large scope; around the better half of these it is too."""
    as_of: int | None = None
    """As of which moment memories hold; None: now."""
    for_model: bool = False
    """Whether what a program keeps for itself is left out, as if it were not there."""
    search_words: bool = True
    """Whether the index of words is read at all."""
    for_answer: bool = False
    """Whether candidates tell which messages they are, and which they were learned of."""

    @property
    def most(self) -> int:
        """How many candidates a channel gives at most: where there are fewer in all, there are no more."""
        return self.width * _MAX_OF_CHANNEL


def find_candidates(scope: Scope, query: CandidateQuery) -> ScopedStatement:
    """Read the best of each channel that exist, belong to the scope and pass the filter, and their neighbours.

    Returns rows that ``candidate_rows`` reads.
    """
    where: dict[str, Json] = {"where": filters.argument(query.where)} if query.where else {}
    sql = _SQL[query.search_words, query.for_answer]
    if query.where.looks_into_the_database:
        sql = sql.replace(_STATES, filters.states(query.where, "long_term_memory"))
    return ScopedStatement.read(
        scope,
        sql,
        **query.sections,
        **where,
        index_name=query.index_name,
        max_pending=query.max_pending,
        max_in_bulk=query.max_in_bulk,
        newest_in_bulk=query.newest_in_bulk,
        fill=query.fill,
        also=query.also,
        width=query.width,
        likely=query.likely,
        for_model=query.for_model,
        **({} if query.as_of is None else {"as_of": query.as_of}),
    )


_FLAGS = ("whole", "speaker_holds", "expired", "forgotten", "superseded", "keyed", "added")
_NO_DETAILS = (None, None, None)


def candidate_rows(rows: Sequence[Row]) -> tuple[list[Row], Row]:
    """Return what a candidate query has answered: candidates in no order, and what is counted in the scope.

    The former have the columns of ``app.retrieval.pool.Candidate``, the latter ``memories`` and ``found`` (as JSON, by
    the number of a term how many memories contain it).
    """
    stats: Row = {"memories": 0, "found": "{}"}
    candidates: list[dict[str, Any]] = []
    ids: dict[int, str] = {}
    # One text is read, and not one for each row.
    for row, facts in zip(rows, json.loads(f"[{','.join(str(row['facts']) for row in rows)}]"), strict=True):
        if row["id"] is None:
            memories, found = facts
            stats = {"memories": memories, "found": json.dumps(found)}
            continue
        number, session_id, size, words, before, *others = facts
        ids[number] = str(row["id"])
        known = {"id": row["id"], "content": row["text"], "session_id": session_id, "bytes": size, "words": words}
        candidates.append({**known, "before": before, **_read(row["meta"], *others)})
    for candidate in candidates:
        candidate["before"] = ids.get(candidate["before"])
    return list(candidates), stats


def _read(
    metadata: Scalar,
    flags: int,
    created_at: int,
    details: Sequence[Any] | None,
    message_id: str | None = None,
    sources: Json = None,
) -> dict[str, Any]:
    """Return the columns of a candidate that are packed into others."""
    read: dict[str, Any] = {name: flags >> bit & 1 for bit, name in enumerate(_FLAGS)}
    occurred_at, holding, source = details or _NO_DETAILS
    read["current"], read["until"] = holding or (None, None)
    by, through, at = source or (None, None, None)
    read["written_by"], read["written_through"] = by, through
    read["written_at"] = created_at if at is None and through is not None else at
    read["created_at"], read["occurred_at"] = created_at, occurred_at
    read["happened_at"] = created_at if occurred_at is None else occurred_at
    read["metadata_json"] = metadata if read["whole"] else f'{{"speaker":{metadata or "null"}}}'
    read["message_id"] = message_id
    read["sources"] = None if sources is None else json.dumps(sources)
    return read
