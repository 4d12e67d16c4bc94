"""The outbox: changes of vectors that the index has still to take, or may not show yet (docs/reliability.md).

A store queues its vector in the same run as the memory, so whatever happens to the index call, the vector
is not lost: a recall scores the vectors that are queued for its scope, and the indexer delivers them. A row lives until
its revision is known to be visible in the index, and a minute longer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.embedding import NamedVectors, Vector, decoded, lengths
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.domain.query import Filter
from app.ports.database import Row
from app.storage import filters
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import shown

MAX_PENDING = 512
"""How many vectors of one scope a recall scores of those that stores have queued, the newest first (ADR 0008)."""
MAX_IN_BULK = 64
"""How many queued vectors of one scope a recall scores of those that an import or a job has queued (ADR 0038)."""
NEWEST_IN_BULK = 1
"""How many of these, the newest, a recall scores where there are more: ten thousands may be queued, of kilobytes."""

GRACE_MS = 60_000
"""For this long only the row's request delivers it: more than twice the longest deadline of a call (12 s).

After it no call of that request can still reach the index, so that a change sent then is sent last. A removal need not
wait where the index leaves out vectors that were queued before it (``VectorIndex.removal_grace_ms``)."""

# Every change of a row's operation or vector resets these columns, beside due_at.
RESET = "acknowledged_at = NULL, confirmed_at = NULL, refusals = 0, dead = NULL"

QUEUED_AGAIN = f"""ON CONFLICT (tenant_id, agent_id, id, index_name) DO UPDATE SET
  operation = excluded.operation, vector = excluded.vector, revision = max(excluded.revision, outbox.revision + 1),
  due_at = excluded.due_at, in_bulk = min(excluded.in_bulk, outbox.in_bulk), {RESET}"""
"""The clause that changes a row where an operation is queued anew; a removal brings no vector."""

_WAITING = """
SELECT outbox.id, outbox.vector FROM json_each(?1, '$.memories') AS wanted CROSS JOIN outbox
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = wanted.value ->> 'agent_id'
  AND outbox.id = wanted.value ->> 'id' AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
"""
_OF_INDEX = """
outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
  AND outbox.index_name = ?1 ->> 'index_name'
"""
_MEMORY = """
CROSS JOIN long_term_memory AS memory
  ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
