"""The candidates of a recall: one statement finds memories by each channel, and reads them with their neighbours.

The statement is ``candidates.sql``. How the channels are weighed is decided in ``app.retrieval``; here a plain estimate
decides what is read. The statement uses two indexes: ``memory_words``, searched within one scope's postings, and the
order of each session.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

from app.domain.json_types import Json, to_json
from app.domain.memory import MORE_FIELDS, Scope
from app.domain.query import Filter
from app.ports.database import Row, Select, Statement
from app.ports.vector_index import AwaitedHits
from app.storage import filters, outbox, what_holds
from app.storage.outbox import Had
from app.storage.postings import KeptPostings
from app.storage.scoped import ScopedStatement
from app.storage.words_search import NEXT_KIND, WordsBounds, search_words

_AT = "(SELECT at FROM moment)"
_STATES = "TRUE/*states*/"
"""The mark in whose place the condition on types and claims is put, where a recall's filter has one."""
_BESIDE = """(
  SELECT row FROM own WHERE own.session_id = memory.session_id
    AND (own.happened_at, row) {sign}= (memory.happened_at, (memory.row {step} 1) COLLATE BINARY)
  ORDER BY own.happened_at {order}, row {order} LIMIT 1
)"""
"""The row of the memory next to ``memory`` in its session, as SQL. A session's memories may all be of one moment.

SQLite seeks by moment and row at once only where the right side has a collation and no affinity, which an expression
has not. Without the step of 1 it would read ``memory`` itself first."""
_RULES = {
    "horizon": what_holds.HORIZON,
    "states": _STATES,
    "has_metadata": filters.has_metadata("long_term_memory"),
    "stated_by": what_holds.stated_by("long_term_memory"),
    "living": what_holds.living("long_term_memory"),
    "shown": what_holds.shown("long_term_memory"),
    "superseded": what_holds.ended("long_term_memory", _AT),
    "claim_holds": what_holds.claim_holds("claim", _AT),
    "ended": what_holds.ended("stated", _AT),
    "before": _BESIDE.format(sign="<", step="-", order="DESC"),
    "after": _BESIDE.format(sign=">", step="+", order="ASC"),
    "successors": what_holds.successors("memory.stated_by", "?1 ->> 'agent_id'", _AT, "own AS holder"),
}
_TEXT = re.sub(
    r"{{(\w+)}}",
    lambda name: _RULES[name[1]],
    Path(__file__).with_name("candidates.sql").read_text(encoding="utf-8"),
)
_LITERAL = re.compile("('[^']*')")
_AROUND_SIGNS = re.compile(r"\s{0,9}([-=<>|+*/,()\n])\s{0,9}")
_OF_BOUNDS = ("tenant_id", "agent_id", "width", "likely", "lexical", "synonyms")
"""The parts of the argument that the section ``bounds`` reads."""
_MAX_OF_CHANNEL = 34
"""The number of candidates that a channel gives at most."""

# What takes the place of the section ``lexical`` where the index of words cannot be searched: empty tables.
_NO_WORDS = """terms AS (SELECT 0 AS term, 0 AS seen, 0 AS common WHERE FALSE),
matches AS (SELECT '' AS id, 0 AS points, 0 AS words WHERE FALSE),
"""
# What takes its place where ``words_search.py`` has searched it: the tables of what was found.
_FOUND_WORDS = f"""terms AS (
  SELECT value ->> 0 AS term, value ->> 1 AS seen, common FROM json_each(?1 -> 'seen') CROSS JOIN bounds
),
kinds AS MATERIALIZED (
  SELECT key AS kind, value ->> 0 AS points, value ->> 1 AS words FROM json_each(?1 -> 'kinds')
),
matches AS MATERIALIZED (
  SELECT memory_number.id, points / (1 + 1.2 * (0.9 + 0.1 * bytes / 130.0)) AS points, words
  FROM json_each(?1 -> 'numbers') AS each CROSS JOIN memory_number ON number = each.value / {NEXT_KIND}
    CROSS JOIN kinds ON kind = each.value % {NEXT_KIND}
),
"""


def _plain(sql: str) -> str:
    """Return a statement without its comments, its indentation and spaces around signs; literals keep their spaces."""
    lines = (line.strip() for line in sql.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("--"))
    return "".join(part if part.startswith("'") else _AROUND_SIGNS.sub(r"\1", part) for part in _LITERAL.split(text))


def _section(name: str, text: str) -> str:
    """Return a section of a statement."""
    return text.partition(f"-- name: {name}\n")[2].partition("-- name: ")[0]


