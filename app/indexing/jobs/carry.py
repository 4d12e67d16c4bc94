"""Carries a tenant's rows from one database to another, and compares both. Every step may be done again."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.embedding import EmbeddingConfig, encode
from app.domain.json_types import Json, to_json
from app.ports.database import Database, Statement
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.storage.rows import read_rows
from app.storage.system import carried, reconcile
from app.storage.system.carried import COUNTERS, MEMORIES, CarriedTable, Values
from app.storage.system.moving import Mover

PAGE_ROWS = 200
"""Rows that are read at once: with the largest content and metadata they are 9 MB."""
_ARGUMENT_BYTES = 800_000
"""Bytes of one statement's argument: D1 takes 2 MB."""
_RUN_BYTES = 4_000_000
_RUN_STATEMENTS = 80
"""Statements of one run of the target: D1 takes 100."""
_CHANGES = 1000

Rows = Mapping[CarriedTable, tuple[Sequence[Values], Sequence[Values]]]
"""For each table: keys, and the rows that exist under these keys."""


@dataclass(frozen=True, slots=True)
class MoveSide:
    """One of the two shards of a move."""

    shard: str
    database: Database
    index_of: Callable[[EmbeddingConfig], IndexAdmin]


@dataclass(slots=True)
class TableDifference:
    """The keys of a table that differ in two databases, and the number and the digest of the source's rows."""

    rows: int = 0
    digest: str = ""
    differing: list[Values] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries one tenant's rows, from source to target."""

    mover: Mover
    source: MoveSide
    target: MoveSide
    tables: Sequence[CarriedTable]
    config: EmbeddingConfig
    """The embedding config in use, which is the same on both sides."""
    embedder: Embedder
    """Embeds memories whose vectors neither the source's index nor its outbox has."""

    async def copy_page(self, table: CarriedTable, after: Values | None) -> Values | None:
        """Carry the rows behind a place, as many as are read at once, and return the last place; None at the end."""
        tenant_id = self.mover.tenant_id
        (rows,) = await self.source.database.run([table.page(tenant_id, after, PAGE_ROWS)])
        values = [table.read(row) for row in rows]
        await self._put({table: ([table.key_of(row) for row in values], values)})
        return table.place_of(values[-1]) if len(values) == PAGE_ROWS and table.walk else None

    async def catch_up(self) -> Mapping[CarriedTable, Sequence[Values]]:
        """Carry rows that have changed since they were read, and return their keys; none where no row has changed.

        Raises:
            DatabaseRejected: a changed row does not fit the rows that are there; it fits with the next changes.
        """
        (noted,) = await self.source.database.run([self.mover.changes(_CHANGES)])
        if not noted:
            return {}
        changed: dict[str, dict[Values, None]] = {}
        tables = {table.name: table for table in self.tables}
        for change in noted:
            name = str(change["table_name"])
            changed.setdefault(name, {})[tables[name].read_key(str(change["row_key"]))] = None
        keys = {table: list(changed[table.name]) for table in self.tables if table.name in changed}
        await self.carry(keys)
        await self.source.database.run([self.mover.forget(int(noted[-1]["number"] or 0))])
        return keys

    async def carry(self, keys: Mapping[CarriedTable, Sequence[Values]]) -> None:
        """Carry the rows of these keys as they are now; rows that are gone are deleted in the target."""
        groups = list(_in_groups(keys, PAGE_ROWS))
        if len(groups) > 1:  # a unique value may have passed from a row of one group to a row of another
            for group in groups:
                await self._put({table: (some, []) for table, some in group.items()})
        for group in groups:
            await self._put(await self._read(group))

    async def equal(self, keys: Mapping[CarriedTable, Sequence[Values]]) -> bool:
        """Return whether both databases have the same rows of these keys."""
        for group in _in_groups(keys, PAGE_ROWS):
            ours = await self._read(group)
            statements = [table.of_keys(self.mover.tenant_id, some, renumbered=True) for table, some in group.items()]
            found = await self.target.database.run(statements)
            for (table, (_, rows)), theirs in zip(ours.items(), found, strict=True):
                if _differing(table, rows, [table.read(row) for row in theirs]):
                    return False
        return True

    async def _read(self, keys: Mapping[CarriedTable, Sequence[Values]]) -> "Rows":
        """Read rows of the source by their keys."""
        statements = [table.of_keys(self.mover.tenant_id, some) for table, some in keys.items()]
        found = await self.source.database.run(statements)
        return {
            table: (some, [table.read(row) for row in rows])
            for (table, some), rows in zip(keys.items(), found, strict=True)
        }

    async def compare(self, table: CarriedTable) -> TableDifference:
        """Compare all rows of a table by the digests of pages; the rows of a page that differs are compared singly."""
        compared, digest, after = TableDifference(), hashlib.sha256(), None
        while True:
            (rows,) = await self.source.database.run([table.page(self.mover.tenant_id, after, PAGE_ROWS)])
            ours = [table.read(row) for row in rows]
            last = table.place_of(ours[-1]) if len(ours) == PAGE_ROWS and table.walk else None
            theirs = await self._target_page(table, ours, after, last)
            compared.rows += len(ours)
            page = _digest(table, ours)
            digest.update(page)
            if page != _digest(table, theirs):
                compared.differing += _differing(table, ours, theirs)
            if last is None:
                compared.digest = digest.hexdigest()
                return compared
            after = last

    async def counts_differ(self) -> list[CarriedTable]:
        """Return the tables whose numbers of rows differ between the two sides, and the tables that triggers write."""
        count = [carried.count_rows(self.mover.tenant_id, self.tables)]
        ((ours,),) = await self.source.database.run(count)
        ((theirs,),) = await self.target.database.run(count)
        return [table for table in self.tables if table.name in COUNTERS or ours[table.name] != theirs[table.name]]

    async def _target_page(
        self, table: CarriedTable, ours: Sequence[Values], after: Values | None, last: Values | None
    ) -> list[Values]:
        """Read the target's rows behind a place up to another, or all that follow; renumbered rows by our keys."""
        tenant_id = self.mover.tenant_id
        if table.renumbers:  # the target's numbers are in another order
            keys = [table.key_of(row) for row in ours]
            (rows,) = await self.target.database.run([table.of_keys(tenant_id, keys, renumbered=True)])
            return sorted(map(table.read, rows), key=lambda each: _ordered(table.place_of(each)))
        found: list[Values] = []
        while True:
            (rows,) = await self.target.database.run([table.page(tenant_id, after, PAGE_ROWS)])
            values = [table.read(row) for row in rows]
            inside = [row for row in values if last is None or not _follows(table.place_of(row), last)]
            found += inside
            if len(values) < PAGE_ROWS or len(inside) < len(values) or not table.walk:
                return found
            after = table.place_of(values[-1])

    def _removals(self, wanted: "Rows") -> list[Statement]:
        """Delete the rows of the given keys, and the vectors of memories that are gone; counters are left out."""
        statements: list[Statement] = []
        for table, (keys, rows) in wanted.items():
            if keys and table.name not in COUNTERS:
                left = {table.key_of(row) for row in rows}
                statements += self._deletes(table, keys, [key for key in keys if key not in left])
        return statements

    async def _put(self, wanted: "Rows") -> None:
        """Make the target hold these rows, and no other rows of these keys."""
        tenant_id = self.mover.tenant_id
        statements = self._removals(wanted)
        size = 0
        for table, (keys, rows) in wanted.items():
            if keys and table.name in COUNTERS:  # by now triggers have written the rows that are replaced here
                statements += table.delete(tenant_id, keys)
            for some in _by_size(rows, _ARGUMENT_BYTES):
                weight = sum(map(_weight, some))
                if size + weight > _RUN_BYTES or len(statements) > _RUN_STATEMENTS:
                    await self._run(*statements)
                    statements, size = [], 0
                statements += [*await self._queued(table, some), *table.insert(tenant_id, some)]
                size += weight
        await self._run(*statements)

    def _deletes(self, table: CarriedTable, keys: Sequence[Values], gone: Sequence[Values]) -> list[Statement]:
        """Delete rows of the target, and the vectors of memories that are gone."""
        delete = table.delete(self.mover.tenant_id, keys, renumbered=True)
        if table.name != MEMORIES or not gone:
            return delete
        return [carried.queue_removals(self.mover.tenant_id, [str(key[0]) for key in gone]), *delete]

    async def _queued(self, table: CarriedTable, rows: Sequence[Values]) -> list[Statement]:
        """Queue the vectors of memories for the target's index."""
        vectors = await self._vectors(rows, table) if table.name == MEMORIES else []
        return [self._queue(vectors)] if vectors else []

    async def _run(self, *statements: Statement) -> None:
        await self.target.database.run([self.mover.carry("arriving"), *statements])

    def _queue(self, vectors: Sequence[Mapping[str, Json]]) -> Statement:
        return carried.queue_vectors(self.mover.tenant_id, self.config.index_name, vectors)

    async def _vectors(self, rows: Sequence[Values], table: CarriedTable) -> list[dict[str, Json]]:
        """Return the vectors of memories: from the source's outbox, else from its index, else new ones."""
        agent_of = {str(row[table.columns.index("id")]): str(row[table.columns.index("agent_id")]) for row in rows}
        ids = list(agent_of)
        named = [(agent_id, id_) for id_, agent_id in agent_of.items()]
        queued = carried.queued_vectors(self.mover.tenant_id, self.config.index_name, named)
        (waiting,) = await self.source.database.run([queued])
        texts = {str(row["id"]): str(row["vector"]) for row in waiting}
        held = await self.source.index_of(self.config).vectors(
            self.mover.tenant_id, [id_ for id_ in ids if id_ not in texts]
        )
        texts |= {id_: encode(vector) for id_, vector in held.items()}
        texts |= await self._embedded([id_ for id_ in ids if id_ not in texts])
        return [{"agent_id": agent_of[id_], "id": id_, "vector": text} for id_, text in texts.items()]

    async def _embedded(self, ids: Sequence[str]) -> dict[str, str]:
        """Embed memories whose vectors are neither in the source's outbox nor in its index."""
        if not ids:
            return {}
        (rows,) = await self.source.database.run([reconcile.read_contents(ids)])
        contents = read_rows(reconcile.Content, rows)
        if not contents:
            return {}
        embedded = await self.embedder.embed([content.embedded_text for content in contents], "document")
        return {each.id: encode(vector) for each, vector in zip(contents, embedded.vectors, strict=True)}