"""
_IN_BULK = f"""
(SELECT json_group_array(id) FROM (
  SELECT outbox.id FROM outbox INDEXED BY outbox_newest WHERE {_OF_INDEX} AND outbox.in_bulk = 1
  ORDER BY outbox.revision DESC LIMIT {{most}}
))
"""
_SHOWN = shown("memory")
# A row is one text: its kind (0: queued by a store, 1: in bulk, 2: in bulk, of more than are read), its name, which is
# the memory's id and the revision, and behind a space its vector, unless the caller has it. A row in bulk that does not
# pass the filter has its kind alone: rows in bulk are read before the condition is checked on them.
_NAMED = """
{kind} || outbox.id || outbox.revision || iif(
  outbox.revision <= ?1 ->> 'since' OR outbox.id || outbox.revision IN (SELECT value FROM json_each(?1 -> 'has')), '',
  ' ' || (SELECT vector FROM outbox AS queued WHERE (queued.tenant_id, queued.agent_id, queued.id, queued.index_name)
    = (outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name))
)
"""
_PENDING = f"""
SELECT * FROM (
  SELECT {_NAMED.format(kind="0")} AS queued FROM outbox INDEXED BY outbox_newest {_MEMORY}
  WHERE {_OF_INDEX} AND outbox.in_bulk = 0 AND {{condition}}
  ORDER BY outbox.revision DESC LIMIT ?1 ->> 'most'
) UNION ALL
SELECT iif({{condition}}, {_NAMED.format(kind="kind")}, kind)
FROM (
  SELECT all_of_them, newest, 1 + (json_array_length(all_of_them) > ?1 ->> 'most_in_bulk') AS kind FROM (
    SELECT {_IN_BULK.format(most="?1 ->> 'most_in_bulk' + 1")} AS all_of_them,
      {_IN_BULK.format(most="?1 ->> 'newest_in_bulk'")} AS newest
  )
) CROSS JOIN json_each(iif(kind = 2, newest, all_of_them)) AS each CROSS JOIN outbox {_MEMORY}
WHERE outbox.id = each.value AND {_OF_INDEX}
"""
_SLACK_MS = 50
"""A revision may be so far ahead of the clock that the next one is older: one that is queued again rises by one."""
_ROWS_KEPT = 64
_MOST_ROWS = 1_024
_OVERHEAD, _NAME_BYTES = 500, 150
_ID = 26
"""Characters of an id, with which the name of a queued vector begins."""


@dataclass(frozen=True, slots=True)
class Had:
    """The queued vectors that a process has: they need not be read again.

    Attributes:
        since: The process has all queued vectors of this revision and of older ones, as far as it knows.
        names: The names of vectors that it has of newer revisions.
        count: How many vectors it has ever had of the scope: what comes behind these was queued meanwhile.
    """

    since: int = 0
    names: Sequence[str] = ()
    count: int = 0

    def has(self, name: str) -> bool:
        """Return whether the process has this vector, as far as it knows."""
        return revision_of(name) <= self.since or name in self.names


@dataclass(frozen=True, slots=True)
class QueuedRows:
    """The queued vectors that a recall compares: their names, the newest first, and those that were read with them."""

    names: Sequence[str]
    vectors: Mapping[str, str]
    """The vectors as text, by name, of those that the process does not have."""
    has_more: bool
    """Whether more are queued than a recall compares."""
    newest: int
    """The greatest revision of those that stores have queued; 0 without any."""


def name_of(memory_id: str, revision: int) -> str:
    """Return the name of a queued vector. A vector of another text has another name: the revision rises."""
    return f"{memory_id}{revision}"


def memory_of(name: str) -> str:
    """Return the id of the memory that a queued vector is of."""
    return name[:_ID]


def revision_of(name: str) -> int:
    """Return the revision of a queued vector."""
    return int(name[_ID:])


def pending(
    scope: Scope, where: Filter, index_name: str, had: Had | None = None, *, for_model: bool = False
) -> ScopedStatement:
    """Read what is queued for an index of the memories that pass the filter, newest first, for ``read_pending``.

    Forgotten memories are left out, and for a model also those that a program keeps for itself. Vectors that the
    process ``had`` are named only. One row more than is compared at most is read, to tell that there are more.
    """
    condition = f"{filters.of_living(where)} AND memory.forgotten_at IS NULL"
    if for_model:
        condition += f" AND {_SHOWN}"
    had = had or Had()
    return ScopedStatement.read(
        scope,
        _PENDING.format(condition=condition),
        index_name=index_name,
        where=filters.argument(where),
        most=MAX_PENDING + 1,
        most_in_bulk=MAX_IN_BULK,
        newest_in_bulk=NEWEST_IN_BULK,
        since=had.since,
        has=list(had.names),
    )


def read_pending(rows: Sequence[Row]) -> QueuedRows:
    """Return the queued vectors that ``pending`` has read and that are compared."""
    texts = [str(row["queued"]) for row in rows]  # a mark alone is a number
    stored = [text[1:] for text in texts if text[0] == "0"]
    bulk = [text for text in texts if text[0] != "0"]
    has_more = len(stored) > MAX_PENDING or any(text[0] == "2" for text in bulk)
    names, vectors = _parted(stored[:MAX_PENDING] + [text[1:] for text in bulk if len(text) > 1])
    return QueuedRows(names, vectors, has_more, revision_of(names[0]) if stored else 0)


def _parted(queued: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names, and the vectors by name of those that were read with them: mostly none."""
    if not any(" " in text for text in queued):
        return queued, {}
    parts = [text.partition(" ") for text in queued]
    return [name for name, _, _ in parts], {name: vector for name, is_read, vector in parts if is_read}


def waiting(tenant: Tenant, memories: Sequence[tuple[str, str]], index_name: str) -> ScopedStatement:
    """Read the queued vectors of memories, each named by its agent and its id."""
    wanted: list[Json] = [{"agent_id": agent_id, "id": id_} for agent_id, id_ in memories]
    return ScopedStatement.read(tenant, _WAITING, index_name=index_name, memories=wanted)


@dataclass(frozen=True, slots=True)
class QueuedVectors:
    """The queued vectors that a recall compares with its query."""

    ids: Sequence[str]
    compare: Callable[[Vector], list[float]]
    unreadable: int = 0
    """How many are damaged, and left out."""

    def cosines(self, query: Vector) -> dict[str, float]:
        """Return the cosine of each with the query, by the memory's id."""
        return dict(zip(self.ids, self.compare(query), strict=True))