def _without(section: str, text: str, instead: str = "") -> str:
    """Return a statement in which ``instead`` takes the place of a section."""
    return text.replace(_section(section, text), instead)


_SQL = {
    (words, learned): _plain(_without("learned", text) if not learned else text)
    for words, text in (
        ("searched", _TEXT),
        ("found", _without("lexical", _TEXT, _FOUND_WORDS)),
        ("none", _without("lexical", _TEXT, _NO_WORDS)),
    )
    for learned in (True, False)
}
"""The statement's text, by what it does about words and whether it reads the section ``learned``.

It searches the index of words, or reads what was found there, or goes without."""
_BOUNDS = _plain(
    f"WITH {_section('stats', _TEXT)}{_section('bounds', _TEXT).rstrip().removesuffix(',')}\n"
    f"SELECT json_array({', '.join(each.name for each in fields(WordsBounds))}) FROM bounds"
)
"""The statement that reads the bounds of a search in the index of words."""


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The arguments of the statement that finds a recall's candidates."""

    sections: Mapping[str, Json]
    """The JSON array that each channel's section of the statement reads, by the section's name."""
    index_name: str
    """The index whose queued memories are always candidates, within the next three bounds."""
    max_pending: int = field(default_factory=lambda: outbox.MAX_PENDING)
    """The number of queued memories at most, of those that a store has queued."""
    max_in_bulk: int = outbox.MAX_IN_BULK
    """The number of queued memories at most, of those that an import or a job has queued."""
    newest_in_bulk: int = outbox.NEWEST_IN_BULK
    """The number of the newest of these that are candidates where there are more."""
    near: Sequence[str] | None = None
    """The ids of those that are candidates, of those whose vectors the process ``had``; None: all are."""
    had: Had = field(default_factory=Had)
    """The queued vectors that the process has. All others are candidates: nobody knows yet how near they are."""
    where: Filter = field(default_factory=Filter)
    fill: int = 0
    """The number of the newest memories passing the filter that are candidates in any case."""
    also: str | None = None
    """An id in the scope that is a candidate in any case, even if it has expired or does not pass."""
    index_depth: int = 0
    """The number of hits from which on the index may have more: with fewer it has given all that pass the filter."""
    width: int = 1
    """The factor by which more candidates are read than usual."""
    likely: int = 50
    """The number of the best seeds whose content is read in a large scope, with that of their neighbours."""
    as_of: int | None = None
    """The moment as of which memories hold; None: now."""
    for_model: bool = False
    """Whether memories that a program keeps for itself are left out, as if they were not there."""
    search_words: bool = True
    """Whether the index of words is read at all."""
    for_answer: bool = False
    """Whether each candidate names the message that it is, and the messages that it was learned of."""

    @property
    def most(self) -> int:
        """The number of candidates that a channel gives at most: a recall with fewer in all has read all there are."""
        return self.width * _MAX_OF_CHANNEL


def find_candidates(
    scope: Scope, query: CandidateQuery, awaits: AwaitedHits | None = None, kept: KeptPostings | None = None
) -> ScopedStatement:
    """Read the best memories of each channel that belong to the scope and pass the filter, and their neighbours.

    Returns rows that ``read_candidates`` reads. ``awaits``: hits of the vector index that are found in the same run.
    ``kept``: postings of the scope by the query's words; a search in steps reads on from there.
    """
    where: dict[str, Json] = {"where": filters.argument(query.where)} if query.where else {}
    argument: dict[str, Json] = {
        **scope.argument,
        **query.sections,
        **where,
        "index_name": query.index_name,
        "max_pending": query.max_pending,
        "max_in_bulk": query.max_in_bulk,
        "newest_in_bulk": query.newest_in_bulk,
        "near": None if query.near is None else list(query.near),
        "since": query.had.since,
        "has": list(query.had.names),
        "fill": query.fill,
        "also": query.also,
        "index_depth": query.index_depth,
        "width": query.width,
        "likely": query.likely,
        "for_model": query.for_model,
        **({} if query.as_of is None else {"as_of": query.as_of}),
    }
    sql = _sql("searched" if query.search_words else "none", query)
    stepwise = partial(_stepwise, query, kept or KeptPostings()) if query.search_words else None
    return ScopedStatement(sql, argument, tenant_id=scope.tenant_id, awaits=awaits, stepwise=stepwise)