def _digest(table: CarriedTable, rows: Sequence[Values]) -> bytes:
    return hashlib.sha256(to_json([list(table.compared(row)) for row in rows]).encode()).digest()


def _differing(table: CarriedTable, ours: Sequence[Values], theirs: Sequence[Values]) -> list[Values]:
    """Return the keys of rows that only one side has, or that are not equal."""
    here = {table.key_of(row): table.compared(row) for row in ours}
    there = {table.key_of(row): table.compared(row) for row in theirs}
    return [key for key in {**here, **there} if here.get(key) != there.get(key)]


def _follows(place: Values, last: Values) -> bool:
    """Return whether a place comes after another in the database's order, which is that of UTF-8's bytes."""
    return _ordered(place) > _ordered(last)


def _ordered(place: Values) -> list[tuple[int, object]]:
    return [(1, part.encode()) if isinstance(part, str) else (0, part) for part in place]


def _in_groups(
    keys: Mapping[CarriedTable, Sequence[Values]], most: int
) -> Iterator[dict[CarriedTable, Sequence[Values]]]:
    """Group keys, of several tables in a group, so that no group has more than ``most`` keys."""
    group: dict[CarriedTable, Sequence[Values]] = {}
    room = most
    for table, wanted in keys.items():
        left = wanted
        while left:
            group[table], left = left[:room], left[room:]
            room -= len(group[table])
            if room == 0:
                yield group
                group, room = {}, most
    if group:
        yield group


def _weight(row: Values) -> int:
    return len(to_json(list(row)).encode())


def _by_size(rows: Sequence[Values], most: int) -> Iterator[list[Values]]:
    """Group rows so that no group is larger than ``most`` bytes; a row that is larger alone is a group."""
    group: list[Values] = []
    size = 0
    for row in rows:
        weight = _weight(row)
        if group and size + weight > most:
            yield group
            group, size = [], 0
        group.append(row)
        size += weight
    if group:
        yield group