class PendingVectors:
    """The queued vectors of one scope and one index that a process has: each is read, and decoded, once.

    Which of them a recall compares is what the database says; here they are known by their names.
    """

    __slots__ = ("_damaged", "_forgotten", "_newer", "_since", "_vectors")

    def __init__(self, dimensions: int) -> None:
        """Begin without vectors."""
        self._vectors = NamedVectors(dimensions)
        self._damaged: set[str] = set()
        self._since = 0
        """The revision up to which none was missing."""
        self._newer: list[str] = []
        """The names of those of newer revisions."""
        self._forgotten = 0
        """How many vectors were forgotten."""

    @property
    def size(self) -> int:
        """The bytes that are held, about."""
        return _OVERHEAD + self._vectors.size + _NAME_BYTES * (len(self._vectors) + len(self._damaged))

    @property
    def had(self) -> Had:
        """What a statement need not read again."""
        return Had(self._since, self._newer[-MAX_PENDING:], self._forgotten + len(self._vectors))

    def had_of(self, names: Sequence[str]) -> Had:
        """Return which of these names a statement need not read again."""
        return Had(0, [name for name in names if name in self._vectors])

    def add(self, name: str, text: str) -> None:
        """Keep a vector as it is queued; a damaged one is only known as such."""
        if name in self._vectors or name in self._damaged:
            return
        if len(text) in lengths(self._vectors.dimensions):
            self._vectors.add(name, decoded(text, self._vectors.dimensions))
            self._newer.append(name)
        else:
            self._damaged.add(name)

    def take(self, rows: QueuedRows, had: Had, *, are_all: bool) -> QueuedVectors | None:
        """Keep the vectors that were read, and return those that are compared; None where one is missing.

        ``had`` is what the process had when it asked. ``are_all``: no filter left any out: of what it had, what is not
        among them was delivered.
        """
        for name, text in rows.vectors.items():
            self.add(name, text)
        names = [name for name in rows.names if name in self._vectors]
        unreadable = len(rows.names) - len(names)
        if unreadable > sum(name in self._damaged for name in rows.names if unreadable):
            return None
        if are_all:
            self._since = max(self._since, rows.newest - _SLACK_MS)
            self._newer = [name for name in self._newer if revision_of(name) > self._since]
        if len(self._vectors) > (_ROWS_KEPT if are_all else _MOST_ROWS) + len(names) * 5 // 4:
            self._damaged.intersection_update(rows.names)
            self._forget(names, had, are_all=are_all)
        return QueuedVectors(list(map(memory_of, names)), self._vectors.compared(names), unreadable)

    def nearest(self, queries: Sequence[Vector], most: int) -> list[str] | None:
        """Return the ids of those nearest to any of the queries, ``most`` of each; None where these are all."""
        if len(self._vectors) <= most or not queries:
            return None
        names = {name for query in queries for name in self._vectors.nearest(query, most)}
        return sorted(map(memory_of, names))

    def forget_others(self, names: Sequence[str]) -> None:
        """Forget what is not among these names; what is listed again is read again."""
        self._keep([name for name in reversed(names) if name in self._vectors])
        self._damaged.intersection_update(names)

    def _forget(self, names: Sequence[str], had: Had, *, are_all: bool) -> None:
        """Forget what the process had when it asked and is not among these names.

        With a filter much of that may be queued still: the last of it are kept.
        """
        if not are_all:
            self._since = 0
        named, all_names = set(names), list(self._vectors.names)
        others = all_names[max(had.count - self._forgotten, 0) :] if are_all else all_names
        self._keep([*reversed(names), *[name for name in others if name not in named][-MAX_PENDING:]])

    def _keep(self, names: Sequence[str]) -> None:
        """Forget all vectors but these."""
        self._forgotten += len(self._vectors) - len(names)
        self._vectors = self._vectors.of(names)
        self._newer = [name for name in names if revision_of(name) > self._since]


def queued_vectors(rows: Sequence[Row], dimensions: int) -> QueuedVectors:
    """Return the queued vectors of rows that have the memory's ``id`` and the ``vector`` as text."""
    vectors = {str(row["id"]): str(row["vector"]) for row in rows}
    pending = PendingVectors(dimensions)
    for id_, text in vectors.items():
        pending.add(id_, text)
    queued = pending.take(QueuedRows(list(vectors), {}, has_more=False, newest=0), Had(), are_all=False)
    return queued or QueuedVectors([], lambda _: [])