def _sql(words: Literal["searched", "found", "none"], query: CandidateQuery) -> str:
    sql = _SQL[words, query.for_answer]
    if query.where.looks_into_the_database:
        sql = sql.replace(_STATES, filters.states(query.where, "long_term_memory"))
    return sql


def _stepwise(query: CandidateQuery, kept: KeptPostings, statement: Statement, select: Select) -> Statement:
    """Search the index of words, and return the statement that reads what was found there."""
    argument = cast(Mapping[str, Json], statement.argument)
    bounds = select(_BOUNDS, (to_json({name: argument[name] for name in _OF_BOUNDS if name in argument}),))
    found = search_words(select, argument, WordsBounds(*bounds), kept)
    return Statement(_sql("found", query), {**argument, **found._asdict()})


_FLAGS = ("whole", "speaker_holds", "expired", "forgotten", "superseded", "keyed", "added", "uncompared", "learned")
_FLAGGED: list[dict[str, Any]] = [
    {name: bits >> bit & 1 == 1 for bit, name in enumerate(_FLAGS)} for bits in range(1 << len(_FLAGS))
]
"""The fields that are flags, by the number that the statement adds them up to."""
_USUAL: Any = 0
"""The number that a row has for the source of the newest memory, which most other memories have too."""


def read_candidates(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the candidates that a candidate query has read, in no order, and the counts of the scope.

    A candidate has the fields of ``app.retrieval.pool.Candidate``, the counts have those of ``ScopeStats`` there.
    """
    found_rows, ids = list(rows), [row["id"] for row in rows]
    if None not in ids:
        return [], {}
    # The JSON of all rows is parsed as one text, and not row by row.
    facts = json.loads(f"[{','.join([str(row['facts']) for row in rows])}]")
    place = ids.index(None)
    del found_rows[place], ids[place]
    memories, found, usual_source = facts.pop(place)
    together = _Rows(ids, facts, usual_source)
    return [*map(together.fields, found_rows, facts)], {"memories": memories, "found": found}


class _Rows:
    """The rows of one query: what they have in common is put together once."""

    def __init__(self, ids: Sequence[Any], facts: Sequence[Sequence[Any]], usual_source: Sequence[Any] | None) -> None:
        self._ids = ids
        self._facts = facts
        self._usual_source = usual_source
        self._usual: dict[int, dict[str, Any]] = {}
        """The fields that all rows without details have, by the number of their flags."""

    @cached_property
    def _by_number(self) -> Mapping[int, Any]:
        """The ids of memories by the numbers of their rows."""
        return {facts[0]: id_ for facts, id_ in zip(self._facts, self._ids, strict=True)}

    def fields(self, row: Row, facts: Sequence[Any]) -> dict[str, Any]:
        """Return the fields of a candidate."""
        number, session_id, size, words, back_to_before, flags, created_at, details, *learned = facts
        usual = self._usual.get(flags) or self._usual_fields(flags)
        metadata = row["meta"] or "null"
        if not usual["whole"]:
            metadata = "{}" if metadata == "null" else f'{{"speaker":{metadata}}}'
        fields = dict(
            usual,
            id=row["id"],
            content=row["text"],
            metadata_json=metadata,
            created_at=created_at,
            happened_at=created_at,
            session_id=session_id,
            before=None if back_to_before is None else self._by_number.get(number - back_to_before),
            bytes=size,
            words=words,
        )
        if learned:
            fields["message_id"], fields["sources"] = learned
        if details is not None:
            _add_details(fields, details)
        if fields.get("written_through") is not None and fields["written_at"] is None:
            fields["written_at"] = created_at
        return fields

    def _usual_fields(self, flags: int) -> dict[str, Any]:
        self._usual[flags] = fields = dict(_FLAGGED[flags])
        if fields["whole"]:
            fields["speakers"] = None
            _add_source(fields, self._usual_source)
        return fields


def _add_details(fields: dict[str, Any], details: Sequence[Any]) -> None:
    """Add what only a row that may be an entry has: its moment, its successor, its speakers and its writer."""
    occurred_at, holding, source, fields["speakers"], *more = details
    if more:
        fields |= zip(MORE_FIELDS, more, strict=False)
    if occurred_at is not None:
        fields["occurred_at"] = fields["happened_at"] = occurred_at
    if holding is not None:
        fields["current"], fields["until"], fields["update"] = holding
    if source != _USUAL:
        _add_source(fields, source)


def _add_source(fields: dict[str, Any], source: Sequence[Any] | None) -> None:
    fields["written_by"], fields["written_through"], fields["written_at"] = source or (None, None, None)
